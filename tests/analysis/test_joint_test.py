"""The test of all systems, standardised effects, and what a study detects, checked against R."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis.difference_tests import find_joint_test
from evalsite.analysis.effects import RESIDUAL, add_effect, find_total_sd, share_variances
from evalsite.analysis.intervals import find_detectable, t_figure, turn_figure
from evalsite.analysis.mixed import fit_mixed
from evalsite.analysis.pairs import find_pair_tests, read_preferences
from evalsite.analysis.plan import Hypothesis, Plan
from evalsite.analysis.ratings import Ratings, read_scores
from evalsite.analysis.report import Settings, make_reports
from tests.analysis.vectors import FOLDER, compare, find_vectors, read_data, read_vector

# terms of the model as the vectors name them
SHORT = {
    "rater": "rater", "group": "item", "cluster": "cluster", "group:system": "is",
    "cluster:system": "cs", "rater:system": "rs", "rater:group": "ri", RESIDUAL: "Residual",
}  # fmt: skip


def read(data):
    cluster = data.cluster if "cluster" in data else None
    return read_scores(
        Ratings(value=data.value, rater=data.rater, group=data["item"], system=data.system,
                block=cluster)
    )  # fmt: skip


def list_tests(scores):
    test = find_joint_test(fit_mixed(scores), len(scores.systems), n=scores.counts())
    keys = ("df1", "df2", "p", "scaling")
    return {"f": test.value} | {key: test.details.get(key) for key in keys}


def describe_effects(scores):
    mixed = fit_mixed(scores)
    unit, pairs = np.eye(len(scores.systems)), {}
    for i, j in combinations(range(len(scores.systems)), 2):
        figure = t_figure("difference", mixed.fit.contrast(unit[j] - unit[i]), method="", n={})
        details = add_effect(figure, mixed.facts).details
        pairs[f"{scores.systems[j]}-{scores.systems[i]}"] = {
            "d": details.get("d"), "low": details.get("d_low"), "high": details.get("d_high"),
        }  # fmt: skip
    share = {SHORT[term]: value for term, value in share_variances(mixed.facts).items()}
    return {"sd_total": find_total_sd(mixed.facts), "share": share, "pairs": pairs}


@pytest.mark.one_case
@pytest.mark.parametrize("name", find_vectors("v3_f_test"))
def test_f_is_that_of_kenward_and_roger(name):
    data, expected, tolerance = read_vector(name)

    compare(list_tests(read(data)), expected, tolerance)


@pytest.mark.one_case
@pytest.mark.parametrize("name", find_vectors("v3_effect"))
def test_effects_are_in_sd_of_single_ratings(name):
    data, expected, tolerance = read_vector(name)

    compare(describe_effects(read(data)), expected, tolerance)


def test_the_detectable_difference_counts_the_tests():
    path = FOLDER / "expected" / "v3_detectable__grid.json"
    vector = json.loads(path.read_text(encoding="utf-8"))

    for case in vector["expected"]:
        found = find_detectable(se=case["se"], df=case["df"], m=case["m"])
        compare(found, {key: case[key] for key in found}, vector["tolerance_abs"])


# --- preferences --------------------------------------------------------------------------

# by pbkrtest 0.5.2 (.KR_adjust) on a dense fit of the signed model by R's nlminb
F_OF_PAIRS = {"df1": 6, "df2": 84.83843, "p": 0.2125825, "scaling": 0.9870436}


def read_pairs(data, keep=None):
    data = data if keep is None else data[keep]
    return read_preferences(
        Ratings(rater=data.rater, group=data["item"], value=-data.value), data["first"], data.second
    )


def test_f_of_preferences_is_that_all_pairs_are_balanced():
    found = find_pair_tests(read_pairs(read_data("pairs_raters.csv")), draws=2).joint

    assert found.value == pytest.approx(1.430309, abs=1e-5)
    compare(found.details, F_OF_PAIRS, 1e-3)


def test_there_is_no_f_of_preferences_where_a_pair_was_never_met():
    data = read_data("pairs_raters.csv")
    keep = ~((data["first"] == "s1") & (data.second == "s2"))

    found = find_pair_tests(read_pairs(data, keep), draws=2).joint

    assert (found.value, found.reason) == (None, "incomplete")


# --- what the test says, and where it says nothing ----------------------------------------


def test_f_of_two_systems_is_the_square_of_t():
    data = read_data("compare_crowd5.csv")
    data = data[data.system.isin(["A", "B"])]
    scores = read_scores(
        Ratings(rater=data.rater, group=data["item"], system=data.system, value=data.value)
    )
    estimate, se, df = fit_mixed(scores).fit.contrast([-1, 1])

    found = list_tests(read(data))

    assert (found["f"], found["df2"]) == pytest.approx(((estimate / se) ** 2, df), rel=1e-6)
    assert (found["df1"], found["scaling"]) == pytest.approx((1, 1))


@pytest.mark.torture
def test_a_system_of_a_single_rater_leaves_no_f(tmp_path):
    data = read_data("compare_small7.csv")
    alone = data[data.system != "C"]
    alone = pd.concat([alone, data[(data.system == "C") & (data.rater == data.rater.iloc[0])]])

    joint = report(tmp_path, alone)["criteria"][0]["joint"]

    assert (joint["value"], joint["reason"]) == (None, "too_few")


def test_ratings_that_are_all_equal_leave_no_f(tmp_path):
    joint = report(tmp_path, read_data("compare_small7.csv").assign(value=4))["criteria"][0][
        "joint"
    ]

    assert (joint["value"], joint["reason"]) == (None, "no_variation")


def test_an_error_corrected_beyond_trust_leaves_no_f():
    data = read_data("compare_small7.csv")
    mixed = fit_mixed(read(data))
    doubtful = replace(mixed, fit=replace(mixed.fit, adjusted=2.01 * mixed.fit.covariance))

    found = find_joint_test(doubtful, 3, n={})

    assert (found.value, found.reason) == (None, "too_few")


def test_too_few_degrees_of_freedom_leave_no_f():
    data = read_data("compare_small7.csv")
    mixed = fit_mixed(read(data))
    # as if the variances were hardly known
    vague = replace(mixed, fit=replace(mixed.fit, spread=60 * mixed.fit.spread))

    assert find_joint_test(vague, 3, n={}).reason == "too_few"


# --- in the report ------------------------------------------------------------------------


def report(folder, data, *, kind="likert", plan=None, points=7):
    """The report of a file with one criterion, or with those of its column."""
    rows = data.rename(columns={"rater": "participant"})
    rows = rows if "criterion" in rows else rows.assign(criterion="quality")
    rows.to_csv(folder / "ratings.csv", index=False)
    answers = [{"value": value, "label": ""} for value in range(1, points + 1)]
    if kind == "decision":
        answers = [{"value": 0, "label": "no"}, {"value": 1, "label": "yes"}]
    instrument = [
        {"key": key, "label": key, "kind": kind, "answers": [] if kind == "magnitude" else answers}
        for key in rows.criterion.unique()
    ]
    known = {"plan": plan} if plan else {}
    return make_reports(
        {"ratings": folder / "ratings.csv"}, Settings(instrument=instrument, seed=3, **known)
    )["kept"]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    data = read_data("compare_small7.csv")
    return data, report(tmp_path_factory.mktemp("small"), data)["criteria"][0]


def test_pairs_hold_every_figure_of_the_main_table(small):
    _, criterion = small
    _, effects, tolerance = read_vector("v3_effect__compare_small7")

    for pair in criterion["pairs"]:
        details = pair["effect"]["details"]
        assert {"se", "df", "t", "p", "p_corrected", "family"} <= set(details)
        names = f"{pair['system_1']}-{pair['system_2']}"
        wanted = effects["pairs"].get(names)
        if wanted is None:  # the vector has the second minus the first
            turned = effects["pairs"]["-".join(reversed(names.split("-")))]
            wanted = {"d": -turned["d"], "low": -turned["high"], "high": -turned["low"]}
        got = {"d": details["d"], "low": details["d_low"], "high": details["d_high"]}
        compare(got, wanted, tolerance)


def test_joint_test_and_shares_of_variances_stand_beside_the_pairs(small):
    _, criterion = small
    _, test, tolerance = read_vector("v3_f_test__compare_small7")
    _, effects, _ = read_vector("v3_effect__compare_small7")
    shares = criterion["model"]["shares"]

    assert criterion["joint"]["value"] == pytest.approx(test["f"], abs=tolerance)
    assert shares["rater"] == pytest.approx(effects["share"]["rater"], abs=1e-4)
    assert shares["residual"] == pytest.approx(effects["share"]["Residual"], abs=1e-4)
    assert shares["rater:group"] == 0
    assert sum(shares.values()) == pytest.approx(1)
    assert [one["name"] for one in criterion["tests"]] == ["friedman"]


def test_systems_have_the_spread_and_number_of_their_ratings(small):
    data, criterion = small

    for system in criterion["systems"]:
        own = data[data.system == system["system"]]
        assert (system["n"], system["outputs"]) == (len(own), own["item"].nunique())
        assert system["sd"]["value"] == pytest.approx(own.value.std(ddof=1))


@pytest.mark.torture
def test_the_detectable_difference_is_of_the_widest_planned_pair_and_its_family(tmp_path):
    data = read_data("compare_crowd5.csv")
    named = (Hypothesis(criterion="quality", system="B", relation="differs", other="A"),)

    whole = report(tmp_path, data, points=5)["criteria"][0]
    planned = report(tmp_path, data, points=5, plan=Plan(hypotheses=named))["criteria"][0]

    errors = {
        frozenset((pair["system_1"], pair["system_2"])): pair["effect"]["details"]["se"]
        for pair in whole["pairs"]
    }
    for criterion, tests, se in (
        (whole, 6, max(errors.values())),
        (planned, 1, errors[frozenset("AB")]),
    ):
        details = criterion["detectable"]["details"]
        assert (details["tests"], details["se"]) == (tests, se)
        wanted = find_detectable(se=se, df=details["df"], m=tests)
        assert criterion["detectable"]["value"] == wanted["detectable"]
    assert frozenset((details["system_1"], details["system_2"])) == frozenset("AB")


def test_the_detectable_difference_counts_the_tests_of_all_criteria(tmp_path):
    data = read_data("compare_small7.csv")
    both = pd.concat([data.assign(criterion="fluency"), data.assign(criterion="style")])

    found = report(tmp_path, both)["criteria"]

    assert [one["detectable"]["details"]["tests"] for one in found] == [6, 6]
    assert [one["effect"]["details"]["family_within"] for one in found[0]["pairs"]] == [3, 3, 3]


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("decision", lambda value: (value > value.median()).astype(int)),
        ("magnitude", lambda value: np.exp(value)),
    ],
)
def test_effects_whose_units_speak_are_not_standardised(kind, change, tmp_path):
    data = read_data("compare_small7.csv")
    data["value"] = change(data.value)

    criterion = report(tmp_path, data, kind=kind)["criteria"][0]

    assert not any("d" in pair["effect"]["details"] for pair in criterion["pairs"])
    assert sum(criterion["model"]["shares"].values()) == pytest.approx(1)
    # the spread of magnitudes is that of what is compared
    sd = {one["system"]: one["sd"]["value"] for one in criterion["systems"]}
    values = np.log(data.value) if kind == "magnitude" else data.value
    assert sd == pytest.approx(values.groupby(data.system).std(ddof=1).to_dict())


def test_a_pair_seen_from_the_other_side_has_the_other_effect():
    data = read_data("compare_small7.csv")
    scores = read(data)
    mixed = fit_mixed(scores)
    figure = t_figure("difference", mixed.fit.contrast([-1, 1, 0]), method="", n={})

    details = add_effect(figure, mixed.facts).details
    turned = turn_figure(add_effect(figure, mixed.facts)).details

    assert (turned["d"], turned["d_low"], turned["d_high"]) == (
        -details["d"], -details["d_high"], -details["d_low"],
    )  # fmt: skip
    assert details["d_low"] < details["d"] < details["d_high"]
