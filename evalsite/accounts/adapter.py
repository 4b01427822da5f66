"""What django-allauth asks this site: who may sign in, how often, and where to go afterwards."""

from datetime import timedelta
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse

from evalsite.accounts.lockout import SignInLocked, begin_attempt
from evalsite.jobs.outbox import post_mail
from evalsite.lib.clock import now
from evalsite.lib.rate_limits import client_address

_WRONG = "The e-mail or user name and the password don’t match."


class AccountAdapter(DefaultAccountAdapter):
    """Accounts of researchers: by invitation only, locked after wrong passwords."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": _WRONG,
        "username_password_mismatch": _WRONG,
        "incorrect_password": "This isn’t your password.",
        "enter_current_password": "This isn’t your password.",
        "too_many_login_attempts": "Too many attempts. Try again in 15 minutes.",
        "email_taken": "Another account uses this address.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request)

    def authenticate(self, request: HttpRequest, **credentials: Any) -> User | None:
        """Return the member of staff with this password; note on the request what is left."""
        login = credentials.get("username") or credentials.get("email") or ""
        try:
            attempt = begin_attempt(login, client_address(request))
            user = super().authenticate(request, **credentials)
            if user is not None and user.is_active and user.is_staff:
                attempt.succeed()
                return user
            request.attempts_left = attempt.fail()  # type: ignore[attr-defined]
        except SignInLocked as locked:
            request.locked_until = locked.until  # type: ignore[attr-defined]
            raise ValidationError(
                self.error_messages["too_many_login_attempts"], code="locked"
            ) from locked
        return None

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Count nothing here: `authenticate` does."""

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Leave the e-mail to the worker, which keeps trying until its link has ended."""
        message = self.render_mail(template_prefix, email, context)
        post_mail(
            to=email,
            subject=str(message.subject),
            body=str(message.body),
            useful_until=now() + timedelta(days=1),
        )

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        return reverse("admin:index")

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("account")


class CodeAdapter(DefaultMFAAdapter):
    """Codes of a second factor, and what is said about wrong ones."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": (
            "This code isn’t right. Check your phone’s clock, or wait for the next code."
        ),
    }
