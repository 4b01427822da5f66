"""What django-allauth asks this site: who may sign in, how often, and where to go afterwards."""

import time
from datetime import timedelta
from typing import Any
from urllib.parse import urljoin, urlsplit

from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.authentication import get_authentication_records
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

from evalsite.core.accounts import encryption
from evalsite.core.accounts.lockout import Attempt, SignInLocked, begin_attempt, find_account
from evalsite.core.audit.account_log import record_account
from evalsite.core.audit.models import Event
from evalsite.core.jobs.outbox import post_mail
from evalsite.core.rate_limits import client_address
from evalsite.lib.clock import now

# what is recorded of the last step of signing in
_WAYS = {
    "password": "password",
    "socialaccount": "sso",
    "totp": "code",
    "recovery_codes": "recovery",
}
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
        account = find_account(login) or login
        try:
            attempt = begin_attempt(account, client_address(request))
        except SignInLocked as locked:
            raise self.refuse_locked(request, locked) from locked
        user: User | None = super().authenticate(request, **credentials)
        if user is not None and user.is_active and user.is_staff:
            attempt.succeed()
            return user
        self.fail_attempt(request, attempt, account, "password")
        return None

    def fail_attempt(
        self, request: HttpRequest, attempt: Attempt, account: User | str, way: str
    ) -> None:
        """Record that it has failed; raise an error if that was the last one."""
        try:
            request.attempts_left = attempt.fail()  # type: ignore[attr-defined]
        except SignInLocked as locked:
            record_account(Event.LOCKED, account, request, way)
            raise self.refuse_locked(request, locked) from locked
        record_account(Event.FAILED, account, request, way)

    def refuse_locked(self, request: HttpRequest, locked: SignInLocked) -> ValidationError:
        """Note on the request until when it is locked, and return the error that says so."""
        request.locked_until = locked.until  # type: ignore[attr-defined]
        return ValidationError(self.error_messages["too_many_login_attempts"], code="locked")

    def post_login(
        self, request: HttpRequest, user: User, *, signup: bool, **hooks: Any
    ) -> HttpResponseBase:
        """Record that this person has signed in, or has got an account."""
        response: HttpResponseBase = super().post_login(request, user, signup=signup, **hooks)
        records = get_authentication_records(request, user)
        step = records[-1] if records else {}
        way = _WAYS.get(step.get("type") or step.get("method", ""), "")
        if signup:
            record_account(Event.MADE, user, request, way or "invitation")
        else:
            record_account(Event.SIGNED_IN, user, request, way)
        return response

    def is_reauthentication_required(self, *, app: str, **kwargs: Any) -> bool:
        """Return whether the password or a code was last given more than five minutes ago."""
        request = context.request
        times = [
            record["at"]
            for record in get_authentication_records(request, request.user)
            if record["method"] in ("password", "mfa")
        ]
        passed = time.time() - max(times, default=0)
        return not 0 <= passed < app_settings.REAUTHENTICATION_TIMEOUT

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

    def get_reset_password_from_key_url(self, key: str) -> str:
        """Return the link that is sent, at this site's address whatever the request called it."""
        url = urlsplit(super().get_reset_password_from_key_url(key))
        return urljoin(settings.SITE_ADDRESS, url.path)

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        return reverse("admin:index")

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("account")


class CodeAdapter(DefaultMFAAdapter):
    """Codes of a second factor: how they are stored, and what is said about wrong ones."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": (
            "This code isn’t right. Check your phone’s clock, or wait for the next code."
        ),
    }

    def encrypt(self, text: str) -> str:
        return encryption.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        return encryption.decrypt(encrypted_text)
