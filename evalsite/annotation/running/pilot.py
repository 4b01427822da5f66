"""Trying a study as a participant would meet it."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet

from evalsite.annotation.models import Annotation, Draft
from evalsite.audit.models import AuditEntry
from evalsite.participants.models import ItemSet, Participant, ParticipantLink
from evalsite.studies.models import Item, Study


@transaction.atomic
def start_pilot(*, study: Study, by: Any) -> str:
    """Return the token of a new pilot participant, whose answers never count."""
    if study.has_ended:
        raise ValidationError("The study is closed, so it can't be tried any more.")
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
