"""Choosing what a set is dealt: free places by heads, whole groups only, nothing met twice."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from evalsite.annotation.models import Annotation, Slot
from evalsite.participants.models import Participant
from evalsite.studies.models import Item, Study


def pick_slots(me: Participant, study: Study, *, skip_locked: bool) -> list[Slot]:
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
        # a control that shares its inputs with an item takes nobody away from that item
        answered = answered.filter(item__kind=Item.Kind.MAIN)
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
