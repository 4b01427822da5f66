"""The design of a study as a report: what was chosen, and how even it is, planned and achieved.

How evenly it spreads systems over places, sets and people is counted in the database, in a number
of queries that does not grow; no text of an item is read.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from statistics import median
from typing import Any

from django.db.models import Case, Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce

from evalsite.handout.models import Annotation, Slot, order_of
from evalsite.handout.slot_plan import place_in_group
from evalsite.handout.slots import count_strays
from evalsite.lib.seeds import count_orders
from evalsite.results.progress import count_edge
from evalsite.studies.models import Item, Output, Study, System
from evalsite.studies.set_size import LEAST_DISTANCE
from evalsite.studies.summary_lines import (
    count_of,
    format_moment,
    list_of,
    name_of_instrument,
    name_unit,
)
from evalsite.studies.versions import name_first

# --- how even: as planned, and as answered

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


def _with_group_size(rows: QuerySet[Any], study: Study, sizes: Sequence[int]) -> QuerySet[Any]:
    """Return those of groups of these sizes, each with the size of its group."""
    items = Item.objects.main().filter(study=study).order_by()
    counts = items.values("group").annotate(size=Count("pk"))
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


# --- in words: what was chosen, and what the launch will plan


def describe_design(study: Study, groups: int | None = None) -> list[tuple[str, str]]:
    """Return the settings that rule the hand-out of work, each as a name and words."""
    edge, unit = count_edge(study), name_unit(study)
    inputs = groups
    if inputs is None:
        inputs = Item.objects.main().filter(study=study).values("group").distinct().count()
    launched = f"launched {format_moment(study.launched_at)}" if study.launched_at else ""
    return [
        ("Protocol", name_of_instrument(study)),
        ("State", ", ".join(filter(None, (study.get_state_display(), launched)))),
        (
            "Items",
            f"{count_of(edge.items, unit)} of {count_of(inputs, 'input')}, "
            f"{count_of(edge.systems, 'system')}",
        ),
        (f"Answers per {unit}", f"{study.k}, each by a different person"),
        ("Set size", count_of(study.set_size, "item")),
        ("A person gives", _describe_caps(study)),
        ("Items of a group", study.get_groups_display()),
        ("Item order", study.get_item_order_display()),
        ("Checks", _describe_checks(study)),
        ("Hidden repeats", _describe_repeats(study)),
        ("Seed", study.seed),
    ]


def _describe_caps(study: Study) -> str:
    caps = []
    if study.max_sets is not None:
        caps.append(count_of(study.max_sets, "set"))
    if study.max_items is not None:
        caps.append(count_of(study.max_items, "item"))
    return f"at most {list_of(caps)}" if caps else "as much as there is"


def _describe_checks(study: Study) -> str:
    if not study.checks_per_person:
        return "none"
    return f"{count_of(study.checks_per_person, 'gold or attention item')} per person"


def _describe_repeats(study: Study) -> str:
    if not study.repeat_percent:
        return "none"
    return f"{study.repeat_percent}% of the items, at least {LEAST_DISTANCE} items later"


_GROUPS = {
    Study.Groups.FREE: "A person may meet any items of a group, each item once.",
    Study.Groups.TOGETHER: (
        "The items of a group follow one another in one set, in an order that changes from one "
        "person to the next."
    ),
    Study.Groups.ONCE: (
        "A person meets each group once, with one of its {parts}: a Latin square of groups "
        "and {parts}."
    ),
}


def promise_design(study: Study) -> list[str]:
    """Return what the launch will plan, in sentences: there is nothing to count before it."""
    sizes = [size for size in find_sizes(study) if size > 1]
    promises = [
        f"Every {name_unit(study)} gets {count_of(study.k, 'place')}, each for a different person. "
        "No one gets it a second time before everything has been handed out once.",
        # an item of several outputs isn't of one system
        _GROUPS[Study.Groups(study.groups)].format(parts="items" if sizes else "systems"),
    ]
    if sizes:
        where = "on each side" if sizes == [2] else "in each place on the page"
        promises.append(
            f"Over the places of an item, every output is {where} equally often, give or take one."
        )
    promises.append(
        f"All of it is drawn from the seed {study.seed}: the same seed and the same items give "
        "the same plan again."
    )
    return promises


# --- the report

_SIDES = ("left", "right")
BY_ITEM, BY_SYSTEM = "Items by their answers", "Answers per system"
# with more group sizes than this, the largest are shown
_MOST_SIZES = 4


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a table: counts as planned and as achieved; none where there is no plan."""

    name: str
    achieved: list[int]
    planned: list[int] | None = None

    @property
    def lines(self) -> list[tuple[str, list[str]]]:
        """What it counts, in words, with the counts as they are read."""
        planned = [] if self.planned is None else [("planned", self.planned)]
        return [
            (kind, [f"{count:,}" for count in counts])
            for kind, counts in [*planned, ("achieved", self.achieved)]
        ]


@dataclass(frozen=True, kw_only=True)
class Table:
    """Counts under a caption, with what they amount to in one sentence."""

    caption: str
    head: str
    columns: list[str]
    rows: list[Row]
    words: str

    @property
    def has_plan(self) -> bool:
        return any(row.planned is not None for row in self.rows)


@dataclass(frozen=True, kw_only=True)
class Measure:
    """The largest difference of one kind, planned and achieved; none: nothing to compare."""

    name: str
    planned: int | None
    achieved: int | None


@dataclass(kw_only=True)
class Report:
    """What `manage.py design` prints and the page of the design shows."""

    study: str
    title: str
    facts: list[tuple[str, str]]
    has_places: bool
    replay: str = ""
    # places that aren't those of the seed; None: not counted
    strays: int | None = None
    answers: int = 0
    measures: list[Measure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def counted(self) -> str:
        return count_of(self.answers, "answer")

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_dict(cls, stored: dict[str, Any]) -> "Report":
        """Return the report that `as_dict` wrote down."""
        tables = [
            Table(**{**table, "rows": [Row(**row) for row in table["rows"]]})
            for table in stored["tables"]
        ]
        measures = [Measure(**measure) for measure in stored["measures"]]
        facts = [(name, words) for name, words in stored["facts"]]
        return cls(**{**stored, "facts": facts, "tables": tables, "measures": measures})


def report_design(
    study: Study, progress: Callable[[int, int], None] = lambda done, total: None
) -> Report:
    """Return the design with its balance; before there are places, only what was chosen."""
    items = count_per_item(study)
    has_places = any(items.planned)
    report = Report(
        study=str(study.pk),
        title=study.title,
        facts=describe_design(study, items.groups.total()),
        has_places=has_places,
    )
    if not has_places:
        return report
    named = list(System.objects.filter(study=study).values_list("pk", "name", name_first()))
    systems = {pk: name for pk, name, _first in named}
    first_names = {pk: first for pk, _name, first in named}
    sizes = items.sizes
    parts: list[Callable[[], None]] = [
        partial(_add_replay, report, study, first_names),
        partial(_add_items, report, items),
        partial(_add_systems, report, study, systems, sizes),
        partial(_add_people, report, study),
        *(partial(_add_places, report, study, systems, size, sizes) for size in sizes),
        partial(_add_group_places, report, study, systems, sizes, sorted(items.groups)),
        partial(_add_meetings, report, study, systems, sizes),
    ]
    for done, add_part in enumerate(parts, start=1):
        add_part()
        progress(done, len(parts))
    return report


def _add_replay(report: Report, study: Study, first_names: dict[int, str]) -> None:
    report.strays = strays = count_strays(study, first_names)
    report.replay = "The places are exactly those that the seed gives."
    if strays:
        report.replay = (
            f"{count_of(strays, 'place differs', 'places differ')} from what the seed gives "
            f"{'it' if strays == 1 else 'them'}: made by an earlier version, or changed since. "
            "manage.py fsck says whether anything is wrong."
        )


# --- answers ------------------------------------------------------------------------------------


def _add_items(report: Report, items: PerItem) -> None:
    """Items by how many places and answers they have; equal numbers are a design kept exactly."""
    planned, achieved = items.planned, items.achieved
    numbers = sorted({*planned, *achieved})
    report.answers = sum(number * items for number, items in achieved.items())
    report.tables.append(
        Table(
            caption=BY_ITEM,
            head="Answers",
            columns=[str(number) for number in numbers],
            rows=[
                Row(
                    name="Items",
                    planned=[planned.get(number, 0) for number in numbers],
                    achieved=[achieved.get(number, 0) for number in numbers],
                )
            ],
            words=f"Planned: {_describe_range(planned)}. Achieved: {_describe_range(achieved)}.",
        )
    )
    report.measures.append(
        Measure(
            name="the answers of two items",
            planned=difference_of(planned),
            achieved=difference_of(achieved),
        )
    )


def _describe_range(items: dict[int, int]) -> str:
    if len(items) <= 1:
        return f"every item has {count_of(next(iter(items), 0), 'answer')}"
    return f"items have {min(items):,} to {count_of(max(items), 'answer')}"


def _add_systems(report: Report, study: Study, systems: dict[int, str], sizes: list[int]) -> None:
    """Places and answers of each system, where items show one output each."""
    if len(systems) < 2 or sizes != [1]:
        return
    planned, achieved = count_by_system(study)
    counts = [achieved[pk] for pk in systems]
    report.tables.append(
        Table(
            caption=BY_SYSTEM,
            head="System",
            columns=["answers"],
            rows=[
                Row(name=name, planned=[planned[pk]], achieved=[achieved[pk]])
                for pk, name in systems.items()
            ],
            words=f"Largest difference between two systems: {difference_of(counts):,}.",
        )
    )


def _add_people(report: Report, study: Study) -> None:
    spread = spread_over_people(study)
    if not spread.of:
        report.left_out.append("Answers per person: no answers yet.")
        return
    report.tables.append(
        Table(
            caption="Answers per person",
            head="Number",
            columns=["fewest", "median", "most"],
            rows=[Row(name="Answers", achieved=[spread.fewest, round(spread.median), spread.most])],
            words=(
                f"{count_of(spread.of, 'person', 'people')}: {_between(spread)} each. "
                "How many each gives isn’t planned."
            ),
        )
    )


def _between(spread: Spread) -> str:
    least = f"{spread.fewest:,} to " if spread.fewest != spread.most else ""
    return f"{least}{count_of(spread.most, 'answer')}"


# --- systems over places ------------------------------------------------------------------------


def _add_places(
    report: Report, study: Study, systems: dict[int, str], size: int, sizes: list[int]
) -> None:
    """System by place on the page; left out where an item shows one output."""
    of = f", of items with {count_of(size, 'output')}" if len(sizes) > 1 else ""
    if size < 2:
        report.left_out.append(f"System by place on the page{of}: one output is shown at a time.")
        return
    planned = plan_places(study, size, sizes)
    achieved = count_places(study, size, sizes)
    sides = _SIDES if size == 2 else [str(place) for place in range(1, size + 1)]
    noun = "side" if size == 2 else "place on the page"
    _add_table(report, systems, planned, achieved.places, f"System by {noun}{of}", list(sides))
    report.measures += [
        Measure(
            name=f"{_two(size)}, for one system{of}",
            planned=difference_over_places(planned, size),
            achieved=_if_any(report, difference_over_places(achieved.places, size)),
        ),
        Measure(
            name=f"{_two(size)}, for one system in one set{of}",
            planned=None,
            achieved=achieved.in_a_set,
        ),
    ]


def _two(size: int) -> str:
    return "the two sides" if size == 2 else "two places on the page"


def _if_any(report: Report, difference: int) -> int | None:
    return difference if report.answers else None


def _add_table(
    report: Report,
    systems: dict[int, str],
    planned: Places,
    achieved: Places,
    caption: str,
    columns: list[str],
) -> None:
    size = len(columns)
    shown = {system for system, _ in {**planned, **achieved}}
    report.tables.append(
        Table(
            caption=caption,
            head="System",
            columns=columns,
            rows=[
                Row(
                    name=systems[pk],
                    planned=row_of(planned, pk, size),
                    achieved=row_of(achieved, pk, size),
                )
                for pk in systems
                if pk in shown
            ],
            words=(
                "Largest difference of one system: "
                f"planned {difference_over_places(planned, size):,}, "
                f"achieved {difference_over_places(achieved, size):,}."
            ),
        )
    )


def _add_group_places(
    report: Report, study: Study, systems: dict[int, str], sizes: list[int], group_sizes: list[int]
) -> None:
    """System by place in the group, where groups stay together and an item shows one system."""
    if study.groups != Study.Groups.TOGETHER or sizes != [1]:
        return
    shown = [size for size in group_sizes if size > 1][-_MOST_SIZES:]
    if not shown:
        return
    plans, counts = plan_group_places(study, shown), count_group_places(study, shown)
    for size in shown:
        of = f", of groups of {size}" if len(group_sizes) > 1 else ""
        planned, achieved = plans[size], counts[size]
        columns = [str(place) for place in range(1, size + 1)]
        caption = f"System by place in the group{of}"
        _add_table(report, systems, planned, achieved, caption, columns)
        report.measures.append(
            Measure(
                name=f"two places in the group, for one system{of}",
                planned=difference_over_places(planned, size),
                achieved=_if_any(report, difference_over_places(achieved, size)),
            )
        )


def _add_meetings(report: Report, study: Study, systems: dict[int, str], sizes: list[int]) -> None:
    """By how much systems differ in what one participant, and one set, was shown."""
    if len(systems) < 2:
        report.left_out.append("System by person: the study has one system.")
    elif sizes == [len(systems)]:
        report.left_out.append(
            "System by person: every item shows every system, so all are met equally often."
        )
    else:
        _add_met(report, study, systems)


def _add_met(report: Report, study: Study, systems: dict[int, str]) -> None:
    met = count_meetings(study, list(systems))
    if not met.by_system:
        report.left_out.append("System by person: no answers yet.")
        return
    report.tables.append(
        Table(
            caption="How often a person met each system",
            head="System",
            columns=["fewest", "median", "most"],
            rows=[
                Row(name=systems[pk], achieved=[item.fewest, round(item.median), item.most])
                for pk, item in met.by_system.items()
            ],
            words=(
                f"Largest difference between two systems: {met.in_a_person:,} for one person"
                + ("." if met.in_a_set is None else f", {met.in_a_set:,} in one set.")
            ),
        )
    )
    report.measures += [
        Measure(name="systems met by one person", planned=None, achieved=met.in_a_person),
        Measure(name="systems in one set", planned=None, achieved=met.in_a_set),
    ]


# --- the balance in words: what was planned beside what was reached

# a system is behind by more than so many answers, and more than this share of the most
_BEHIND, _SHARE = 2, 0.02
_MOST_SYSTEMS = 6


def head_design(report: Report, *, is_complete: bool) -> str:
    """Return whether the design was kept: which system is behind, or places that differ."""
    table = _find(report.tables, BY_SYSTEM)
    if table is not None:
        counts = {row.name: row.achieved[0] for row in table.rows}
        name = min(counts, key=lambda system: counts[system])
        behind = max(counts.values()) - counts[name]
        if behind > max(_BEHIND, _SHARE * max(counts.values())):
            return f"{name} is {count_of(behind, 'answer')} behind"
    if report.strays:
        differ = count_of(report.strays, "place differs", "places differ")
        return f"{differ} from the plan"
    if not report.answers:
        return "No answers yet"
    return "Balanced as planned" if is_complete else "Balanced so far"


def list_balance(report: Report, unit: str) -> list[dict[str, str]]:
    """List what was to be equal: what was planned, and what is reached; `unit`: of an answer."""
    rows = []
    items, systems = _find(report.tables, BY_ITEM), _find(report.tables, BY_SYSTEM)
    if items is not None:
        (row,) = items.rows
        rows.append(
            {
                "what": f"Answers per {unit}",
                "planned": _write_range(items.columns, row.planned or (), unit),
                "reached": _write_range(items.columns, row.achieved, unit),
            }
        )
    if systems is not None:
        rows.append(
            {
                "what": "Answers per system",
                "planned": _write_counts(systems.rows, is_planned=True),
                "reached": _write_counts(systems.rows),
            }
        )
    rows += [
        {
            "what": measure.name[:1].upper() + measure.name[1:],
            "planned": _write_planned(measure),
            "reached": _write_reached(measure),
        }
        for measure in report.measures[1:]
    ]
    return rows


def list_other_tables(report: Report) -> list[Table]:
    """List the tables behind the balance, but those that it shows in words."""
    return [table for table in report.tables if table.caption not in (BY_ITEM, BY_SYSTEM)]


def _find(tables: Iterable[Table], caption: str) -> Table | None:
    return next((table for table in tables if table.caption == caption), None)


def _write_range(numbers: list[str], items: Iterable[int], unit: str) -> str:
    """Write how many answers items have: "3 on all 61 outputs", "0 to 3"."""
    known = [(number, count) for number, count in zip(numbers, items, strict=False) if count]
    if len(known) == 1:
        number, count = known[0]
        return f"{number} on {count_of(count, unit) if count == 1 else f'all {count:,} {unit}s'}"
    return f"{known[0][0]} to {known[-1][0]}" if known else ""


def _write_counts(rows: list[Row], *, is_planned: bool = False) -> str:
    counts = [(row.planned or [0])[0] if is_planned else row.achieved[0] for row in rows]
    if len(set(counts)) == 1:
        return f"{counts[0]:,} each"
    if len(counts) <= _MOST_SYSTEMS:
        return ", ".join(f"{count:,}" for count in counts)
    return f"{min(counts):,} to {max(counts):,}"


def _write_planned(measure: Measure) -> str:
    if measure.planned is None:
        return "not planned"
    return "equal" if measure.planned == 0 else f"equal to within {measure.planned:,}"


def _write_reached(measure: Measure) -> str:
    if measure.achieved is None:
        return "nothing yet"
    return "equal" if measure.achieved == 0 else f"equal to within {measure.achieved:,}"


def describe_missing(criteria: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the shares of missing answers of each question by system, and what they come to."""
    rows, shown, missing = [], 0, 0
    for criterion in criteria:
        counts = criterion.get("missing_by_system") or ()
        shown += sum(count["shown"] for count in counts)
        missing += sum(count["missing"] for count in counts)
        if any(count["missing"] for count in counts):
            cells = [
                {"system": count["system"], "missing": count["missing"], "shown": count["shown"],
                 "share": f"{100 * count['share']:.0f}%"}
                for count in counts
            ]  # fmt: skip
            rows.append({"label": criterion["label"], "cells": cells})
    words = "Not known for this study."
    if shown:
        words = f"{missing:,} of {count_of(shown, 'answer')} are missing."
        if not missing:
            words = "None: every answer that was asked for was given, for all systems alike."
    return {"rows": rows, "words": words}
