"""Pages for signing in, and one's own account."""

from typing import Any
from urllib.parse import urljoin

from allauth.account.decorators import reauthentication_required
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.core.accounts.adapter import AccountAdapter
from evalsite.core.accounts.addresses import change_address, read_address, sign_address
from evalsite.core.accounts.allauth_views import INVALID
from evalsite.core.accounts.forms import PROFILE, ProfileForm, SessionForm
from evalsite.core.accounts.lockout import find_account, find_accounts
from evalsite.core.accounts.models import MailChoice, Profile
from evalsite.core.accounts.sessions import end_sessions, list_devices
from evalsite.core.audit.account_log import KEPT_FOR, list_events, record_account
from evalsite.core.audit.models import AccountEvent, Event
from evalsite.core.mail import is_mail_on

RECENT_EVENTS, EVENTS_ON_PAGE = 10, 100


@require_safe
def show_cancelled(request: HttpRequest) -> HttpResponseBase:
    """Say that the organisation didn't sign this person in."""
    return TemplateResponse(request, "account/sso_refused.html", {"has_failed": True})


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
        save = reauthentication_required(_save_profile) if form.changes_sign_in else _save_profile
        response: HttpResponseBase = save(request, user, form.cleaned_data)
        return response
    user = User.objects.get(pk=user.pk) if is_post else user
    devices = list_devices(request)
    by_type = {factor.type: factor for factor in Authenticator.objects.filter(user=user)}
    recovery = by_type.get(Authenticator.Type.RECOVERY_CODES)
    context = {
        "form": form,
        "account": user,
        "devices": devices,
        "two_factor": by_type.get(Authenticator.Type.TOTP),
        "codes_left": len(recovery.wrap().get_unused_codes()) if recovery else 0,
        "has_mail": is_mail_on(),
        "events": list_events(user)[:RECENT_EVENTS],
    }
    return TemplateResponse(
        request, "account/account.html", context, status=INVALID if is_post else 200
    )


def _save_profile(request: HttpRequest, user: User, data: dict[str, str]) -> HttpResponseBase:
    """Store the name; a new address counts at once only where no mail can confirm it."""
    changed = ["username"] if data["username"] != user.username else []
    user.first_name, user.last_name, user.username = data["name"], "", data["username"]
    user.save(update_fields=["first_name", "last_name", "username"])
    Profile.objects.update_or_create(user=user, defaults={name: data[name] for name in PROFILE})
    if data["mail"]:
        MailChoice.objects.update_or_create(user=user, defaults={"when": data["mail"]})
    email, event = data["email"], Event.CHANGED
    if email == user.email.lower():
        messages.success(request, "Saved.")
    elif email and is_mail_on():
        event = Event.EMAIL_ASKED
        _send_link(request, user, email)
    else:
        changed.append("email")
        change_address(user, email, request)
        messages.success(request, "Saved.")
    if event == Event.CHANGED and not changed:
        changed = ["profile"]
    record_account(event, user, request, ",".join(changed))
    return redirect("account")


def _send_link(request: HttpRequest, user: User, email: str) -> None:
    """Send the link that makes this the account's address."""
    link = reverse("account-email", args=[sign_address(user, email)])
    AccountAdapter(request).send_mail(
        "account/email/new_address",
        email,
        {"account": user, "link": urljoin(settings.SITE_ADDRESS, link)},
    )
    meanwhile = " Until then, the old address works." if user.email else ""
    messages.success(request, f"Open the link that we sent to {email}.{meanwhile}")


@require_http_methods(["GET", "HEAD", "POST"])
def confirm_address(request: HttpRequest, token: str) -> HttpResponseBase:
    """Make the new address the account's own: mail scanners open links, so it takes a button."""
    user, email = read_address(token)
    is_post = request.method == "POST"
    is_taken = user is not None and find_accounts(email).exclude(pk=user.pk).exists()
    if user is not None and not is_taken and is_post:
        change_address(user, email, request)
        record_account(Event.CHANGED, user, request, "email")
        messages.success(request, f"Your address is now {email}.")
        return redirect("account")
    context = {"account": user, "email": email, "is_taken": is_taken}
    status = 200 if user is not None and not is_taken else 410
    return TemplateResponse(request, "account/confirm_address.html", context, status=status)


@staff_required
@require_POST
@reauthentication_required
def sign_out_sessions(request: HttpRequest) -> HttpResponseBase:
    """Sign out on one other device, or on all others."""
    user: Any = request.user
    form = SessionForm(request.POST)
    out = form.cleaned_data["out"] if form.is_valid() else None
    if out == "others":
        count = end_sessions(request)
    else:
        count = end_sessions(request, only=int(out)) if out else 0
    if count:
        record_account(Event.SESSIONS_ENDED, user, request)
        messages.success(
            request, "Signed out there." if count == 1 else f"Signed out on {count} other devices."
        )
    else:
        messages.success(request, "Nobody is signed in there any more.")
    return redirect("account")


def show_sign_ins(request: HttpRequest) -> HttpResponseBase:
    """Show administrators the log of all accounts, or of one."""
    if not request.user.is_superuser:
        raise PermissionDenied
    name = request.GET.get("account", "")
    account = find_account(name) if name else None
    events = list_events(account) if account else AccountEvent.objects.all()
    page = Paginator(events, EVENTS_ON_PAGE).get_page(request.GET.get("page"))
    names = User.objects.in_bulk({event.account_id for event in page if event.account_id})
    context = {
        "rows": page,
        "events": [(event, names.get(event.account_id)) for event in page],
        "account": account,
        "days": KEPT_FOR.days,
    }
    return TemplateResponse(request, "admin/sign_ins.html", context)
