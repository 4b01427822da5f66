"""The seeds of second factors, encrypted in the database with a key made from the secret key."""

import base64

from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.crypto import salted_hmac

from evalsite.core.jobs.schedule import DAILY, scheduled

_SALT = "evalsite.core.accounts.encryption"
# what a row holds of its second factor
SECRETS = ("secret", "seed")


def encrypt(text: str) -> str:
    return _make_cipher().encrypt(text.encode()).decode()


def decrypt(encrypted: str) -> str:
    """Return the text; raise InvalidToken if no key of this site has encrypted it."""
    return _make_cipher().decrypt(encrypted).decode()


@scheduled(
    "Encrypt codes with the new secret key",
    every=DAILY,
    is_on=lambda: bool(settings.SECRET_KEY_FALLBACKS),
)
def encrypt_again() -> str:
    """Encrypt with the new key what an earlier one has encrypted, so that that one may go."""
    count = 0
    for authenticator in Authenticator.objects.all():
        data = authenticator.data
        changed = {name: new for name in SECRETS if (new := _encrypt_again(data.get(name, "")))}
        if changed:
            # a recovery code that was used meanwhile stays used
            unchanged = Authenticator.objects.filter(pk=authenticator.pk, data=data)
            count += unchanged.update(data=data | changed)
    return f"{count} encrypted again" if count else ""


def _encrypt_again(encrypted: str) -> str:
    """Return the text under the new key; empty if it is, or if no key reads it."""
    try:
        _make_fernet(settings.SECRET_KEY).decrypt(encrypted)
    except InvalidToken:
        try:
            return _make_cipher().rotate(encrypted).decode()
        except InvalidToken:
            return ""
    return ""


def _make_cipher() -> MultiFernet:
    """Encrypt with the secret key; what the fallbacks have encrypted is still read."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([_make_fernet(key) for key in keys])


def _make_fernet(secret: str) -> Fernet:
    key = salted_hmac(_SALT, "", secret=secret, algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(key))
