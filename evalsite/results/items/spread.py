"""How far apart people's answers to each item are, and how far its systems."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import exp, inf
from statistics import fmean
from typing import Any, Literal, NamedTuple

from django.db.models import Count, F, FloatField, IntegerField, Max, Min, QuerySet, Sum, Value
from django.db.models.functions import Greatest, Ln

from evalsite.analysis.families import get_family
from evalsite.decisions.models import Exclusion
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.answer import AnswerRow, round_value
from evalsite.instruments.scales import COMMENT, Scale
from evalsite.instruments.schema import Criterion
from evalsite.results.items.records import Record
from evalsite.studies.models import Output, Study

# of magnitudes: the highest is this many times the lowest
WIDE_RATIO = 4
# kinds of answers on more points than these have no points to count
_MOST_POINTS = 11

# points or steps between answers; how many times one is another; the share without the most chosen;
# 1 minus the mean F1 of characters that two people marked; 1 minus Kendall's W of people's orders;
# edits per 100 words
Unit = Literal["points", "steps", "times", "share", "places", "orders", "edits"]
# of people's orders: under this they differ
_LEAST_W = 0.3
# of two people's marks: from here on they are at other places
_LEAST_F1 = 0.2
# of edit rates: every fourth word
_MANY_EDITS = 25


class Limit(NamedTuple):
    """From when on answers are far apart, and how far they can be."""

    unit: Unit
    least: float
    most: float

    @property
    def amount(self) -> str:
        """Return how far apart answers are that are far apart: "3 or 4 steps"."""
        least, most = f"{self.least:g}", f"{self.most:g}"
        if self.unit == "times" or self.most > _MOST_POINTS or self.least != int(self.least):
            return f"{least} {self.unit} or more"
        if self.least == self.most:
            return f"{least} {self.unit}"
        return f"{least} {'or' if self.most == self.least + 1 else 'to'} {most} {self.unit}"


@dataclass(slots=True)
class Spread:
    """The answers to one record on one question. `sums`: number and total by system."""

    record: Record
    answers: int = 0
    apart: float | None = None
    is_wide: bool = False
    comments: int = 0
    difference: float | None = None
    sums: dict[int | None, tuple[float, float]] = field(default_factory=dict)


def list_measured(study: Study) -> list[Criterion]:
    """Return the questions whose answers can be apart: not those that are answered in words."""
    return [criterion for criterion in study.config.criteria if criterion.scale.family != "text"]


def find_limit(scale: Scale) -> Limit:
    """Return from when on answers are far apart.

    Points: 3 of five, 4 of seven. A slider: a quarter. Magnitudes: four times. Without an order:
    when no answer has a majority. Edit rates: by every fourth word.
    """
    if scale.compares:
        most = 2 * int(scale.maximum)
        return Limit("steps", _find_least(most + 1), most)
    if scale.orders:
        return Limit("orders", 1 - _LEAST_W, 1)
    family = get_family(scale.family)
    if scale.marked_columns:
        return Limit("places", 1 - _LEAST_F1, 1)
    if not family.is_scored or scale.has_parts:
        return Limit("share", 0.5, 1)
    if family.is_log:
        return Limit("times", WIDE_RATIO, scale.maximum)
    if scale.rewrites:
        return Limit("edits", _MANY_EDITS, inf)
    span, step = scale.maximum - scale.minimum, 1.0
    if scale.has_decimals:
        listed = len(scale.list_answers())
        step = span / (listed - 1) if listed else scale.steps
    points = round(span / step) + 1
    least = _find_least(points) * step if points <= _MOST_POINTS else span / 4
    return Limit("points", round_value(least), round_value(span))


def _find_least(points: int) -> int:
    return points // 2 + 1


# --- ratings ------------------------------------------------------------------------------------


def read_counted(study: Study, *, is_everyone: bool = False) -> QuerySet[Rating]:
    """Return the rows of answers that count, marks too; without what is excluded, unless everyone
    is in."""
    ratings = Rating.objects.filter(
        study=study, annotation__study=study, annotation__status=Annotation.Status.COUNTED
    ).exclude(part=COMMENT)
    return leave_out_excluded(ratings, study, "annotation__") if not is_everyone else ratings


def leave_out_excluded(rows: QuerySet[Any], study: Study, prefix: str = "") -> QuerySet[Any]:
    """Leave out annotations that are excluded, or whose people are."""
    active = Exclusion.objects.active().filter(study=study)
    annotations = active.filter(annotation__isnull=False).values("annotation")
    people = active.filter(participant__isnull=False).values("participant")
    rows = rows.exclude(**{f"{prefix}pk__in": annotations})
    return rows.exclude(**{f"{prefix}participant__in": people})


def find_ratings(study: Study) -> QuerySet[Rating]:
    """Return the ratings that count, have a value and aren't excluded."""
    return read_counted(study).filter(part="", value__isnull=False).order_by()


# --- measures -----------------------------------------------------------------------------------


def measure_records(
    records: Sequence[Record],
    criterion: Criterion,
    ratings: QuerySet[Rating],
    systems: Sequence[int],
) -> list[Spread]:
    """Measure each record on this question, in one query.

    Apart is of answers to the same output and turn; of a record, that of its widest output.
    Without `systems`, which are in the order of pages, there is no difference.
    """
    spreads = [Spread(record) for record in records]
    by_item = {pk: spread for spread in spreads for pk in spread.record.items}
    limit = find_limit(criterion.scale)
    rows = ratings.filter(criterion=criterion.key).order_by()
    if limit.unit != "places":
        rows = rows.filter(value__isnull=False)
    system = F("output__system") if systems else Value(None, output_field=IntegerField())
    with_system: QuerySet[Any, Any] = rows.annotate(system=system)
    for item, answers, apart, is_wide in _measure(criterion, limit, with_system, by_item):
        if (spread := by_item.get(item)) is None:
            continue
        spread.answers += answers
        spread.is_wide |= is_wide
        if answers > 1:
            spread.apart = apart if spread.apart is None else max(spread.apart, apart)
    for spread in spreads if systems else ():
        if criterion.scale.compares:
            spread.difference = _compare_counts(spread, systems)
        else:
            spread.difference = _compare_means(spread, limit)
    return spreads


# item, number of answers, how far apart, whether that is far
_Measured = Iterator[tuple[int, int, float, bool]]


def _measure(
    criterion: Criterion, limit: Limit, rows: QuerySet[Any, Any], by_item: dict[int, Spread]
) -> _Measured:
    if criterion.scale.compares:
        return _measure_comparisons(rows, limit, by_item)
    if limit.unit == "orders":
        return _measure_orders(rows, by_item, criterion.scale)
    if limit.unit == "places":
        return _measure_marks(rows, by_item, criterion.scale)
    if limit.unit == "share":
        return _measure_choices(rows, by_item, is_number=get_family(criterion.scale.family).decides)
    return _measure_numbers(rows, limit, by_item)


def _add(spread: Spread | None, system: int | None, number: float, total: float) -> None:
    if spread is not None:
        known, before = spread.sums.get(system, (0, 0.0))
        spread.sums[system] = (known + number, before + total)


def _measure_numbers(
    rows: QuerySet[Any, Any], limit: Limit, by_item: dict[int, Spread]
) -> _Measured:
    is_ratio = limit.unit == "times"
    number = Greatest("value", Value(1.0), output_field=FloatField())
    value = Ln(number) if is_ratio else F("value")
    grouped = rows.values_list("annotation__item", "output", "turn", "system").annotate(
        n=Count("pk"), low=Min("value"), high=Max("value"), total=Sum(value)
    )
    for item, _output, _turn, system, answers, low, high, total in grouped.iterator(10_000):
        _add(by_item.get(item), system, answers, total)
        apart = high / max(low, 1) if is_ratio else round_value(high - low)
        yield item, answers, apart, answers > 1 and apart >= limit.least


def _measure_comparisons(
    rows: QuerySet[Any, Any], limit: Limit, by_item: dict[int, Spread]
) -> _Measured:
    """Measure steps between the extremes; what prefers neither is in the middle."""
    grouped = rows.values_list("annotation__item", "output", "system").annotate(
        n=Count("pk"), low=Min("value"), high=Max("value")
    )
    sides: dict[int, list[tuple[int | None, int, float, float]]] = {}
    for item, output, system, number, low, high in grouped.iterator(10_000):
        if output is not None:
            _add(by_item.get(item), system, number, number)
        sides.setdefault(item, []).append((output, number, low, high))
    is_graded = limit.most > 2
    for item, parts in sides.items():
        total, grades = sum(part[1] for part in parts), list[float]()
        chosen = sorted(part for part in parts if part[0] is not None)
        # the first side is below 0
        for sign, (_output, _number, low, high) in zip((-1, 1), chosen, strict=False):
            grades += [sign * low, sign * high]
        if any(part[0] is None for part in parts):
            grades.append(0.0)
        apart = max(grades) - min(grades)
        is_split = len(chosen) == 2 and 2 * max(part[1] for part in parts) <= total
        is_wide = apart >= limit.least if is_graded else is_split
        yield item, total, apart, total > 1 and is_wide


def _measure_choices(
    rows: QuerySet[Any, Any], by_item: dict[int, Spread], *, is_number: bool
) -> _Measured:
    """Measure which share didn't give the most frequent answer; far is without a majority."""
    names = ("annotation__item", "output", "turn", "part", "system", "value")
    counts: dict[tuple[Any, ...], list[int]] = {}
    for *key, value, number in rows.values_list(*names).annotate(n=Count("pk")).iterator(10_000):
        counts.setdefault(tuple(key), []).append(number)
        if is_number:
            _add(by_item.get(key[0]), key[-1], number, number * value)
    for (item, *_rest), numbers in counts.items():
        total = sum(numbers)
        yield item, total, 1 - max(numbers) / total, total > 1 and 2 * max(numbers) <= total


# --- orders ---------------------------------------------------------------------------------------


def _measure_orders(
    rows: QuerySet[Any, Any], by_item: dict[int, Spread], scale: Scale
) -> _Measured:
    """Measure 1 minus Kendall's W; what has no place shares the last ones, or is in the middle.

    Systems have the sum of their places, or of 1 for the best, -1 for the worst and 0 for others.
    """
    has_places = scale.minimum > 0
    outputs: dict[int, list[tuple[int, int | None]]] = {}
    known = Output.objects.filter(item__in=by_item).order_by("item_id", "position")
    for item, output, system in known.values_list("item_id", "pk", "system_id"):
        outputs.setdefault(item, []).append((output, system))
    answers: dict[int, dict[int, dict[int, float]]] = {}
    names = ("annotation__item", "annotation", "output", "system", "value")
    has_systems = False
    for item, annotation, output, system, value in rows.values_list(*names).iterator(10_000):
        answers.setdefault(item, {}).setdefault(annotation, {})[output] = value
        has_systems = has_systems or system is not None
    for item, people in answers.items():
        shown = outputs.get(item, [])
        lines = [
            [-scale.weigh_place(values.get(pk)) for pk, _system in shown]
            for values in people.values()
        ]
        ranks = [_find_ranks(line) for line in lines]
        for at, (_pk, shown_system) in enumerate(shown):
            total = sum(row[at] for row in ranks) if has_places else -sum(row[at] for row in lines)
            known_system = shown_system if has_systems else None
            _add(by_item.get(item), known_system, len(lines), total)
        apart = 1 - _find_w(ranks)
        yield item, len(lines), apart, len(lines) > 1 and apart > 1 - _LEAST_W


def _find_ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, the lowest first; equal ones share the mean of theirs."""
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2
        for value in values
    ]


def _find_w(ranks: Sequence[Sequence[float]]) -> float:
    """Return Kendall's W, corrected for ties, of people's ranks; 1 where nobody tells any apart."""
    people, outputs = len(ranks), len(ranks[0])
    sums = [sum(column) for column in zip(*ranks, strict=True)]
    middle = people * (outputs + 1) / 2
    ties = sum(count**3 - count for row in ranks for count in Counter(row).values())
    most = people**2 * (outputs**3 - outputs) - people * ties
    return 12 * sum((total - middle) ** 2 for total in sums) / most if most else 1.0


# --- marks --------------------------------------------------------------------------------------

# input (empty: the output), turn, start and end
Passages = set[tuple[str, int, int, int]]


def _measure_marks(rows: QuerySet[Any, Any], by_item: dict[int, Spread], scale: Scale) -> _Measured:
    """Measure 1 minus the mean F1 of characters over pairs of which one marked an error."""
    names = ("annotation__item", "output", "annotation", "system", "part", "value", "detail",
             "turn", "start", "end")  # fmt: skip
    seen: dict[tuple[int, int], dict[int, Passages]] = {}
    for cells in rows.values_list(*names).iterator(10_000):
        item, output, annotation, system, part, value, detail, turn, start, end = cells
        passages = seen.setdefault((item, output), {}).setdefault(annotation, set())
        if start is not None:
            known = scale.describe_mark(AnswerRow(item, None, "", part=part, detail=detail))
            if known["weight"] != 0:
                passages.add((known["input"], turn, start, end))
        elif not part:
            _add(by_item.get(item), system, 1, value)
    for (item, _output), people in seen.items():
        values = [
            _find_f1(first, second)
            for first, second in combinations(people.values(), 2)
            if first or second
        ]
        apart = 1 - fmean(values) if values else 0.0
        yield item, len(people), apart, apart > 1 - _LEAST_F1


def _find_f1(first: Passages, second: Passages) -> float:
    left, right = (
        {(place, turn, at) for place, turn, start, end in passages for at in range(start, end)}
        for passages in (first, second)
    )
    if not left and not right:
        # only omissions: at the same places, or not
        return float(first == second)
    return 2 * len(left & right) / (len(left) + len(right))


def _compare_counts(spread: Spread, systems: Sequence[int]) -> float | None:
    """Return the answers for the first system minus those for the second.

    Of more systems: those for the most preferred minus those for the least.
    """
    if not spread.answers:
        return None
    counts = [spread.sums.get(system, (0, 0.0))[0] for system in systems]
    return counts[0] - counts[1] if len(counts) == 2 else max(counts) - min(counts)


def _compare_means(spread: Spread, limit: Limit) -> float | None:
    """Return the highest minus the lowest mean of a system; of magnitudes, their ratio."""
    means = [total / number for system, (number, total) in spread.sums.items() if system]
    if len(means) < 2:
        return None
    difference = max(means) - min(means)
    return exp(difference) if limit.unit == "times" else difference
