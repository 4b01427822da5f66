"""Answers per item and system, as one row of cells for each system."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from evalsite.handout.models import Annotation
from evalsite.studies.models import Item, Output, Study

# beyond that many items the page of all items says how far each is
MOST_ITEMS = 10_000
MOST_CELLS = 120
MOST_SYSTEMS = 12


@dataclass(frozen=True, kw_only=True)
class Level:
    """A shade, what it stands for, and how many items have it."""

    shade: str
    least: int
    most: int
    items: int


@dataclass(frozen=True, kw_only=True)
class Bar:
    """The items of one level as part of a row, in per cent; narrow parts have no label."""

    level: Level
    start: str
    width: str
    middle: str
    has_label: bool


@dataclass(frozen=True, kw_only=True)
class Row:
    """The items of one system: each cell with its place and its shade, and the bar of levels."""

    name: str
    cells: list[tuple[str, str]]
    bars: list[Bar]
    width: int
    done: int
    target: int
    empty: int
    items: int


@dataclass(frozen=True, kw_only=True)
class Strip:
    rows: list[Row]
    levels: list[Level]
    items: int
    on_hold: int
    per_cell: int
    left_out: int  # systems that are not shown
    fewest: int  # answers of a system, over all systems
    most: int
    systems: int


def draw_strip(study: Study, items: int) -> Strip | None:
    """Draw the strip of the open items in the order of their upload; None for none, or too many."""
    if not items or items > MOST_ITEMS:
        return None
    counted: dict[int, int] = {}
    on_hold: set[int] = set()
    outputs: dict[str, list[int]] = defaultdict(list)
    for system, item, held_at, answers in _list_outputs(study).iterator():
        outputs[system].append(item)
        counted[item] = answers
        if held_at is not None:
            on_hold.add(item)
    rows = [_draw_row(name, pks, counted, on_hold, study.k) for name, pks in outputs.items()]
    rows.sort(key=lambda row: (row.done / row.target, row.name))
    shown = rows if len(rows) <= MOST_SYSTEMS else rows[:MOST_SYSTEMS]
    largest = max((row.items for row in shown), default=0)
    return Strip(
        rows=sorted(shown, key=lambda row: row.name),
        levels=_count_levels(counted.values(), study.k),
        items=len(counted),
        on_hold=len(on_hold & counted.keys()),
        per_cell=-(-largest // MOST_CELLS) if largest else 1,
        left_out=len(rows) - len(shown),
        fewest=min((row.done for row in rows), default=0),
        most=max((row.done for row in rows), default=0),
        systems=len(rows),
    )


def _list_outputs(study: Study) -> QuerySet[Output, tuple[str, int, datetime | None, int]]:
    """Return each output's system, its item, since when that is held, and its answers."""
    items = Item.objects.main().open().filter(study=study)
    is_counted = Q(item__annotations__status=Annotation.Status.COUNTED)
    return (
        Output.objects.filter(item__in=items)
        .order_by("item_id", "pk")
        .annotate(answers=Count("item__annotations", filter=is_counted))
        .values_list("system__name", "item_id", "item__held_at", "answers")
    )


def _draw_row(
    name: str, items: list[int], answers: dict[int, int], on_hold: set[int], k: int
) -> Row:
    size = -(-len(items) // MOST_CELLS)
    cells = []
    for number, start in enumerate(range(0, len(items), size)):
        part = items[start : start + size]
        mean = sum(min(answers[item], k) for item in part) / len(part)
        shade = "held" if on_hold.intersection(part) else shade_of(mean, k)
        cells.append((f"{number * 10 + 0.6:.1f}", shade))
    return Row(
        name=name,
        cells=cells,
        bars=_draw_bars(_count_levels([answers[item] for item in items], k)),
        width=len(cells) * 10,
        done=sum(answers[item] for item in items),
        target=len(items) * k,
        empty=sum(1 for item in items if not answers[item]),
        items=len(items),
    )


def shade_of(answers: float, k: int) -> str:
    """Return the shade of an item, or of the mean of several: none, under half, half, all."""
    if answers >= k:
        return "r3"
    if answers <= 0:
        return "r0"
    return "r2" if answers * 2 >= k else "r1"


def _draw_bars(levels: list[Level]) -> list[Bar]:
    whole = sum(level.items for level in levels)
    bars, start = [], 0.0
    for level in levels:
        if width := 100 * level.items / whole:
            bars.append(
                Bar(
                    level=level,
                    start=f"{start:.2f}%",
                    width=f"{width:.2f}%",
                    middle=f"{start + width / 2:.2f}%",
                    has_label=width >= 3 * len(str(level.items)),
                )
            )
        start += width
    return bars


def _count_levels(answers: Iterable[int], k: int) -> list[Level]:
    counts = Counter(shade_of(count, k) for count in answers)
    half = -(-k // 2)
    bounds = {"r0": (0, 0), "r1": (1, half - 1), "r2": (half, k - 1), "r3": (k, k)}
    return [
        Level(shade=shade, least=least, most=most, items=counts[shade])
        for shade, (least, most) in bounds.items()
        if least <= most
    ]
