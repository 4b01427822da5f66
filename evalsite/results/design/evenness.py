"""How evenly a design spreads systems over places, sets and people: as planned, and as answered.

Counted in the database, in a number of queries that does not grow; no text of an item is read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from statistics import median
from typing import Any

from django.db.models import (
    Case,
    Count,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce

from evalsite.annotation.allocation.slot_plan import place_in_group
from evalsite.annotation.models import Annotation, Slot, order_of
from evalsite.lib.seeds import count_orders
from evalsite.studies.models import Item, Output, Study

# how often each system stood in each place, from 1
Places = Counter[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Fewest, median and most of a number over things that have it; `of`: how many have it."""

    of: int
    fewest: int = 0
    median: float = 0
    most: int = 0


def find_sizes(study: Study) -> list[int]:
    """Return how many outputs the items of this study show, the fewest first."""
    outputs = Output.objects.stored().filter(study=study, item__kind=Item.Kind.MAIN)
    counts = outputs.order_by().values("item").annotate(size=Count("pk"))
    return sorted(counts.values_list("size", flat=True).distinct())


def difference_of(counts: Iterable[int]) -> int:
    """By how much the largest of these counts exceeds the smallest."""
    numbers = list(counts)
    return max(numbers) - min(numbers) if numbers else 0


def difference_over_places(places: Places, size: int) -> int:
    """Return the largest difference between two places of one system."""
    systems = {system for system, _ in places}
    return max((difference_of(row_of(places, system, size)) for system in systems), default=0)


def row_of(places: Places, system: int, size: int) -> list[int]:
    return [places[system, place] for place in range(1, size + 1)]


# --- answers per item and per participant ----------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PerItem:
    """How many main items have so many places, so many answers that count, and so many outputs.

    `groups`: how many groups hold so many items.
    """

    planned: dict[int, int]
    achieved: dict[int, int]
    outputs: dict[int, int]
    groups: Counter[int]

    @property
    def sizes(self) -> list[int]:
        """Return how many outputs the items show, the fewest first."""
        return [size for size in self.outputs if size]


def count_per_item(study: Study) -> PerItem:
    """Count the places, the answers and the outputs of each main item, in one query."""
    items = Item.objects.main().filter(study=study).order_by()
    counts = items.values_list(
        "group",
        _count_of_item(Slot.objects.all()),
        _count_of_item(Annotation.objects.counted()),
        _count_of_item(Output.objects.all()),
    )
    counters = Counter[int](), Counter[int](), Counter[int]()
    groups = Counter[str]()
    for group, *row in counts.iterator():
        groups[group] += 1
        for counter, number in zip(counters, row, strict=True):
            counter[number] += 1
    planned, achieved, outputs = (dict(sorted(entry.items())) for entry in counters)
    return PerItem(
        planned=planned, achieved=achieved, outputs=outputs, groups=Counter(groups.values())
    )


def _count_of_item(rows: QuerySet[Any]) -> Any:
    mine = rows.filter(item=OuterRef("pk")).order_by().values("item")
    return Coalesce(Subquery(mine.annotate(n=Count("pk")).values("n")), 0)


def spread_over_people(study: Study) -> Spread:
    """Return how many answers that count the participants gave, of those who gave any."""
    rows = Annotation.objects.counted().filter(study=study).order_by().values("participant")
    return spread_of(list(rows.annotate(n=Count("pk")).values_list("n", flat=True).iterator()))


def spread_of(counts: Sequence[int]) -> Spread:
    if not counts:
        return Spread(of=0)
    return Spread(of=len(counts), fewest=min(counts), median=median(counts), most=max(counts))


def count_by_system(study: Study) -> tuple[Counter[int], Counter[int]]:
    """Count the places and the answers of each system, of items that show one output."""
    planned, achieved = (
        Counter(
            dict(
                rows.filter(study=study, item__kind=Item.Kind.MAIN)
                .order_by()
                .values("item__outputs__system")
                .annotate(n=Count("pk"))
                .values_list("item__outputs__system", "n")
            )
        )
        for rows in (Slot.objects.all(), Annotation.objects.counted())
    )
    return planned, achieved


# --- systems over places -----------------------------------------------------------------------


def plan_places(study: Study, size: int, sizes: Sequence[int]) -> Places:
    """Count how often each system has each place, over all slots of items of this size."""
    slots = _of_size(Slot.objects.filter(study=study), study, size, sizes)
    names = ["arrangement", "item__outputs__position", "item__outputs__system"]
    # beyond some number of outputs, an order depends on its item
    is_own = size > 2 and count_orders(size) == size
    rows = slots.order_by().values_list(*names, *(["item__key"] if is_own else []))
    places: Places = Counter()
    for arrangement, position, system, *key, n in rows.annotate(n=Count("pk")).iterator():
        order = order_of(study.seed, Item(key="".join(key)), size, arrangement)
        places[system, order.index(position) + 1] += n
    return places


@dataclass(kw_only=True)
class Achieved:
    """Where systems stood in the answers that count, and how unevenly in one finished set."""

    places: Places
    in_a_set: int | None = None


def count_places(study: Study, size: int, sizes: Sequence[int]) -> Achieved:
    """Return how often each system stood in each place, over all answers that count."""
    answers = _of_size(Annotation.objects.counted().filter(study=study), study, size, sizes)
    counts = {f"place_{place}": _count_at(place) for place in range(1, size + 1)}
    rows = (
        answers.order_by("item_set", "item__outputs__system")
        .values_list("item_set", "item_set__finished_at", "item__outputs__system")
        .annotate(**counts)
    )
    achieved = Achieved(places=Counter())
    for item_set, is_finished, system, *row in rows.iterator():
        for place, n in enumerate(row, start=1):
            achieved.places[system, place] += n
        if item_set is not None and is_finished:
            achieved.in_a_set = max(achieved.in_a_set or 0, difference_of(row))
    return achieved


def _count_at(place: int) -> Count:
    shown = Cast(KeyTextTransform(str(place - 1), "order_shown"), IntegerField())
    return Count("pk", filter=Q(item__outputs__position=shown))


def _of_size(rows: QuerySet[Any], study: Study, size: int, sizes: Sequence[int]) -> QuerySet[Any]:
    """Return those of items that show so many outputs."""
    if len(sizes) == 1:
        return rows
    outputs = Output.objects.filter(study=study).order_by().values("item")
    return rows.filter(item__in=outputs.annotate(n=Count("pk")).filter(n=size).values("item"))


# --- systems over people and sets ----------------------------------------------------------------


@dataclass(kw_only=True)
class Meetings:
    """How often participants met each system, and how unevenly one, and one finished set, did."""

    by_system: dict[int, Spread] = field(default_factory=dict)
    in_a_person: int = 0
    in_a_set: int | None = None


def count_meetings(study: Study, systems: Sequence[int]) -> Meetings:
    """The largest difference between two systems in what one person, or one set, was shown."""
    rows = (
        Annotation.objects.counted()
        .filter(study=study)
        .order_by("participant", "item_set")
        .values_list("participant", "item_set", "item_set__finished_at", "item__outputs__system")
        .annotate(n=Count("pk"))
    )
    meetings = Meetings()
    counts: dict[int, list[int]] = {system: [] for system in systems}
    for _, of_person in groupby(rows.iterator(), key=itemgetter(0)):
        met: Counter[int] = Counter()
        for (item_set, is_finished), of_set in groupby(of_person, key=itemgetter(1, 2)):
            shown = {system: n for *_, system, n in of_set}
            met.update(shown)
            if item_set is not None and is_finished:
                even = difference_of(shown.get(system, 0) for system in systems)
                meetings.in_a_set = max(meetings.in_a_set or 0, even)
        meetings.in_a_person = max(
            meetings.in_a_person, difference_of(met[entry] for entry in systems)
        )
        for system in systems:
            counts[system].append(met[system])
    meetings.by_system = {system: spread_of(row) for system, row in counts.items() if row}
    return meetings


# --- places in a group ---------------------------------------------------------------------------


def _group_counts(study: Study) -> QuerySet[Any]:
    items = Item.objects.main().filter(study=study).order_by()
    return items.values("group").annotate(size=Count("pk"))


def _with_group_size(rows: QuerySet[Any], study: Study, sizes: Sequence[int]) -> QuerySet[Any]:
    """Return those of groups of these sizes, each with the size of its group."""
    counts = _group_counts(study)
    of_size = [
        When(item__group__in=counts.filter(size=size).values("group"), then=Value(size))
        for size in sizes
    ]
    size = Case(*of_size, output_field=IntegerField(null=True))
    return rows.annotate(group_size=size).filter(group_size__isnull=False)


def plan_group_places(study: Study, sizes: Sequence[int]) -> dict[int, Places]:
    """Count how often each system has each place of its group, by the size of groups."""
    slots = _with_group_size(Slot.objects.filter(study=study), study, sizes).order_by()
    rows = slots.values_list("group_size", "arrangement", "item__outputs__system")
    places: dict[int, Places] = {size: Counter() for size in sizes}
    for size, arrangement, system, n in rows.annotate(n=Count("pk")).iterator():
        places[size][system, place_in_group(1, arrangement) + 1] += n
    return places


def count_group_places(study: Study, sizes: Sequence[int]) -> dict[int, Places]:
    """How often each system was met in which place of its group, over the answers that count."""
    annotations = Annotation.objects.filter(
        study=study, item__kind=Item.Kind.MAIN, item_set__isnull=False
    )
    answers = (
        _with_group_size(annotations, study, sizes)
        .order_by("item_set", "place")
        .values_list("item_set", "item__group", "status", "item__outputs__system", "group_size")
    )
    places: dict[int, Places] = {size: Counter() for size in sizes}
    for _, of_set in groupby(answers.iterator(), key=itemgetter(0)):
        for size, system, place in _places_in_groups(of_set):
            places[size][system, place] += 1
    return places


def _places_in_groups(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, int, int]]:
    """Size of the group, system and place of each answer that counts.

    What was reported had its place, too.
    """
    met: Counter[str] = Counter()
    for _, group, status, system, size in rows:
        met[group] += 1
        if status == Annotation.Status.COUNTED:
            yield size, system, met[group]
