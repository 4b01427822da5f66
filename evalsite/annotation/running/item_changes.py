"""After the launch: items that are withdrawn or put back, and outputs whose text is corrected.

Nothing that people gave is deleted, and nobody loses pay: whoever holds the item goes on with the
rest of their set, and an answer that was on its way is kept as withdrawn.
"""

from collections.abc import Collection
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef, Q

from evalsite.annotation.allocation.controls import has_controls
from evalsite.annotation.allocation.leases import (
    answered_items,
    find_end,
    hold_again,
    save_end,
)
from evalsite.annotation.models import Annotation, Draft, Rating, Slot
from evalsite.annotation.pages.held_items import (
    find_reported_items,
    judge_reports,
    lock_reports,
)
from evalsite.annotation.running.launch import insist_on_editor
from evalsite.annotation.running.live_changes import KIND, lock_running
from evalsite.audit.models import AuditEntry
from evalsite.jobs.services import start_job
from evalsite.lib.clock import now
from evalsite.lib.deadlocks import in_transaction
from evalsite.participants.models import ItemSet, Participant
from evalsite.studies.models import LONGEST_REASON, Change, Item, Study

_STATUS = Annotation.Status
_TRIES = 5


class _OtherHolders(Exception):
    """Raise if somebody was dealt the item after those who held it were locked: try again."""


def withdraw_item(*, item: Item, reason: str, by: Any) -> Change | None:
    """Leave the item out: nobody is shown it any more, and its answers count no more.

    None, and nothing changed, if it was withdrawn before.
    """
    insist_on_editor(item.study, by)
    reason = clean_reason(reason)
    return retry_for_holders(partial(_withdraw, item, reason, by))


def put_item_back(*, item: Item, reason: str, by: Any) -> Change | None:
    """Undo a withdrawal: a job makes the places again, and gives them to the answers, oldest first.

    None, and nothing changed, if the item isn't withdrawn.
    """
    insist_on_editor(item.study, by)
    reason = clean_reason(reason)
    return in_transaction(partial(_put_back, item, reason, by))


def clean_reason(reason: str) -> str:
    """Return the reason on one line; ValidationError if there is none, or it is too long."""
    reason = " ".join(reason.split())
    if not reason:
        raise ValidationError("Give the reason. The report prints it.", code="reason_missing")
    if len(reason) > LONGEST_REASON:
        raise ValidationError(
            f"Give the reason in {LONGEST_REASON} characters or fewer.", code="reason_long"
        )
    return reason


def retry_for_holders(act: Any) -> Any:
    """Return the result of `act` in a transaction, tried again if the holders were others."""
    for _ in range(_TRIES - 1):
        try:
            return in_transaction(act)
        except _OtherHolders:
            continue
    return in_transaction(act)


def _withdraw(item: Item, reason: str, by: Any) -> Change | None:
    insist_on_launched(item.study)
    holders = lock_holders(item)
    current = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    if current.kind == Item.Kind.WITHDRAWN:
        return None
    change = leave_out(current, holders, reason=reason, by=by)
    AuditEntry.objects.record(
        "item withdrawn", by=by, study_id=item.study_id, item=item.key, answers=change.answers
    )
    return change


def insist_on_launched(study: Study) -> None:
    if not study.is_launched:
        raise ValidationError(
            "The study isn’t launched yet. Change the file and upload it again.", code="draft"
        )


def lock_holders(item: Item) -> list[Participant]:
    """Return those who hold a place of this item, locked: a person's row goes before all others."""
    held = Slot.objects.leased().filter(item=item).values("participant")
    people = Participant.objects.filter(pk__in=held).select_for_update(no_key=True)
    return list(people.order_by("pk"))


def leave_out(current: Item, holders: Collection[Participant], *, reason: str, by: Any) -> Change:
    """Withdraw this item, which is locked, and record it."""
    if current.kind != Item.Kind.MAIN:
        raise ValidationError(
            f"{current.key} is a check, a repeat or practice. Only an item that is evaluated can "
            "be withdrawn.",
            code="kind",
        )
    slots = lock_places(current, holders)
    current.kind, current.held_at = Item.Kind.WITHDRAWN, None
    current.save(update_fields=["kind", "held_at"])
    for holder in holders:
        # its end may be known from this place alone
        save_end(holder, current.study)
    answers = current.annotations.exclude(status__in=(_STATUS.PILOT, _STATUS.WITHDRAWN))
    counted = answers.update(status=_STATUS.WITHDRAWN, slot=None)
    Slot.objects.filter(pk__in=[slot.pk for slot in slots]).delete()
    take_from_sets(current, holders)
    Draft.objects.filter(item=current).delete()
    judge_all_reports(current.study)
    return Change.objects.create(
        study_id=current.study_id, kind=Change.Kind.WITHDRAWN, item=current, reason=reason,
        answers=counted, by=by,
    )  # fmt: skip


def lock_places(item: Item, holders: Collection[Participant]) -> list[Slot]:
    """Return the places of this item, locked; answers are locked before, as in a change of one."""
    list(item.annotations.select_for_update(of=("self",)).order_by("pk").values_list("pk"))
    locked = Slot.objects.filter(item=item).select_for_update(of=("self",))
    slots = list(locked.order_by("pos", "id"))
    known = {holder.pk for holder in holders}
    leased = {slot.participant_id for slot in slots if slot.state == Slot.State.LEASED}
    if not leased <= known:
        raise _OtherHolders
    return slots


def take_from_sets(item: Item, holders: Collection[Participant]) -> None:
    """Let those who held this item go on with the rest of their set, and with its repeats gone."""
    study = item.study
    for holder in holders:
        open_set = ItemSet.objects.filter(participant=holder, finished_at__isnull=True).first()
        if open_set is None or item.pk not in open_set.item_ids:
            continue
        holder.study = study
        if item.pk not in answered_items(open_set):
            lost = {*open_set.lost_ids, item.pk}
            open_set.lost_ids = [pk for pk in open_set.item_ids if pk in lost]
            open_set.save(update_fields=["lost_ids"])
        end = find_end(holder, study)
        if has_controls(study) and end is not None and end > now():
            hold_again(open_set, holder, study)


def judge_all_reports(study: Study) -> None:
    """Hold what had to wait while this item was held, or release it."""
    lock_reports(study)
    judge_reports(study, find_reported_items(study))


def _put_back(item: Item, reason: str, by: Any) -> Change | None:
    insist_on_launched(item.study)
    lock_running(item.study)
    current = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    if current.kind != Item.Kind.WITHDRAWN:
        return None
    if Change.objects.filter(instead_of=current).exists():
        raise ValidationError(
            f"{current.key} was withdrawn because its text was corrected, and the corrected text "
            "is an item of its own. It can’t be put back.",
            code="replaced",
        )
    current.kind = Item.Kind.MAIN
    current.save(update_fields=["kind"])
    # of people who withdrew or declined nothing was kept
    is_kept = Exists(Rating.objects.filter(annotation=OuterRef("pk")))
    has_agreed = Q(participant__withdrawn_at__isnull=True) & ~Q(participant__consented_to="")
    answers = current.annotations.filter(has_agreed | is_kept, status=_STATUS.WITHDRAWN)
    answers = answers.filter(
        Q(started_at__gte=current.corrected_at) if current.corrected_at else Q()
    )
    pks = list(answers.values_list("pk", flat=True))
    kept = Annotation.objects.filter(pk__in=pks)
    kept.filter(outcome=Annotation.Outcome.SKIPPED, awaits_consent=False).update(
        status=_STATUS.SKIPPED
    )
    kept.filter(status=_STATUS.WITHDRAWN).update(status=_STATUS.SURPLUS)
    judge_all_reports(current.study)
    change = Change.objects.create(
        study_id=current.study_id, kind=Change.Kind.PUT_BACK, item=current, reason=reason, by=by,
        answers=len(pks),
    )  # fmt: skip
    AuditEntry.objects.record(
        "item put back", by=by, study_id=item.study_id, item=item.key, answers=len(pks)
    )
    start_job(KIND, study_id=item.study_id, by=by)
    return change
