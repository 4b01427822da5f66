"""Further answers: the report's own errors for those that are there, and known power for others."""

from itertools import pairwise, product
from math import log
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis.compare import find_differences
from evalsite.analysis.families.numbers import Truth
from evalsite.analysis.pairs import find_pair_tests, read_preferences
from evalsite.analysis.power import Design, Parts, plan, smallest_difference
from evalsite.analysis.ratings import Ratings, read_scores
from evalsite.analysis.report.further import can_project, is_merged, reach_now, reach_with
from tests.analysis.test_compare import make_ratings

PARTS = Parts(rater=0.3, item=0.3, item_system=0.25, rater_system=0.15, residual=0.5)
VARIANCES = {"rater": 0.09, "group": 0.09, "group:system": 0.0625, "rater:system": 0.0225}


def describe(pairs, model, **known: Any) -> dict[str, Any]:
    """The criterion of a report, as far as errors rest on it."""
    return {
        "kind": "likert",
        "answers": [],
        "model": model,
        "pairs": [
            {
                "system_1": one,
                "system_2": two,
                "effect": {"method": figure.method, "details": figure.details | known},
            }
            for one, two, figure in pairs
        ],
    }


def make_criterion(systems: str, *, tests: int = 1, terms=VARIANCES, **known: Any):
    """A criterion with the variances above, of which every pair of systems is compared."""
    pairs = [
        {"system_1": one, "system_2": two, "effect": {"method": "", "details": {"family": tests}}}
        for one, two in pairwise(systems)
    ]
    variances = {name: VARIANCES[name] for name in terms}
    model = {"terms": list(terms), "variances": variances, "residual": 0.25}
    return {"kind": "likert", "answers": [], "model": model, "pairs": pairs, **known}


def rate_all(*, raters: int, items: int, systems: str = "ab") -> pd.DataFrame:
    """Who rates what where everyone rates everything."""
    rows = product(range(raters), range(items), systems)
    found = pd.DataFrame(rows, columns=["participant", "group", "system"])
    return found.assign(block=found.group)


@pytest.mark.parametrize("gap", [0.0, 0.4])
def test_for_the_scores_that_are_there_errors_are_those_of_the_report(gap):
    data = make_ratings(systems="abc", gap=gap)
    scores = read_scores(
        Ratings(group=data["item"], system=data.system, value=data.value, rater=data.rater)
    )
    tested = find_differences(scores, draws=2)
    named = [("abc"[i], "abc"[j]) for i, j in tested.pairs]
    pairs = [(*names, one) for names, one in zip(named, tested.differences, strict=True)]
    criterion = describe(pairs, tested.model, family=3)
    rows = data.rename(columns={"rater": "participant", "item": "group"})

    now, again = reach_now(criterion), reach_with(criterion, rows.assign(block=rows.group))

    assert can_project(criterion, has_own_errors=False)
    assert again is not None
    assert vars(again) == pytest.approx(vars(now), rel=1e-6)


def test_for_the_preferences_that_are_there_errors_are_those_of_the_report():
    rng = np.random.default_rng(3)
    rows = pd.DataFrame(
        [(r, f"{i}", *pair) for r, i, pair in product(range(8), range(9), ["ab", "ac", "bc"])],
        columns=["participant", "group", "system_1", "system_2"],
    ).sample(frac=0.7, random_state=1)  # fmt: skip
    tested = find_pair_tests(
        read_preferences(
            Ratings(rater=rows.participant, group=rows.group,
                    value=rng.integers(-1, 2, len(rows))),
            rows.system_1, rows.system_2,
        ),
        draws=2,
    )  # fmt: skip
    pairs = [(one.first, one.second, one.test) for one in tested.every]
    criterion = describe(pairs, tested.facts, family=3) | {"kind": "preference"}

    now, again = reach_now(criterion), reach_with(criterion, rows.assign(block=rows.group))

    assert again is not None
    assert vars(again) == pytest.approx(vars(now), rel=1e-6)


@pytest.mark.parametrize(("raters", "items"), [(12, 30), (6, 60), (30, 12)])
def test_where_all_rate_all_the_difference_is_that_of_the_closed_form(raters, items):
    reach = reach_with(make_criterion("ab"), rate_all(raters=raters, items=items))

    closed = smallest_difference(PARTS, Design(items=items, raters=raters))
    assert reach is not None
    assert reach.alone == reach.detectable == pytest.approx(closed, rel=0.02)


def test_studies_that_are_simulated_find_the_difference_8_times_in_10():
    criterion = make_criterion("abc", tests=3, kind="magnitude")
    reach = reach_with(criterion, rate_all(raters=10, items=20, systems="abc"))
    assert reach is not None

    alone, corrected = (
        plan(Design(items=20, raters=10), Truth(parts=PARTS, difference=log(ratio), systems=3),
             scale="magnitude")
        for ratio in (reach.alone, reach.detectable)
    )  # fmt: skip

    assert alone.alone.value == pytest.approx(0.8, abs=0.04)
    # Holm's correction finds a little more than is said
    assert 0.78 < corrected.power.value < 0.87


def test_more_answers_for_the_same_inputs_help_less_than_new_inputs():
    criterion = make_criterion("ab")

    reaches = [
        reach_with(criterion, rate_all(raters=raters, items=items))
        for raters, items in [(20, 10), (40, 10), (20, 20)]
    ]

    now, more, new = (one.detectable for one in reaches if one is not None)
    assert now > more > new
    # twice the answers are worth less than they would be of people and inputs without end
    assert more > now / np.sqrt(2) * 1.2


def test_nothing_is_said_of_what_the_model_does_not_hold():
    criterion = make_criterion("ab", terms=("rater", "rater:system"))

    assert is_merged(criterion)
    assert not is_merged(make_criterion("ab"))
    assert reach_now(criterion) is None
    assert not can_project(criterion, has_own_errors=False)
    one_pair = rate_all(raters=5, items=5, systems="ac")
    assert reach_with(make_criterion("ab"), one_pair) is None


def test_a_difference_beyond_the_scale_is_none():
    criterion = make_criterion("ab", answers=[{"value": 1}, {"value": 2}])

    reach = reach_with(criterion, rate_all(raters=2, items=2))

    assert reach is not None
    assert reach.detectable is None
