"""Records, Invitations: administrators invite people without a study."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_http_methods

from evalsite.core.mail import is_mail_on
from evalsite.studies.invitation_terms import (
    find_refused_invitations,
    link_of,
    mail_invitation,
)
from evalsite.studies.site_invitations import (
    invite_researcher,
    list_site_invitations,
    withdraw_site_invitation,
)
from evalsite.studies.team_forms import ResearcherForm, WithdrawForm

INVALID = 422


@require_http_methods(["GET", "HEAD", "POST"])
def show_site_invitations(request: HttpRequest) -> HttpResponseBase:
    """List open invitations to the site; create or withdraw one."""
    user: Any = request.user
    if not user.is_superuser:
        raise PermissionDenied
    withdrawn = WithdrawForm(request.POST).read("withdraw")
    if withdrawn is not None:
        return _withdraw(request, user, withdrawn)
    form = ResearcherForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        invitation, is_new = invite_researcher(by=user, **form.cleaned_data)
        if is_new and mail_invitation(request, invitation):
            messages.success(request, f"We’re sending the link to {invitation.label}.")
        else:
            messages.success(request, "The link is ready. Copy it below and send it yourself.")
        return redirect("admin:site-invitations")
    invitations = list(list_site_invitations())
    refused = find_refused_invitations(invitations)
    context = {
        "form": form,
        "invitations": [
            (invitation, link_of(request, invitation), invitation in refused)
            for invitation in invitations
        ],
        "has_mail": is_mail_on(),
    }
    status = INVALID if request.method == "POST" else 200
    return TemplateResponse(request, "studies/site_invitations.html", context, status=status)


def _withdraw(request: HttpRequest, user: Any, text: str) -> HttpResponseBase:
    try:
        key = UUID(text)
    except ValueError:
        key = None
    if key is not None and withdraw_site_invitation(key=key, by=user):
        messages.success(request, "The invitation is withdrawn. Its link no longer works.")
    else:
        messages.error(request, "This invitation has been accepted or withdrawn before.")
    return redirect("admin:site-invitations")
