"""Trying a study as a participant would meet it."""

import hmac
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.crypto import salted_hmac

from evalsite.core.audit.models import AuditEntry
from evalsite.handout.models import Annotation, Draft
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet, Participant, ParticipantLink, PilotComment, Tester
from evalsite.people.random_codes import hash_token
from evalsite.studies.models import Item, Study

_HEX = 32
MOST_TESTERS = 100


# --- the link for colleagues ------------------------------------------------------------


def pilot_token(study: Study) -> str:
    """Return what the link for colleagues ends in: derived, so that it can be copied again."""
    signed = f"{study.pk}/{study.pilot_generation}"
    return (
        study.pk.hex + salted_hmac("evalsite.pilot", signed, algorithm="sha256").hexdigest()[:_HEX]
    )


def is_link_open(study: Study) -> bool:
    """Return whether colleagues may come by the link: while the study is a draft."""
    return study.is_pilot_link_on and study.version_id is None and not study.has_ended


def find_piloted(token: str) -> Study | None:
    """Return the study of this link; None if it opens nothing."""
    try:
        study = Study.objects.filter(pk=UUID(hex=token[:_HEX])).first()
    except ValueError:
        return None
    if study is None or not is_link_open(study):
        return None
    return study if hmac.compare_digest(pilot_token(study).encode(), token.encode()) else None


@transaction.atomic
def switch_link(*, study: Study, is_on: bool, by: Any) -> None:
    """Turn the link on, as a new one, or off; pressing twice changes nothing."""
    changed = Study.objects.filter(pk=study.pk, version__isnull=True, is_pilot_link_on=not is_on)
    more = 1 if is_on else 0
    if changed.update(is_pilot_link_on=is_on, pilot_generation=F("pilot_generation") + more):
        action = "pilot link turned on" if is_on else "pilot link turned off"
        AuditEntry.objects.record(action, by=by, study_id=study.pk)


@transaction.atomic
def join_as_tester(*, study: Study, name: str) -> str:
    """Return the token of a colleague who tries the study under this name."""
    Study.objects.select_for_update().get(pk=study.pk)
    if Tester.objects.filter(participant__study=study).count() >= MOST_TESTERS:
        raise ValidationError("So many people have tried this study that the link is closed.")
    token = start_pilot(study=study, by=None)
    Tester.objects.create(
        participant=Participant.objects.get(links__token_hash=hash_token(token)), name=name
    )
    return token


@transaction.atomic
def settle_comment(*, comment: PilotComment, is_resolved: bool, by: Any) -> None:
    """Resolve a comment, or open it again."""
    comment.resolved_at = now() if is_resolved else None
    comment.resolved_by = by if is_resolved else None
    comment.save(update_fields=["resolved_at", "resolved_by"])


# --- taking the study ---------------------------------------------------------------------


@transaction.atomic
def start_pilot(*, study: Study, by: Any) -> str:
    """Return the token of a new pilot participant, whose answers never count."""
    if study.has_ended:
        raise ValidationError(f"The study is {study.state}, so it can’t be tried.")
    if not Item.objects.main().filter(study=study).exists():
        raise ValidationError("There are no items to try yet. Upload a batch first.")
    participant = Participant.objects.create(study=study, is_pilot=True)
    AuditEntry.objects.record(
        "pilot started", by=by, study_id=study.pk, participant=participant.pseudonym
    )
    return ParticipantLink.objects.mint(participant)


def pilot_answers(study: Study) -> QuerySet[Annotation]:
    """Answers of pilots to the items of batches; the protocol's own practice left out."""
    # a repeat comes in no batch of its own
    is_of_batch = Q(item__batch__isnull=False) | Q(item__kind=Item.Kind.REPEAT)
    return Annotation.objects.filter(is_of_batch, study=study, participant__is_pilot=True)


def discard_pilots(study: Study) -> int:
    """No pilot of this study has answers, drafts or sets any more; returns how many answers went.

    Their links go on working, and begin again.
    """
    count = pilot_answers(study).count()
    pilot_answers(study).delete()
    Draft.objects.filter(study=study, participant__is_pilot=True).delete()
    ItemSet.objects.filter(study=study, participant__is_pilot=True).delete()
    return count
