"""The items whose answers are farthest apart, by their widest criterion."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet

from evalsite.analysis.families import get_family
from evalsite.annotation.models import Annotation, Rating
from evalsite.instruments.answer import round_value
from evalsite.instruments.scales import Scale
from evalsite.instruments.schema import Criterion
from evalsite.quality.models import Exclusion
from evalsite.studies.models import Study

# of magnitudes: the highest is this many times the lowest
WIDE_RATIO = 4
# kinds of answers on more points than these have no points to count
_MOST_POINTS = 11
# read together for one page
_MOST_FOUND = 1_000


@dataclass(frozen=True, kw_only=True)
class Wide:
    """One item and output on which answers to one criterion are far apart."""

    item_id: int
    output_id: int | None
    criterion: Criterion
    width: float  # in shares of what is possible, to compare criteria with
    words: str  # "3 points apart"
    turn: int = 0


def list_wide(study: Study) -> list[Wide]:
    """Return each item once, by its widest criterion, the widest first."""
    best: dict[int, Wide] = {}
    for criterion in study.config.criteria:
        for one in _find_wide(study, criterion):
            known = best.get(one.item_id)
            if known is None or one.width > known.width:
                best[one.item_id] = one
    return sorted(best.values(), key=lambda one: (-one.width, one.item_id))


def find_ratings(study: Study) -> QuerySet[Rating]:
    """Return the ratings that count and aren't excluded."""
    standing = Exclusion.objects.active().filter(study=study)
    mine = Q(annotation=OuterRef("annotation")) | Q(participant=OuterRef("annotation__participant"))
    counted = Annotation.objects.counted().filter(study=study)
    ratings = Rating.objects.filter(study=study, annotation__in=counted.values("pk"), part="")
    return ratings.filter(~Exists(standing.filter(mine)), value__isnull=False).order_by()


def _find_wide(study: Study, criterion: Criterion) -> Iterator[Wide]:
    ratings = find_ratings(study).filter(criterion=criterion.key)
    family = get_family(criterion.scale.family)
    if not family.is_scored:
        yield from _find_undecided(criterion, ratings)
        return
    low, high = criterion.scale.minimum, criterion.scale.maximum
    spread = ratings.values("annotation__item", "output", "turn").annotate(
        n=Count("pk"), low=Min("value"), high=Max("value")
    )
    if family.is_log:
        found = spread.filter(n__gte=2, high__gte=F("low") * WIDE_RATIO)
        for row in found.order_by(-F("high") / F("low"))[:_MOST_FOUND]:
            ratio = row["high"] / row["low"]
            yield _make(criterion, row, 1 - 1 / ratio, f"{ratio:.1f} times apart")
        return
    least = _find_least(criterion.scale)
    for row in spread.filter(n__gte=2, high__gte=F("low") + least)[:_MOST_FOUND]:
        apart = round_value(row["high"] - row["low"])
        yield _make(criterion, row, apart / (high - low), f"{apart} points apart")


def _find_least(scale: Scale) -> float:
    """Return from when on numbers are far apart.

    3 of five points, 4 of seven; a quarter of a slider.
    """
    span, step = scale.maximum - scale.minimum, 1.0
    if scale.has_decimals:
        listed = len(scale.list_answers())
        step = span / (listed - 1) if listed else getattr(scale, "steps", 1)
    points = round(span / step) + 1
    return (points // 2 + 1) * step if points <= _MOST_POINTS else span / 4


def _find_undecided(criterion: Criterion, ratings: QuerySet[Rating]) -> Iterator[Wide]:
    """Find what has no majority; of a comparison by item, otherwise by output."""
    by_item = criterion.scale.compares
    answers: dict[tuple[int, int | None, int], Counter[Any]] = defaultdict(Counter)
    rows = ratings.values_list("annotation__item", "output", "turn", "value")
    for item, output, turn, value, number in rows.annotate(n=Count("pk")):
        key = (item, None if by_item else output, turn)
        answers[key][output if by_item else value] += number
    for (item, output, turn), counts in answers.items():
        total, most = counts.total(), max(counts.values())
        if total >= 2 and 2 * most <= total:
            row = {"annotation__item": item, "output": output, "turn": turn}
            yield _make(criterion, row, 1 - most / total, "no majority")


def _make(criterion: Criterion, row: Mapping[str, Any], width: float, words: str) -> Wide:
    turn = row["turn"]
    return Wide(
        item_id=row["annotation__item"], output_id=row["output"], criterion=criterion, width=width,
        words=f"{words} on turn {turn}" if turn else words, turn=turn,
    )  # fmt: skip
