"""Trying a study as a participant would meet it."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from evalsite.audit.models import AuditEntry
from evalsite.participants.models import Participant, ParticipantLink
from evalsite.studies.models import Item, Study


@transaction.atomic
def start_pilot(*, study: Study, by: Any) -> str:
    """The token of a new pilot participant, whose answers never count."""
    if not Item.objects.main().filter(study=study).exists():
        raise ValidationError("There are no items to try yet. Upload a batch first.")
    participant = Participant.objects.create(study=study, is_pilot=True)
    AuditEntry.objects.record(
        "pilot started", by=by, study_id=study.pk, participant=participant.pseudonym
    )
    return ParticipantLink.objects.mint(participant)
