"""Who counts as a researcher: staff in the group of this name, without any other right."""

import secrets

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group, User

from evalsite.core.audit.account_log import record_account
from evalsite.core.audit.models import Event

GROUP = "Researchers"
# the user name of the first account
FIRST = "researcher"


def make_researcher(user: User) -> None:
    """Let this person sign in and work on studies."""
    group, _ = Group.objects.get_or_create(name=GROUP)
    if not user.is_staff:
        user.is_staff = True
        user.save(update_fields=["is_staff"])
    user.groups.add(group)


def find_or_make_first() -> tuple[User, str]:
    """Return an administrator, and the password if the account was made now."""
    administrators = User.objects.filter(is_superuser=True)
    # none is made beside one whose account is disabled at the moment
    if user := administrators.order_by("-is_active", "pk").first():
        return user, ""
    password = secrets.token_urlsafe(12)
    user = User.objects.create_user(
        FIRST, password=password, is_staff=True, is_superuser=True, first_name="Researcher"
    )
    make_researcher(user)
    record_account(Event.MADE, user, None, "command")
    return user, password


def turn_off_two_factor(user: User) -> bool:
    """Delete this person's second factor and recovery codes; return whether there were any."""
    deleted, _ = Authenticator.objects.filter(user=user).delete()
    return bool(deleted)
