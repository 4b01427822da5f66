"""When a study will be done: the forecast from answers by hour, and how often its band holds."""

import math
import random
from datetime import UTC, datetime, timedelta

import pytest

from evalsite.results.overview.pace import HOUR, floor_hour, forecast_end

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def count(moments: list[datetime]) -> list[tuple[datetime, int]]:
    found: dict[datetime, int] = {}
    for moment in moments:
        found[floor_hour(moment)] = found.get(floor_hour(moment), 0) + 1
    return sorted(found.items())


def steady(hours: int, an_hour: int) -> list[tuple[datetime, int]]:
    return [(START + step * HOUR, an_hour) for step in range(hours)]


def test_at_a_steady_pace_the_likely_end_is_what_is_left_by_the_pace():
    now = START + 48 * HOUR

    forecast = forecast_end(steady(48, 10), since=START, now=now, remaining=100)

    assert forecast is not None
    assert abs(forecast.likely - (now + 10 * HOUR)) < timedelta(minutes=1)
    assert now < forecast.early < forecast.likely < forecast.late
    assert forecast.count_until(now + 5 * HOUR) == 50


@pytest.mark.parametrize(("hours", "an_hour"), [(1, 60), (4, 2)])
def test_before_two_hours_or_ten_answers_there_is_no_forecast(hours, an_hour):
    now = START + hours * HOUR

    assert forecast_end(steady(hours, an_hour), since=START, now=now, remaining=5) is None


def test_within_the_first_day_nothing_is_said_beyond_the_hours_seen():
    now = START + 6 * HOUR

    near = forecast_end(steady(6, 10), since=START, now=now, remaining=50)
    far = forecast_end(steady(6, 10), since=START, now=now, remaining=70)

    assert near is not None
    assert far is None


def test_nights_are_seen_to_be_quiet():
    by_day = [(START + step * HOUR, 10) for step in range(72) if (9 + step) % 24 in range(9, 21)]
    evening = START + 83 * HOUR  # eight o'clock on the fourth day

    forecast = forecast_end(
        [*by_day, *((START + step * HOUR, 10) for step in range(72, 83))],
        since=START,
        now=evening,
        remaining=40,
    )

    assert forecast is not None
    assert forecast.likely - evening > 8 * HOUR


def simulate(seed: int) -> tuple[list[datetime], float]:
    """Answers of people who come by day and take a set of ten, each at their own pace."""
    chance = random.Random(seed)
    per_day, target = chance.choice([(80, 549), (150, 549), (300, 1200)])
    times: list[float] = []
    at = 0.0
    while len(times) < target * 1.6:
        at += chance.expovariate(per_day / 10 / 24 * 2.2)
        by_day = math.sin((9 + at - 6) / 24 * 2 * math.pi) + 1
        if chance.random() < by_day / 2.2:
            pace, moment = chance.lognormvariate(math.log(50), 0.4), at
            for _ in range(10):
                moment += pace / 3600 * chance.lognormvariate(0, 0.5)
                times.append(moment)
    times.sort()
    return [START + hours * HOUR for hours in times[:target]], chance.uniform(0.35, 0.9)


@pytest.mark.torture
@pytest.mark.slow
def test_band_holds_in_four_of_five_simulated_studies():
    inside = []
    for seed in range(200):
        moments, share = simulate(seed)
        done = int(share * len(moments))
        forecast = forecast_end(
            count(moments[:done]), since=START, now=moments[done - 1], remaining=len(moments) - done
        )
        if forecast is not None:
            inside.append(forecast.early <= moments[-1] <= forecast.late)

    assert len(inside) >= 180
    assert 0.75 <= sum(inside) / len(inside) <= 0.85
