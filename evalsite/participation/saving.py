"""Saving what a participant submits: once, counted if the item needs it, never lost."""

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from django.db import IntegrityError, connection, transaction
from django.db.models import Case, Exists, F, When
from django.utils.translation import gettext_lazy as _

from evalsite.handout.leases import (
    Renewal,
    finish_and_renew,
    free_slot_of,
    lock_participant,
    reserved_set_of,
    save_end,
)
from evalsite.handout.models import Annotation, Draft, Rating, Revision, Slot, order_of
from evalsite.instruments.answer import AnswerRow
from evalsite.lib.clock import now
from evalsite.lib.integrity import is_violation
from evalsite.lib.prepared import PreparedInsert
from evalsite.participation.held_items import judge_again
from evalsite.people.models import Participant
from evalsite.people.services import Agreement, Withdrawn, agreement_of
from evalsite.studies.models import Item, Study

logger = logging.getLogger(__name__)

# how often a save that lost a race to another tab is tried again
_TRIES = 3


_insert_annotation = PreparedInsert(Annotation)
_insert_ratings = PreparedInsert(Rating)


class Saved(Enum):
    """What became of a submission, in words. Each of them is a success for the participant."""

    SAVED = _("Saved")
    ALREADY = _("Already saved")
    CHANGED = _("Your new answer is saved")
    REPLACED = _("Saved. This replaces the answer from your other tab.")
    FINAL = _("This answer is final, so nothing was changed.")
    EARLIER = _("Saved earlier, so nothing was changed.")
    ENDED = _("Your answer is saved, but it came too late to count in the results of this study.")
    IGNORED = _("Ignored")
    SKIPPED = _("Skipped")
    UNDONE = _("Undone: this example is no longer ignored")
    AWAITING = _("Your answer is saved. It counts once you agree to the text below.")
    UNCHANGED = _("Your earlier answer is unchanged. To change it, agree to the text below.")
    UNUSED = _(
        "You chose not to take part, so the answer you just sent isn’t used and wasn’t kept. "
        "Answers you saved before are unchanged."
    )

    @classmethod
    def find(cls, name: str) -> "Saved | None":
        """Return the outcome that an address names."""
        return next((became for became in cls if became.name.lower() == name), None)

    @classmethod
    def words_of(cls, name: str) -> str:
        """Return what to say of the outcome that an address names; "" if it names none."""
        became = cls.find(name)
        return str(became.value) if became else ""


# items that their person leaves to others: these take no place
LEFT_TO_OTHERS = (Annotation.Outcome.REPORTED, Annotation.Outcome.SKIPPED)
# what became of submissions of people who don't agree to the text that is shown now
WITHOUT_CONSENT = (Saved.AWAITING, Saved.UNCHANGED, Saved.UNUSED)


@dataclass(frozen=True, kw_only=True)
class Submission:
    """All that one participant submits for one item, checked."""

    item: Item
    rows: tuple[AnswerRow, ...] = ()
    outcome: str = Annotation.Outcome.RATED
    reason: str = ""
    note: str = ""
    slot_id: int | None = None
    item_set_id: UUID | None = None
    place: int = 0
    version_id: int | None = None
    order_shown: tuple[int, ...] = ()
    is_aided: bool = False
    started_at: datetime = field(default_factory=now)
    # on a sheet an item is shown before its time begins
    shown_at: datetime | None = None
    device: str = ""
    language: str = ""
    client_ms: int | None = None
    active_ms: int | None = None
    # how this answer keeps its person's other places; None: as long as they are kept anyway
    renewal: Renewal | None = None

    def key_for(self, participant: Participant) -> UUID:
        """Return one key per slot and participant: however often it is sent, it is one answer."""
        place = f"slot/{self.slot_id}" if self.slot_id else f"item/{self.item.pk}"
        return uuid5(NAMESPACE_URL, f"evalsite/{place}/participant/{participant.pk}")


def submit_annotation(*, participant: Participant, submission: Submission) -> Saved:
    """Store the submission once: counted, or surplus if it is no longer needed."""
    for _try in range(_TRIES):
        try:
            return _insert(participant, submission)
        except IntegrityError as error:
            if not _is_lost_race(error):
                raise
            # Another tab, a second send or a reload was first: the whole transaction is gone,
            # the slot's new state too. A stored answer decides; without one, another tab
            # has just been dealt this item, and saving it again finds that slot.
            clash = error
        with transaction.atomic():
            agreement = lock_present(participant)
            stored = find_annotation(participant, submission.item)
            if stored is not None:
                return _settle(stored, participant, submission, agreement)
    raise clash


def _is_lost_race(error: IntegrityError) -> bool:
    """Return whether something else took the place, or answered the item, at the same moment."""
    return is_violation(
        error,
        Annotation,
        "one_annotation_per_key",
        "one_annotation_per_slot",
        "one_annotation_of_an_item_per_participant",
    ) or is_violation(error, Slot, "one_slot_of_an_item_per_participant")


def save_locked(*, participant: Participant, submission: Submission, agreement: Agreement) -> Saved:
    """Submit in the transaction of a caller who has locked the participant."""
    stored = find_annotation(participant, submission.item)
    if stored is not None:
        return _settle(stored, participant, submission, agreement)
    return _insert(participant, submission)


@transaction.atomic
def _insert(participant: Participant, submission: Submission) -> Saved:
    agreement = lock_present(participant)
    status, slot_id = _place(participant, submission, agreement)
    if status == Annotation.Status.SURPLUS and _shows_what_is_gone(submission):
        status = Annotation.Status.WITHDRAWN
        _free_place(participant, submission.item)
    if status in (Annotation.Status.SURPLUS, Annotation.Status.WITHDRAWN):
        stored = find_annotation(participant, submission.item)
        if stored is not None:
            return _settle(stored, participant, submission, agreement)
    if agreement is Agreement.NONE:
        # that something was sent is kept, so that counts can be explained, but not what it said
        submission = replace(submission, rows=(), note="", reason="")
    is_outdated = agreement is Agreement.OUTDATED
    annotation = Annotation(
        study_id=participant.study_id,
        item=submission.item,
        participant=participant,
        slot_id=slot_id,
        status=status,
        awaits_consent=is_outdated,
        origin=participant.origin,
        key=submission.key_for(participant),
        submitted_at=now(),
        version_id=submission.version_id,
        item_set_id=submission.item_set_id,
        visit_id=participant.later_visit_id,
        place=submission.place,
        order_shown=list(submission.order_shown),
        is_aided=submission.is_aided,
        started_at=submission.started_at,
        device=submission.device,
        language=submission.language,
        client_ms=submission.client_ms,
        active_ms=submission.active_ms,
        **_outcome_of(submission),
    )
    _insert_annotation.run([annotation])
    _write_answers(annotation, submission)
    if agreement is Agreement.NONE:
        return Saved.UNUSED
    if is_outdated:
        return Saved.AWAITING
    leave_to_others(participant, submission.item, submission.outcome)
    if participant.has_reported:
        judge_again(participant)
    return Saved.ENDED if _is_archived(participant) else Saved.SAVED


def lock_present(participant: Participant) -> Agreement:
    """Lock the participant's row and return what they agree to; Withdrawn if they have left.

    Both may have changed since the page was asked for.
    """
    locked = lock_participant(participant)
    if locked.withdrawn_at is not None:
        raise Withdrawn
    locked.study = participant.study
    participant.has_reported = locked.has_reported
    return agreement_of(locked)


def _is_archived(participant: Participant) -> bool:
    """Return whether the study was put away, so that no answer counts in it any more."""
    return participant.study.state == Study.State.ARCHIVED


def _outcome_of(submission: Submission) -> dict[str, str]:
    return {
        "outcome": submission.outcome,
        "reason": submission.reason,
        "note": submission.note,
    }


def _place(
    participant: Participant, submission: Submission, agreement: Agreement
) -> tuple[str, int | None]:
    """Return the status of a new annotation and the slot that it fills, if any."""
    if agreement is Agreement.NONE:
        return Annotation.Status.WITHDRAWN, None
    if participant.is_pilot:
        return Annotation.Status.PILOT, None
    is_current = agreement is not Agreement.OUTDATED
    is_left = submission.outcome in LEFT_TO_OTHERS
    if is_left or not is_current or _is_archived(participant):
        return _status_without_place(submission, is_current=is_current), None
    if not submission.item.is_main:
        return Annotation.Status.CONTROL, None
    is_corrected = _was_shown_before(submission, submission.item.corrected_at)
    slot_id = None if is_corrected else _fill_slot(participant, submission)
    return (Annotation.Status.COUNTED if slot_id else Annotation.Status.SURPLUS), slot_id


def _status_without_place(submission: Submission, *, is_current: bool = True) -> str:
    """Return the status of an annotation that fills no slot, of somebody who isn't a pilot."""
    if submission.outcome == Annotation.Outcome.SKIPPED and is_current:
        return Annotation.Status.SKIPPED
    is_main = submission.item.is_main
    return Annotation.Status.SURPLUS if is_main else Annotation.Status.CONTROL


def _fill_slot(participant: Participant, submission: Submission) -> int | None:
    """Return the slot that this submission fills: the one I hold, else a free one of the item."""
    if submission.slot_id and _finish_mine(submission.slot_id, participant, submission):
        return submission.slot_id
    if Annotation.objects.filter(participant=participant, item=submission.item).exists():
        return None
    # a place may have been taken from this person, because a text was corrected just now
    if _shows_what_is_gone(submission):
        return None
    mine = Slot.objects.leased().filter(participant=participant, item=submission.item)
    if _finish(mine, participant):
        return Slot.objects.done().get(participant=participant, item=submission.item).pk
    slot = _free_slot_for(participant, submission)
    if slot and _finish(Slot.objects.free().filter(pk=slot.pk), participant):
        return slot.pk
    return None


def _shows_what_is_gone(submission: Submission) -> bool:
    """Return whether the item was withdrawn, or one of its texts corrected, since it was shown.

    Its row is locked, as by those who withdraw or correct it.
    """
    items = Item.objects.select_for_update(no_key=True).filter(pk=submission.item.pk).order_by()
    kind, corrected_at = items.values_list("kind", "corrected_at").get()
    return kind == Item.Kind.WITHDRAWN or _was_shown_before(submission, corrected_at)


def _was_shown_before(submission: Submission, moment: datetime | None) -> bool:
    shown_at = submission.shown_at or submission.started_at
    return moment is not None and shown_at < moment


def _finish_mine(slot_id: int, participant: Participant, submission: Submission) -> bool:
    """Mark this slot as done if it is leased to this participant, as nearly every one is."""
    item, renewal = submission.item, submission.renewal
    if renewal is not None:
        return finish_and_renew(participant, slot_id=slot_id, item_id=item.pk, renewal=renewal)
    with connection.cursor() as cursor:
        # as a queryset's update(), which costs a save a sixth of its time
        cursor.execute(
            "UPDATE annotation_slot SET state = 2, lease_until = NULL,"
            " kept_until = CASE WHEN EXISTS (SELECT 1 FROM participants_itemset"
            " WHERE participant_id = %s AND finished_at IS NULL AND reserved_until IS NOT NULL)"
            " THEN NULL ELSE lease_until END"
            " WHERE id = %s AND item_id = %s AND participant_id = %s AND state = 1",
            [participant.pk, slot_id, item.pk, participant.pk],
        )
        return bool(cursor.rowcount)


def _free_slot_for(participant: Participant, submission: Submission) -> Slot | None:
    """Return a free slot of the item; one that shows what was shown, if any, keeps orders exact."""
    item, shown = submission.item, list(submission.order_shown)
    seed = participant.study.seed
    return free_slot_of(
        item.pk, lambda arrangement: order_of(seed, item, len(shown), arrangement) == shown
    )


def _finish(slots: Any, participant: Participant) -> bool:
    # the first answer of a set decides how long the set is kept from now on
    kept = Case(When(Exists(reserved_set_of(participant)), then=None), default=F("lease_until"))
    done = {"state": Slot.State.DONE, "participant": participant}
    return bool(slots.update(**done, kept_until=kept, lease_until=None))


def _write_answers(annotation: Annotation, submission: Submission) -> None:
    """Write the ratings of the submission as those of the annotation."""
    _insert_ratings.run(
        [
            Rating(
                study_id=annotation.study_id,
                annotation=annotation,
                output_id=row.output,
                criterion=row.criterion,
                turn=row.turn,
                part=row.part,
                value=row.value,
                text=row.text,
                detail=row.detail,
                start=row.start,
                end=row.end,
            )
            for row in submission.rows
        ]
    )


def leave_to_others(participant: Participant, item: Item, outcome: str) -> None:
    """Give my place to someone else if I report or skip an item."""
    if outcome not in LEFT_TO_OTHERS:
        return
    _free_place(participant, item)
    if outcome == Annotation.Outcome.REPORTED and not participant.has_reported:
        participant.has_reported = True
        Participant.objects.filter(pk=participant.pk).update(has_reported=True)


def _free_place(participant: Participant, item: Item) -> None:
    save_end(participant, participant.study)
    Slot.objects.leased().filter(participant=participant, item=item).update(
        state=Slot.State.FREE, participant=None, lease_until=None
    )


# --- an item that this person has answered already ------------------------------------


def find_annotation(participant: Participant, item: Item) -> Annotation | None:
    """Return this person's answer to this item, locked; None: there is none yet."""
    return (
        Annotation.objects.select_for_update(of=("self",))
        .filter(participant=participant, item=item)
        .select_related("item_set")
        .first()
    )


def _settle(
    stored: Annotation, participant: Participant, submission: Submission, agreement: Agreement
) -> Saved:
    """Replace the stored answer if the submission says something else and the set is open.

    Answers that a person agreed to share are never changed by one sent without agreeing.
    """
    if agreement is Agreement.NONE:
        return Saved.UNUSED
    if agreement is Agreement.OUTDATED and not stored.awaits_consent:
        return Saved.UNCHANGED
    if not participant.may_reopen(stored.visit_id):
        # also of equal values: nobody may find out what was answered by trying
        return Saved.EARLIER
    typed = {
        criterion.key
        for criterion in participant.study.config.criteria
        if criterion.scale.keeps_typed
    }
    before = {identify(row, typed) for row in stored.list_rows()}
    is_same = before == {identify(row, typed) for row in submission.rows}
    if is_same and all(getattr(stored, k) == v for k, v in _outcome_of(submission).items()):
        return Saved.AWAITING if stored.awaits_consent else Saved.ALREADY
    is_finished = stored.item_set is None or stored.item_set.finished_at is not None
    if is_finished or _is_archived(participant):
        return Saved.FINAL
    was_unseen = stored.submitted_at > (submission.shown_at or submission.started_at)
    keep_revision(stored)
    replace_annotation(stored, participant, submission)
    if agreement is Agreement.OUTDATED:
        return Saved.AWAITING
    return Saved.REPLACED if was_unseen else Saved.CHANGED


def identify(row: AnswerRow, typed: Collection[str]) -> tuple[Any, ...]:
    """Return what tells a row from one that says something else, however a number was typed."""
    text = "" if row.value is not None and row.criterion in typed else row.text
    detail = json.dumps(row.detail, sort_keys=True) if row.detail else ""
    return (*row._replace(text=text, detail=None), detail)


def keep_revision(annotation: Annotation, **more: Any) -> None:
    """Keep the present answer for ever, whatever replaces it."""
    Revision.objects.create(
        study_id=annotation.study_id,
        annotation=annotation,
        submitted_at=annotation.submitted_at,
        state={
            "outcome": annotation.outcome,
            "reason": annotation.reason,
            "note": annotation.note,
            # without the item, which is the annotation's
            "rows": [row[1:] for row in annotation.list_rows()],
            **more,
        },
    )


def replace_annotation(
    annotation: Annotation, participant: Participant, submission: Submission
) -> None:
    """Write what was submitted into the annotation, and move its place if need be."""
    has_changed = annotation.outcome != submission.outcome
    is_moved = has_changed and {annotation.outcome, submission.outcome}.intersection(LEFT_TO_OTHERS)
    for name, value in _outcome_of(submission).items():
        setattr(annotation, name, value)
    annotation.submitted_at, annotation.visit_id = now(), participant.later_visit_id
    if is_moved:
        _move_place(annotation, participant, submission)
    annotation.save()
    annotation.ratings.all().delete()
    _write_answers(annotation, submission)
    if is_moved and not annotation.awaits_consent:
        leave_to_others(participant, submission.item, submission.outcome)
    if participant.has_reported:
        judge_again(participant, submission.item.pk)


def _move_place(annotation: Annotation, participant: Participant, submission: Submission) -> None:
    """Give back the slot of a report or a skip; let a rating in its place take a free one."""
    if annotation.status in (Annotation.Status.PILOT, Annotation.Status.WITHDRAWN):
        return
    if annotation.awaits_consent:
        return
    freed, annotation.slot = annotation.slot, None
    annotation.status = _status_without_place(submission)
    if submission.outcome in LEFT_TO_OTHERS:
        if freed is not None:
            save_end(participant, participant.study)
        annotation.save()
        if freed is not None:
            Slot.objects.filter(pk=freed.pk).update(
                state=Slot.State.FREE, participant=None, lease_until=None, kept_until=None
            )
        return
    is_main = submission.item.is_main
    slot = _free_slot_for(participant, submission) if is_main else None
    if slot and _finish(Slot.objects.free().filter(pk=slot.pk), participant):
        annotation.slot, annotation.status = slot, Annotation.Status.COUNTED


# --- answers that wait for consent ----------------------------------------------------


def lock_awaiting(participant: Participant) -> list[Annotation]:
    """Return this person's answers that wait for consent, locked; answers go before places."""
    awaiting = Annotation.objects.filter(participant=participant, awaits_consent=True)
    return list(awaiting.select_for_update(of=("self",)).order_by("pk"))


def withdraw_awaiting(participant: Participant) -> None:
    """Delete the content of answers given without agreeing; a row records that there were some."""
    answers = [answer.pk for answer in lock_awaiting(participant)]
    for model in (Rating, Revision):
        model.objects.filter(annotation__in=answers).delete()
    Annotation.objects.filter(pk__in=answers).update(
        status=Annotation.Status.WITHDRAWN, awaits_consent=False, note="", reason=""
    )


# --- around it ------------------------------------------------------------------------


@transaction.atomic
def save_draft(
    *, participant: Participant, item: Item, values: Mapping[str, str], order: Sequence[int] = ()
) -> Draft | None:
    """Keep what was entered so far, to come back with the page; None without consent.

    It never replaces what was saved or entered by a link that opens more.
    """
    if lock_present(participant) is Agreement.NONE or _has_earlier(participant, item):
        return None
    draft, _ = Draft.objects.update_or_create(
        participant=participant,
        item=item,
        study_id=participant.study_id,
        defaults={
            "values": dict(values),
            "order_shown": list(order),
            "updated_at": now(),
            "visit_id": participant.later_visit_id,
        },
    )
    return draft


def _has_earlier(participant: Participant, item: Item) -> bool:
    """Return whether this item has an answer or a draft that the link in use doesn't open."""
    visit = participant.later_visit_id
    if visit is None:
        return False
    answers, drafts = (
        rows.filter(item=item) for rows in (participant.annotations, participant.drafts)
    )
    return answers.exclude(visit=visit).exists() or drafts.exclude(visit=visit).exists()
