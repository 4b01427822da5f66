"""Studies of so many systems that a report of all pairs has to be short of something."""

from itertools import combinations
from math import exp, log

import numpy as np
import pytest
from scipy import optimize

from evalsite.analysis import intervals
from evalsite.analysis.compare import MANY_PAIRS
from evalsite.analysis.intervals import certainly_above, max_t, two_way_sums
from evalsite.analysis.pairs import circular_triads
from evalsite.analysis.plan import Plan
from evalsite.analysis.ratings import Ratings, Scores, read_scores
from evalsite.analysis.strengths import count_pairs, fit_davidson, fit_draws
from tests.analysis.compared import compare_systems


def rate_many(systems: int) -> Scores:
    """Two raters on three inputs of each system, whose quality rises by a hundredth."""
    rng = np.random.default_rng(6)
    rows = [
        (f"s{system:03}", f"i{item}", f"r{rater}", system / 100 + rng.normal())
        for system in range(systems)
        for item in range(3)
        for rater in range(2)
    ]
    names, items, raters, values = zip(*rows, strict=True)
    return read_scores(Ratings(group=items, system=names, value=values, rater=raters))


@pytest.mark.torture
@pytest.mark.slow
def test_above_a_thousand_pairs_effect_sizes_are_left_out_and_the_warning_says_so():
    data = rate_many(46)  # 46 x 45 / 2 pairs

    found = compare_systems(data, draws=20)

    assert len(found.pairs) == 1035 > MANY_PAIRS
    assert {len(pair.effects) for pair in found.pairs} == {0}
    assert all(pair.p_corrected is not None for pair in found.pairs)
    assert "many_pairs" in found.cautions


@pytest.mark.slow
def test_with_a_baseline_many_systems_keep_their_effect_sizes():
    data = rate_many(46)

    found = compare_systems(data, plan=Plan(baseline="s000"), draws=20)

    assert len(found.pairs) == 45
    assert all("dz" in pair.effects for pair in found.pairs)
    assert "many_pairs" not in found.cautions


@pytest.mark.torture
@pytest.mark.slow
def test_strengths_of_a_draw_are_those_that_make_its_answers_most_likely():
    rng = np.random.default_rng(9)
    left, step = rng.integers(0, 5, 400), rng.integers(1, 5, 400)
    outcome = rng.choice([1.0, 0.0, -1.0], 400, p=[0.4, 0.25, 0.35])
    counts = count_pairs(left, (left + step) % 5, outcome, 5)
    tables = rng.poisson(counts, (3, *counts.shape)) * (counts > 0)

    found = fit_draws(fit_davidson(counts, has_position=True), counts, tables.astype(float))

    for table, parameters in zip(tables, found, strict=True):
        assert parameters == pytest.approx(_maximise(table), abs=1e-5)


def _maximise(table):
    """The strengths, log nu and position with the highest likelihood, found without slopes; the
    chances are those of Davidson & Beaver (1977), written out."""

    def loss(parameters):
        theta, nu, position = [0.0, *parameters[:4]], exp(parameters[4]), parameters[5]
        found = 0.0
        for i in range(5):
            for j in range(5):
                weights = [
                    exp(theta[i] + position / 2),
                    nu * exp((theta[i] + theta[j]) / 2),
                    exp(theta[j] - position / 2),
                ]
                found -= sum(
                    number * log(weight / sum(weights))
                    for number, weight in zip(table[i, j], weights, strict=True)
                )
        return found

    options = {"xtol": 1e-9, "ftol": 1e-15}
    return optimize.minimize(loss, np.zeros(6), method="Powell", options=options).x


def test_circles_are_those_that_a_look_at_every_three_systems_finds():
    rng = np.random.default_rng(12)
    unit, first, step = rng.integers(0, 8, 500), rng.integers(0, 6, 500), rng.integers(1, 6, 500)
    second, outcome = (first + step) % 6, rng.choice([1.0, 0.0, -1.0], 500, p=[0.45, 0.1, 0.45])

    found = circular_triads(unit, first, second, outcome, 6)

    net = np.zeros((8, 6, 6))
    for one, a, b, won in zip(unit, first, second, outcome, strict=True):
        net[one, a, b] += won
        net[one, b, a] -= won
    threes = [
        np.sign([net[one, a, b], net[one, b, c], net[one, c, a]])
        for one in range(8)
        for a, b, c in combinations(range(6), 3)
    ]
    decided = [three for three in threes if three.all()]
    circular = sum(abs(three.sum()) == 3 for three in decided)
    assert found.n == {"triples": len(decided), "circular": circular}
    assert 0 < circular < len(decided) < len(threes)


def test_sums_of_counts_are_those_of_any_other_numbers(monkeypatch):
    monkeypatch.setattr(intervals, "_ROWS", 3000)  # ten draws at a time
    rng = np.random.default_rng(3)
    rater, item = rng.permutation(np.arange(300) % 7), rng.permutation(np.arange(300) % 40)
    columns = rng.integers(0, 3, (300, 5))

    counted = two_way_sums(rater, item, columns, draws=50, seed=2)

    # halves are no whole numbers, but their sums have no rounding either
    assert (counted == 2 * two_way_sums(rater, item, columns / 2, draws=50, seed=2)).all()


def test_pairs_taken_some_at_a_time_give_what_all_at_once_give(monkeypatch):
    drawn = np.random.default_rng(8).normal(size=(200, 9)) + np.arange(9) / 2
    at_once = max_t(drawn.mean(axis=0), drawn), certainly_above(drawn)

    monkeypatch.setattr(intervals, "_NUMBERS", 1)

    assert max_t(drawn.mean(axis=0), drawn) == pytest.approx(at_once[0], abs=1e-12)
    assert (certainly_above(drawn) == at_once[1]).all()
    assert 0 < at_once[1].sum() < 36  # of 9 x 8 / 2 pairs
