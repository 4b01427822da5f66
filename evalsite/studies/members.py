"""Who works on a study: invitations, roles, leaving, and handing it over.

Every change locks the study first, so that two owners can't demote each other at one moment and
leave a study without any.
"""

from enum import StrEnum
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.lib.clock import now
from evalsite.studies.invitation_terms import find_expiry
from evalsite.studies.models import Invitation, Membership, Study, TeamRole


class StepDown(StrEnum):
    """What becomes of the owner who hands a study over."""

    OWNER = "owner"
    EDITOR = "editor"
    LEAVE = "leave"


def list_members(study: Study) -> QuerySet[Membership]:
    """Return the study's members, by user name."""
    return study.memberships.select_related("user").order_by("user__username")


# --- invitations --------------------------------------------------------------------


@transaction.atomic
def invite_colleague(
    *, study: Study, key: UUID, role: TeamRole, label: str = "", by: Any
) -> Invitation:
    """Create an invitation under this key; the same key again returns the first one."""
    _lock_team(study, by)
    existing = Invitation.objects.filter(pk=key).first()
    if existing is not None:
        if existing.study_id != study.pk:
            raise ValidationError("Reload the page, then invite again.", code="key_is_taken")
        return existing
    invitation = Invitation(
        pk=key,
        study=study,
        label=label,
        created_by=by,
        expires_at=find_expiry(),
        **role.columns,
    )
    invitation.token_hash = Invitation.hash_token(invitation.derive_token())
    invitation.save(force_insert=True)
    _record("member invited", study, by, invitation=str(key), role=role)
    return invitation


@transaction.atomic
def renew_invitation(*, invitation: Invitation, generation: int, by: Any) -> Invitation:
    """Give the invitation a new link and a new term; the link of this generation ends.

    Nothing changes if the generation has ended already: someone else renewed it.
    """
    _lock_team(_study_of(invitation), by)
    current = Invitation.objects.get(pk=invitation.pk)
    if current.state in (Invitation.State.ACCEPTED, Invitation.State.REVOKED):
        raise ValidationError(
            "This invitation has been accepted or withdrawn. Create another one.",
            code=f"invitation_{current.state}",
        )
    if current.generation == generation:
        current.generation += 1
        current.token_hash = Invitation.hash_token(current.derive_token())
        current.expires_at = find_expiry()
        current.save(update_fields=["generation", "token_hash", "expires_at"])
        _record("invitation renewed", _study_of(current), by, invitation=str(current.pk))
    return current


@transaction.atomic
def revoke_invitation(*, invitation: Invitation, by: Any) -> None:
    """End the invitation's link. One that was accepted stays accepted."""
    study = _study_of(invitation)
    _lock_team(study, by)
    revoked = Invitation.objects.unanswered().filter(pk=invitation.pk).update(revoked_at=now())
    if revoked:
        _record("invitation revoked", study, by, invitation=str(invitation.pk))
    elif not Invitation.objects.filter(pk=invitation.pk, revoked_at__isnull=False).exists():
        raise ValidationError(
            "This invitation has been accepted. To undo that, remove the member.",
            code="invitation_accepted",
        )


@transaction.atomic
def accept_invitation(*, invitation: Invitation, token: str, by: Any) -> Membership:
    """Make this person a member in the invited role, and use the invitation up.

    People who have this role or a higher one keep theirs, and the invitation stays open for the
    colleague it was meant for. Accepting twice changes nothing.
    """
    study = _study_of(invitation)
    _lock(study)
    current = Invitation.objects.by_token(token).get(pk=invitation.pk)
    membership = Membership.objects.filter(study=study, user=by).first()
    is_repeat = current.accepted_by_id == by.pk and membership is not None
    is_covered = membership is not None and membership.team_role.rank >= current.team_role.rank
    if membership is not None and (is_repeat or is_covered):
        return membership
    if current.state != Invitation.State.OPEN:
        raise ValidationError("This invitation isn't open.", code=f"invitation_{current.state}")
    membership, _ = Membership.objects.update_or_create(
        study=study, user=by, defaults=current.team_role.columns
    )
    current.accepted_at, current.accepted_by = now(), by
    current.save(update_fields=["accepted_at", "accepted_by"])
    _record(
        "invitation accepted",
        study,
        by,
        invitation=str(current.pk),
        role=current.team_role,
    )
    return membership


def _study_of(invitation: Invitation) -> Study:
    if invitation.study is None:
        raise ValidationError("This invitation is to no study.", code="no_study")
    return invitation.study


# --- members ------------------------------------------------------------------------


@transaction.atomic
def change_role(*, membership: Membership, role: TeamRole, by: Any) -> bool:
    """Give a member another role; False if they have it already."""
    study = membership.study
    _lock_team(study, by)
    current = Membership.objects.select_related("user").filter(pk=membership.pk).first()
    if current is None:
        raise ValidationError("This person is no longer on the team.", code="not_a_member")
    if current.team_role == role:
        return False
    if role != TeamRole.OWNER:
        _insist_on_another_owner(study, current)
    former = current.team_role
    Membership.objects.filter(pk=current.pk).update(**role.columns)
    _record("role changed", study, by, member=current.user.username, former=former, role=role)
    return True


@transaction.atomic
def remove_member(*, membership: Membership, by: Any) -> None:
    """Take a member off the study; anyone may take off themselves. What they did stays."""
    study = membership.study
    is_own = membership.user_id == by.pk
    _lock(study)
    if not is_own:
        _insist_on_owner(study, by)
    current = Membership.objects.select_related("user").filter(pk=membership.pk).first()
    if current is None:
        return
    _insist_on_another_owner(study, current)
    former = current.team_role
    current.delete()
    action = "member left" if is_own else "member removed"
    _record(action, study, by, member=current.user.username, former=former)


@transaction.atomic
def hand_over(*, study: Study, to: Membership, step_down: StepDown, by: Any) -> None:
    """Make another member an owner; the one who hands over stays one, becomes editor, or leaves."""
    _lock_team(study, by)
    if to.user_id == by.pk:
        raise ValidationError("Choose someone else as the new owner.", code="own_account")
    change_role(membership=to, role=TeamRole.OWNER, by=by)
    membership = Membership.objects.filter(study=study, user=by).first()
    if membership is None or step_down == StepDown.OWNER:
        return
    if step_down == StepDown.EDITOR:
        change_role(membership=membership, role=TeamRole.EDITOR, by=by)
    else:
        remove_member(membership=membership, by=by)


def is_last_owner(membership: Membership) -> bool:
    """Return whether the study would be left without an owner who can sign in."""
    other_owners = Membership.objects.filter(
        study=membership.study_id, role=Membership.Role.OWNER, user__is_active=True
    ).exclude(pk=membership.pk)
    return membership.role == Membership.Role.OWNER and not other_owners.exists()


def _insist_on_another_owner(study: Study, membership: Membership) -> None:
    if is_last_owner(membership):
        raise ValidationError(
            "A study needs an owner. Make someone else an owner first.", code="last_owner"
        )


# --- locks and the log --------------------------------------------------------------


def _lock_team(study: Study, by: Any) -> None:
    """Wait for every other change of this team; PermissionDenied unless `by` is an owner then."""
    _lock(study)
    _insist_on_owner(study, by)


def _lock(study: Study) -> None:
    Study.objects.select_for_update(no_key=True).only("pk").get(pk=study.pk)


def _insist_on_owner(study: Study, by: Any) -> None:
    owns = Membership.objects.filter(study=study, user=by, role=Membership.Role.OWNER)
    if not (by.is_superuser or owns.exists()):
        raise PermissionDenied


def _record(action: str, study: Study, by: Any, **detail: Any) -> None:
    plain = {name: str(value) for name, value in detail.items()}
    AuditEntry.objects.record(action, by=by, study_id=study.pk, **plain)
