"""Withdrawing from a study."""

from django.db import transaction

from evalsite.annotation.models import Annotation, Draft, Highlight, Rating, Revision, Slot
from evalsite.annotation.pages.saving import hold_or_release, withdraw_awaiting
from evalsite.audit.models import AuditEntry
from evalsite.lib.clock import now
from evalsite.participants.models import Answer, Participant
from evalsite.studies.models import Item


@transaction.atomic
def withdraw(*, participant: Participant, is_kept: bool) -> Participant:
    """This person gets no more work; their answers stay, or are gone and their places free.

    Answers that waited for their consent are gone in any case. What is deleted leaves a row with
    status withdrawn, so that counts can be explained.
    """
    me = Participant.objects.select_for_update(no_key=True).get(pk=participant.pk)
    if me.withdrawn_at is not None:
        return me
    me.withdrawn_at = me.stopped_at = now()
    me.save(update_fields=["withdrawn_at", "stopped_at"])
    Draft.objects.filter(participant=me).delete()
    # whatever they choose, nobody agreed to these
    withdraw_awaiting(me)
    held = Slot.objects.filter(participant=me, state=Slot.State.LEASED)
    held.update(state=Slot.State.FREE, participant=None, lease_until=None)
    if not is_kept:
        _delete_answers(me)
    AuditEntry.objects.record(
        "participant withdrew", by=None, study_id=me.study_id, kept=is_kept, who=me.pseudonym
    )
    return me


def _delete_answers(me: Participant) -> None:
    annotations = Annotation.objects.filter(participant=me)
    reports = annotations.filter(outcome=Annotation.Outcome.REPORTED)
    reported = list(reports.values_list("item", flat=True))
    Rating.objects.filter(annotation__participant=me).delete()
    Highlight.objects.filter(annotation__participant=me).delete()
    Revision.objects.filter(annotation__participant=me).delete()
    annotations.update(
        status=Annotation.Status.WITHDRAWN, awaits_consent=False, slot=None, note="", reason=""
    )
    Slot.objects.filter(participant=me, state=Slot.State.DONE).update(
        state=Slot.State.FREE, participant=None, lease_until=None
    )
    Answer.objects.filter(participant=me).delete()
    # a report that is gone holds nothing; by item, so that two who leave never cross
    for item in Item.objects.filter(pk__in=reported).order_by("pk"):
        hold_or_release(item)
