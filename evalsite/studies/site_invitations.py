"""Invitations to the site itself: administrators give people an account before any study."""

from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.lib.clock import now
from evalsite.studies.invitation_terms import find_expiry
from evalsite.studies.models import Invitation


def list_site_invitations() -> QuerySet[Invitation]:
    """Return those that nobody has accepted and nobody has withdrawn."""
    return Invitation.objects.unanswered().filter(study=None).select_related("created_by")


@transaction.atomic
def invite_researcher(*, key: UUID, label: str, by: Any) -> tuple[Invitation, bool]:
    """Create an invitation to the site under this key; the same key again returns the first one."""
    _insist_on_administrator(by)
    existing = Invitation.objects.filter(pk=key, study=None).first()
    if existing is not None:
        return existing, False
    invitation = Invitation(
        pk=key, study=None, role="", label=label, created_by=by, expires_at=find_expiry()
    )
    invitation.token_hash = Invitation.hash_token(invitation.derive_token())
    invitation.save(force_insert=True)
    AuditEntry.objects.record("researcher invited", by=by, invitation=str(key))
    return invitation, True


@transaction.atomic
def withdraw_site_invitation(*, key: UUID, by: Any) -> bool:
    """End the invitation's link; False if it was accepted or withdrawn before."""
    _insist_on_administrator(by)
    withdrawn = list_site_invitations().filter(pk=key).update(revoked_at=now())
    if withdrawn:
        AuditEntry.objects.record("invitation revoked", by=by, invitation=str(key))
    return bool(withdrawn)


@transaction.atomic
def use_site_invitation(*, invitation: Invitation, token: str, by: Any) -> bool:
    """Use the invitation up for this new account; False if somebody else was quicker."""
    open_ones = Invitation.objects.unanswered().by_token(token).filter(expires_at__gt=now())
    used = open_ones.filter(pk=invitation.pk).update(accepted_at=now(), accepted_by=by)
    if used:
        AuditEntry.objects.record("invitation accepted", by=by, invitation=str(invitation.pk))
    return bool(used)


def _insist_on_administrator(by: Any) -> None:
    if not by.is_superuser:
        raise PermissionDenied
