"""The items whose answers are farthest apart, by their widest criterion."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import Any

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet

from evalsite.analysis.families import get_family
from evalsite.annotation.models import Annotation, Rating
from evalsite.lib.seeds import make_random
from evalsite.protocol import Criterion
from evalsite.quality.frozen_plans import ItemNames
from evalsite.quality.models import Exclusion
from evalsite.studies.models import Item, Output, Study

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
    standing = Exclusion.objects.standing().filter(study=study)
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
    points = high - low + 1
    # 3 of five points, 4 of seven; a quarter of a slider
    least = points // 2 + 1 if points <= _MOST_POINTS else (high - low) / 4
    for row in spread.filter(n__gte=2, high__gte=F("low") + least)[:_MOST_FOUND]:
        apart = row["high"] - row["low"]
        yield _make(criterion, row, apart / (high - low), f"{apart} points apart")


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


# --- what a page shows of them ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Given:
    """What one person answered, and where it stands on the scale in percent."""

    pseudonym: str
    seconds: int | None
    answer: str
    place: str


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One item with its texts, who answered what, and the other criteria in figures."""

    wide: Wide
    item: Item
    name: str
    inputs: list[tuple[str, Any]]
    outputs: list[tuple[str, str]]
    given: list[Given]
    others: list[tuple[str, str]] = field(default_factory=list)


def describe_wide(study: Study, some: Sequence[Wide], *, is_blind: bool) -> list[Shown]:
    """Describe these items, in a few queries for all of them; systems are never named."""
    items = {one.pk: one for one in Item.objects.filter(pk__in=[one.item_id for one in some])}
    outputs: dict[int, list[Output]] = defaultdict(list)
    for output in Output.objects.filter(item__in=items).order_by("item", "position"):
        outputs[output.item_id].append(output)
    ratings: dict[int, list[Rating]] = defaultdict(list)
    found = find_ratings(study).filter(annotation__item__in=items)
    for rating in found.select_related("annotation__participant").order_by("value", "pk"):
        ratings[rating.annotation.item_id].append(rating)
    names = ItemNames(study, is_blind=is_blind)
    return [
        replace(
            _describe(study, one, items[one.item_id], outputs[one.item_id], ratings[one.item_id]),
            name=names[items[one.item_id]],
        )
        for one in some
    ]


def _describe(
    study: Study, one: Wide, item: Item, outputs: Sequence[Output], ratings: Sequence[Rating]
) -> Shown:
    columns, outputs = study.config.inputs, list(outputs)
    # the order of the file is that of systems
    make_random(study.seed, "disagreement", item.key).shuffle(outputs)
    shown = [out for out in outputs if one.output_id in (None, out.pk)]
    names = {out.pk: f"Output {place}" for place, out in enumerate(outputs, start=1)}
    mine = [
        rating for rating in ratings
        if rating.criterion == one.criterion.key and rating.turn == one.turn
        and one.output_id in (None, rating.output_id)
    ]  # fmt: skip
    others: dict[str, list[str]] = defaultdict(list)
    for rating in ratings:
        if rating.output_id == one.output_id and rating.criterion != one.criterion.key:
            others[rating.criterion].append(str(rating.value))
    labels = {criterion.key: str(criterion.label) for criterion in study.config.criteria}
    told = [(labels[key], ", ".join(values)) for key, values in others.items() if key in labels]
    return Shown(
        wide=one,
        item=item,
        name=item.key,
        inputs=[(col.label, item.inputs[col.name]) for col in columns if col.name in item.inputs],
        outputs=[("Output" if one.output_id else names[out.pk], out.text) for out in shown],
        given=[_give(one, rating, names) for rating in mine],
        others=told,
    )


def _give(one: Wide, rating: Rating, names: dict[int, str]) -> Given:
    scale, value = one.criterion.scale, rating.value or 0
    family = get_family(scale.family)
    words = str(value)
    if scale.compares:
        words = names[rating.output_id] if rating.output_id else "Tie"
    elif label := scale.label_of(value):
        words = f"{value}: {label}" if family.has_points else label
    if family.is_log:
        return _place_given(rating, words, log(max(value, 1)) / log(scale.maximum))
    span = scale.maximum - scale.minimum
    share = (value - scale.minimum) / span if span and not scale.compares else 0.5
    return _place_given(rating, words, share)


def _place_given(rating: Rating, words: str, share: float) -> Given:
    answer = rating.annotation
    seconds = None if answer.active_ms is None else round(answer.active_ms / 1000)
    return Given(
        pseudonym=answer.participant.pseudonym,
        seconds=seconds,
        answer=words,
        place=f"{10 + 80 * min(1.0, max(0.0, share)):.0f}%",
    )
