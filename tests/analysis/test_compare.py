"""The comparison of systems: which method when, what it claims, and what may not change it."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.analysis.compare import find_differences
from evalsite.analysis.figure import to_plain
from evalsite.analysis.intervals import (
    certainly_above,
    find_clusters,
    max_t,
    order_ranges,
    rank_ranges,
)
from evalsite.analysis.plan import Plan
from evalsite.analysis.ratings import Ratings, read_scores
from tests.analysis.compared import compare_systems
from tests.analysis.vectors import read_data, read_vector
from tests.support.published import published_file

FEW = 60  # draws where intervals of means are not the point


def read(data, *, has_raters=True, **options):
    ratings = Ratings(group=data["item"], system=data.system, value=data.value,
                      rater=data.rater if has_raters else None)  # fmt: skip
    return read_scores(ratings, **options)


def make_ratings(*, raters=6, items=10, systems="ab", seed=1, gap=0.0, shift=0.0):
    """A complete table of Likert ratings, `gap` of the rows taken out; b is better by `shift`."""
    rng = np.random.default_rng(seed)
    rows = []
    taste = rng.normal(0, 0.3, (raters, len(systems)))
    output = rng.normal(0, 0.4, (items, len(systems)))
    for r in range(raters):
        for i in range(items):
            for s, name in enumerate(systems):
                latent = 4 + shift * s + taste[r, s] + output[i, s] + rng.normal(0, 0.8)
                rows.append((f"r{r}", f"i{i}", name, float(np.clip(round(latent), 1, 7))))
    data = pd.DataFrame(rows, columns=["rater", "item", "system", "value"])
    return data.sample(frac=1 - gap, random_state=seed) if gap else data


@pytest.mark.one_case
@pytest.mark.parametrize("name", ["joint__compare_small7", "joint__compare_crowd5"])
def test_complete_and_incomplete_designs_get_one_method(name):
    data, expected, tolerance = read_vector(name)

    found = compare_systems(read(data), draws=FEW)

    for one in found.pairs:
        wanted = expected["pairs"][f"{one.second}-{one.first}"]
        got = one.difference
        assert got.method == "reml"
        assert (got.value, got.low, got.high) == pytest.approx(
            (wanted["difference"], wanted["low"], wanted["high"]), abs=tolerance
        )
        assert got.details["p"] == pytest.approx(wanted["p"], abs=tolerance)
        assert one.p_corrected == pytest.approx(wanted["p_holm"], abs=tolerance)
        assert one.low_all < got.low < got.high < one.high_all
    assert found.family == len(found.pairs)
    assert set(found.cautions) <= {"singular_model"}


def make_review_case():
    """The file of the review: four systems, six raters, twenty inputs, 480 ratings."""
    rng = np.random.default_rng(11)
    raters, inputs, systems = 6, 20, 4
    n = rng.normal
    value = (
        3 + n(0, 0.6, (raters, 1, 1)) + n(0, 0.6, (1, inputs, 1))
        + n(0, 0.3, (raters, 1, systems)) + n(0, 0.5, (1, inputs, systems))
        + n(0, 0.9, (raters, inputs, systems)) + np.r_[0, 0, 0, 0.5]
    )  # fmt: skip
    value = np.clip(np.rint(value), 1, 5)
    r, i, s = (one.ravel() for one in np.indices(value.shape))
    return pd.DataFrame({"rater": r, "item": i, "system": s.astype(str), "value": value.ravel()})


@cache
def describe_review_case():
    return describe_pairs(make_review_case())


def describe_pairs(data):
    """Of each pair whether the corrected test finds a difference, and the interval's width."""
    found = compare_systems(read(data), draws=2).pairs
    verdicts = [one.p_corrected < 0.05 for one in found]
    return verdicts, np.array([one.difference.high - one.difference.low for one in found])


@pytest.mark.one_case
@pytest.mark.parametrize(
    "row", [0, 479, *(pytest.param(row, marks=pytest.mark.torture) for row in (1, 17, 333))]
)
def test_one_rating_less_changes_no_width_by_a_tenth(row, monkeypatch):
    monkeypatch.setattr("evalsite.analysis.compare.effect_figures", lambda *args, **known: {})
    _, widths = describe_review_case()
    _, others = describe_pairs(make_review_case().drop(index=row))

    assert np.abs(others / widths - 1).max() < 0.1


def test_the_first_rating_less_changes_no_verdict(monkeypatch):
    monkeypatch.setattr("evalsite.analysis.compare.effect_figures", lambda *args, **known: {})
    verdicts, _ = describe_review_case()
    fewer, _ = describe_pairs(make_review_case().iloc[1:])

    assert fewer == verdicts


def test_a_pair_has_an_error_of_its_own_beside_that_of_all():
    found = compare_systems(read(read_data("compare_small7.csv")), draws=FEW)

    one = found.pairs[0]
    alone = compare_systems(
        read(read_data("compare_small7.csv").query("system in ['A', 'B']")), draws=FEW
    ).pairs[0]
    assert one.own_error.details["se"] == pytest.approx(alone.difference.details["se"])
    assert one.own_error.details["se"] != pytest.approx(one.difference.details["se"], rel=1e-3)
    assert alone.own_error is None


def test_a_plan_may_want_a_separate_error_for_each_pair():
    data = read(read_data("compare_small7.csv"))

    found = find_differences(data, plan=Plan(has_own_errors=True), draws=FEW).correct()

    assert [one.difference.details["se"] for one in found.pairs] == [
        one.own_error.details["se"] for one in found.pairs
    ]


def test_correction_covers_the_comparisons_of_other_criteria():
    tests = find_differences(read(read_data("compare_small7.csv")), draws=FEW)
    alone, among = tests.correct(), tests.correct(other_p=[0.5] * 12)

    assert (alone.family_across, among.family_across, among.family) == (3, 15, 3)
    p = [one.difference.details["p"] for one in among.pairs]
    # by hand: the smallest of 15 p values times 15
    assert min(one.p_corrected for one in among.pairs) == pytest.approx(15 * min(p))
    assert [one.p_within for one in among.pairs] == [one.p_corrected for one in alone.pairs]


def test_rank_ranges_are_in_the_order_of_the_estimates():
    # of a real file: the weakest system may be first, the second weakest may not
    scores = {"a": 0.80, "b": 0.59, "c": -0.26, "d": -1.13}
    raw = {"a": (1, 3), "b": (1, 4), "c": (2, 4), "d": (1, 4)}

    found = order_ranges(scores, raw)

    assert found == {"a": (1, 3), "b": (1, 4), "c": (1, 4), "d": (1, 4)}


def test_two_systems_each_loved_by_one_rater_do_not_differ():
    tables = {"A": [(90, 91, 92), (20, 21, 22)], "B": [(10, 12, 14), (80, 82, 84)]}
    rows = [
        (rater, item, system, value)
        for system, table in tables.items()
        for rater, values in enumerate(table)
        for item, value in enumerate(values)
    ]  # fmt: skip
    data = pd.DataFrame(rows, columns=["rater", "item", "system", "value"])

    found = compare_systems(read(data))

    assert [(one.value, one.n["ratings"]) for one in found.systems.values()] == [(56, 6), (47, 6)]
    # nothing is drawn from two raters: their draws span what these two say
    (pair,) = found.pairs
    assert pair.difference.low is pair.difference.high is None
    assert "p" not in pair.difference.details
    assert pair.difference.details["interval"] == "too_few"
    assert found.rank_ranges == {"A": (1, 2), "B": (1, 2)}


@pytest.mark.parametrize("ratings", [300, 600])
def test_thirteen_absurd_scores_do_not_carry_a_system_away(ratings):
    rng = np.random.default_rng(8)
    n = ratings
    data = pd.DataFrame(
        {
            "rater": np.tile(np.arange(10), n // 10),
            "item": np.repeat(np.arange(n // 10), 10),
            "system": "a",
            "value": np.round(80 * np.exp(rng.normal(0, 0.2, n))),
        }
    )
    absurd = data.copy()
    absurd.loc[rng.permutation(n)[:13], "value"] = 111111

    sane, found = (compare_systems(read(one, is_log=True)).systems["a"] for one in (data, absurd))

    assert found.name == "geometric_mean"
    assert abs(found.value - sane.value) < found.high - found.low


def test_magnitudes_are_compared_as_ratios():
    data, expected, _ = read_vector("magnitude_test__magnitude_rankme")

    found = compare_systems(read(data, is_log=True), draws=FEW)

    ratio = found.pairs[0].ratio
    assert ratio.value == pytest.approx(expected["ratio"])
    assert ratio.low < expected["low"] < expected["high"] < ratio.high
    assert ratio.details["p"] > expected["p"]  # raters are a sample as well


def test_magnitudes_of_nothing_are_refused():
    with pytest.raises(ValueError, match="above 0"):
        read_scores(Ratings(rater=["r"], group=["i"], system=["a"], value=[0]), is_log=True)


def test_geometric_means_of_rankme_are_those_of_the_reference():
    data = pd.read_csv(published_file("rankme/ratings_long.csv")).rename(
        columns={"participant": "rater"}
    )

    found = compare_systems(read(data, is_log=True), draws=FEW)

    means = [one.value for one in found.systems.values()]
    assert means == pytest.approx([95.0851, 61.7924, 96.8636], abs=1e-4)
    assert found.clusters[-1] == ["sheffield_v2"]
    assert found.rank_ranges["sheffield_v2"] == (3, 3)


def test_one_rater_speaks_for_no_other():
    data = make_ratings(raters=1, items=12, shift=1.0)

    found = compare_systems(read(data))

    assert list(found.cautions) == ["one_rater"]
    assert found.pairs[0].difference.method == "t_over_items"
    assert found.systems["a"].low is None


def test_participants_that_are_no_persons_are_no_sample_of_raters():
    data = make_ratings(shift=1.0)

    found = compare_systems(read(data, has_raters=False), draws=FEW)

    assert list(found.cautions) == ["raters_unknown"]
    assert found.pairs[0].difference.method == "t_over_items"
    assert "raters" not in found.pairs[0].difference.n


def test_raters_who_each_saw_one_system_are_named_nested():
    data = make_ratings(raters=10, items=8, shift=0.5)
    number = data.rater.str[1:].astype(int)
    data = data[(number % 2 == 0) == (data.system == "a")]

    found = compare_systems(read(data), draws=FEW)

    assert "nested_raters" in found.cautions
    assert found.model["dropped"]["rater:system"] == ["like_term", "rater"]
    assert found.pairs[0].effects["superiority"].reason == "no_overlap"


def test_one_rating_for_each_output_drops_its_own_variance_and_says_so():
    data = make_ratings(raters=8, items=40).drop_duplicates(["item", "system"])
    rng = np.random.default_rng(3)
    data["rater"] = rng.integers(0, 8, len(data))

    found = compare_systems(read(data), draws=FEW)

    assert found.model["dropped"]["group:system"] == ["like_residual"]


def test_designs_too_large_for_the_model_get_the_bootstrap(monkeypatch):
    monkeypatch.setattr("evalsite.analysis.mixed.MOST_OUTER", 1)
    data = make_ratings(raters=3, items=90, gap=0.4, shift=1.0)

    found = compare_systems(read(data), draws=FEW)

    assert "bootstrap_instead_of_model" in found.cautions
    one = found.pairs[0].difference
    assert one.method == "bootstrap_of_items_and_raters"
    assert one.details["p"] < 0.05
    assert one.seed == 1


def test_a_baseline_makes_the_family_smaller():
    data = make_ratings(systems="abcd", shift=0.3)

    every = compare_systems(read(data), draws=FEW)
    few = compare_systems(read(data), plan=Plan(baseline="b"), draws=FEW)

    assert (every.family, few.family) == (6, 3)
    assert {one.first for one in few.pairs} == {"b"}
    with pytest.raises(ValueError, match="choose one of the systems"):
        compare_systems(read(data), plan=Plan(baseline="z"))


@pytest.mark.torture
def test_a_baseline_corrects_over_its_own_pairs_and_leaves_the_tests_as_they_are():
    data, expected, tolerance = read_vector("joint__compare_small7")

    few = compare_systems(read(data), plan=Plan(baseline="A"), draws=FEW)
    every = compare_systems(read(data), draws=FEW)

    # by hand: twice the smallest p of the two, and no less for the other
    p = sorted(expected["pairs"][pair]["p"] for pair in ("B-A", "C-A"))
    assert sorted(one.p_corrected for one in few.pairs) == pytest.approx(
        [2 * p[0], max(2 * p[0], p[1])], abs=tolerance
    )
    assert [one.difference for one in few.pairs] == [one.difference for one in every.pairs[:2]]
    assert few.rank_ranges == every.rank_ranges != {}
    assert (few.clusters, every.clusters) == ([], [["C", "B"], ["A"]])


def test_ratings_that_are_all_equal_show_no_difference():
    data = make_ratings().assign(value=3)

    found = compare_systems(read(data), draws=FEW)

    one = found.pairs[0]
    assert (one.difference.value, one.difference.details["p"]) == (0, 1)
    assert one.difference.details["note"] == "no_difference"
    assert one.effects["dz"].reason == "no_variation"


def test_missing_values_are_left_out():
    data = make_ratings()
    data.loc[3, "value"] = np.nan

    assert len(read(data).value) == len(data) - 1


def test_results_are_plain_data_without_nan():
    for data in (make_ratings(systems="abc", gap=0.3), make_ratings().assign(value=3)):
        found = to_plain(compare_systems(read(data), draws=FEW))

        assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.one_case
@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_renamed_and_reordered_ratings_give_the_same_comparison(gap):
    data = make_ratings(systems="abc", gap=gap, shift=0.4)
    shuffled = data.sample(frac=1, random_state=6)
    shuffled["rater"] = "x" + shuffled.rater.str[::-1]
    shuffled["item"] = shuffled["item"].str[::-1] + "y"

    one, other = (to_plain(compare_systems(read(d), draws=FEW)) for d in (data, shuffled))

    assert one == other


def test_an_even_repeat_of_all_cells_changes_no_difference():
    data = make_ratings()

    once, twice = (
        compare_systems(read(d), draws=FEW).pairs[0].difference
        for d in (data, pd.concat([data, data]))
    )

    assert twice.value == pytest.approx(once.value)
    # what is left in a cell is then known, so the error moves a little
    assert twice.details["p"] == pytest.approx(once.details["p"], abs=0.02)


def test_cells_rated_unevenly_are_no_complete_design():
    data = make_ratings()

    found = compare_systems(read(pd.concat([data, data[:1]])), draws=FEW)

    assert found.pairs[0].difference.method == "reml"


@pytest.mark.torture
@given(st.integers(0, 500), st.sampled_from([0.0, 0.25]))
@settings(max_examples=12, deadline=None)
def test_exchanged_names_turn_the_difference_round(seed, gap):
    data = make_ratings(raters=4, items=6, seed=seed, gap=gap, shift=0.5)
    turned = data.assign(system=data.system.map({"a": "b", "b": "a"}))

    one, other = (compare_systems(read(d), draws=FEW).pairs[0] for d in (data, turned))

    if one.difference.value is None:
        assert other.difference.reason == one.difference.reason
        return
    assert one.difference.value == pytest.approx(-other.difference.value, abs=1e-6)
    assert one.difference.details["p"] == pytest.approx(other.difference.details["p"], abs=1e-4)
    a, b = (pair.effects["superiority"].value for pair in (one, other))
    assert a is None or a == pytest.approx(1 - b)


def test_better_systems_are_above_and_in_earlier_clusters():
    above = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0]], dtype=bool)

    assert rank_ranges(above) == [(3, 3), (2, 2), (1, 1)]
    assert find_clusters([0.1, 0.5, 0.9], above) == [[2], [1], [0]]
    assert find_clusters([0.1, 0.5, 0.9], np.zeros((3, 3), dtype=bool)) == [[2, 1, 0]]


def test_intervals_of_all_pairs_at_once_are_wider_than_one():
    drawn = np.random.default_rng(5).normal(0, 1, (4000, 4))

    critical = max_t(np.zeros(4), drawn)

    # The studentised range of four, over the root of two.
    assert critical == pytest.approx(2.57, abs=0.06)
    assert max_t(np.zeros(2), drawn[:, :2]) == pytest.approx(1.96, abs=0.06)


def test_draws_without_end_do_not_blur_who_is_above():
    rng = np.random.default_rng(5)
    drawn = rng.normal([0, 5, 5], 1, (1000, 3))
    drawn[:40, 1] += 30

    above = certainly_above(drawn)

    assert above.tolist() == [[False] * 3, [True, False, False], [True, False, False]]
