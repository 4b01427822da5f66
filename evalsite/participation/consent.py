"""Agreeing to the consent text or declining it, and what becomes of work already done."""

from datetime import date
from typing import Any

from django.db import transaction

from evalsite.core.audit.models import AuditEntry
from evalsite.handout.leases import lock_participant, release_places
from evalsite.handout.models import Annotation, Draft, Rating, Revision, Slot
from evalsite.lib.clock import now
from evalsite.participation.held_items import judge_again, judge_reports
from evalsite.participation.saving import (
    LEFT_TO_OTHERS,
    leave_to_others,
    lock_awaiting,
    withdraw_awaiting,
)
from evalsite.people.models import Answer, Participant
from evalsite.people.services import Withdrawn, has_agreed, record_consent
from evalsite.studies.version_cache import read_content
from evalsite.studies.versions import shown_content


@transaction.atomic
def answer_consent(*, participant: Participant, is_given: bool, may_share: bool = False) -> None:
    """Record the choice; answers waiting for it count, or are withdrawn with all places given back.

    People who have agreed to the current text take that back by withdrawing instead.
    """
    me = lock_participant(participant)
    if me.withdrawn_at is not None:
        raise Withdrawn
    me.study = participant.study
    if has_agreed(me):
        return
    record_consent(participant=me, is_given=is_given, may_share=may_share)
    participant.consented_to, participant.may_share = me.consented_to, me.may_share
    if is_given:
        _count_awaiting(me)
        # sent after declining, so nothing of them was kept: their items may be answered again;
        # what was withdrawn with its item stays
        Annotation.objects.filter(
            participant=me, status=Annotation.Status.WITHDRAWN, item__changes__isnull=True
        ).delete()
    else:
        withdraw_awaiting(me)
        release_places(me)
        Draft.objects.filter(participant=me).delete()


def _count_awaiting(me: Participant) -> None:
    """Count each answer whose slot this person still holds; the others stay surplus."""
    answers = lock_awaiting(me)
    mine = Slot.objects.leased().filter(
        participant=me, item__in=[answer.item_id for answer in answers]
    )
    slots = {slot.item_id: slot for slot in mine.select_for_update().order_by("pos", "id")}
    for answer in answers:
        answer.awaits_consent = False
        is_left = answer.outcome in LEFT_TO_OTHERS
        is_wanted = answer.status == Annotation.Status.SURPLUS and not is_left
        if answer.outcome == Annotation.Outcome.SKIPPED and not me.is_pilot:
            answer.status = Annotation.Status.SKIPPED
        if is_wanted and (slot := slots.get(answer.item_id)):
            slot.kept_until = slot.lease_until
            slot.state, slot.lease_until = Slot.State.DONE, None
            slot.save(update_fields=["state", "lease_until", "kept_until"])
            answer.slot, answer.status = slot, Annotation.Status.COUNTED
        answer.save(update_fields=["awaits_consent", "slot", "status"])
        leave_to_others(me, answer.item, answer.outcome)
    if me.has_reported:
        judge_again(me)


def describe_deletion(me: Participant) -> dict[str, Any]:
    """Return whether this person may have their answers deleted, and until when.

    It is what they were promised; if several texts say it, the longest.
    """
    agreed = me.consents.filter(is_given=True, version__isnull=False)
    contents = [
        read_content(me.study_id, pk) for pk in agreed.values_list("version", flat=True)
    ] or [shown_content(me.study)]
    days = [content["settings"].get("withdrawable_until") for content in contents]
    last = max((date.fromisoformat(day) for day in days if day), default=None)
    is_until_closing = None in days
    return {
        "may_delete": bool(last and now().date() <= last)
        or (is_until_closing and not me.study.has_ended),
        "delete_until": None if is_until_closing else last,
    }


@transaction.atomic
def withdraw(*, participant: Participant, is_kept: bool) -> Participant:
    """Give this person no more work; keep their answers, or delete them and free their places.

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
    leased = Slot.objects.filter(participant=me, state=Slot.State.LEASED)
    leased.update(state=Slot.State.FREE, participant=None, lease_until=None)
    if not is_kept:
        _delete_answers(me)
    AuditEntry.objects.record(
        "participant withdrew", by=None, study_id=me.study_id, kept=is_kept, who=me.pseudonym
    )
    return me


@transaction.atomic
def erase_answers(participant: Participant) -> None:
    """End this person's part for good, and delete their answers, also those they had left here."""
    me = withdraw(participant=participant, is_kept=False)
    _delete_answers(me)


def _delete_answers(me: Participant) -> None:
    annotations = Annotation.objects.filter(participant=me)
    reports = annotations.filter(outcome=Annotation.Outcome.REPORTED)
    reported = list(reports.values_list("item", flat=True))
    Rating.objects.filter(annotation__participant=me).delete()
    Revision.objects.filter(annotation__participant=me).delete()
    annotations.update(
        status=Annotation.Status.WITHDRAWN, awaits_consent=False, slot=None, note="", reason=""
    )
    Slot.objects.filter(participant=me, state=Slot.State.DONE).update(
        state=Slot.State.FREE, participant=None, lease_until=None, kept_until=None
    )
    Answer.objects.filter(participant=me).delete()
    # nor does any later study recognise them
    me.marks.all().delete()
    # a report that is gone holds nothing
    judge_reports(me.study, reported)
