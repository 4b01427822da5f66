"""What a design can decide, in plain Python: beside the vector of gates, and beside simulations."""

import json
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from evalsite.analysis.families import find_planned, get_numbers, list_planners
from evalsite.analysis.families.numbers import Design, Truth
from evalsite.analysis.power import PRESETS
from evalsite.analysis.sample_size import (
    MOST_INPUTS,
    Decision,
    find_edge,
    find_error,
    find_inputs,
    find_power,
    find_smallest,
    spread_of_decisions,
    spread_of_preferences,
)
from tests.analysis.vectors import FOLDER

VECTOR = json.loads((FOLDER / "expected" / "v3_gate_plan__grid.json").read_text(encoding="utf-8"))
NOT_WORSE = Decision(has_margin=True)


@pytest.mark.parametrize("expected", VECTOR["expected"])
def test_power_and_inputs_are_those_of_the_vector(expected):
    people, inputs, variances = (expected[name] for name in ("people", "inputs", "variances"))

    se, df = find_error(people, inputs, people, variances)
    power = find_power(expected["margin"] / se, df, NOT_WORSE)

    assert (se, df) == pytest.approx((expected["se"], expected["df"]), rel=1e-9)
    assert power == pytest.approx(expected["power"], abs=2e-5)
    needed = find_inputs(people, people, variances, expected["margin"], NOT_WORSE)
    if expected["inputs_needed"] is not None:
        assert max(needed, inputs) == expected["inputs_needed"]
    else:
        # the vector looks no further than 20 times as many
        assert needed is None or needed > 20 * inputs


@pytest.mark.parametrize("df", [1, 1.5, 2.5, 4, 12, 99, 5_000])
@pytest.mark.parametrize("level", [0.05, 0.025, 0.0021])
def test_edge_is_that_of_the_t_distribution(df, level):
    assert find_edge(level, df) == pytest.approx(stats.t.isf(level, df), rel=2e-3)


def test_difference_found_is_the_one_of_the_published_check():
    # statistics: se .251 with df 7.12 finds 0.82 alone, 1.16 among 6 tests and 1.47 among 24
    for tests, size in ((1, 0.82), (6, 1.16), (24, 1.47)):
        test = Decision(has_margin=False, level=0.05 / tests)
        assert find_power(size / 0.251, 7.12, test) == pytest.approx(0.8, abs=0.006)


def test_equivalence_needs_both_sides():
    # by 400,000 draws: an estimate of equal systems with its spread
    rng = np.random.default_rng(5)
    spread = np.sqrt(rng.chisquare(9, 400_000) / 9)
    edge = stats.t.isf(0.05, 9) * spread
    drawn = np.mean(np.abs(rng.normal(size=400_000)) < 3 - edge)

    power = find_power(3, 9, Decision(has_margin=True, is_equivalence=True))

    assert power == pytest.approx(drawn, abs=0.003)


def test_smallest_is_decided_and_takes_the_inputs_that_there_are():
    variances = (0.02, 0.5, 1.787)

    size = find_smallest(6, 30, 6, variances, NOT_WORSE)

    assert find_inputs(6, 6, variances, size * 1.0001, NOT_WORSE) == 30
    assert find_inputs(6, 6, variances, 0.9 * size, NOT_WORSE) > 30


def test_more_inputs_never_do_where_people_differ():
    assert find_inputs(5, 5, (0.5, 0.5, 1.8), 0.1, NOT_WORSE) is None
    assert find_inputs(5, 5, (0.0, 0.5, 1.8), 0.1, NOT_WORSE) < MOST_INPUTS


def test_one_answer_per_input_has_the_freedom_of_people():
    se, df = find_error(10, 100, 1, (0.08, 0.5, 1.787))

    # by hand: (a + (b + e) / m) / P with m = n k / P = 10
    assert se**2 == pytest.approx((0.08 + (0.5 + 1.787) / 10) / 10)
    assert df == 9


@pytest.mark.parametrize("design", [{"people": 1, "inputs": 9}, {"people": 9, "inputs": 1}])
def test_what_cannot_be_planned_is_refused(design):
    with pytest.raises(ValueError, match="two people"):
        find_error(answers=1, variances=(0.1, 0.1, 0.1), **design)


@pytest.mark.parametrize("scale", ["decision", "pairs"])
def test_typical_variances_are_those_of_simulated_studies(scale):
    planner = list_planners()[scale]
    parts = planner.sources[0].parts
    design = Design(items=60, raters=40, per_output=None)
    numbers = get_numbers(find_planned(scale))
    rng = np.random.default_rng(3)
    truth = Truth(parts=PRESETS[scale], difference=0.0, points=2, tie_share=0.3)
    values = numbers.simulate(rng, design, truth, 120)
    differences = values[:, 0] if values.shape[1] == 1 else values[:, 1] - values[:, 0]

    if scale == "pairs":
        by_person, by_input, residual = spread_of_preferences(parts, 0.3)
    else:
        by_person, by_input, residual = spread_of_decisions(parts)

    # by the mean squares of each study
    p, n = 40, 60
    rows, columns = differences.mean(axis=2), differences.mean(axis=1)
    grand = differences.mean(axis=(1, 2))
    rest = differences - rows[:, :, None] - columns[:, None, :] + grand[:, None, None]
    ms_rest = (rest**2).sum(axis=(1, 2)).mean() / ((p - 1) * (n - 1))
    ms_person = n * ((rows - grand[:, None]) ** 2).sum(axis=1).mean() / (p - 1)
    ms_input = p * ((columns - grand[:, None]) ** 2).sum(axis=1).mean() / (n - 1)
    assert residual == pytest.approx(ms_rest, rel=0.02)
    assert sqrt(by_person) == pytest.approx(sqrt((ms_person - ms_rest) / n), rel=0.05)
    assert sqrt(by_input) == pytest.approx(sqrt((ms_input - ms_rest) / p), rel=0.05)
