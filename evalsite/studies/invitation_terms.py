"""For how long invitations work, and the message that brings one."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse

from evalsite.core.jobs.outbox import find_refused, post_mail
from evalsite.core.mail import is_mail_on
from evalsite.lib.clock import now
from evalsite.studies.models import Invitation


def find_expiry() -> datetime:
    """Return until when an invitation that is created now can be accepted."""
    return now() + timedelta(days=settings.INVITATION_DAYS)


def link_of(request: HttpRequest, invitation: Invitation) -> str:
    """Return the address to send; empty where it would open nothing."""
    if not invitation.token or invitation.state != Invitation.State.OPEN:
        return ""
    return request.build_absolute_uri(reverse("invitation", args=[invitation.token]))


def mail_invitation(request: HttpRequest, invitation: Invitation) -> bool:
    """Send the link if the invitation is for an address; return whether it is on its way."""
    try:
        validate_email(invitation.label)
    except ValidationError:
        return False
    if not is_mail_on():
        return False
    subject, _, body = render_to_string(
        "studies/invitation_mail.txt",
        {"invitation": invitation, "link": link_of(request, invitation)},
    ).partition("\n")
    post_mail(to=invitation.label, subject=subject, body=body, useful_until=invitation.expires_at)
    return True


def find_refused_invitations(invitations: Sequence[Invitation]) -> set[Invitation]:
    """Return the invitations whose address the mail server has refused since they were made."""
    refused = find_refused([invitation.label for invitation in invitations])
    return {
        invitation
        for invitation in invitations
        if invitation.label in refused and refused[invitation.label] >= invitation.created_at
    }
