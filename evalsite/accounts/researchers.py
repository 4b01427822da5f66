"""Who counts as a researcher: staff in the group of this name, without any other right."""

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group, User

GROUP = "Researchers"


def make_researcher(user: User) -> None:
    """Let this person sign in and work on studies."""
    group, _ = Group.objects.get_or_create(name=GROUP)
    if not user.is_staff:
        user.is_staff = True
        user.save(update_fields=["is_staff"])
    user.groups.add(group)


def turn_off_two_factor(user: User) -> bool:
    """Delete this person's second factor and recovery codes; return whether there were any."""
    deleted, _ = Authenticator.objects.filter(user=user).delete()
    return bool(deleted)
