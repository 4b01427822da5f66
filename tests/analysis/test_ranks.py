"""Correlations, Kendall's W, and raters against raters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalsite.analysis.behaviour import against_others
from evalsite.analysis.correlation import (
    Cells,
    correlate,
    fisher_interval,
    kendall_w,
    kendall_w_of_sets,
    pairwise_correlation,
)
from evalsite.analysis.intervals import NO_DRAWS, two_way_weights
from evalsite.analysis.ratings import Ratings, canonical_rows
from tests.analysis.vectors import compare, find_vectors, read_data, read_vector

FEW = 50
KINDS = {"pearson": "pearson", "spearman": "spearman", "kendall": "kendall_tau_b"}


@pytest.mark.parametrize("name", find_vectors("corr"))
def test_correlation_of_two_raters_is_that_of_the_vector(name):
    data, expected, tolerance = read_vector(name)
    wide = data.pivot(index="unit", columns="rater", values="value")

    got = {key: correlate(wide.iloc[:, 0], wide.iloc[:, 1], kind, resampling=NO_DRAWS).value
           for kind, key in KINDS.items()}  # fmt: skip

    compare(got, expected, tolerance)
    pairs = {
        key: pairwise_correlation(
            Ratings(unit=data.unit, rater=data.rater, value=data.value), kind, draws=FEW
        ).value
        for kind, key in KINDS.items()
    }
    compare(pairs, expected, tolerance)  # two raters are one pair


@pytest.mark.parametrize("name", find_vectors("kendall_w"))
def test_kendalls_w_is_that_of_the_vector(name):
    data, expected, tolerance = read_vector(name)

    found = kendall_w(data.pivot(index="unit", columns="rater", values="value"))

    compare({"W": found.value} | dict(found.details), expected, tolerance)


def test_w_of_one_set_is_w():
    data = read_data("agree_complete5.csv")
    whole = kendall_w(data.pivot(index="unit", columns="rater", values="value"))

    found = kendall_w_of_sets(
        Ratings(group=np.ones(len(data)), rater=data.rater, system=data.unit, value=data.value)
    )

    assert found.value == pytest.approx(whole.value)
    assert found.low is None


def test_w_of_sets_leaves_out_what_is_not_ranked_whole():
    rows = [
        ("a", 1, "x", 1), ("a", 1, "y", 2), ("a", 2, "x", 10), ("a", 2, "y", 30),  # alike: 1
        ("b", 1, "x", 1), ("b", 1, "y", 2), ("b", 2, "x", 5), ("b", 2, "y", 4),  # against: 0
        ("c", 1, "x", 1), ("c", 1, "y", 1), ("c", 2, "x", 5), ("c", 2, "y", 5),  # all tied
        ("d", 1, "x", 1), ("d", 1, "y", 2), ("d", 2, "x", 5),  # one rater saw all of it
    ]  # fmt: skip
    group, rater, object_, value = zip(*rows, strict=True)

    found = kendall_w_of_sets(Ratings(group=group, rater=rater, system=object_, value=value))

    assert found.value == 0.5
    assert found.n["sets"] == 2
    assert found.n["sets_all_tied"] == 1
    assert found.n["ratings"] == 8


def test_intervals_of_w_draw_raters_and_sets_and_no_rater_agrees_with_themselves():
    rng = np.random.default_rng(8)
    group, rater, object_ = np.indices((5, 3, 4)).reshape(3, -1)
    value = np.round(object_ + rng.normal(0, 2, len(group)))

    figure = kendall_w_of_sets(
        Ratings(group=group, rater=rater, system=object_, value=value), draws=100
    )

    ranks = np.zeros((5, 3, 4))
    _, (sets, raters, objects) = canonical_rows(value, group, rater, object_)
    order = canonical_rows(value, group, rater, object_)[0]
    ranks[sets, raters, objects] = value[order]
    ranks = stats.rankdata(ranks, axis=2) - 2.5
    (weights,) = two_way_weights(3, 5, draws=100, seed=figure.seed)
    drawn = [draw_w(ranks, *pair) for pair in zip(*weights, strict=True)]
    ends = np.nanquantile(drawn, [0.025, 0.975])
    assert (figure.low, figure.high) == pytest.approx(tuple(ends))
    assert figure.details["over"] == "raters_and_inputs"
    assert 0 < figure.details["draws_undefined"] < 30  # all three draws are of one rater in 1/9


def draw_w(ranks, of_raters, of_sets):
    """The mean W of drawn sets, whose pairs of raters are counted one by one."""
    drawn_raters = np.repeat(np.arange(3), of_raters.astype(int))
    pairs = [(a, b) for a in drawn_raters for b in drawn_raters if a != b]
    if not pairs:
        return np.nan
    each = []
    for of_set in ranks:
        alike = np.mean([of_set[a] @ of_set[b] for a, b in pairs])
        r = alike / np.mean([of_set[a] @ of_set[a] for a in drawn_raters])
        each.append((1 + 2 * r) / 3)
    return float(np.average(each, weights=of_sets))


def test_mean_of_pairs_of_raters_says_of_how_many_pairs_and_units_it_is():
    units, rows = range(6), []
    for rater, values in {
        "r1": [1, 2, 3, 4, 5, 6],
        "r2": [2, 1, 3, 4, 6, 5],
        "r3": [3] * 6,
    }.items():
        rows += [(f"u{unit}", rater, value) for unit, value in zip(units, values, strict=True)]
    rows.append(("alone", "r1", 4))
    unit, rater, value = zip(*rows, strict=True)

    found = pairwise_correlation(Ratings(unit=unit, rater=rater, value=value), "spearman", draws=20)

    # r3 never varies: only r1 and r2 have a correlation
    assert found.n == {
        "units": 6, "ratings": 18, "raters": 3, "units_left_out": 1, "rater_pairs": 1
    }  # fmt: skip
    assert found.value == pytest.approx(stats.spearmanr([1, 2, 3, 4, 5, 6], [2, 1, 3, 4, 6, 5])[0])


def test_undefined_order_has_its_reason():
    assert kendall_w([[1, 2], [np.nan, 3]]).reason == "incomplete"
    assert kendall_w([[1], [2]]).reason == "no_overlap"
    assert kendall_w([[3, 3], [3, 3]]).reason == "no_variation"
    assert kendall_w(np.zeros((0, 3))).reason == "no_data"
    sets = {"group": [1, 1], "system": [1, 2], "value": [1, 2]}
    assert kendall_w_of_sets(Ratings(rater=None, **sets)).reason == "raters_unknown"
    assert kendall_w_of_sets(Ratings(rater=[1, 1], **sets)).reason == "no_overlap"
    pair = {"unit": [1, 1, 2, 2], "value": [1, 2, 2, 1]}
    assert pairwise_correlation(Ratings(**pair), "spearman").reason == "raters_unknown"
    alternating = Ratings(rater=[1, 2, 1, 2], **pair)
    assert pairwise_correlation(alternating, "spearman").reason == "no_overlap"


@pytest.mark.parametrize("kind", KINDS)
def test_correlation_with_a_constant_has_no_figure(kind):
    assert correlate([1, 1, 1], [1, 2, 3], kind).reason == "no_variation"
    assert correlate([1, 2], [1, 2], kind).reason == "too_few"
    assert correlate([], [], kind).reason == "no_data"


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 9)), min_size=3, max_size=30),
    st.sampled_from(list(KINDS)),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_weighted_correlation_is_that_of_the_rows_drawn(rows, kind, data):
    x, y = np.array(rows, dtype=float).T
    drawn = data.draw(st.lists(st.sampled_from(range(len(x))), min_size=3, max_size=30))
    weights = np.bincount(drawn, minlength=len(x)).astype(float)[None, :]
    scipy = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}

    cells = Cells.of(x, y, np.arange(len(x)), n_blocks=len(x))
    found = cells.find(weights, kind)[0]

    if np.ptp(x[drawn]) == 0 or np.ptp(y[drawn]) == 0:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(scipy[kind](x[drawn], y[drawn])[0], abs=1e-10)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(1, 5)),
             min_size=6, max_size=30, unique_by=lambda one: one[:2]),
    st.randoms(use_true_random=False),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_order_of_rows_and_names_change_no_digit(rows, random):
    names = list(range(100, 200))
    random.shuffle(names)
    other = [(f"u{names[unit]}", f"r{names[rater]}", value) for unit, rater, value in rows]
    random.shuffle(other)

    def measure(table):
        unit, rater, value = zip(*table, strict=True)
        return pairwise_correlation(
            Ratings(unit=unit, rater=rater, value=value), "spearman", shared=3, draws=20
        )

    one, two = measure(rows).to_dict(), measure(other).to_dict()
    assert one["details"] == two["details"]
    for key in ("value", "low", "high"):
        assert one[key] == pytest.approx(two[key], abs=1e-12)


def test_each_rater_stands_beside_the_others():
    data, expected, tolerance = read_vector("behaviour__behaviour7")

    found = against_others(Ratings(unit=data.item, rater=data.rater, value=data.value))

    got = {one.rater: {"loo_spearman": one.spearman.value, "loo_bias": one.offset.value}
           for one in found}  # fmt: skip
    wanted = {rater: {key: some[key] for key in ("loo_spearman", "loo_bias")}
              for rater, some in expected.items()}  # fmt: skip
    compare(got, wanted, tolerance)
    assert all(one.spearman.low < one.spearman.value < one.spearman.high for one in found)


def test_fishers_interval_of_pearson_is_that_of_scipy():
    rng = np.random.default_rng(4)
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)
    wanted = stats.pearsonr(x, y)

    found = correlate(x, y, "pearson")

    ends = fisher_interval(found.value, 30, "pearson")
    assert ends == pytest.approx(tuple(wanted.confidence_interval()))
    assert found.details["p"] == pytest.approx(wanted.pvalue)
    assert fisher_interval(1.0, 30, "pearson") == (None, None)
