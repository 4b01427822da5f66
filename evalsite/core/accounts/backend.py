"""Who is signed in, with what the pages need of them, in one query."""

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth.models import User


class AccountBackend(AuthenticationBackend):
    """Sign-in by e-mail or user name, as allauth does it."""

    def get_user(self, user_id: Any) -> User | None:
        """Return the account with its profile: every page shows moments in its time zone."""
        user = User.objects.select_related("profile").filter(pk=user_id).first()
        return user if user is not None and self.user_can_authenticate(user) else None
