"""One person beside the others: their figures, and the seconds of each answer."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.db.models import Avg

from evalsite.analysis.figure import write_coefficient
from evalsite.annotation.models import Annotation, Rating
from evalsite.quality.person_measures import Measures
from evalsite.results.people.work import Work, write_range
from evalsite.results.people.work_flags import write_seconds
from evalsite.studies.models import Item, Study

# the newest answers that a chart has room for
MOST_BARS = 120
# on scales with more points, a quarter of the scale is far
_FEW_POINTS = 11


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure to compare people by: how it is found and written, and the flag that rests on it."""

    label: str
    find: Callable[[Measures], float | None]
    write: Callable[[float], str]
    flag: str = ""
    is_share: bool = False


def _write_percent(share: float) -> str:
    return f"{share:.0%}"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


FIGURES = (
    Figure(
        label="Median time", find=lambda person: person.seconds, write=write_seconds,
        flag="too_fast",
    ),
    Figure(
        label="Agreement with the others", find=lambda person: person.agreement,
        write=write_coefficient, flag="disagrees", is_share=True,
    ),
    Figure(
        label="Attention passed",
        find=lambda person: _share(person.attention - person.failed_attention, person.attention),
        write=_write_percent, flag="failed_checks", is_share=True,
    ),
    Figure(
        label="Gold passed", find=lambda person: _share(person.passed_gold, person.gold),
        write=_write_percent, is_share=True,
    ),
    Figure(
        label="Most used point", find=lambda person: person.top_share, write=_write_percent,
        flag="same_answer", is_share=True,
    ),
    Figure(
        label="Same answer in a row", find=lambda person: person.longest_run or None,
        write=lambda run: f"{run:.0f}",
    ),
)  # fmt: skip


def list_indicators(work: Work, participant: int) -> list[dict[str, Any]]:
    """Return the figures of this person beside the others', with places in per cent."""
    if participant not in work.people or len(work.people) < 3:
        return []
    codes = {flag.code for flag in work.flags.get(participant, [])}
    indicators = []
    for figure in FIGURES:
        mine = figure.find(work.people[participant])
        others = sorted(
            value
            for pk, person in work.people.items()
            if pk != participant and (value := figure.find(person)) is not None
        )
        if mine is not None and len(others) > 1:
            drawn = _draw(figure, mine, others)
            indicators.append(drawn | {"is_flagged": figure.flag in codes})
    return indicators


def _draw(figure: Figure, mine: float, others: Sequence[float]) -> dict[str, str]:
    low, high = others[0], others[-1]
    least = -1.0 if min(mine, low) < 0 else 0.0
    most = 1.0 if figure.is_share else max(mine, high) * 1.05 or 1.0

    def place(value: float) -> float:
        return 2 + 96 * (value - least) / (most - least)

    write = figure.write
    return {
        "label": figure.label,
        "value": write(mine),
        "others": write_range(write(low), write(high)),
        "median": write(median(others)),
        "dot": f"{place(mine):.1f}%",
        "start": f"{place(low):.1f}%",
        "width": f"{max(0.5, place(high) - place(low)):.1f}%",
        "middle": f"{place(median(others)):.1f}%",
    }


# --- the seconds of each answer -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Pace:
    """The seconds of the newest answers in their order, as bars of a chart 100 high."""

    bars: list[tuple[str, str, str, bool]]
    width: int
    first_at: Any
    last_at: Any
    line: str  # under which bars are marked, in words; "" without a median
    slow: int  # seconds at the top


def draw_pace(participant_id: int, study_median: float | None) -> Pace | None:
    """Draw how long this person took for each item; None of fewer than two."""
    rated = Annotation.objects.agreed().filter(
        participant=participant_id, item__kind=Item.Kind.MAIN, outcome=Annotation.Outcome.RATED
    )
    rows = list(
        rated.exclude(origin="imported")
        .order_by("-pk")
        .values_list("active_ms", "started_at", "submitted_at")[:MOST_BARS]
    )[::-1]
    times = [
        (end - start).total_seconds() if active is None else active / 1000
        for active, start, end in rows
    ]
    if len(times) < 2:
        return None
    # one long break would flatten all others
    top = max(1.0, sorted(times)[max(0, round(0.95 * len(times)) - 1)])
    line = study_median / 3 if study_median else 0.0
    bars = [
        (f"{10 * place + 1}", f"{100 - height:.0f}", f"{height:.0f}", seconds < line)
        for place, seconds in enumerate(times)
        if (height := max(2.0, 100 * min(1.0, seconds / top)))
    ]
    return Pace(
        bars=bars,
        width=10 * len(times),
        first_at=rows[0][2],
        last_at=rows[-1][2],
        line=f"{line:.0f} s" if line >= 1 else "",
        slow=round(top),
    )


# --- what the others answered ---------------------------------------------------------------------


def find_others(
    study: Study, annotations: Collection[Annotation], *, is_blind: bool
) -> dict[int, tuple[str, bool]]:
    """Return of each answer the means of the others, and whether one of its scores is far away.

    Only of scores: choices have no mean.
    """
    # nor do turns, which are many to an answer
    scales = {
        one.key: one for one in study.config.criteria if not one.scale.compares and not one.per_turn
    }
    mine = list(
        Rating.objects.filter(annotation__in=[one.pk for one in annotations], part="")
        .filter(criterion__in=scales, value__isnull=False, output__isnull=False)
        .order_by("pk")
        .values_list("annotation", "criterion", "output", "output__position", "value")
    )
    who = {one.participant_id for one in annotations}
    counted = Annotation.objects.counted().filter(study=study).exclude(participant__in=who)
    means = {
        (output, criterion): average
        for output, criterion, average in Rating.objects.filter(
            annotation__in=counted.values("pk"), output__in={row[2] for row in mine}, part=""
        )
        .order_by()
        .values_list("output", "criterion")
        .annotate(average=Avg("value"))
    }
    orders = {one.pk: one.order_shown for one in annotations}
    found: dict[int, list[tuple[tuple[int, int], str, bool]]] = {}
    for annotation, criterion, output, position, value in mine:
        average = means.get((output, criterion))
        if average is None:
            continue
        scale, order = scales[criterion].scale, orders[annotation]
        span = scale.maximum - scale.minimum
        is_far = scale.family == "points" and abs(value - average) >= (
            2 if span < _FEW_POINTS else span / 4
        )
        # as the answers beside stand: in the order of the page where systems are hidden
        by_page = is_blind and position in order
        place = (order.index(position) if by_page else position, list(scales).index(criterion))
        found.setdefault(annotation, []).append((place, f"{average:.1f}", is_far))
    return {
        pk: (", ".join(text for _, text, _ in sorted(some)), any(far for *_, far in some))
        for pk, some in found.items()
    }
