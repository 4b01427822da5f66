"""The design of a study as a report: what was chosen, and how even it is, planned and achieved."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from evalsite.annotation.allocation.slots import count_strays
from evalsite.results.design.evenness import (
    PerItem,
    Places,
    Spread,
    count_by_system,
    count_group_places,
    count_meetings,
    count_per_item,
    count_places,
    difference_of,
    difference_over_places,
    plan_group_places,
    plan_places,
    row_of,
    spread_over_people,
)
from evalsite.results.design.wording import describe_design
from evalsite.studies.changes import name_first
from evalsite.studies.models import Study, System
from evalsite.studies.summary_lines import count_of

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


# --- what was chosen ----------------------------------------------------------------------------


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
        report.left_out.append("System by participant: the study has one system.")
    elif sizes == [len(systems)]:
        report.left_out.append(
            "System by participant: every item shows every system, so all are met equally often."
        )
    else:
        _add_met(report, study, systems)


def _add_met(report: Report, study: Study, systems: dict[int, str]) -> None:
    met = count_meetings(study, list(systems))
    if not met.by_system:
        report.left_out.append("System by participant: no answers yet.")
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
        Measure(name="two systems, for one person", planned=None, achieved=met.in_a_person),
        Measure(name="two systems, in one set", planned=None, achieved=met.in_a_set),
    ]
