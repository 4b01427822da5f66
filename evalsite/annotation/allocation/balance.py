"""What free places show, and which of them a set lacks most."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from evalsite.annotation.allocation.arrangement import order_of
from evalsite.annotation.allocation.slot_plan import place_in_group
from evalsite.annotation.models import Slot
from evalsite.studies.models import Output, Study

# the free slots that share a pos
Place = list[Slot]


@dataclass(frozen=True)
class Shown:
    """Which systems a place shows, and each of them where: on the page, or in its group."""

    systems: Hashable
    marks: tuple[Hashable, ...]


def find_shown(study: Study, places: Iterable[Place]) -> dict[int, Shown]:
    """What each place shows, by its pos."""
    places = list(places)
    item_ids = [slot.item_id for place in places for slot in place]
    outputs = Output.objects.filter(item__in=item_ids).order_by("item_id", "position")
    pairs = outputs.values_list("item_id", "system_id")
    systems: dict[int, tuple[int | None, ...]] = {
        item_id: tuple(system for _, system in own)
        for item_id, own in groupby(pairs, key=itemgetter(0))
    }
    return {place[0].pos: _find_shown(study, place, systems) for place in places}


def _find_shown(study: Study, place: Place, systems: dict[int, tuple[int | None, ...]]) -> Shown:
    marks: list[Hashable] = []
    for slot in place:
        own = systems.get(slot.item_id, ())
        if study.groups == Study.Groups.TOGETHER:
            marks.append((own, place_in_group(max(1, len(own)), slot.arrangement)))
        if len(own) > 1:
            order = order_of(study.seed, slot.item, len(own), slot.arrangement)
            marks += [(own[position], at) for at, position in enumerate(order)]
    # 0: a system that nobody named
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
        for one in shown:
            tally.add(one)
        return tally

    def add(self, shown: Shown) -> None:
        self.systems[shown.systems] += 1
        self.marks.update(shown.marks)

    def weigh(self, shown: Shown) -> tuple[int, int]:
        """The less, the more it is lacked: first these systems, then each of them in its place."""
        return self.systems[shown.systems], sum(self.marks[mark] for mark in shown.marks)


def sort_by_shown(places: Sequence[Place], shown: dict[int, Shown]) -> dict[Shown, list[Place]]:
    """The places that show the same, the last of the queue first, so that pop() gives the next."""
    found: dict[Shown, list[Place]] = {}
    for place in reversed(places):
        found.setdefault(shown[place[0].pos], []).append(place)
    return found
