"""How answers came in: by hour, and as the curves and bars of the overview."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import connection
from django.db.models import CharField, Count
from django.db.models.functions import Cast, Substr
from django.utils import timezone
from django.utils.formats import date_format

from evalsite.annotation.models import Annotation
from evalsite.participants.models import Origin
from evalsite.results.overview.forecast import HOUR, Forecast, floor_hour
from evalsite.studies.models import Study

Counts = list[tuple[datetime, int]]

BARS = 48
# the height of a chart that is left above the target for its label, in percent
TOP = 8.5
MOST_POINTS = 80
# so wide is the part after now at most, beside the part before it
AHEAD = 2


# SQLite would sort the answers to group them, though its index has them in order; so this goes from
# hour to hour in it, which takes a quarter of the time. ":~" sorts behind all minutes of an hour.
_HOURS_IN_SQLITE = """
WITH RECURSIVE hours(origin, hour) AS (
    SELECT origin, substr(MIN(submitted_at), 1, 13) FROM annotation_annotation
    WHERE study_id = %(study)s AND origin = %(own)s
    UNION ALL
    SELECT origin, substr(MIN(submitted_at), 1, 13) FROM annotation_annotation
    WHERE study_id = %(study)s AND origin = %(simulated)s
    UNION ALL
    SELECT origin, (
        SELECT substr(MIN(submitted_at), 1, 13) FROM annotation_annotation AS later
        WHERE study_id = %(study)s AND later.origin = hours.origin AND submitted_at > hour || ':~'
    ) FROM hours WHERE hour IS NOT NULL
)
SELECT hour, SUM((
    SELECT COUNT(*) FROM annotation_annotation AS given
    WHERE study_id = %(study)s AND given.origin = hours.origin
    AND submitted_at > hour AND submitted_at < hour || ':~' AND status = %(counted)s
)) FROM hours WHERE hour IS NOT NULL GROUP BY hour
"""


def count_by_hour(study: Study) -> Counts:
    """Count the answers given here in each hour that has any, the earliest first."""
    if connection.vendor == "sqlite":
        rows = _walk_hours(study)
    else:
        answers = Annotation.objects.counted().filter(
            study=study, origin__in=(Origin.OWN, Origin.SIMULATED)
        )
        hours = answers.annotate(hour=Substr(Cast("submitted_at", CharField()), 1, 13))
        rows = [*hours.order_by("hour").values_list("hour").annotate(answers=Count("pk"))]
    return [
        (datetime.strptime(hour, "%Y-%m-%d %H").replace(tzinfo=UTC), answers)
        for hour, answers in rows
        if answers
    ]


def _walk_hours(study: Study) -> list[tuple[str, int]]:
    known = {
        "study": study.pk.hex,
        "own": Origin.OWN,
        "simulated": Origin.SIMULATED,
        "counted": Annotation.Status.COUNTED,
    }
    with connection.cursor() as cursor:
        cursor.execute(_HOURS_IN_SQLITE, known)
        return cursor.fetchall()


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Answers of each of the last hours, as bars from left to right."""

    bars: list[tuple[int, str, str]]  # where from the left, where from the top, and how high
    most: int
    last: int
    start: datetime


def draw_bars(counts: Counts, moment: datetime) -> Bars | None:
    """Draw the answers an hour; None if there were none lately."""
    known = dict(counts)
    first = floor_hour(moment) - (BARS - 1) * HOUR
    heights = [known.get(first + step * HOUR, 0) for step in range(BARS)]
    most = max(heights)
    if not most:
        return None
    bars = [
        (step * 10 + 1, f"{100 - 100 * height / most:.0f}", f"{100 * height / most:.0f}")
        for step, height in enumerate(heights)
        if height
    ]
    return Bars(bars=bars, most=most, last=heights[-1], start=first)


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A moment below a chart; every other one is left out on phones."""

    x: str
    label: str
    is_odd: bool


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Answers since the launch, and the forecast, as points in percent."""

    line: str
    area: str
    now_x: str
    now_y: str
    is_now_early: bool  # its label stands after it
    end_x: str
    band: str
    ticks: list[Tick]


def draw_curve(
    counts: Counts, *, before: int, target: int, moment: datetime, forecast: Forecast | None
) -> Curve | None:
    """Draw how the answers came in; `before`: those that were imported."""
    if not counts or not target:
        return None
    start = counts[0][0]
    end = moment if forecast is None else min(forecast.late, moment + AHEAD * (moment - start))
    end = max(end, moment) + (end - start) * 0.05

    def x_of(at: datetime) -> float:
        return min(100.0, 100 * ((at - start) / (end - start)))

    def y_of(answers: float) -> float:
        return 100 - (100 - TOP) * min(1.0, answers / target)

    points, done = [(start, before)], before
    for hour, answers in counts:
        done += answers
        points.append((min(hour + HOUR, moment), done))
    points = [*_thin_out(points), (moment, done)]
    line = " ".join(f"{x_of(at):.1f},{y_of(answers):.1f}" for at, answers in points)
    end_of_line = f"{x_of(moment):.1f},{y_of(done):.1f}"
    band = end_x = ""
    if forecast is not None and done < target:
        early, late = x_of(forecast.early), x_of(forecast.late)
        band = f"{end_of_line} {early:.1f},{TOP} {late:.1f},{TOP}"
        end_x = f"{x_of(forecast.likely):.1f}"
    return Curve(
        line=line,
        area=f"0,100 {line} {x_of(moment):.1f},100",
        now_x=f"{x_of(moment):.1f}",
        now_y=f"{y_of(done):.1f}",
        is_now_early=x_of(moment) < 25,
        end_x=end_x,
        band=band,
        ticks=_draw_ticks(start, end),
    )


def _thin_out(points: Sequence[tuple[datetime, int]]) -> list[tuple[datetime, int]]:
    step = -(-len(points) // MOST_POINTS)
    return [*points[:-1:step], points[-1]]


def _draw_ticks(start: datetime, end: datetime) -> list[Tick]:
    """Return up to nine moments: whole days, or hours where the chart is of a day or two."""
    span, start = end - start, timezone.localtime(start)
    days = span > timedelta(days=2)
    unit = timedelta(days=1) if days else HOUR
    step = unit * max(1, -(-(span // unit) // 8))
    first = floor_hour(start) + HOUR
    if days:
        first = start.replace(hour=0, minute=0, second=0, microsecond=0) + unit
    form = "H:i" if not days else "D j" if span < timedelta(days=21) else "j M"
    moments = []
    while first < end:
        moments.append(first)
        first += step
    return [
        Tick(
            x=f"{100 * ((at - start) / span):.1f}",
            label=date_format(at, form),
            is_odd=number % 2 == 1,
        )
        for number, at in enumerate(moments)
        if 0.03 < (at - start) / span < 0.97
    ]
