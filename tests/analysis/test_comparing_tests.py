"""Crossed, paired, rank and yes/no tests: the vectors, symmetry, and undefined cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.analysis.difference_tests import correct
from evalsite.analysis.effects import (
    cliffs_delta,
    cochran_q,
    cohen_dz,
    flip_by_counting,
    friedman,
    hedges_gz,
    mcnemar,
    rank_biserial,
    sign_flip_test,
    sign_test,
    sign_test_of_counts,
    superiority,
    wilcoxon_pratt,
    wilson_share,
)
from evalsite.analysis.intervals import drawn_figure, t_figure, two_way_means
from evalsite.analysis.power import mean_squares
from evalsite.analysis.ratings import Ratings, canonical_rows, factor_codes
from tests.analysis.compared import crossed_parts
from tests.analysis.vectors import compare, find_vectors, read_data, read_vector

tables = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.integers(-6, 6), min_size=raters, max_size=raters), min_size=2, max_size=8
    )
)


def spread_out(data, system):
    return data[data.system == system].pivot(index="rater", columns="item", values="value")


def to_items(data):
    return data.pivot_table(index="item", columns="system", values="value", aggfunc="mean")


def make_crossed(table):
    """The t test of a complete design, as the planner has it."""
    mean, se, df = (float(part) for part in crossed_parts(table))
    return t_figure("difference", (mean, se, df), method="crossed", n={})


@pytest.mark.parametrize("name", find_vectors("crossed"))
def test_crossed_test_is_that_of_the_vector(name):
    data, expected, tolerance = read_vector(name)

    for pair, wanted in expected.items():
        second, first = pair.split("-")
        table = (spread_out(data, second) - spread_out(data, first)).to_numpy()
        found = make_crossed(table)
        squares = zip(("ms_rater", "ms_item", "ms_residual"), mean_squares(table)[1:], strict=True)
        got = found.details | {"difference": found.value, "low": found.low, "high": found.high}
        got |= {name: float(one) for name, one in squares}
        compare(got, wanted, tolerance)


@pytest.mark.parametrize("name", find_vectors("paired"))
def test_paired_figures_are_those_of_the_vector(name):
    data, expected, tolerance = read_vector(name)
    items = to_items(data)
    p_t = []

    for pair, wanted in expected.items():
        second, first = pair.split("-")
        both = items[[first, second]].dropna()
        d = np.round((both[second] - both[first]).to_numpy(), 9)
        mean = t_figure(
            "difference", (d.mean(), d.std(ddof=1) / np.sqrt(len(d)), len(d) - 1),
            method="paired t", n={},
        )  # fmt: skip
        p_t.append(mean.details["p"])
        got = {
            "n_items": len(d),
            "mean_difference": mean.value,
            "low": mean.low,
            "high": mean.high,
            "t": mean.details["t"],
            "p_t": p_t[-1],
            "cohen_dz": cohen_dz(d),
            "hedges_gz": hedges_gz(d),
            "p_wilcoxon_pratt_normal": wilcoxon_pratt(d).details["p"],
            "prob_superiority_paired": superiority(d),
            "rank_biserial_matched": rank_biserial(d),
            "cliffs_delta": cliffs_delta(both[first], both[second]),
            "p_sign_test": sign_test(d).details["p"],
            "p_exact_sign_flip_x60": flip_by_counting(np.round(d * 60).astype(int)),
        }
        left = {"p_holm", "p_bh", "p_by", "p_bonferroni", "wilcoxon_V"}
        left.add("p_wilcoxon_zeros_dropped_normal")
        compare(got, {k: v for k, v in wanted.items() if k not in left}, tolerance)

    for method in ("holm", "bh", "by"):
        wanted = [one[f"p_{method}"] for one in expected.values()]
        assert correct(p_t, method) == pytest.approx(wanted, abs=tolerance)


@pytest.mark.parametrize("name", find_vectors("friedman"))
def test_friedman_is_that_of_the_vector(name):
    data, expected, tolerance = read_vector(name)

    found = friedman(to_items(data).to_numpy())

    compare(found.details | {"chi2": found.value, "n": found.n["items"]}, expected, tolerance)


def test_yes_no_tests_are_those_of_the_vector():
    data, expected, tolerance = read_vector("binary__accept_by_item")
    table = data.pivot(index="item", columns="system", values="accepted")

    one = mcnemar(table["A"], table["B"])
    q = cochran_q(table.to_numpy())
    shares = {s: wilson_share(int(table[s].sum()), len(table)) for s in table}

    got = {
        "mcnemar_chi2": one.details["chi2"],
        "mcnemar_p": one.details["chi2_p"],
        "mcnemar_exact_p": one.details["p"],
        "discordant": {
            "A0B1": one.n["first_no_second_yes"], "A1B0": one.n["first_yes_second_no"]
        },
        "cochran_q": q.value,
        "cochran_p": q.details["p"],
        "wilson": {
            s: {"share": f.value, "low": f.low, "high": f.high} for s, f in shares.items()
        },
    }  # fmt: skip
    compare(got, expected, tolerance)


def code(data):
    rater, item, system = (factor_codes(data[name]) for name in ("rater", "item", "system"))
    return Ratings(value=data.value, rater=rater, block=item, system=system)


def test_two_way_bootstrap_is_that_of_the_vector():
    data, expected, tolerance = read_vector("bootstrap_twoway__compare_small7")

    means, drawn = two_way_means(code(data), draws=20_000)

    found = drawn_figure(
        "difference", means[1] - means[0], drawn[:, 1] - drawn[:, 0],
        n={"items": 20, "raters": 8}, seed=1,
    )  # fmt: skip
    got = {"difference": found.value, "low": found.low, "high": found.high}
    compare(got | {"se": found.details["se_bootstrap"]}, expected, tolerance)


def test_magnitude_test_on_item_means_is_that_of_the_vector():
    data, expected, tolerance = read_vector("magnitude_test__magnitude_rankme")
    data = data.assign(value=np.log(data.value / data.standard))
    items = to_items(data)
    d = (items["B"] - items["A"]).to_numpy()

    found = t_figure(
        "difference", (d.mean(), d.std(ddof=1) / np.sqrt(len(d)), len(d) - 1),
        method="paired t", n={},
    )  # fmt: skip

    got = {"ratio": np.exp(found.value), "low": np.exp(found.low), "high": np.exp(found.high)}
    compare(got | dict(found.details), expected, tolerance)


def test_two_systems_each_loved_by_one_rater_do_not_differ():
    first = np.array([[90.0, 91, 92], [20, 21, 22]])
    second = np.array([[10.0, 12, 14], [80, 82, 84]])

    found = make_crossed(second - first)

    assert (first.mean(), second.mean()) == (56, 47)
    assert found.value == -9
    assert found.details["p"] > 0.5


def test_bootstrap_does_not_change_with_names_or_order_of_rows():
    data = read_data("compare_crowd5.csv")
    shuffled = data.sample(frac=1, random_state=5)
    shuffled["item"] = "z" + shuffled["item"].str[::-1]
    shuffled["rater"] = shuffled.rater.str[::-1]

    drawn = []
    for d in (data, shuffled):
        rows, (rater, item, system) = canonical_rows(d.value, d.rater, d["item"], d.system)
        ratings = Ratings(value=d.value.to_numpy()[rows], rater=rater, block=item, system=system)
        drawn.append(two_way_means(ratings, draws=50)[1])

    assert np.array_equal(drawn[0], drawn[1])


def test_the_seed_decides_the_draws():
    ratings = code(read_data("compare_small7.csv"))

    first, again, other = (two_way_means(ratings, draws=40, seed=seed)[1] for seed in (7, 7, 8))

    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@given(tables)
@settings(max_examples=60, deadline=None)
def test_exchanged_systems_turn_the_crossed_test_round(rows):
    table = np.array(rows, dtype=float)

    if min(table.shape) < 2:
        return
    one, other = make_crossed(table), make_crossed(-table)

    assert one.reason == other.reason
    if one.value is not None:
        assert one.value == pytest.approx(-other.value)
        # a bootstrap of two raters or two inputs gives none
        assert one.details.get("p") == pytest.approx(other.details.get("p"))
        if one.low is not None:
            assert one.low == pytest.approx(-other.high)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=12))
@settings(max_examples=80, deadline=None)
def test_flips_counted_are_flips_tried(steps):
    d = np.array(steps)

    tried = sign_flip_test(d / 60).details["p"]

    assert flip_by_counting(d) == pytest.approx(tried)
    assert sign_flip_test(-d / 60).details["p"] == pytest.approx(tried)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_corrections_never_lower_a_p_value_and_keep_its_order(p):
    for method in ("holm", "bh", "by"):
        found = correct(p, method)

        assert (found >= np.array(p) - 1e-12).all()
        assert (np.diff(found[np.argsort(p)]) >= -1e-12).all()


def test_flips_beyond_counting_are_drawn_and_near_the_exact_p():
    d = np.random.default_rng(4).normal(0.1, 1, 40)

    found = sign_flip_test(d)

    t = t_figure("d", (d.mean(), d.std(ddof=1) / 40**0.5, 39), method="t", n={})
    assert found.seed == 1
    assert found.details["p"] == pytest.approx(t.details["p"], abs=0.02)


def test_undefined_comparisons_have_their_reasons():
    assert sign_flip_test([2, 2, 2, 2]).details["p"] == 1 / 8
    assert sign_test_of_counts(0, 0, ties=4).reason == "no_decided_pairs"
    assert sign_test_of_counts(0, 0).reason == "no_data"
    assert friedman(np.ones((4, 3))).reason == "no_variation"
    assert cochran_q(np.ones((5, 3))).reason == "no_variation"
    assert wilson_share(0, 0).reason == "no_data"


def test_no_difference_at_all_has_p_one():
    same = np.zeros((3, 4))

    for found in (wilcoxon_pratt(same[0]), sign_flip_test(same[0]),
                  mcnemar([1, 0], [1, 0])):  # fmt: skip
        assert found.value == 0
        assert found.details["p"] == 1
        assert found.details["note"] == "no_difference"
