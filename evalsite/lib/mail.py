"""Whether this site sends e-mail."""

from django.conf import settings


def is_mail_on() -> bool:
    """Return whether a server and a sender are set up."""
    return bool(settings.EMAIL_HOST and settings.DEFAULT_FROM_EMAIL)
