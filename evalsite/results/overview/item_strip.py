"""Answers per item and system, as one row of cells for each system."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from evalsite.annotation.models import Annotation
from evalsite.studies.models import Item, Output, Study

# beyond that many items the page of all items says how far each is
MOST_ITEMS = 10_000
MOST_CELLS = 120
MOST_SYSTEMS = 12


@dataclass(frozen=True, kw_only=True)
class Row:
    """The items of one system: each cell with its place and its shade."""

    name: str
    cells: list[tuple[str, str]]
    width: int
    done: int
    target: int
    empty: int
    items: int


@dataclass(frozen=True, kw_only=True)
class Level:
    """A shade, what it stands for, and how many items have it."""

    shade: str
    least: int
    most: int
    items: int


@dataclass(frozen=True, kw_only=True)
class Strip:
    rows: list[Row]
    levels: list[Level]
    items: int
    held: int
    per_cell: int
    left_out: int  # systems that are not shown


def draw_strip(study: Study, items: int) -> Strip | None:
    """Draw the strip of the open items in the order of their upload; None for none, or too many."""
    if not items or items > MOST_ITEMS:
        return None
    answers, held = _count_answers(study), set()
    outputs: dict[str, list[int]] = defaultdict(list)
    pairs = Output.objects.filter(item__in=_open_items(study)).order_by("item_id", "pk")
    for system, item, held_at in pairs.values_list("system__name", "item_id", "item__held_at"):
        outputs[system].append(item)
        if held_at is not None:
            held.add(item)
    counted = {item: answers.get(item, 0) for pks in outputs.values() for item in pks}
    rows = [_draw_row(name, pks, counted, held, study.k) for name, pks in outputs.items()]
    rows.sort(key=lambda row: (row.done / row.target, row.name))
    shown = rows if len(rows) <= MOST_SYSTEMS else rows[:MOST_SYSTEMS]
    largest = max((row.items for row in shown), default=0)
    return Strip(
        rows=sorted(shown, key=lambda row: row.name),
        levels=_count_levels(counted, study.k),
        items=len(counted),
        held=len(held & counted.keys()),
        per_cell=-(-largest // MOST_CELLS) if largest else 1,
        left_out=len(rows) - len(shown),
    )


def _open_items(study: Study) -> QuerySet[Item]:
    return Item.objects.main().open().filter(study=study)


def _count_answers(study: Study) -> dict[int, int]:
    counted = Annotation.objects.counted().filter(study=study).order_by()
    return dict(counted.values_list("item").annotate(answers=Count("pk")))


def _draw_row(name: str, items: list[int], answers: dict[int, int], held: set[int], k: int) -> Row:
    size = -(-len(items) // MOST_CELLS)
    cells = []
    for number, start in enumerate(range(0, len(items), size)):
        part = items[start : start + size]
        mean = sum(min(answers[item], k) for item in part) / len(part)
        shade = "held" if held.intersection(part) else shade_of(mean, k)
        cells.append((f"{number * 10 + 0.6:.1f}", shade))
    return Row(
        name=name,
        cells=cells,
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


def _count_levels(answers: dict[int, int], k: int) -> list[Level]:
    found = Counter(shade_of(count, k) for count in answers.values())
    half = -(-k // 2)
    bounds = {"r0": (0, 0), "r1": (1, half - 1), "r2": (half, k - 1), "r3": (k, k)}
    return [
        Level(shade=shade, least=least, most=most, items=found[shade])
        for shade, (least, most) in bounds.items()
        if least <= most
    ]
