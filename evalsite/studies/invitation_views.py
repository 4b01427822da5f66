"""The pages behind one-time links to an account: reading changes nothing, a button accepts."""

from typing import Any

from allauth.account.utils import perform_login
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from evalsite.core.accounts.first_administrator import (
    LinkState,
    make_first_administrator,
    read_link,
)
from evalsite.studies.members import accept_invitation
from evalsite.studies.models import Invitation, Membership, Study, TeamRole
from evalsite.studies.roles import list_powers
from evalsite.studies.site_invitations import use_site_invitation
from evalsite.studies.staff_pages import find_home
from evalsite.studies.team_forms import AccountForm, AnswerForm

INVALID, GONE, UNKNOWN = 422, 410, 404


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def show_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show an open invitation, or say what to do instead."""
    invitations = Invitation.objects.by_token(token).select_related("study", "created_by")
    invitation = invitations.first()
    if invitation is None:
        return _close(request, "unknown", UNKNOWN)
    if invitation.state != Invitation.State.OPEN:
        return _refuse(request, invitation)
    does = AnswerForm(request.POST).read("do")
    form = AccountForm(
        request.POST if does == "create" else None,
        initial={"email": _address_in(invitation)},
    )
    if request.method == "POST":
        return _answer(request, invitation, token, form)
    return _ask(request, invitation, form)


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def show_first_link(request: HttpRequest, token: str) -> HttpResponse:
    """Let the person who installed this site make the first administrator's account, once."""
    state = read_link(token)
    if state != LinkState.OPEN:
        status = UNKNOWN if state == LinkState.UNKNOWN else GONE
        closed = {"title": "First account", "state": state}
        return _render(request, "studies/first_link_closed.html", closed, status)
    form = AccountForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        user = make_first_administrator(token, form.create_account)
        if user is not None:
            perform_login(request, user, signup=True)
            messages.success(request, "Your account is ready. You are this site’s administrator.")
            return _keep_secret(redirect("admin:index"))
        if not form.errors:  # somebody was quicker
            return _keep_secret(redirect("first-administrator", token))
    status = INVALID if request.method == "POST" else 200
    context = {"title": "First account", "form": form}
    return _render(request, "studies/first_link.html", context, status, policy="strict-origin")


def _answer(
    request: HttpRequest, invitation: Invitation, token: str, form: AccountForm
) -> HttpResponse:
    user = _signed_in(request)
    try:
        if user is not None and AnswerForm(request.POST).read("do") == "accept":
            _accept(invitation, token, user)
        elif user is None and form.is_valid():
            user = _create_account(invitation, token, form)
            if user is not None:
                perform_login(request, user, signup=True)
        else:
            user = None
    except (ValidationError, Invitation.DoesNotExist):
        # accepted, withdrawn or renewed since this page was asked for
        return _keep_secret(redirect("invitation", token))
    if user is None:
        return _ask(request, invitation, form, status=INVALID)
    if invitation.study_id is None:
        messages.success(request, "Your account is ready.")
        return _keep_secret(redirect("admin:index"))
    messages.success(request, "You are on the team of this study.")
    return _open_study(invitation)


@transaction.atomic
def _create_account(invitation: Invitation, token: str, form: AccountForm) -> User | None:
    """Return an account that is on the team; none where the invitation can't be accepted."""
    user = form.create_account()
    if user is not None:
        _accept(invitation, token, user)
    return user


def _accept(invitation: Invitation, token: str, user: User) -> None:
    if invitation.study_id is not None:
        accept_invitation(invitation=invitation, token=token, by=user)
    elif not use_site_invitation(invitation=invitation, token=token, by=user):
        raise ValidationError("This invitation isn't open.")


def _signed_in(request: HttpRequest) -> Any:
    """Return the user who is signed in as staff, or None."""
    return request.user if admin.site.has_permission(request) else None


def _ask(
    request: HttpRequest, invitation: Invitation, form: AccountForm, status: int = 200
) -> HttpResponse:
    user = _signed_in(request)
    membership = (
        Membership.objects.filter(study=invitation.study_id, user=user).first() if user else None
    )
    address = _address_in(invitation)
    is_own = user is None or user.email.lower() == address.lower()
    context: dict[str, Any] = {
        "title": "Invitation",
        "other_address": "" if is_own else address,
        "invitation": invitation,
        "form": form,
        "is_signed_in": user is not None,
        "held": membership,
        # an account is all that an invitation to the site gives
        "is_covered": user is not None and invitation.study_id is None,
    }
    if invitation.study_id is not None:
        role = invitation.team_role
        may, may_not = list_powers(role)
        context |= {
            "is_covered": membership and membership.team_role.rank >= role.rank,
            "sees_identities": role.rank >= TeamRole.EDITOR_WITH_IDENTITIES.rank,
            "may": may,
            "may_not": may_not,
        }
    # After "no-referrer" a browser posts the form with `Origin: null`, which the CSRF check
    # refuses. This policy sends the origin and never the path.
    return _render(request, "studies/invitation.html", context, status, policy="strict-origin")


def _open_study(invitation: Invitation) -> HttpResponse:
    study = Study.objects.get(invitations=invitation)
    return _keep_secret(redirect(f"admin:{find_home(study)}", study.pk))


def _address_in(invitation: Invitation) -> str:
    """Return the e-mail address that the invitation is for, if its label is one."""
    return invitation.label if "@" in invitation.label else ""


def _refuse(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    """Say why the link is closed; the person who accepted it goes on to what it gave instead."""
    user = _signed_in(request)
    if user and invitation.accepted_by_id == user.pk:
        if invitation.study_id is None:
            return _keep_secret(redirect("admin:index"))
        if Membership.objects.filter(study=invitation.study_id, user=user).exists():
            return _open_study(invitation)
    return _close(request, invitation.state, GONE, invitation)


def _close(
    request: HttpRequest, why: str, status: int, invitation: Invitation | None = None
) -> HttpResponse:
    """Say why the link is closed, and when, but not to which study and by whom."""
    context = {
        "title": "Invitation",
        "why": why,
        "is_to_a_study": invitation is not None and invitation.study_id is not None,
        "expired_at": invitation.expires_at if invitation else None,
        "accepted_at": invitation.accepted_at if invitation else None,
        "is_signed_in": _signed_in(request) is not None,
    }
    return _render(request, "studies/invitation_closed.html", context, status)


def _render(
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    status: int,
    policy: str = "no-referrer",
) -> HttpResponse:
    context = {**admin.site.each_context(request), **context}
    return _keep_secret(render(request, template, context, status=status), policy)


def _keep_secret(response: HttpResponse, policy: str = "no-referrer") -> HttpResponse:
    """Keep the address of this page from other sites, and the page out of caches."""
    response.headers["Referrer-Policy"] = policy
    response.headers["Cache-Control"] = "no-store"
    return response
