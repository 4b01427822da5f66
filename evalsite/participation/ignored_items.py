"""Ignoring an item, and taking it back: what stood before goes to the history and comes back."""

from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.db.models import F

from evalsite.core.audit.models import AuditEntry
from evalsite.handout.leases import find_end_for_one_more
from evalsite.handout.models import ASSIGNED, Annotation, Draft, Revision, Slot
from evalsite.instruments.schema import IgnoreReason, Instrument
from evalsite.lib.clock import now
from evalsite.participation.saving import (
    LEFT_TO_OTHERS,
    Saved,
    Submission,
    keep_revision,
    lock_present,
    replace_annotation,
    save_locked,
)
from evalsite.participation.screens import load_screen
from evalsite.people.models import ItemSet, Participant
from evalsite.people.services import Agreement
from evalsite.studies.models import Item

_IGNORED = Annotation.Outcome.IGNORED


def reason_of(config: Instrument, key: str) -> IgnoreReason:
    """Return the reason of this key, also of one that the protocol has dropped since."""
    reasons = (reason for reason in config.ignore_reasons if reason.key == key)
    return next(reasons, IgnoreReason(key=key, label=key))


@transaction.atomic
def ignore_item(
    *, participant: Participant, item_set: ItemSet, submission: Submission, reason: IgnoreReason
) -> Saved:
    """Ignore the item, and those of its group in this set if the reason covers them.

    Earlier scores are in the history. Items that went to others, or were reported, don't change.
    """
    agreement = lock_present(participant)
    asked = replace(submission, outcome=_IGNORED, reason=reason.key, rows=())
    covered = [asked]
    if reason.covers == "group":
        covered += _same_for_mates(participant, asked, item_set)
    # by item: two people who ignore one group must not wait for one another
    covered.sort(key=lambda answer: answer.item.pk)
    became = {answer.item.pk: _ignore_one(participant, answer, agreement) for answer in covered}
    return became[submission.item.pk]


def _ignore_one(participant: Participant, submission: Submission, agreement: Agreement) -> Saved:
    saved = save_locked(participant=participant, submission=submission, agreement=agreement)
    if saved is Saved.ALREADY:
        # entered since, and not meant: it would come back as a change of this answer
        Draft.objects.filter(
            participant=participant,
            item=submission.item,
            item__annotations__participant=participant,
            item__annotations__submitted_at__lt=F("updated_at"),
        ).delete()
    return saved


def _same_for_mates(
    participant: Participant, submission: Submission, item_set: ItemSet
) -> list[Submission]:
    """Return the same for each other item of the group that is this person's in this set.

    A control is always a group of its own, whatever inputs it shares.
    """
    if not submission.item.is_main:
        return []
    mates = Item.objects.main().filter(pk__in=item_set.item_ids, group=submission.item.group)
    mates = mates.exclude(pk=submission.item.pk)
    slots = {
        slot.item_id: slot for slot in Slot.objects.filter(participant=participant, item__in=mates)
    }
    answers = Annotation.objects.filter(participant=participant, item__in=mates)
    outcomes = dict(answers.order_by().values_list("item_id", "outcome"))
    submissions = []
    for item in mates:
        is_mine = participant.is_pilot or item.pk in slots or item.pk in outcomes
        if not is_mine or outcomes.get(item.pk) in LEFT_TO_OTHERS:
            continue
        slot = slots.get(item.pk)
        submissions.append(
            replace(
                submission,
                item=item,
                slot_id=slot.pk if slot else None,
                place=item_set.item_ids.index(item.pk) + 1,
                order_shown=tuple(load_screen(participant, item, slot).order),
                # it was not on the screen: no time was spent on it
                started_at=now(),
                client_ms=None,
                active_ms=None,
            )
        )
    return submissions


# --- taking it back ---------------------------------------------------------------------


@transaction.atomic
def undo_ignoring(*, participant: Participant, item_set: ItemSet, item_id: int) -> int:
    """Restore all that was ignored together with this item; return how many items that are.

    Earlier scores are restored. Without any, the place is this person's again.
    Nothing is done once the set is finished, where nothing is ignored, or without consent.
    """
    if lock_present(participant) is not Agreement.CURRENT:
        return 0
    current = ItemSet.objects.get(pk=item_set.pk)
    if current.finished_at is not None:
        return 0
    ignored = list_ignored_together(participant, item_set, item_id)
    if not ignored:
        return 0
    until = find_end_for_one_more(participant, participant.study)
    for annotation in ignored:
        before = _find_before(annotation)
        if before is None:
            _remove(participant, annotation, until)
        else:
            _restore(participant, annotation, before)
    return len(ignored)


def list_ignored_together(
    participant: Participant, item_set: ItemSet, item_id: int
) -> list[Annotation]:
    """Return what was ignored with this item, itself included; nothing if it isn't ignored."""
    mine = Annotation.objects.filter(participant=participant, item_set=item_set, outcome=_IGNORED)
    first = mine.select_related("item").filter(item_id=item_id).first()
    if first is None:
        return []
    covers = reason_of(participant.study.config, first.reason).covers
    if covers == "item" or not first.item.is_main:
        return [first]
    mates = mine.filter(item__group=first.item.group, item__kind=Item.Kind.MAIN)
    mates = mates.filter(reason=first.reason)
    return list(mates.select_related("item").order_by("item_id"))


def _find_before(annotation: Annotation) -> Revision | None:
    """Return what it was before it was ignored; each undoing cancels what it undid."""
    undone = 0
    for revision in annotation.revisions.order_by("-id"):
        if revision.state.get("is_undone"):
            undone += 1
        elif undone:
            undone -= 1
        else:
            return revision
    return None


def _restore(participant: Participant, annotation: Annotation, before: Revision) -> None:
    keep_revision(annotation, is_undone=True)
    state = before.state
    submission = Submission(
        item=annotation.item,
        outcome=state["outcome"],
        reason=state["reason"],
        note=state["note"],
        rows=tuple(before.list_rows()),
    )
    replace_annotation(annotation, participant, submission)
    # it is the answer of that moment, not a new one
    Annotation.objects.filter(pk=annotation.pk).update(submitted_at=before.submitted_at)


def _remove(participant: Participant, annotation: Annotation, until: datetime) -> None:
    """Take the answer away and let this person hold its place again; the log keeps what it was.

    It is held no longer than the rest of the set.
    """
    AuditEntry.objects.record(
        "ignore undone",
        by=None,
        study_id=annotation.study_id,
        who=participant.pseudonym,
        item=annotation.item.key,
        reason=annotation.reason,
        ignored_at=annotation.submitted_at.isoformat(),
        undone_at=now().isoformat(),
    )
    slot = annotation.slot
    annotation.delete()
    if slot is not None:
        slot.state = Slot.State.LEASED
        slot.lease_until = ASSIGNED if participant.is_expert else until
        slot.kept_until = None
        slot.save(update_fields=["state", "lease_until", "kept_until"])
