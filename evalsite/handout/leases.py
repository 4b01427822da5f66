"""Leases: who holds which places, for how long, and how they come back.

All writes for a participant lock that participant's row first, so two tabs of one person
never cross.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from django.db import connection, transaction
from django.db.models import Exists, Max, OuterRef, QuerySet, Subquery

from evalsite.handout.controls import (
    find_controls,
    has_controls,
    lost_controls,
)
from evalsite.handout.models import ASSIGNED, Annotation, Draft, Slot
from evalsite.handout.network_places import (
    NetworkIsFull,
    check_network,
    count_answers_in_open_set,
)
from evalsite.lib.clock import now
from evalsite.lib.prepared import Prepared
from evalsite.people.models import ItemSet, Participant
from evalsite.people.networks import Network
from evalsite.studies.models import Item, Study
from evalsite.studies.set_size import mains_per_set, minutes_per_item

_REAP = 5
# a set without an answer: so long from being dealt, and so much longer once
RESERVATION = timedelta(minutes=15)
# each answer of a set keeps its places for so much longer, up to the study's lease; where an item
# takes long, for so many times its announced minutes
_MINUTES_PER_ANSWER, _TIMES_AN_ITEM = 15, 3
# after a reservation without an answer others come first, unless there is enough for everyone
OTHERS_FIRST = timedelta(minutes=5)
# a lease younger than this is not written again with every answer
_RENEW_AFTER_SECONDS = 60
# a reserved place is held for less than a lease by more than that: the first answer renews it
_RESERVED_LESS = timedelta(seconds=_RENEW_AFTER_SECONDS + 1)


def reserved_set_of(participant: Any) -> QuerySet[ItemSet]:
    """Return the open set of this person, if it has no answer and is reserved."""
    return ItemSet.objects.filter(
        participant=participant, finished_at__isnull=True, reserved_until__isnull=False
    )


_locked = Prepared(
    lambda pk: Participant.objects.select_for_update(no_key=True).filter(pk=pk).order_by()
)
_answered = Prepared(
    lambda participant, *items: (
        Item.objects.filter(pk__in=items, annotations__participant=participant)
        .order_by()
        .values_list("pk")
    )
)
_open_set_of = Prepared(
    lambda participant: ItemSet.objects.filter(
        participant=participant, finished_at__isnull=True
    ).order_by()
)
# until when a person's places are held; what their open set says; and the latest end of those of
# its places that are done
_ends_of = Prepared(
    lambda participant: (
        ItemSet.objects.filter(participant=participant, finished_at__isnull=True)
        .order_by()
        .values_list(
            Subquery(
                Slot.objects.leased()
                .filter(participant=OuterRef("participant"))
                .order_by()
                .values("participant")
                .annotate(until=Max("lease_until"))
                .values("until")
            ),
            "reserved_until",
            "leased_until",
            Subquery(
                Annotation.objects.filter(item_set=OuterRef("pk"))
                .order_by()
                .values("item_set")
                .annotate(until=Max("slot__kept_until"))
                .values("until")
            ),
        )
    )
)
# locked as by `lock_participant`, with how many answers their open set has, whether it is only
# reserved, and whether they hold any place
_locked_answers = Prepared(
    lambda pk: (
        Participant.objects.select_for_update(no_key=True)
        .filter(pk=pk)
        .order_by()
        .values_list(
            "pk",
            count_answers_in_open_set(OuterRef("pk")),
            Exists(reserved_set_of(OuterRef("pk"))),
            Exists(Slot.objects.leased().filter(participant=OuterRef("pk"))),
        )
    )
)
# locked in the order of the places, as by those who wait for one
_leased_slots = Prepared(
    lambda participant, study: (
        Slot.objects.leased()
        .filter(participant=participant, study=study)
        .select_for_update()
        .order_by("pos", "id")
        .values_list("item_id", "pk", "lease_until")
    )
)
_lapsed = Prepared(
    lambda study, participant, moment: (
        Slot.objects.leased()
        .filter(study=study, lease_until__lt=moment)
        .exclude(participant=participant)
        .order_by()
        .values_list("pk")[:1]
    )
)


def lock_participant(participant: Participant) -> Participant:
    """Return the participant's row, locked and fresh; every write for a person begins here.

    no_key: others may still write rows that refer to this one.
    """
    locked = _locked.one(participant.pk)
    if locked is None:
        raise Participant.DoesNotExist
    locked.later_visit_id = participant.later_visit_id
    return locked


def lease_end(study: Study, answers: int) -> Any:
    """Return until when places are held from now, with so many answers saved in their set."""
    step = max(_MINUTES_PER_ANSWER, _TIMES_AN_ITEM * minutes_per_item(study))
    return now() + timedelta(minutes=min(study.lease_minutes, max(1, answers) * step))


def _full_lease_end(study: Study) -> Any:
    return now() + timedelta(minutes=study.lease_minutes)


def reserve_set(item_set: ItemSet, study: Study) -> Any:
    """Return until when the places of a set without an answer are held; the set is not saved."""
    item_set.reserved_until = now() + 2 * RESERVATION
    return min(now() + RESERVATION, _full_lease_end(study) - _RESERVED_LESS)


def longest_lease(open_set: ItemSet | None, study: Study) -> Any:
    """Return the latest moment until which the places of this set can be held from now.

    In a transaction: the set's participant is locked.
    """
    if open_set is None:
        return lease_end(study, 0)
    if open_set.reserved_until is None:
        return lease_end(study, _lock_and_count(open_set.participant_id)[0])
    return min(open_set.reserved_until, _full_lease_end(study) - _RESERVED_LESS)


def _lock_and_count(participant_id: int) -> tuple[int, bool, bool]:
    """Return how many answers a person has saved in their open set, with their row locked.

    And whether the set is only reserved, and whether they hold any place.
    """
    for _, answers, is_reserved, has_places in _locked_answers.all(participant_id):
        return int(answers), bool(is_reserved), bool(has_places)
    raise Participant.DoesNotExist


def lapsed_slots(study: Study) -> QuerySet[Slot]:
    return Slot.objects.leased().filter(study=study, lease_until__lt=now())


def release_lapsed(study: Study, *, but: Participant) -> int:
    """Free a few slots whose lease has ended, each with all that share its place; count them."""
    if _lapsed.one(study.pk, but.pk, now()) is None:
        return 0
    lapsed = lapsed_slots(study).exclude(participant=but)
    # By heads, as they are dealt: two claims that each lock a part of one group would wait for
    # one another.
    lower = Slot.objects.leased().filter(
        participant=OuterRef("participant"), pos=OuterRef("pos"), id__lt=OuterRef("id")
    )
    heads = (
        lapsed.filter(~Exists(lower))
        .select_for_update(skip_locked=True)
        .order_by("lease_until")
        .values("participant", "pos")[:_REAP]
    )
    released = 0
    for place in heads:
        shared = Slot.objects.leased().filter(study=study, **place)
        locked = list(shared.select_for_update(skip_locked=True).values_list("pk", flat=True))
        # fewer: their holder is back at this very moment, and keeps them
        if len(locked) == shared.count():
            released += Slot.objects.filter(pk__in=locked).update(
                state=Slot.State.FREE, participant=None, lease_until=None
            )
    return released


def release_places(participant: Participant) -> None:
    """Free every place that this person holds."""
    slots = (
        Slot.objects.leased()
        .filter(participant=participant)
        .select_for_update()
        .order_by("pos", "id")
    )
    Slot.objects.filter(pk__in=[slot.pk for slot in slots]).update(
        state=Slot.State.FREE, participant=None, lease_until=None
    )
    forget_ends([participant.pk])


def forget_ends(people: Collection[int]) -> None:
    """Note that the open sets of these people, who are locked, are kept no more."""
    ItemSet.objects.filter(participant__in=people, finished_at__isnull=True).update(
        leased_until=None
    )
    Slot.objects.done().filter(participant__in=people, kept_until__isnull=False).update(
        kept_until=None
    )


def must_give_way(open_set: ItemSet, study: Study) -> bool:
    """Return whether this set's reservation ended unused just now, and others may need places.

    Otherwise a person who never answers could take the same places at every end of a reservation,
    before anyone else can. If as many places are left for others, nobody has to wait.
    """
    ended = open_set.reserved_until
    if not study.is_open or ended is None or not ended <= now() < ended + OTHERS_FIRST:
        return False
    needed = open_set.total or mains_per_set(study)
    left = 2 * needed
    for places in (Slot.objects.free().filter(study=study), lapsed_slots(study)):
        left -= places.filter(item__held_at__isnull=True)[:left].count() if left else 0
    return left > 0


def lease_again(open_set: ItemSet, participant: Participant, study: Study) -> bool:
    """Keep what I hold of my open set, retake what is free; False when nothing of it is left.

    Nothing is held for longer by asking again: only places that have lapsed, or were free, get a
    new end, and they are reserved until something is answered. What went to others is marked as
    lost. It keeps its place in the set, for good, and is not retaken: the set may have been filled
    again since.
    """
    answered = answered_items(open_set)
    kept: dict[int, tuple[int, Any]] = {
        item_id: (pk, until) for item_id, pk, until in _leased_slots.all(participant.pk, study.pk)
    }
    lapsed = [pk for pk, until in kept.values() if until <= now()]
    held_ids = set(kept) & set(open_set.item_ids)
    before = open_set.reserved_until, open_set.lost_ids, open_set.leased_until
    controls = find_controls(open_set, study)
    ends = [until for _, until in kept.values()] or _end_without_places(
        open_set, study, {*answered, *controls, *open_set.lost_ids}
    )
    until = ASSIGNED if participant.is_expert else _find_new_end(open_set, study, ends)
    retaken = Slot.objects.filter(pk__in=lapsed).update(lease_until=until) if lapsed else 0
    gone = set()
    for item_id in open_set.item_ids:
        if item_id in answered or item_id in held_ids or item_id in controls:
            continue
        may_be_mine = study.is_open and item_id not in open_set.lost_ids
        if may_be_mine and _take_slot(item_id, participant, until):
            retaken += 1
        else:
            gone.add(item_id)
    if controls:
        gone |= lost_controls(open_set, controls, lost=gone, answered=answered, held_ids=held_ids)
    is_kept_again = any(pk not in answered and pk not in gone for pk in controls)
    if not retaken and not (is_kept_again and not held_ids):
        open_set.reserved_until = before[0]
    elif not participant.is_expert:
        open_set.leased_until = until
    open_set.lost_ids = [item_id for item_id in open_set.item_ids if item_id in gone]
    if (open_set.reserved_until, open_set.lost_ids, open_set.leased_until) != before:
        open_set.save(update_fields=["reserved_until", "lost_ids", "leased_until"])
    return open_set.total > 0


def _end_without_places(
    open_set: ItemSet, study: Study, settled: Collection[int]
) -> list[datetime]:
    """Return the end of a set of which only checks and repeats are left, kept as if in places."""
    if not set(settled).issuperset(open_set.item_ids):
        return []
    until = find_end(open_set.participant, study)
    return [until] if until is not None else []


def could_lease_again(open_set: ItemSet, participant: Participant) -> bool:
    """Return whether `lease_again` would find something of this set, in a study that is open."""
    if participant.slots.leased().filter(item__in=open_set.item_ids).exists():
        return True
    if answered_items(open_set):
        return True
    left = {*open_set.item_ids} - {*open_set.lost_ids}
    return Slot.objects.free().filter(item__in=left, item__held_at__isnull=True).exists()


def _find_new_end(open_set: ItemSet, study: Study, ends: Collection[datetime]) -> Any:
    """Return until when places are held that are retaken now: as long as others of the set."""
    running = [until for until in ends if until > now()]
    if running:
        return max(running)
    if open_set.reserved_until is not None and open_set.reserved_until > now():
        return longest_lease(open_set, study)
    return reserve_set(open_set, study)


def answered_items(item_set: ItemSet) -> set[int]:
    """Return the items of this set that its participant has answered, in whichever set."""
    return {item_id for (item_id,) in _answered.all(item_set.participant_id, *item_set.item_ids)}


def _take_slot(item_id: int, participant: Participant, until: Any) -> bool:
    slot = free_slot_of(item_id)
    if slot is None:
        return False
    return bool(
        Slot.objects.free()
        .filter(pk=slot.pk, item__held_at__isnull=True)
        .update(state=Slot.State.LEASED, participant=participant, lease_until=until)
    )


def free_slot_of(item_id: int, is_alike: Callable[[int], bool] | None = None) -> Slot | None:
    """Return a free slot of this item, locked where the database locks rows; None: there is none.

    One of an arrangement that is alike, if there is one.
    """
    free = Slot.objects.free().filter(item_id=item_id).order_by("no")
    locked = free.select_for_update(skip_locked=True)
    if is_alike is not None:
        arrangements = free.values_list("pk", "arrangement")
        alike = [pk for pk, arrangement in arrangements if is_alike(arrangement)]
        if slot := locked.filter(pk__in=alike).first():
            return slot
    return locked.first()


def held_until(participant: Participant) -> datetime | None:
    """Return until when this person's places are held; None: none is, or they have no end."""
    end = find_end(participant, participant.study)
    return end if end is not None and now() < end < ASSIGNED else None


def renew_leases(participant: Participant, until: Any) -> None:
    """Hold every place that I have until then; an expert's are held anyway.

    They are locked in the order of the places.
    """
    lock = "FOR UPDATE" if connection.vendor == "postgresql" else ""
    end, forever = map(connection.ops.adapt_datetimefield_value, (until, ASSIGNED))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotation_slot SET lease_until = %s"  # noqa: S608 (a constant)
            " WHERE id IN (SELECT id FROM annotation_slot WHERE participant_id = %s AND state = 1"
            f" AND lease_until <> %s ORDER BY pos, id {lock})",
            [end, participant.pk, forever],
        )


@dataclass(frozen=True)
class Renewal:
    """Until when an answer keeps its person's other places, which may only be reserved so far."""

    until: datetime
    is_first: bool


def find_renewal(participant: Participant, study: Study, slot: Slot | None) -> Renewal | None:
    """Return how an answer in this slot of mine, as a page showed it, renews my places.

    None: for as long as they are kept anyway, or that isn't known from the slot alone.
    """
    if slot is None or slot.participant_id != participant.pk or slot.state != Slot.State.LEASED:
        return None
    end, answers = slot.lease_until, getattr(slot, "answers", None)
    if answers is None or end is None or end == ASSIGNED or end <= now():
        return None
    until: datetime = lease_end(study, answers + 1)
    if _is_fresh(end, until):
        return None
    return Renewal(until, is_first=getattr(slot, "is_reserved", True))


def finish_and_renew(
    participant: Participant, *, slot_id: int, item_id: int, renewal: Renewal
) -> bool:
    """Mark this slot of mine as done and renew my other places, in one statement.

    Return whether the slot was mine. They are locked in the order of the places. The end stays
    with the place that is done: it may be the last one, with checks or repeats left.
    """
    lock = "FOR UPDATE" if connection.vendor == "postgresql" else ""
    end = connection.ops.adapt_datetimefield_value(renewal.until)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotation_slot SET"  # noqa: S608 (a constant)
            " state = CASE WHEN id = %s AND item_id = %s THEN 2 ELSE 1 END,"
            " lease_until = CASE WHEN id = %s AND item_id = %s THEN NULL ELSE %s END,"
            " kept_until = CASE WHEN id = %s AND item_id = %s THEN %s ELSE NULL END"
            " WHERE id IN (SELECT id FROM annotation_slot WHERE participant_id = %s AND state = 1"
            f" ORDER BY pos, id {lock}) RETURNING id, item_id",
            [*(slot_id, item_id) * 2, end, slot_id, item_id, end, participant.pk],
        )
        is_mine = (slot_id, item_id) in cursor.fetchall()
    if renewal.is_first:
        _set_end(participant, renewal.until, reserved_until=None)
    return is_mine


@transaction.atomic
def prolong_reservation(participant: Participant) -> None:
    """Hold reserved places to the end of their reservation, once the instructions are read."""
    locked = lock_participant(participant)
    open_set = ItemSet.objects.filter(participant=locked, finished_at__isnull=True).first()
    if open_set is None or open_set.reserved_until is None or open_set.reserved_until <= now():
        return
    study = Study.objects.for_pages().get(pk=locked.study_id)
    until = longest_lease(open_set, study)
    _set_end(locked, until)
    renew_leases(locked, until)


def keep_lease(participant: Participant, study: Study, slot: Slot | None) -> None:
    """Hold what I hold for another lease, unless that was written a moment ago.

    How long a lease is depends on how many answers the set has.
    """
    end = slot.lease_until if slot is not None else None
    end = find_end(participant, study) if end is None else end
    if end == ASSIGNED or _is_fresh(end, _full_lease_end(study)):
        return
    with transaction.atomic():
        answers, is_reserved, has_places = _lock_and_count(participant.pk)
        until = lease_end(study, answers)
        if end is not None and not is_reserved:
            # as those do that are done, which keep the latest end of their set
            until = max(until, end)
        if _has_lapsed_for_good(participant, study, end):
            return
        if has_places:
            renew_leases(participant, until)
        # while places are left, the end is theirs
        if is_reserved or not has_places:
            _set_end(participant, until, reserved_until=None)


def keep_lease_once(participant: Participant, study: Study, draft: Draft) -> bool:
    """Renew what this person holds because of a draft; return whether a later one could, too.

    A draft does so once for its item. A set without an answer is held to the end of its
    reservation, and no longer. Which item it is doesn't matter: the answer tells nothing about it.
    """
    if draft.renewed_at is not None:
        return False
    with transaction.atomic():
        locked = lock_participant(participant)
        open_set = _open_set_of.one(locked.pk)
        until, end = longest_lease(open_set, study), find_end(locked, study)
        is_reserved = open_set is not None and open_set.reserved_until is not None
        if not is_reserved and _is_fresh(end, until):
            return True
        is_over = until <= now() or end in (until, ASSIGNED)
        if not is_over and not _has_lapsed_for_good(locked, study, end):
            _set_end(locked, until)
            renew_leases(locked, until)
        if not is_reserved:
            Draft.objects.filter(pk=draft.pk).update(renewed_at=now())
    return False


def find_end(participant: Participant, study: Study) -> datetime | None:
    """Return until when my open set is kept, or was: one time for all of its items.

    Its places say so. Once none of them is left, the set and its answers say it if it has no
    answer yet, or may hold checks or repeats.
    """
    for until, reserved_until, *ends in _ends_of.all(participant.pk):
        if until is not None:
            return cast("datetime", until)
        if reserved_until is None and not has_controls(study):
            return None
        # no end is lowered
        return max((end for end in ends if end is not None), default=None)
    return cast(
        "datetime | None", participant.slots.leased().aggregate(until=Max("lease_until"))["until"]
    )


def save_end(participant: Participant, study: Study) -> None:
    """Write the end of my open set into the set, before a place goes that may have it."""
    if has_controls(study) and (end := find_end(participant, study)) is not None:
        _set_end(participant, end)


def find_end_for_one_more(participant: Participant, study: Study) -> datetime:
    """Return until when a place is held that comes back to my open set: as the rest of it."""
    open_set = _open_set_of.one(participant.pk)
    end = find_end(participant, study)
    if end is not None and end > now():
        return end
    until: datetime = longest_lease(open_set, study)
    _set_end(participant, until)
    return until


def _set_end(participant: Participant, until: datetime, **more: Any) -> None:
    """Write until when my open set is kept."""
    ItemSet.objects.filter(participant=participant, finished_at__isnull=True).update(
        leased_until=until, **more
    )


def _has_lapsed_for_good(participant: Participant, study: Study, end: datetime | None) -> bool:
    """Return whether places have lapsed that others of this person's network hold by now."""
    if end is None or end > now() or not participant.network:
        return False
    try:
        network = Network(participant.network, participant.network)
        check_network(study, network, participant, is_locking=True)
    except NetworkIsFull:
        return True
    return False


def _is_fresh(end: datetime | None, until: datetime) -> bool:
    """Return whether something is held until then, but for what isn't worth writing."""
    return end is not None and (until - end).total_seconds() <= _RENEW_AFTER_SECONDS
