"""How answers come in, by hour, as curves and as bars of the overview, and when all will be in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import sqrt

from django.db import connection
from django.db.models import CharField, Count
from django.db.models.functions import Cast, Substr
from django.utils import timezone
from django.utils.formats import date_format

from evalsite.handout.models import Annotation
from evalsite.people.models import Origin
from evalsite.studies.models import Study

# --- when the answers will be in

HOUR = timedelta(hours=1)
# the pace is that of the last three days
WINDOW = 72
# from a whole day on, the hours of the day are told apart
DAY = 24
FEWEST_ANSWERS, FEWEST_HOURS = 10, 2
# the band holds 8 in 10 outcomes
Z = 1.2816
# hours that follow each other are alike, so they say less of the pace than as many apart
ALIKE = 1.35
# a forecast further off than this is none
FARTHEST = 366 * DAY


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The likely end, and the earliest and latest of 8 in 10 outcomes."""

    likely: datetime
    early: datetime
    late: datetime
    pace: "Pace"

    def count_until(self, moment: datetime) -> int:
        """Return how many answers are likely from now until then."""
        return int(self.pace.expect(moment))


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Answers an hour, by the hour of the day, from this moment on."""

    now: datetime
    rates: tuple[float, ...]

    def _steps(self) -> Iterator[tuple[datetime, float, float]]:
        """Give the start of each hour from now on, its length, and its answers by its end."""
        start, total = self.now, 0.0
        for _ in range(FARTHEST):
            end = floor_hour(start) + HOUR
            length = (end - start) / HOUR
            total += self.rates[start.hour] * length
            yield start, length, total
            start = end

    def reach(self, answers: float) -> datetime | None:
        """Return when so many more answers are there; None if that is too far off to say."""
        before = 0.0
        for start, length, total in self._steps():
            if total >= answers:
                gained = total - before
                share = (answers - before) / gained if gained else 0
                return start + share * length * HOUR
            before = total
        return None

    def expect(self, moment: datetime) -> float:
        """Return how many answers there are between now and this moment."""
        before = 0.0
        for start, length, total in self._steps():
            if start + length * HOUR >= moment:
                share = max(0.0, (moment - start) / HOUR) / length
                return before + share * (total - before)
            before = total
        return before


def floor_hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def forecast_end(
    counts: Sequence[tuple[datetime, int]], *, since: datetime, now: datetime, remaining: int
) -> Forecast | None:
    """Forecast the end from the answers of each hour (those without any may be missing).

    `since`: when the study could first be answered. None: too early, or too uneven, to say.
    """
    hours = _list_hours(counts, since, now)
    seen = sum(count for _, count, _ in hours)
    if seen < FEWEST_ANSWERS or now - hours[0][0] < FEWEST_HOURS * HOUR:
        return None
    pace = Pace(now=now, rates=_find_rates(hours))
    spread = _find_spread(hours, pace)
    # how far the pace itself may be off, and how far the hours to come
    likely = pace.reach(remaining)
    # until a whole day was seen, nothing is known of the hours of the day that were not
    seen_for = now - hours[0][0]
    if likely is None or (seen_for < DAY * HOUR and likely - now > seen_for):
        return None
    off = Z * Z * spread / seen
    if off >= 1:
        return None
    middle = 2 * remaining + Z * Z * spread
    root = sqrt(max(0.0, middle * middle - 4 * (1 - off) * remaining * remaining))
    fast, slow = ((middle + sign * root) / (2 * (1 - off)) for sign in (-1, 1))
    early, late = pace.reach(fast), pace.reach(slow)
    if early is None or late is None:
        return None
    return Forecast(likely=likely, early=early, late=late, pace=pace)


def _list_hours(
    counts: Sequence[tuple[datetime, int]], since: datetime, now: datetime
) -> list[tuple[datetime, int, float]]:
    """Return each hour of the window: its start, its answers, and how much of it has passed."""
    known = dict(counts)
    first = min((hour for hour, _ in counts), default=now)
    start = max(first, since, now - WINDOW * HOUR)
    hours = []
    while start < now:
        hour = floor_hour(start)
        end = min(hour + HOUR, now)
        hours.append((start, known.get(hour, 0), (end - start) / HOUR))
        start = hour + HOUR
    return hours or [(now, 0, 0.0)]


def _find_rates(hours: Sequence[tuple[datetime, int, float]]) -> tuple[float, ...]:
    """Return the answers to expect in each hour of the day, in UTC."""
    total = sum(count for _, count, _ in hours)
    passed = sum(length for *_, length in hours)
    mean = total / passed
    if passed < DAY:
        return (mean,) * DAY
    rates = []
    for hour in range(DAY):
        near = [
            (count, length)
            for start, count, length in hours
            if min((start.hour - hour) % DAY, (hour - start.hour) % DAY) <= 1
        ]
        # an hour's worth of the mean steadies hours that were seen seldom
        rates.append((sum(c for c, _ in near) + mean) / (sum(n for _, n in near) + 1))
    return tuple(rates)


def _find_spread(hours: Sequence[tuple[datetime, int, float]], pace: Pace) -> float:
    """Return the variance of an hour's answers beside their mean: 1 where they come by chance."""
    expected = [pace.rates[start.hour] * length for start, _, length in hours]
    beside = sum(
        (count - mean) ** 2 / mean
        for (_, count, _), mean in zip(hours, expected, strict=True)
        if mean
    )
    free = len(hours) - (8 if len(hours) >= DAY else 1)
    return ALIKE * max(1.0, beside / max(1, free))


# --- how fast they come

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
