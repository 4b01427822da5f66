"""Intervals of agreement for other raters and inputs: the vectors, and what holds for each."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.analysis.agreement import (
    FORMS,
    alpha,
    draw_agreement,
    find_reliability,
    fleiss,
    gwet,
    icc,
    kappa_matrix,
    percent_agreement,
)
from evalsite.analysis.ratings import Ratings
from evalsite.results.document.figures import explain_none
from tests.analysis.compared import describe_agreement
from tests.analysis.vectors import compare, find_vectors, read_vector

KINDS = {"categories4": "categories", "slider": "values", "rare_yes": "decision"}
SCALES = {"points": [1, 2, 3, 4, 5], "decision": [0, 1]}


def read_design(name):
    data, expected, tolerance = read_vector(name)
    kind = KINDS.get(name.partition("__")[2], "points")
    value = pd.factorize(data.value, sort=True)[0] if kind == "categories" else data.value
    ratings = Ratings(
        unit=data["item"] + " " + data.system, block=data["item"], rater=data.rater, value=value
    )
    return ratings, kind, expected, tolerance


def rate(raters, inputs, *, systems=2, seed=1, strictness=0.7):
    """Ratings from 1 to 5 of everything by everyone."""
    rng = np.random.default_rng(seed)
    r, i, s = np.indices((raters, inputs, systems)).reshape(3, -1)
    latent = 3 + rng.normal(0, strictness, raters)[r] + rng.normal(0, 0.8, (inputs, systems))[i, s]
    value = np.clip(np.rint(latent + rng.normal(0, 0.9, len(r))), 1, 5)
    return {"unit": i * systems + s, "block": i, "rater": r, "value": value}


@pytest.mark.parametrize("name", find_vectors("v3_agreement"))
def test_figures_of_agreement_and_their_ends_are_those_of_the_vector(name):
    ratings, kind, expected, tolerance = read_design(name)

    found = describe_agreement(ratings, kind, scale=SCALES.get(kind))

    compare(found, expected, tolerance)


@pytest.mark.one_case
@pytest.mark.parametrize("name", find_vectors("v3_agreement"))
def test_ends_stay_the_same_in_any_order_of_rows(name):
    ratings, kind, _, _ = read_design(name)
    order = np.random.default_rng(7).permutation(len(ratings))
    turned = Ratings(value=ratings.value[order], unit=ratings.unit[order],
                     block=ratings.block[order], rater=ratings.rater[order])  # fmt: skip

    found, again = (
        describe_agreement(rows, kind, scale=SCALES.get(kind)) for rows in (ratings, turned)
    )

    assert found == again


def test_all_coefficients_of_a_criterion_come_from_the_same_draws():
    known = rate(5, 30)
    draws = draw_agreement(Ratings(**known), "points", scale=[1, 2, 3, 4, 5])

    iccs = icc(Ratings(**known), draws=draws)
    ends = {
        (figure.low, figure.high)
        for figure in (
            alpha(Ratings(**known), "interval", draws=draws), iccs["ICC(1,1)"], iccs["ICC(A,1)"]
        )
    }  # fmt: skip
    kappa = kappa_matrix(
        Ratings(unit=known["unit"], rater=known["rater"], value=known["value"]), draws=draws
    ).mean

    assert len(ends) == 1
    assert (kappa.low, kappa.high) in ends
    whole = alpha(Ratings(**known), "nominal", draws=draws)
    of_fleiss = fleiss(Ratings(**known), draws=draws)
    assert (of_fleiss.low, of_fleiss.high) == (whole.low, whole.high)


@pytest.mark.parametrize("raters", [2, 3, 4])
def test_two_or_three_raters_have_the_interval_of_these_raters_beside_it(raters):
    known = rate(raters, 40)

    figure = alpha(Ratings(**known), "ordinal")

    assert figure.details["over"] == "raters_and_inputs"
    assert ("these_raters" in figure.details) == (raters < 4)
    if raters < 4:
        of_these = alpha(Ratings(**known | {"rater": None}), "ordinal")
        assert figure.details["these_raters"] == {"low": of_these.low, "high": of_these.high}


def test_where_raters_are_unknown_the_interval_is_for_these_raters():
    known = rate(4, 40) | {"rater": None}

    figures = [
        alpha(Ratings(**known), "ordinal"),
        gwet(Ratings(**known), scale=[1, 2, 3, 4, 5], weights="quadratic"),
        percent_agreement(Ratings(**known)),
        percent_agreement(Ratings(**known), within=1),
        fleiss(Ratings(**known)),
        icc(Ratings(**known))["ICC(1,1)"],
        icc(Ratings(**known))["ICC(1,k)"],
    ]

    for figure in figures:
        assert figure.details["over"] == "inputs"
        assert figure.low < figure.value < figure.high


def test_one_input_has_no_interval():
    known = rate(4, 1, systems=6)

    figure = alpha(Ratings(**known), "ordinal")

    assert (figure.low, figure.high) == (None, None)
    assert "over" not in figure.details


def test_more_than_eleven_values_have_no_cuts():
    known = rate(5, 40)
    known["value"] = known["value"] * 20 + np.arange(len(known["value"])) % 20
    draws = draw_agreement(Ratings(**known), "points", scale=list(range(121)))

    by_values = draw_agreement(Ratings(**known), "values")
    figure = alpha(Ratings(**known), "interval", draws=draws)

    assert figure.details["over"] == "raters_and_inputs"
    assert (figure.low, figure.high) == tuple(
        getattr(by_values.find_interval("alpha_interval", figure.value), end)
        for end in ("low", "high")
    )
    scale = list(range(121))
    for other in (
        alpha(Ratings(**known), "ordinal", draws=draws),
        gwet(Ratings(**known), scale=scale, weights="quadratic", draws=draws),
    ):
        assert other.details["over"] == "raters_and_inputs"
        assert 0 < other.low < other.value < other.high < 1
    # figures that need cuts say that they are for these raters
    assert percent_agreement(Ratings(**known), draws=draws).details["over"] == "inputs"


def test_ends_of_means_are_those_of_single_ratings_stepped_up():
    figures = icc(Ratings(**rate(4, 30)))

    for form in ("1", "A", "C"):
        single, mean = figures[f"ICC({form},1)"], figures[f"ICC({form},k)"]
        for end in ("low", "high"):
            end_of_one = getattr(single, end)
            assert getattr(mean, end) == pytest.approx(4 * end_of_one / (1 + 3 * end_of_one))


def test_the_reliability_of_a_mean_is_alpha_stepped_up():
    figure = alpha(Ratings(**rate(3, 30)), "ordinal")

    mean = find_reliability(figure)

    for end in ("low", "value", "high"):
        end_of_one = getattr(figure, end)
        assert getattr(mean, end) == pytest.approx(3 * end_of_one / (1 + 2 * end_of_one))
    assert mean.details["k"] == 3


@pytest.mark.parametrize(("raters", "has_few"), [(2, True), (3, True), (4, False)])
def test_few_raters_have_an_interval_of_their_own(raters, has_few):
    figure = alpha(Ratings(**rate(raters, 40)), "ordinal")

    assert ("these_raters" in figure.details) == has_few


@pytest.mark.torture
def test_alpha_of_ratios_is_drawn_from_the_logarithms():
    """Of very many raters and inputs little is left to draw, so both ends come near the value."""
    rng = np.random.default_rng(4)
    r, i = np.indices((60, 300)).reshape(2, -1)
    logs = rng.normal(0, 0.5, 60)[r] + rng.normal(0, 0.9, 300)[i] + rng.normal(0, 0.7, len(r))
    known = {"unit": i, "rater": r}
    draws = draw_agreement(Ratings(value=logs, **known), "values", is_log=True)

    figure = alpha(Ratings(value=np.exp(logs), **known), "ratio", draws=draws)

    drawn = draws.figures["alpha_ratio"]
    assert np.median(drawn) == pytest.approx(figure.value, abs=0.02)
    assert 0.02 < figure.high - figure.low < 0.2


def test_ratings_that_all_agree_have_no_interval_but_that_of_their_share():
    known = {"unit": [0, 0, 1, 1, 2, 2], "rater": [0, 1] * 3, "value": [1, 1, 3, 3, 5, 5]}

    whole, share = alpha(Ratings(**known), "ordinal"), percent_agreement(Ratings(**known))

    assert (whole.value, whole.low, whole.details["none"]) == (1, None, "all_equal")
    assert (share.value, share.high) == (1, 1)
    assert share.low == pytest.approx(0.4385, abs=1e-4)  # Wilson's interval of 3 of 3
    assert share.details["over"] == "inputs"


ratings = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(1, 5)),
    min_size=4, max_size=30, unique_by=lambda row: row[:2],
)  # fmt: skip


@pytest.mark.torture
@given(ratings, st.sampled_from(["points", "values", "categories"]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_every_end_is_possible_and_holds_its_figure(rows, kind, is_extreme):
    unit, rater, value = zip(*rows, strict=True)
    values = np.array(value, dtype=float)
    if is_extreme and kind == "values":
        values[values == 5] = 999_999
    known = {"unit": unit, "rater": rater, "value": values, "block": [u // 2 for u in unit]}
    scale = sorted(set(values.tolist())) if is_extreme else [1, 2, 3, 4, 5]
    draws = draw_agreement(Ratings(**known), kind, scale=scale)

    figures = [
        *(
            alpha(Ratings(**known), level, draws=draws)
            for level in ("nominal", "ordinal", "interval")
        ),
        gwet(Ratings(**known), scale=scale, weights="identity", draws=draws),
        gwet(Ratings(**known), scale=scale, weights="quadratic", draws=draws),
        percent_agreement(Ratings(**known), draws=draws),
        percent_agreement(Ratings(**known), within=1, draws=draws),
        *icc(Ratings(**known), draws=draws).values(),
    ]

    for figure in figures:
        if figure.value is None:
            assert figure.reason
        elif figure.low is None:
            assert explain_none(figure.details["interval"])
        else:
            is_share = "agreement" in figure.name
            assert figure.low <= figure.value <= figure.high <= 1
            assert figure.low < figure.high
            assert figure.low >= (0 if is_share else min(figure.value, -1) - 1e-9)
            assert figure.details["over"] in ("raters_and_inputs", "inputs")
        assert figure.seed is None
    assert len(FORMS) == 6
