"""The link with which a new site's first administrator makes their account.

It is signed, so that it needs no row, and names how many such links were used before: the log of
actions, to which entries are only ever added, makes it work once.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core import signing
from django.db import transaction
from django.urls import reverse

from evalsite.core.accounts.researchers import GROUP
from evalsite.core.audit.models import AuditEntry
from evalsite.lib.clock import now

VALID_FOR = timedelta(hours=24)
_SALT = "evalsite.core.accounts.first_administrator"
_ACTION = "first administrator made"


class LinkState(StrEnum):
    OPEN = "open"
    # somebody administers this site: this link and all others are closed
    CLOSED = "closed"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


def make_first_link() -> tuple[str, datetime] | None:
    """Return the address of a new link and its last moment; None if there is an administrator."""
    if has_administrator():
        return None
    token = signing.dumps(_count_used(), salt=_SALT)
    path = reverse("first-administrator", args=[token])
    return f"{settings.SITE_ADDRESS}{path}", now() + VALID_FOR


def read_link(token: str) -> LinkState:
    """Return whether an administrator may be made with this token now."""
    try:
        used = signing.loads(token, salt=_SALT, max_age=VALID_FOR)
    except signing.SignatureExpired:
        return LinkState.CLOSED if has_administrator() else LinkState.EXPIRED
    except signing.BadSignature:
        return LinkState.UNKNOWN
    is_open = used == _count_used() and not has_administrator()
    return LinkState.OPEN if is_open else LinkState.CLOSED


@transaction.atomic
def make_first_administrator(token: str, create_account: Callable[[], User | None]) -> User | None:
    """Make this account the administrator; None if somebody was quicker, or no account came."""
    # the second one waits here, and then sees the first
    Group.objects.select_for_update().get_or_create(name=GROUP)
    if read_link(token) != LinkState.OPEN:
        return None
    user = create_account()
    if user is not None:
        user.is_superuser = True
        user.save(update_fields=["is_superuser"])
        AuditEntry.objects.record(_ACTION, by=user)
    return user


def has_administrator() -> bool:
    """Return whether there is one, even if the account is disabled at the moment."""
    return User.objects.filter(is_superuser=True).exists()


def _count_used() -> int:
    return AuditEntry.objects.filter(action=_ACTION).count()
