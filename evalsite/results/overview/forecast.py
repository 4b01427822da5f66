"""When a study will be done at its present pace: numbers only, from counts of answers by hour."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import sqrt

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
