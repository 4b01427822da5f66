"""Pages for signing in, and one's own account."""

from typing import Any

from allauth.account.views import LoginView, PasswordResetView
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.accounts.adapter import AccountAdapter
from evalsite.accounts.addresses import change_address, read_address, sign_address
from evalsite.accounts.forms import ProfileForm
from evalsite.accounts.lockout import ATTEMPTS
from evalsite.accounts.models import MailChoice
from evalsite.accounts.sessions import end_sessions, list_devices
from evalsite.lib.clock import now
from evalsite.lib.mail import is_mail_on

INVALID, LOCKED = 422, 429


class SignIn(LoginView):
    """Sign in, and say how many attempts are left or until when it is locked."""

    def form_invalid(self, form: Any) -> HttpResponse:
        response: Any = super().form_invalid(form)
        until = getattr(self.request, "locked_until", None)
        response.status_code = LOCKED if until else INVALID
        if until:
            response.headers["Retry-After"] = str(int((until - now()).total_seconds()) + 1)
        return response

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


@require_safe
def show_cancelled(request: HttpRequest) -> HttpResponseBase:
    """Say that the organisation didn't sign this person in."""
    return TemplateResponse(request, "account/sso_refused.html", {"has_failed": True})


class PasswordForgotten(PasswordResetView):
    """Send a link for a new password; where no mail is sent, say whom to ask."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"has_mail": is_mail_on()}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not is_mail_on():
            return self.get(request, *args, **kwargs)
        response: HttpResponseBase = super().post(request, *args, **kwargs)
        return response


def staff_required(view: Any) -> Any:
    """Show the view to members of staff; others sign in first."""

    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not admin.site.has_permission(request):
            return redirect_to_login(request.get_full_path(), reverse("admin:login"))
        response: HttpResponseBase = view(request, *args, **kwargs)
        return response

    return guarded


def two_factor_required(view: Any) -> Any:
    """Show the view while two-factor sign-in is on; after it was turned off, the account."""

    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated and not is_mfa_enabled(request.user):
            return redirect("account")
        response: HttpResponseBase = view(request, *args, **kwargs)
        return response

    return guarded


@staff_required
@require_http_methods(["GET", "HEAD", "POST"])
def show_account(request: HttpRequest) -> HttpResponseBase:
    """Show the account, and change the name or the address."""
    user: Any = request.user
    is_post = request.method == "POST"
    form = ProfileForm(request.POST if is_post else None, user=user)
    if is_post and form.is_valid():
        _save_profile(request, user, form.cleaned_data)
        return redirect("account")
    user = User.objects.get(pk=user.pk) if is_post else user
    devices = list_devices(request)
    codes = Authenticator.objects.filter(user=user)
    kinds = {one.type: one for one in codes}
    recovery = kinds.get(Authenticator.Type.RECOVERY_CODES)
    context = {
        "form": form,
        "account": user,
        "devices": devices,
        "two_factor": kinds.get(Authenticator.Type.TOTP),
        "codes_left": len(recovery.wrap().get_unused_codes()) if recovery else 0,
        "has_mail": is_mail_on(),
    }
    return TemplateResponse(
        request, "account/account.html", context, status=INVALID if is_post else 200
    )


def _save_profile(request: HttpRequest, user: User, data: dict[str, str]) -> None:
    """Store the name; a new address counts at once only where no mail can confirm it."""
    user.first_name, user.last_name, user.username = data["name"], "", data["username"]
    user.save(update_fields=["first_name", "last_name", "username"])
    if data["mail"]:
        MailChoice.objects.update_or_create(user=user, defaults={"when": data["mail"]})
    email = data["email"]
    if email == user.email.lower():
        messages.success(request, "Saved.")
    elif email and is_mail_on():
        link = reverse("account-email", args=[sign_address(user, email)])
        AccountAdapter(request).send_mail(
            "account/email/new_address",
            email,
            {"account": user, "link": request.build_absolute_uri(link)},
        )
        meanwhile = " Until then, the old address works." if user.email else ""
        messages.success(request, f"Open the link that we sent to {email}.{meanwhile}")
    else:
        change_address(user, email)
        messages.success(request, "Saved.")


@require_http_methods(["GET", "HEAD", "POST"])
def confirm_address(request: HttpRequest, token: str) -> HttpResponseBase:
    """Make the new address the account's own: mail scanners open links, so it takes a button."""
    user, email = read_address(token)
    is_post = request.method == "POST"
    is_taken = user is not None and User.objects.exclude(pk=user.pk).filter(email__iexact=email)
    if user is not None and not is_taken and is_post:
        change_address(user, email)
        messages.success(request, f"Your address is now {email}.")
        return redirect("account")
    context = {"account": user, "email": email, "is_taken": bool(is_taken)}
    status = 200 if user is not None and not is_taken else 410
    return TemplateResponse(request, "account/confirm_address.html", context, status=status)


@staff_required
@require_POST
def sign_out_sessions(request: HttpRequest) -> HttpResponseBase:
    """Sign out on one other device, or on all others."""
    out = request.POST.get("out", "")
    if out == "others":
        count = end_sessions(request)
    elif out.isascii() and out.isdigit() and len(out) < 10:
        count = end_sessions(request, only=int(out))
    else:
        count = 0
    if count:
        messages.success(
            request, "Signed out there." if count == 1 else f"Signed out on {count} other devices."
        )
    else:
        messages.success(request, "Nobody is signed in there any more.")
    return redirect("account")
