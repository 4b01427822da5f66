"""Choosing what a set is dealt: free places by heads, whole groups only, nothing met twice.

The queue is planned so that any run of it is balanced (layers.py). Where it has gaps, because
others hold some of it or because I have met it, places are chosen from a window of the queue, so
that what a set has enough of is passed over while it can get something else.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery

from evalsite.handout.models import Annotation, Slot, order_of
from evalsite.handout.slot_plan import place_in_group
from evalsite.lib.prepared import Prepared
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.set_size import mains_per_set

# the free slots that share a pos
Place = list[Slot]


@dataclass(frozen=True)
class Shown:
    """Which systems a place shows, and each of them where: on the page, or in its group."""

    systems: Hashable
    marks: tuple[Hashable, ...]


def find_shown(study: Study, places: Iterable[Place]) -> dict[int, Shown]:
    """Return what each place shows, by its pos."""
    places = list(places)
    item_ids = [slot.item_id for place in places for slot in place]
    outputs = Output.objects.filter(item__in=item_ids).order_by("item_id", "position")
    pairs = outputs.values_list("item_id", "system_id")
    systems: dict[int, tuple[int | None, ...]] = {
        item_id: tuple(system for _, system in rows)
        for item_id, rows in groupby(pairs, key=itemgetter(0))
    }
    return {place[0].pos: _find_shown(study, place, systems) for place in places}


def _find_shown(study: Study, place: Place, systems: dict[int, tuple[int | None, ...]]) -> Shown:
    marks: list[Hashable] = []
    for slot in place:
        shown = systems.get(slot.item_id, ())
        if study.groups == Study.Groups.TOGETHER:
            marks.append((shown, place_in_group(max(1, len(shown)), slot.arrangement)))
        if len(shown) > 1:
            order = order_of(study.seed, slot.item, len(shown), slot.arrangement)
            marks += [(shown[position], at) for at, position in enumerate(order)]
    # 0: a system without a name
    kinds = [sorted(system or 0 for system in systems.get(slot.item_id, ())) for slot in place]
    return Shown(tuple(map(tuple, sorted(kinds))), tuple(marks))


@dataclass
class Tally:
    """What is in a set so far."""

    systems: Counter[Hashable] = field(default_factory=Counter)
    marks: Counter[Hashable] = field(default_factory=Counter)

    @classmethod
    def of(cls, shown: Iterable[Shown]) -> "Tally":
        tally = cls()
        for place_shown in shown:
            tally.add(place_shown)
        return tally

    def add(self, shown: Shown) -> None:
        self.systems[shown.systems] += 1
        self.marks.update(shown.marks)

    def weigh(self, shown: Shown) -> tuple[int, int]:
        """Return how much of this the set has: first these systems, then each in its place."""
        return self.systems[shown.systems], sum(self.marks[mark] for mark in shown.marks)


def sort_by_shown(places: Sequence[Place], shown: dict[int, Shown]) -> dict[Shown, list[Place]]:
    """Return places by what they show, the last of the queue first: pop() gives the next."""
    by_shown: dict[Shown, list[Place]] = {}
    for place in reversed(places):
        by_shown.setdefault(shown[place[0].pos], []).append(place)
    return by_shown


# how many times what a set can hold is looked at, where its places do not simply follow
_WINDOW = 3


@dataclass
class Pick:
    """The places of a set. `is_full`: it would hold no more, however many were free.

    `cursor`: nothing before it was passed over, so there the next set may be looked for.
    """

    study: Study
    left: int | None
    size: int
    places: list[Place] = field(default_factory=list)
    is_full: bool = False
    cursor: int = -1
    filled: int = 0
    met: set[object] = field(default_factory=set)

    @property
    def slots(self) -> list[Slot]:
        return [slot for place in self.places for slot in place]

    def is_new(self, place: Place) -> bool:
        return self.met.isdisjoint(map(self._key_of, place))

    def _key_of(self, slot: Slot) -> object:
        """Return the ids never shown twice to a person: the item's, or its group's under `once`."""
        return slot.item.group if self.study.groups == Study.Groups.ONCE else slot.item_id

    def has_room(self, place: Place) -> bool:
        """Return whether the set has room for this place; a group above its size is dealt alone."""
        total = self.filled + len(place)
        is_allowed = self.left is None or total <= self.left
        return is_allowed and (total <= self.size or not self.places)

    def add(self, place: Place) -> None:
        self.places.append(place)
        self.filled += len(place)
        self.met.update(map(self._key_of, place))
        self.is_full = self.filled >= self.size or self.filled == self.left


def pick_places(
    participant: Participant, study: Study, *, left: int | None, skip_locked: bool
) -> Pick:
    """Pick free places for one set; `left`: the most items it may have (None: no cap)."""
    pick = Pick(study, left, mains_per_set(study))
    if left == 0:
        return pick
    # who waits for locked rows locks them in the order of their places, so only from the start
    spans: list[tuple[int, int | None]] = [(-1, None)]
    if skip_locked and participant.cursor >= 0:
        spans = [(participant.cursor, None), (-1, participant.cursor)]
    for after, upto in spans:
        _pick_between(_Queue(pick, participant, after, upto, skip_locked))
        if pick.is_full:
            break
    return pick


def _pick_between(queue: "_Queue") -> None:
    """Fill the set with what it can get from this part of the queue."""
    pick = queue.pick
    places = queue.see(1) if pick.study.groups == Study.Groups.TOGETHER else []
    count = max(1, pick.size // max(map(len, places), default=1))
    places += queue.see(count - len(places))
    # places that follow one another as they were planned, in one layer, are balanced already
    is_run = not pick.places and all(
        before[0].pos + 1 == after[0].pos and before[0].no == after[0].no
        for before, after in pairwise(places)
    )
    if not is_run:
        places += queue.see((_WINDOW - 1) * count)
    while places:
        passed = _take_in_order(pick, places) if is_run else _take_evenly(pick, places)
        pick.cursor = min([*(place[0].pos - 1 for place in passed), places[-1][0].pos])
        if pick.is_full:
            return
        is_run = False
        places = queue.see(_WINDOW * count)


def _take_in_order(pick: Pick, places: Sequence[Place]) -> list[Place]:
    """Add these places to the set while it has room; return those that didn't fit."""
    passed = []
    for place in places:
        if not pick.is_new(place):
            continue
        if not pick.is_full and pick.has_room(place):
            pick.add(place)
        else:
            passed.append(place)
    pick.is_full |= bool(passed and pick.places)
    return passed


def _take_evenly(pick: Pick, places: Sequence[Place]) -> list[Place]:
    """Add the places that the set lacks most; return those that it could have had.

    Layer by layer: nothing is dealt again while something is free that was not dealt before.
    """
    shown = find_shown(pick.study, [*pick.places, *places])
    tally = Tally.of(shown[place[0].pos] for place in pick.places)
    passed: list[Place] = []
    for _, layer in groupby(places, key=lambda place: place[0].no):
        waiting = sort_by_shown(list(layer), shown)
        while waiting and not pick.is_full:
            lacked = min(waiting, key=lambda kind: (*tally.weigh(kind), waiting[kind][-1][0].pos))
            place = waiting[lacked].pop()
            if not waiting[lacked]:
                del waiting[lacked]
            if not pick.is_new(place):
                continue
            if pick.has_room(place):
                pick.add(place)
                tally.add(lacked)
            else:
                passed.append(place)
        passed += [place for alike in waiting.values() for place in alike if pick.is_new(place)]
    pick.is_full |= bool(passed and pick.places)
    return passed


# --- the queue ------------------------------------------------------------------------


@dataclass
class _Queue:
    """The free places that are new to this person after one pos, up to another, in their order."""

    pick: Pick
    participant: Participant
    after: int
    upto: int | None
    skip_locked: bool

    def see(self, count: int) -> list[Place]:
        """Return the next places, heads locked; none when there are no more.

        No more heads are locked than are needed: others have to do without them.
        """
        is_together = self.pick.study.groups == Study.Groups.TOGETHER
        places: list[Place] = []
        while len(places) < count:
            missing = count - len(places)
            heads = self._heads(missing)
            if heads:
                self.after = heads[-1].pos
                # only groups that stay together share a place
                places += (
                    _groups_at(heads, self.participant)
                    if is_together
                    else [[head] for head in heads]
                )
            if len(heads) < missing:
                break
        return places

    def _heads(self, count: int) -> list[Slot]:
        """Return the lowest free slot of each of the next places, with an item not yet seen."""
        study, met = self.pick.study, self.pick.met
        is_together = study.groups == Study.Groups.TOGETHER
        if not is_together and not met and self.upto is None:
            first = _first_heads(study.groups, self.skip_locked, count)
            return first.all(self.participant.pk, study.pk, self.after)
        heads = _free_heads(
            self.participant.pk, study.pk, self.after, study.groups, self.skip_locked
        )
        if is_together:
            lower = Slot.objects.free().filter(
                study=OuterRef("study"),
                pos=OuterRef("pos"),
                id__lt=OuterRef("id"),
                item__held_at__isnull=True,
            )
            heads = with_room(heads.filter(~Exists(lower)), study, self.pick.left)
        if met:
            key = "item__group" if study.groups == Study.Groups.ONCE else "item"
            heads = heads.exclude(**{f"{key}__in": met})
        if self.upto is not None:
            heads = heads.filter(pos__lte=self.upto)
        return list(heads[:count])


def _free_heads(
    participant: Any, study: Any, after: Any, groups: str, skip_locked: bool
) -> QuerySet[Slot]:
    """Return the free slots behind this pos with items not yet seen, locked in order."""
    free = _with_item(Slot.objects.free()).filter(new_to(participant, study, groups), study=study)
    locked = free.filter(pos__gt=after).select_for_update(skip_locked=skip_locked, of=("self",))
    return locked.order_by("pos", "id")


@cache
def _first_heads(groups: str, skip_locked: bool, count: int) -> Prepared[Slot]:
    return Prepared(
        lambda participant, study, after: _free_heads(
            participant, study, after, groups, skip_locked
        )[:count]
    )


@cache
def free_place(groups: str) -> Prepared[tuple[int]]:
    """Return the query for one free place that a person could be dealt in a study."""
    return Prepared(
        lambda participant, study: (
            Slot.objects.free()
            .filter(new_to(participant, study, groups), study=study)
            .order_by()
            .values_list("pk")[:1]
        )
    )


def with_room(
    slots: QuerySet[Slot], study: Study, left: int | None, *, among: QuerySet[Slot] | None = None
) -> QuerySet[Slot]:
    """Return the slots whose group is no larger than what is left, where groups are whole.

    `among`: what is dealt of a group; all that is free, if nothing else is said.
    """
    if left is None or study.groups != Study.Groups.TOGETHER:
        return slots
    shared = (Slot.objects.free() if among is None else among).filter(
        study=OuterRef("study"), pos=OuterRef("pos"), item__held_at__isnull=True
    )
    count = shared.order_by().values("pos").annotate(n=Count("pk")).values("n")
    return slots.alias(shared=Subquery(count)).filter(shared__lte=left)


def new_to(participant: Any, study: Any, groups: str) -> Q:
    """Return the condition of slots whose item, or group, this person hasn't been dealt before."""
    match: dict[str, Any] = {"item": OuterRef("item")}
    if groups == Study.Groups.ONCE:
        match = {"item__group": OuterRef("item__group"), "study": study}
    taken = Slot.objects.filter(participant=participant, **match)
    answered = Annotation.objects.filter(participant=participant, **match)
    if groups == Study.Groups.ONCE:
        # a control that shares its inputs with an item doesn't bar anyone from that item
        answered = answered.filter(item__kind__in=(Item.Kind.MAIN, Item.Kind.WITHDRAWN))
    return ~Q(Exists(taken)) & ~Q(Exists(answered)) & Q(item__held_at__isnull=True)


def _with_item(slots: QuerySet[Slot]) -> QuerySet[Slot]:
    """Return these slots with what dealing needs of their items."""
    return slots.select_related("item").defer("item__inputs", "item__extra", "item__gold")


def _groups_at(heads: list[Slot], participant: Participant) -> list[Place]:
    """Return the free slots that share a place with each head, unless I have met an item there."""
    slots = (
        _with_item(Slot.objects.free())
        .filter(study_id=heads[0].study_id, pos__in=[head.pos for head in heads])
        .filter(item__held_at__isnull=True)
        .order_by("pos", "id")
    )
    groups: dict[int, Place] = {head.pos: [] for head in heads}
    for slot in slots:
        groups[slot.pos].append(slot)
    several = [slot.item_id for group in groups.values() if len(group) > 1 for slot in group]
    mine: set[int] = set()
    if several:
        for model in (Slot, Annotation):
            met = model.objects.filter(participant=participant, item_id__in=several)
            mine |= set(met.values_list("item_id", flat=True))
    return [group for group in groups.values() if group and not {s.item_id for s in group} & mine]
