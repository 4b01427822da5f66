"""django-allauth's pages: each records what it did, and refuses with 422 or 429."""

from typing import Any

from allauth.account import views as account_views
from allauth.account.decorators import reauthentication_required
from allauth.core.exceptions import ReauthenticationRequired
from allauth.mfa.base import views as mfa_views
from allauth.mfa.recovery_codes import views as code_views
from allauth.mfa.totp import views as totp_views
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from evalsite.core.accounts.lockout import ATTEMPTS
from evalsite.core.audit.account_log import record_account
from evalsite.core.audit.models import Event
from evalsite.core.mail import is_mail_on
from evalsite.lib.clock import now

INVALID, LOCKED = 422, 429


class Refusal:
    """Answer 422 to a wrong entry, and 429 after too many."""

    request: HttpRequest

    def form_invalid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_invalid(form)  # type: ignore[misc]
        until = getattr(self.request, "locked_until", None)
        response.status_code = LOCKED if until else INVALID
        if until:
            response.headers["Retry-After"] = str(int((until - now()).total_seconds()) + 1)
        return response


class Recorded(Refusal):
    """A page whose success is one line of the log of accounts."""

    event = Event.CHANGED
    detail = ""

    def form_valid(self, form: Any) -> HttpResponseBase:
        account = self.get_account(form)
        response: HttpResponseBase = super().form_valid(form)  # type: ignore[misc]
        record_account(self.event, account, self.request, self.detail)
        return response

    def get_account(self, form: Any) -> User | str:
        user: Any = self.request.user
        return user


class SignIn(Refusal, account_views.LoginView):
    """Sign in, and say how many attempts are left or until when it is locked."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {
            "locked_until": getattr(self.request, "locked_until", None),
            "attempts_left": getattr(self.request, "attempts_left", None),
            "attempts": ATTEMPTS,
            "has_mail": is_mail_on(),
            "organisation": find_organisation(),
        }


def find_organisation() -> dict[str, str] | None:
    """Return the name of the organisation and where signing in with it starts."""
    if not settings.SSO_SERVER:
        return None
    return {"name": settings.SSO_NAME, "url": reverse("openid_connect_login", args=["sso"])}


class EnterCode(Refusal, mfa_views.AuthenticateView):
    """Sign in with a code, after the password."""


class _Confirmation(Refusal):
    """Confirm who it is. A form that waited for this is sent at once, and recorded instead."""

    detail = ""

    def form_valid(self, form: Any) -> HttpResponseBase:
        response: HttpResponseBase = super().form_valid(form)  # type: ignore[misc]
        if not getattr(self.request, "is_in_account_log", False):
            user: Any = self.request.user
            record_account(Event.CONFIRMED, user, self.request, self.detail)
        return response


class Confirm(_Confirmation, account_views.ReauthenticateView):
    detail = "password"


class ConfirmWithCode(_Confirmation, mfa_views.ReauthenticateView):
    detail = "code"


class PasswordForgotten(Recorded, account_views.PasswordResetView):
    """Send a link for a new password; where no mail is sent, say whom to ask."""

    event = Event.RESET_ASKED

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"has_mail": is_mail_on()}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not is_mail_on():
            return self.get(request, *args, **kwargs)
        response: HttpResponseBase = super().post(request, *args, **kwargs)
        return response

    def get_account(self, form: Any) -> User | str:
        return form.users[0] if len(form.users) == 1 else form.cleaned_data["email"]


class NewPassword(Recorded, account_views.PasswordResetFromKeyView):
    """Choose a new password by an e-mailed link."""

    event = Event.RESET

    def get_account(self, form: Any) -> User | str:
        user: User = self.reset_user
        return user


class PasswordChange(Recorded, account_views.PasswordChangeView):
    detail = "password"


def confirmed_before(view: Any) -> Any:
    """Ask for the code before the form is shown: no new password is kept while one confirms."""
    confirmed = reauthentication_required(view)

    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            response: HttpResponseBase = confirmed(request, *args, **kwargs)
        except ReauthenticationRequired:
            if request.method == "POST":
                return redirect(request.path)
            raise
        return response

    return guarded


class FirstPassword(Recorded, account_views.PasswordSetView):
    """Choose a password, where so far an organisation has signed this person in."""

    detail = "password"


class TwoFactorOn(Recorded, totp_views.ActivateTOTPView):
    detail = "two-factor-on"


class TwoFactorOff(Recorded, totp_views.DeactivateTOTPView):
    detail = "two-factor-off"


class NewCodes(Recorded, code_views.GenerateRecoveryCodesView):
    detail = "codes"
