"""The figures of a pair from one side or the other, and within what can be."""

import random
from dataclasses import replace

import numpy as np
import pytest

from evalsite.analysis.compare import describe_finding
from evalsite.analysis.difference_tests import mean_test
from evalsite.analysis.effects import sign_flip_test, sign_test, wilcoxon_pratt
from evalsite.analysis.figure import Figure
from evalsite.analysis.intervals import keep_detectable, keep_possible, turn_figure
from tests.analysis.test_degenerate_reports import Report, rate, report  # noqa: F401

DIFFERENCES = [3, 1, -2, 0, 4, 2, 2, -1]


@pytest.mark.parametrize("make", [wilcoxon_pratt, sign_flip_test, sign_test])
def test_figure_turned_is_that_of_the_opposite_differences(make):
    turned, opposite = turn_figure(make(DIFFERENCES)), make([-one for one in DIFFERENCES])

    assert turned.value == pytest.approx(opposite.value)
    assert turned.n == opposite.n
    assert turned.details == pytest.approx(opposite.details)


def test_t_turns_with_its_difference():
    value = np.random.default_rng(1).normal(1, 1, 6)
    item = np.arange(6)

    turned, opposite = turn_figure(mean_test(None, item, value)), mean_test(None, item, -value)

    assert (turned.value, turned.low) == pytest.approx((opposite.value, opposite.low))
    assert turned.details["t"] == pytest.approx(opposite.details["t"])


def make_figure(value: float, low: float, high: float) -> Figure:
    return Figure(name="net_win_share", method="made up", value=value, low=low, high=high)


def test_interval_ends_where_what_is_possible_ends():
    kept = keep_possible(make_figure(0.75, 0.16, 1.34), -1, 1)

    assert (kept.low, kept.high) == (0.16, 1)
    assert kept.details["interval"].endswith("+cut")


def test_interval_of_all_that_can_be_is_none():
    kept = keep_possible(make_figure(0.0, -12.71, 12.71), -1, 1)

    assert (kept.value, kept.low, kept.high) == (0, None, None)
    assert kept.details["interval"] == "too_few"


def test_finding_without_an_interval_says_why():
    effect = keep_possible(make_figure(0.42, -3.0, 4.0), -1, 1)
    effect = replace(effect, details={**effect.details, "p": 0.2, "p_corrected": 0.195})

    finding = describe_finding("bart", "gru", effect)

    assert finding["code"] == "not_enough"
    facts = finding["facts"]
    assert (facts["low"], facts["has_interval"], facts["p_corrected"]) == (None, False, 0.195)


def test_interval_of_nothing_that_can_be_is_none():
    kept = keep_possible(make_figure(0.0, -0.03, -0.01), 0, 1)

    assert (kept.value, kept.low, kept.high) == (0, None, None)


def test_interval_within_what_is_possible_stays():
    figure = make_figure(0.2, -0.1, 0.5)

    assert keep_possible(figure, -1, 1) == figure


def test_no_study_finds_more_than_can_be():
    assert keep_detectable(make_figure(4.2, 3, 9), 4).reason == "too_few"
    assert keep_detectable(make_figure(3.2, 3, 9), 4).high == 4
    assert keep_detectable(None, 4) is None


@pytest.mark.one_case
@pytest.mark.parametrize("better", "AB")
def test_all_figures_of_a_pair_are_seen_from_the_system_named_first(
    report: Report,  # noqa: F811
    better: str,
) -> None:
    chance = random.Random(2)
    rows = rate(lambda *at: chance.choice([70, 80, 90]) + 30 * (at[2] == better), systems="AB")

    (criterion,) = report(rows, "magnitude")["criteria"]

    (pair,) = criterion["pairs"]
    checks = {one["name"]: one for one in pair["checks"]}
    sizes = {one["name"]: one for one in pair["sizes"]}
    assert pair["system_1"] == better
    assert pair["effect"]["value"] > 1
    assert pair["effect"]["details"]["t"] > 0
    assert checks["sign_flip"]["value"] > 0
    assert checks["wilcoxon"]["details"]["z"] > 0
    assert sizes["superiority"]["value"] > 0.5
    assert sizes["superiority"]["method"] == "first_higher"


@pytest.mark.one_case
@pytest.mark.parametrize(("kind", "least", "most"), [("decision", 0, 1), ("likert", 1, 7)])
def test_model_s_mean_near_an_end_of_the_scale_has_an_interval_within_it(
    report: Report,  # noqa: F811
    kind: str,
    least: int,
    most: int,
) -> None:
    chance = random.Random(7)
    ends = {"A": 0.97, "B": 0.5, "C": 0.03}
    rows = rate(lambda r, i, system: (least, most)[chance.random() < ends[system]], items=8)

    (criterion,) = report(rows, kind)["criteria"]

    ends_of_model = {
        one["name"]: (least <= one["low"], one["high"] <= most)
        for system in criterion["systems"]
        for one in system["averages"]
        if one["name"].startswith("model_")
    }
    assert set(ends_of_model.values()) == {(True, True)}
