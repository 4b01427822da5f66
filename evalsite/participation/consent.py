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
    locked = lock_participant(participant)
    if locked.withdrawn_at is not None:
        raise Withdrawn
    locked.study = participant.study
    if has_agreed(locked):
        return
    record_consent(participant=locked, is_given=is_given, may_share=may_share)
    participant.consented_to, participant.may_share = locked.consented_to, locked.may_share
    if is_given:
        _count_awaiting(locked)
        # sent after declining, so nothing of them was kept: their items may be answered again;
        # what was withdrawn with its item stays
        Annotation.objects.filter(
            participant=locked, status=Annotation.Status.WITHDRAWN, item__changes__isnull=True
        ).delete()
    else:
        withdraw_awaiting(locked)
        release_places(locked)
        Draft.objects.filter(participant=locked).delete()


def _count_awaiting(participant: Participant) -> None:
    """Count each answer whose slot this person still holds; the others stay surplus."""
    answers = lock_awaiting(participant)
    mine = Slot.objects.leased().filter(
        participant=participant, item__in=[answer.item_id for answer in answers]
    )
    slots = {slot.item_id: slot for slot in mine.select_for_update().order_by("pos", "id")}
    for answer in answers:
        answer.awaits_consent = False
        is_left = answer.outcome in LEFT_TO_OTHERS
        is_wanted = answer.status == Annotation.Status.SURPLUS and not is_left
        if answer.outcome == Annotation.Outcome.SKIPPED and not participant.is_pilot:
            answer.status = Annotation.Status.SKIPPED
        if is_wanted and (slot := slots.get(answer.item_id)):
            slot.kept_until = slot.lease_until
            slot.state, slot.lease_until = Slot.State.DONE, None
            slot.save(update_fields=["state", "lease_until", "kept_until"])
            answer.slot, answer.status = slot, Annotation.Status.COUNTED
        answer.save(update_fields=["awaits_consent", "slot", "status"])
        leave_to_others(participant, answer.item, answer.outcome)
    if participant.has_reported:
        judge_again(participant)


def describe_deletion(participant: Participant) -> dict[str, Any]:
    """Return whether this person may have their answers deleted, and until when.

    It is what they were promised; if several texts say it, the longest.
    """
    agreed = participant.consents.filter(is_given=True, version__isnull=False)
    contents = [
        read_content(participant.study_id, pk) for pk in agreed.values_list("version", flat=True)
    ] or [shown_content(participant.study)]
    days = [content["settings"].get("withdrawable_until") for content in contents]
    last = max((date.fromisoformat(day) for day in days if day), default=None)
    is_until_closing = None in days
    return {
        "may_delete": bool(last and now().date() <= last)
        or (is_until_closing and not participant.study.has_ended),
        "delete_until": None if is_until_closing else last,
    }


@transaction.atomic
def withdraw(*, participant: Participant, is_kept: bool) -> Participant:
    """Give this person no more work; keep their answers, or delete them and free their places.

    Answers that waited for their consent are gone in any case. What is deleted leaves a row with
    status withdrawn, so that counts can be explained.
    """
    locked = Participant.objects.select_for_update(no_key=True).get(pk=participant.pk)
    if locked.withdrawn_at is not None:
        return locked
    locked.withdrawn_at = locked.stopped_at = now()
    locked.save(update_fields=["withdrawn_at", "stopped_at"])
    Draft.objects.filter(participant=locked).delete()
    # whatever they choose, nobody agreed to these
    withdraw_awaiting(locked)
    leased = Slot.objects.filter(participant=locked, state=Slot.State.LEASED)
    leased.update(state=Slot.State.FREE, participant=None, lease_until=None)
    if not is_kept:
        _delete_answers(locked)
    AuditEntry.objects.record(
        "participant withdrew",
        by=None,
        study_id=locked.study_id,
        kept=is_kept,
        who=locked.pseudonym,
    )
    return locked


@transaction.atomic
def erase_answers(participant: Participant) -> None:
    """End this person's part for good, and delete their answers, also those they had left here."""
    locked = withdraw(participant=participant, is_kept=False)
    _delete_answers(locked)


def _delete_answers(participant: Participant) -> None:
    annotations = Annotation.objects.filter(participant=participant)
    reports = annotations.filter(outcome=Annotation.Outcome.REPORTED)
    reported = list(reports.values_list("item", flat=True))
    Rating.objects.filter(annotation__participant=participant).delete()
    Revision.objects.filter(annotation__participant=participant).delete()
    annotations.update(
        status=Annotation.Status.WITHDRAWN, awaits_consent=False, slot=None, note="", reason=""
    )
    Slot.objects.filter(participant=participant, state=Slot.State.DONE).update(
        state=Slot.State.FREE, participant=None, lease_until=None, kept_until=None
    )
    Answer.objects.filter(participant=participant).delete()
    # nor does any later study recognise them
    participant.marks.all().delete()
    # a report that is gone holds nothing
    judge_reports(participant.study, reported)
