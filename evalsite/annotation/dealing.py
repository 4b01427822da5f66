"""Handing out work: sets of free slots under a lease (reliability.md section 2).

Counts are always derived from rows; there is no counter that could drift. Whoever writes for a
participant locks that participant's row first, so two tabs of one person never cross.
"""

from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from evalsite.annotation.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.lib.seeds import make_random
from evalsite.participants.models import ItemSet, Participant
from evalsite.studies.models import Item, Study

_TRIES = 3
_REAP = 5


class LostRace(Exception):
    """Somebody else took a slot between the look and the update: look again."""


def lock_participant(participant: Participant) -> Participant:
    """The participant's row, locked and fresh; every write for a person begins here.

    no_key: rows that refer to this one may still be written by somebody else.
    """
    return Participant.objects.select_for_update(no_key=True).get(pk=participant.pk)


def lease_end(study: Study) -> Any:
    return now() + timedelta(minutes=study.lease_minutes)


def claim_set(participant: Participant) -> ItemSet | None:
    """The participant holds the items of an open set, or None: there is nothing for them now.

    An open set comes back as it was, less what others have finished since its lease lapsed. In a
    study that is paused or closed it comes back with what is still held, and nothing new is dealt.
    """
    # Locked rows are skipped; before anyone hears that nothing is left, they are waited for. In
    # a transaction of its own: who waits must hold no lock but in the order of the places, and
    # PostgreSQL keeps a lock on each row that it looked at and found taken.
    return _claim_in_tries(participant, skip_locked=True) or _claim_in_tries(
        participant, skip_locked=False
    )


def _claim_in_tries(participant: Participant, *, skip_locked: bool) -> ItemSet | None:
    for _ in range(_TRIES):
        try:
            with transaction.atomic():
                return _claim(participant, skip_locked=skip_locked)
        except (LostRace, IntegrityError):
            continue
    return None


def _claim(participant: Participant, *, skip_locked: bool) -> ItemSet | None:
    me = lock_participant(participant)
    study = Study.objects.get(pk=me.study_id)
    if me.stopped_at or me.withdrawn_at:
        return None
    open_set = ItemSet.objects.filter(participant=me, finished_at__isnull=True).first()
    if open_set is not None and _hold_again(open_set, me, study):
        return open_set
    if not study.is_open or (open_set is None and not may_have_another_set(me, study)):
        return None
    if not skip_locked:
        slots = _pick(me, study, skip_locked=False)
    else:
        is_more = _release_lapsed(study, but=me)
        slots = _pick(me, study, skip_locked=True)
        while not slots and is_more:
            is_more = _release_lapsed(study, but=me)
            slots = _pick(me, study, skip_locked=True)
    return _deal(slots, me, study, open_set) if slots else None


def may_have_another_set(me: Participant, study: Study) -> bool:
    """Whether the study's cap of sets leaves room for one more."""
    if study.max_sets is None:
        return True
    return ItemSet.objects.filter(participant=me).count() < study.max_sets


def _lapsed(study: Study) -> QuerySet[Slot]:
    return Slot.objects.leased().filter(study=study, lease_until__lt=now())


def _release_lapsed(study: Study, *, but: Participant) -> int:
    """A few slots whose lease has ended are free again, each with all that share its place.

    Returns how many are.
    """
    # By heads, as they are dealt: two claims that each lock a part of one group would wait for
    # one another.
    lower = Slot.objects.leased().filter(
        participant=OuterRef("participant"), pos=OuterRef("pos"), id__lt=OuterRef("id")
    )
    heads = (
        _lapsed(study)
        .filter(~Exists(lower))
        .exclude(participant=but)
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


def _hold_again(open_set: ItemSet, me: Participant, study: Study) -> bool:
    """Renew what I hold of my open set, retake what is free; False when nothing of it is left.

    What went to others is marked as lost. It keeps its place in the set, for good.
    """
    until = lease_end(study)
    answered = answered_items(open_set)
    held = renew_leases(me, study) & set(open_set.item_ids)
    lost = [
        item_id
        for item_id in open_set.item_ids
        if item_id not in answered
        and item_id not in held
        and not (study.is_open and _take_slot(item_id, me, until))
    ]
    if lost != open_set.lost_ids:
        open_set.lost_ids = lost
        open_set.save(update_fields=["lost_ids"])
    return open_set.total > 0


def answered_items(item_set: ItemSet) -> set[int]:
    """Items of this set that its participant has answered, in whichever set that was."""
    return set(
        Annotation.objects.filter(
            participant_id=item_set.participant_id, item_id__in=item_set.item_ids
        ).values_list("item_id", flat=True)
    )


def _take_slot(item_id: int, me: Participant, until: Any) -> bool:
    slot = free_slot_of(item_id)
    if slot is None:
        return False
    return bool(
        Slot.objects.free()
        .filter(pk=slot.pk, item__held_at__isnull=True)
        .update(state=Slot.State.LEASED, participant=me, lease_until=until)
    )


def free_slot_of(item_id: int) -> Slot | None:
    """A free slot of this item, locked where the database locks rows."""
    return (
        Slot.objects.free()
        .filter(item_id=item_id)
        .select_for_update(skip_locked=True)
        .order_by("no")
        .first()
    )


def renew_leases(me: Participant, study: Study) -> set[int]:
    """Every slot I hold in this study is mine for another full lease; returns their items."""
    mine = Slot.objects.leased().filter(participant=me, study=study)
    # locked in the order of the places, as by those who wait for one
    held = dict(mine.select_for_update().order_by("pos", "id").values_list("item_id", "pk"))
    Slot.objects.filter(pk__in=held.values()).update(lease_until=lease_end(study))
    return set(held)


def _pick(me: Participant, study: Study, *, skip_locked: bool) -> list[Slot]:
    """Free slots for one set, whole groups only, each item once; empty when there are none."""
    if not skip_locked:
        return _pick_from(me, study, -1, skip_locked=False)
    slots = _pick_from(me, study, me.cursor, skip_locked=True)
    if not slots and me.cursor >= 0:
        slots = _pick_from(me, study, -1, skip_locked=True)
    return slots


def _pick_from(me: Participant, study: Study, cursor: int, *, skip_locked: bool) -> list[Slot]:
    chosen: list[Slot] = []
    # No more heads are locked than a set can hold: what one locks, others have to do without.
    wanted = 1 if study.groups == Study.Groups.TOGETHER else study.set_size
    while len(chosen) < study.set_size:
        heads = list(_heads(me, study, cursor, chosen, skip_locked=skip_locked)[:wanted])
        groups = _whole_groups_at(heads, me)
        for group in groups:
            if _is_met_in(chosen, group, study):
                continue
            if chosen and len(chosen) + len(group) > study.set_size:
                return chosen
            chosen += group
        if len(heads) < wanted:
            return chosen
        cursor = heads[-1].pos
        wanted = max(1, (study.set_size - len(chosen)) // max(map(len, groups), default=1))
    return chosen


def _is_met_in(chosen: list[Slot], group: list[Slot], study: Study) -> bool:
    """Whether these slots show an item that is chosen already, or its group where once is all."""
    if study.groups == Study.Groups.ONCE:
        return bool({slot.item.group for slot in chosen} & {slot.item.group for slot in group})
    return bool({slot.item_id for slot in chosen} & {slot.item_id for slot in group})


def new_to(me: Participant, study: Study) -> Q:
    """Slots of items that this person has neither been dealt nor answered, nor their group."""
    same: dict[str, Any] = {"item": OuterRef("item")}
    if study.groups == Study.Groups.ONCE:
        same = {"item__group": OuterRef("item__group"), "study": study}
    dealt = Slot.objects.filter(participant=me, **same)
    answered = Annotation.objects.filter(participant=me, **same)
    if study.groups == Study.Groups.ONCE:
        # practice that shares its inputs with an item takes nobody away from that item
        answered = answered.exclude(item__kind=Item.Kind.PRACTICE)
    return ~Q(Exists(dealt)) & ~Q(Exists(answered)) & Q(item__held_at__isnull=True)


def _heads(
    me: Participant, study: Study, cursor: int, chosen: list[Slot], *, skip_locked: bool
) -> QuerySet[Slot]:
    """The lowest free slot of each place after the cursor, of items that are new to me."""
    lower = Slot.objects.free().filter(
        study=OuterRef("study"),
        pos=OuterRef("pos"),
        id__lt=OuterRef("id"),
        item__held_at__isnull=True,
    )
    return (
        Slot.objects.free()
        .filter(~Exists(lower), new_to(me, study), study=study, pos__gt=cursor)
        .exclude(item_id__in=[slot.item_id for slot in chosen])
        .select_for_update(skip_locked=skip_locked, of=("self",))
        .order_by("pos", "id")
    )


def _whole_groups_at(heads: list[Slot], me: Participant) -> list[list[Slot]]:
    """The free slots that share a place with each head; none of a place with an item of mine."""
    if not heads:
        return []
    slots = (
        Slot.objects.free()
        .filter(study_id=heads[0].study_id, pos__in=[head.pos for head in heads])
        .filter(item__held_at__isnull=True)
        .select_related("item")
        .order_by("pos", "id")
    )
    groups: dict[int, list[Slot]] = {head.pos: [] for head in heads}
    for slot in slots:
        groups[slot.pos].append(slot)
    several = [slot.item_id for group in groups.values() if len(group) > 1 for slot in group]
    mine = _items_of(me, several) if several else set()
    return [group for group in groups.values() if group and not {s.item_id for s in group} & mine]


def _items_of(me: Participant, item_ids: list[int]) -> set[int]:
    """Which of these items I have been dealt or have answered."""
    dealt = Slot.objects.filter(participant=me, item_id__in=item_ids)
    answered = Annotation.objects.filter(participant=me, item_id__in=item_ids)
    return {*dealt.values_list("item_id", flat=True), *answered.values_list("item_id", flat=True)}


def _deal(slots: list[Slot], me: Participant, study: Study, emptied: ItemSet | None) -> ItemSet:
    """These slots are leased to me as my set; LostRace if one of them was taken meanwhile.

    A set of mine that others have emptied is filled again, behind the places it had. It is never
    deleted: an answer that arrives late may still name it.
    """
    taken = (
        Slot.objects.free()
        .filter(pk__in=[slot.pk for slot in slots])
        .update(state=Slot.State.LEASED, participant=me, lease_until=lease_end(study))
    )
    if taken != len(slots):
        raise LostRace
    me.cursor = max(slot.pos for slot in slots)
    me.save(update_fields=["cursor"])
    mine = emptied or ItemSet(study=study, participant=me, number=_next_number(me))
    dealt = _order_items([slot.item for slot in slots], me, study, mine.number)
    mine.lost_ids = [item_id for item_id in mine.lost_ids if item_id not in dealt]
    mine.item_ids += [item_id for item_id in dealt if item_id not in mine.item_ids]
    mine.save()
    return mine


def _next_number(me: Participant) -> int:
    return (ItemSet.objects.filter(participant=me).aggregate(last=Max("number"))["last"] or 0) + 1


def _order_items(items: list[Item], me: Participant, study: Study, number: int) -> list[int]:
    """The order of a set: as uploaded, or shuffled for this participant, groups in one piece.

    What is in one group is shuffled in any case: its items are compared with one another. What
    hangs together otherwise, such as the turns of a conversation, keeps its own order.
    """
    draw = make_random(study.seed, "set", me.pseudonym, number)
    groups: dict[str, list[int]] = {}
    for item in sorted(items, key=lambda item: item.key):
        together = item.group if study.groups == Study.Groups.TOGETHER else item.key
        groups.setdefault(together, []).append(item.pk)
    if study.item_order == Study.ItemOrder.UPLOADED:
        order = sorted(groups.values(), key=min)
    else:
        order = list(groups.values())
        draw.shuffle(order)
    for group in order:
        draw.shuffle(group)
    arranged = [item_id for group in order for item_id in group]
    if study.groups == Study.Groups.TOGETHER:
        return arranged
    return _keep_turns(arranged, {item.pk: item.cluster for item in items if item.cluster})


def _keep_turns(item_ids: list[int], clusters: dict[int, str]) -> list[int]:
    """The items of each cluster are in the order of the file, in the places that they had."""
    waiting: dict[str, list[int]] = {}
    for item_id in sorted(clusters, reverse=True):
        waiting.setdefault(clusters[item_id], []).append(item_id)
    return [
        waiting[clusters[item_id]].pop() if item_id in clusters else item_id for item_id in item_ids
    ]


def has_work(me: Participant, study: Study) -> bool:
    """Whether a claim by this person would find something now."""
    if not study.is_open or me.stopped_at or not may_have_another_set(me, study):
        return False
    # a claim frees what has lapsed, so that is work too
    return any(
        slots.filter(new_to(me, study)).exists()
        for slots in (Slot.objects.free().filter(study=study), _lapsed(study))
    )


# --- pilots -------------------------------------------------------------------------


def deal_pilot_set(participant: Participant) -> ItemSet | None:
    """A pilot participant has a set of the first items; no slot is touched. None: no items left."""
    with transaction.atomic():
        me = Participant.objects.select_for_update().get(pk=participant.pk)
        open_set = ItemSet.objects.filter(participant=me, finished_at__isnull=True).first()
        if open_set is not None:
            return open_set
        study = Study.objects.get(pk=me.study_id)
        seen = Q(annotations__participant=me)
        items = list(
            Item.objects.main().filter(study=study).exclude(seen).order_by("id")[: study.set_size]
        )
        if not items:
            return None
        number = _next_number(me)
        return ItemSet.objects.create(
            study=study,
            participant=me,
            number=number,
            item_ids=_order_items(items, me, study, number),
        )
