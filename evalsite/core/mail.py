"""Sending e-mail: whether this site does, and what became of a message."""

from smtplib import (
    SMTPException,
    SMTPNotSupportedError,
    SMTPRecipientsRefused,
    SMTPSenderRefused,
)
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage

_FINAL = 500


class MailServerDown(Exception):
    """The server can't be reached, or takes nothing from this site: all e-mails wait."""


class MailDelayed(Exception):
    """This message wasn't taken now, and may be later; it says nothing about others."""


class MailRefused(Exception):
    """This message will never be taken, for example because the address doesn't exist."""


def is_mail_on() -> bool:
    """Return whether a server and a sender are set up."""
    return bool(settings.EMAIL_HOST and settings.DEFAULT_FROM_EMAIL)


def send_message(connection: Any, message: EmailMessage) -> None:
    """Send a message to one person over this connection, which is opened if it isn't open.

    Raise MailServerDown, MailDelayed or MailRefused, with a reason that names no address.
    """
    try:
        connection.open()
    except (SMTPException, OSError) as error:
        raise MailServerDown(_describe(error)) from error
    try:
        connection.send_messages([message])
    except SMTPSenderRefused as error:
        connection.close()
        raise MailServerDown(_describe(error)) from error
    # an address that can't be encoded is a ValueError
    except (SMTPException, OSError, ValueError) as error:
        connection.close()
        is_unsendable = isinstance(error, SMTPNotSupportedError | ValueError)
        kind = MailRefused if is_unsendable or _find_code(error) >= _FINAL else MailDelayed
        raise kind(_describe(error)) from error


def _find_code(error: Exception) -> int:
    """Return the server's code, or 0 if the error has none."""
    if isinstance(error, SMTPRecipientsRefused):
        return max((code for code, _ in error.recipients.values()), default=0)
    return int(getattr(error, "smtp_code", 0))


def _describe(error: Exception) -> str:
    code = _find_code(error)
    return f"{type(error).__name__}{f' {code}' if code else ''}"[:200]
