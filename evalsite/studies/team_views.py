"""Staff pages: who works on a study, and changing that."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.studies.invitation_terms import (
    find_refused_invitations,
    link_of,
    mail_invitation,
)
from evalsite.studies.members import (
    StepDown,
    change_role,
    hand_over,
    invite_colleague,
    is_last_owner,
    list_members,
    remove_member,
    renew_invitation,
    revoke_invitation,
)
from evalsite.studies.models import Invitation, Membership, Study, TeamRole
from evalsite.studies.roles import ROLE_TABLE
from evalsite.studies.setting_changes import change_settings
from evalsite.studies.staff_pages import has_role, study_page
from evalsite.studies.team_forms import HandOverForm, InviteForm, NoteForm, RenewForm, RoleForm

INVALID = 422
_EDITOR, _OWNER = Membership.Role.EDITOR, Membership.Role.OWNER
_MEMBER, _INVITATION = "team/<int:member_id>/", "team/invitations/<uuid:invitation_id>/"


@study_page("team/", name="study-team", tab="Team")
@require_safe
def show_team(request: HttpRequest, study: Study) -> HttpResponseBase:
    return _show_team(request, study, InviteForm())


def _show_team(
    request: HttpRequest,
    study: Study,
    form: InviteForm,
    status: int = 200,
    note_form: NoteForm | None = None,
) -> TemplateResponse:
    is_owner = has_role(request, study, Membership.Role.OWNER)
    invitations = list(study.invitations.unanswered().select_related("created_by"))
    refused = find_refused_invitations(invitations) if is_owner else set()
    context: dict[str, Any] = {
        "members": list_members(study),
        "invitations": [
            (invitation, link_of(request, invitation) if is_owner else "", invitation in refused)
            for invitation in invitations
        ],
        "is_owner": is_owner,
        "form": form,
        "note_form": note_form or NoteForm(initial={"description": study.description}),
        "roles": list(TeamRole),
        "powers": ROLE_TABLE,
    }
    return TemplateResponse(request, "studies/team.html", context, status=status)


@study_page("team/note/", name="team-note", role=_EDITOR)
@require_POST
def save_note(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Save the team's note on the study."""
    form = NoteForm(request.POST)
    if not form.is_valid():
        return _show_team(request, study, InviteForm(), status=INVALID, note_form=form)
    change_settings(study=study, values=form.cleaned_data, by=request.user)
    messages.success(request, "Note saved.")
    return redirect("admin:study-team", study.pk)


# --- invitations --------------------------------------------------------------------


@study_page("team/invite/", name="team-invite", role=_OWNER, within="Team")
@require_POST
def invite(request: HttpRequest, study: Study) -> HttpResponseBase:
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _show_team(request, study, form, status=INVALID)
    is_repeat = Invitation.objects.filter(pk=form.cleaned_data["key"]).exists()
    try:
        invitation = invite_colleague(study=study, by=request.user, **form.cleaned_data)
    except ValidationError as error:
        _show_errors(request, error)
    else:
        if not is_repeat and mail_invitation(request, invitation):
            messages.success(request, f"We’re sending the link to {invitation.label}.")
        else:
            messages.success(request, "The link is ready. Copy it below and send it yourself.")
    return redirect("admin:study-team", study.pk)


@study_page(_INVITATION, name="team-invitation", role=_OWNER, within="Team")
@require_safe
def show_invitation(request: HttpRequest, study: Study, invitation_id: UUID) -> HttpResponseBase:
    """Renew or withdraw an invitation that hasn't been accepted."""
    invitation = get_object_or_404(study.invitations.unanswered(), pk=invitation_id)
    context = {"invitation": invitation, "link": link_of(request, invitation)}
    return TemplateResponse(request, "studies/team_invitation.html", context)


@study_page(f"{_INVITATION}renew/", name="invitation-renew", role=_OWNER)
@require_POST
def renew(request: HttpRequest, study: Study, invitation_id: UUID) -> HttpResponseBase:
    invitation = get_object_or_404(Invitation, study=study, pk=invitation_id)
    form = RenewForm(request.POST)
    try:
        if not form.is_valid():
            raise ValidationError("Nothing was changed. Reload the page, then try again.")
        generation = int(form.cleaned_data["generation"])
        renew_invitation(invitation=invitation, generation=generation, by=request.user)
    except ValidationError as error:
        _show_errors(request, error)
    else:
        messages.success(request, "There is a new link. The old one no longer works.")
    return redirect("admin:study-team", study.pk)


@study_page(f"{_INVITATION}revoke/", name="invitation-revoke", role=_OWNER)
@require_POST
def revoke(request: HttpRequest, study: Study, invitation_id: UUID) -> HttpResponseBase:
    invitation = get_object_or_404(Invitation, study=study, pk=invitation_id)
    try:
        revoke_invitation(invitation=invitation, by=request.user)
    except ValidationError as error:
        _show_errors(request, error)
    else:
        messages.success(request, "The invitation is withdrawn. Its link no longer works.")
    return redirect("admin:study-team", study.pk)


# --- members ------------------------------------------------------------------------


# a member's own page too: it is where they leave
@study_page(_MEMBER, name="study-member", within="Team")
@require_safe
def show_member(request: HttpRequest, study: Study, member_id: int) -> HttpResponseBase:
    """Show a member's role and removal, before either is changed; for others, leaving."""
    membership = get_object_or_404(list_members(study), pk=member_id)
    is_owner = has_role(request, study, Membership.Role.OWNER)
    is_own = membership.user_id == request.user.pk
    if not (is_owner or is_own):
        raise PermissionDenied
    context = {
        "membership": membership,
        "is_own": is_own,
        "is_last_owner": is_last_owner(membership),
        "form": RoleForm(initial={"role": membership.team_role.value}) if is_owner else None,
        "open_links": study.invitations.unanswered().count(),
    }
    return TemplateResponse(request, "studies/team_member.html", context)


@study_page(f"{_MEMBER}role/", name="member-role", role=_OWNER)
@require_POST
def save_role(request: HttpRequest, study: Study, member_id: int) -> HttpResponseBase:
    membership = get_object_or_404(list_members(study), pk=member_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Nothing was changed. Choose one of the roles.")
        return redirect("admin:study-member", study.pk, member_id)
    role = form.cleaned_data["role"]
    try:
        changed = change_role(membership=membership, role=role, by=request.user)
    except ValidationError as error:
        _show_errors(request, error)
    else:
        message = f"{membership.user.get_username()}’s role is now {role.label}."
        messages.success(request, message if changed else "Nothing was changed.")
    return redirect("admin:study-team", study.pk)


@study_page(f"{_MEMBER}remove/", name="member-remove")
@require_POST
def remove(request: HttpRequest, study: Study, member_id: int) -> HttpResponseBase:
    """Remove a member, or leave. Removing someone twice is no error."""
    membership = list_members(study).filter(pk=member_id).first()
    if membership is None:
        if not has_role(request, study, Membership.Role.OWNER):
            raise PermissionDenied
        messages.success(request, "This person is not on the team.")
        return redirect("admin:study-team", study.pk)
    try:
        remove_member(membership=membership, by=request.user)
    except ValidationError as error:
        _show_errors(request, error)
        return redirect("admin:study-team", study.pk)
    name = membership.user.get_username()
    is_own = membership.user_id == request.user.pk
    message = "You have left the study." if is_own else f"{name} isn’t on the team any more."
    return _return_from(request, study, message)


@study_page("team/hand-over/", name="study-hand-over", role=_OWNER, within="Team")
@require_http_methods(["GET", "HEAD", "POST"])
def show_hand_over(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Make another member an owner and, if wanted, step down."""
    members = list_members(study).filter(user__is_active=True).exclude(user_id=request.user.pk or 0)
    is_post = request.method == "POST"
    is_member = list_members(study).filter(user_id=request.user.pk or 0).exists()
    form = HandOverForm(request.POST if is_post else None, members=members, is_member=is_member)
    if is_post and form.is_valid():
        try:
            hand_over(
                study=study, by=request.user, **{"step_down": StepDown.OWNER} | form.cleaned_data
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            return _return_from(request, study, "The study has been handed over.")
    return TemplateResponse(
        request,
        "studies/hand_over.html",
        {"form": form, "has_others": members.exists()},
        status=INVALID if is_post else 200,
    )


def _return_from(request: HttpRequest, study: Study, message: str) -> HttpResponseBase:
    """Return to the team page, or to the list of studies if the user has left this one."""
    messages.success(request, message)
    if Study.objects.visible_to(request.user).filter(pk=study.pk).exists():
        return redirect("admin:study-team", study.pk)
    return redirect("admin:index")


def _show_errors(request: HttpRequest, error: ValidationError) -> None:
    for problem in error.messages:
        messages.error(request, problem)
