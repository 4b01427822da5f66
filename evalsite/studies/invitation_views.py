"""The page behind an invitation's link: reading it changes nothing, a button accepts it."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from evalsite.studies.members import accept_invitation
from evalsite.studies.models import Invitation, Membership, TeamRole
from evalsite.studies.team_forms import AccountForm

INVALID, GONE, UNKNOWN = 422, 410, 404
_BACKEND = "django.contrib.auth.backends.ModelBackend"


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def show_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show an open invitation, or say what to do instead."""
    found = Invitation.objects.by_token(token).select_related("study", "created_by")
    invitation = found.first()
    if invitation is None:
        return _close(request, "unknown", UNKNOWN)
    if invitation.state != Invitation.State.OPEN:
        return _refuse(request, invitation)
    form = AccountForm(request.POST if request.POST.get("do") == "create" else None)
    if request.method == "POST":
        return _answer(request, invitation, token, form)
    return _ask(request, invitation, form)


def _answer(
    request: HttpRequest, invitation: Invitation, token: str, form: AccountForm
) -> HttpResponse:
    user = _signed_in(request)
    try:
        if user is not None and request.POST.get("do") == "accept":
            accept_invitation(invitation=invitation, token=token, by=user)
        elif user is None and form.is_valid():
            user = _create_account(invitation, token, form)
            if user is not None:
                login(request, user, backend=_BACKEND)
        else:
            user = None
    except (ValidationError, Invitation.DoesNotExist):
        # accepted, withdrawn or renewed since this page was asked for
        return _keep_secret(redirect("invitation", token))
    if user is None:
        return _ask(request, invitation, form, status=INVALID)
    messages.success(request, "You are on the team of this study.")
    return _keep_secret(redirect("admin:study-overview", invitation.study_id))


@transaction.atomic
def _create_account(invitation: Invitation, token: str, form: AccountForm) -> User | None:
    """Return an account that is on the team; none where the invitation can't be accepted."""
    user = form.create_account()
    if user is not None:
        accept_invitation(invitation=invitation, token=token, by=user)
    return user


def _signed_in(request: HttpRequest) -> Any:
    """Return the user who is signed in as staff, or None."""
    return request.user if admin.site.has_permission(request) else None


def _ask(
    request: HttpRequest, invitation: Invitation, form: AccountForm, status: int = 200
) -> HttpResponse:
    user = _signed_in(request)
    held = Membership.objects.filter(study=invitation.study_id, user=user).first() if user else None
    context = {
        "title": "Invitation",
        "invitation": invitation,
        "form": form,
        "is_signed_in": user is not None,
        "held": held,
        "is_covered": held and held.team_role.rank >= invitation.team_role.rank,
        "sees_identities": invitation.team_role.rank >= TeamRole.EDITOR_WITH_IDENTITIES.rank,
    }
    # After "no-referrer" a browser posts the form with `Origin: null`, which the CSRF check
    # refuses. This policy sends the origin and never the path.
    return _render(request, "studies/invitation.html", context, status, policy="strict-origin")


def _refuse(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    """Say why the link is closed; the person who accepted it goes on to the study instead."""
    user = _signed_in(request)
    is_member = user and Membership.objects.filter(study=invitation.study_id, user=user).exists()
    if is_member and invitation.accepted_by_id == user.pk:
        return _keep_secret(redirect("admin:study-overview", invitation.study_id))
    return _close(request, invitation.state, GONE)


def _close(request: HttpRequest, why: str, status: int) -> HttpResponse:
    context = {"title": "Invitation", "why": why, "is_signed_in": _signed_in(request) is not None}
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
