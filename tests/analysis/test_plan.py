"""What a plan decides: which p values are corrected together, and tests against margins."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis import difference_tests
from evalsite.analysis.__main__ import main
from evalsite.analysis.difference_tests import correct_margins
from evalsite.analysis.mixed import fit_mixed
from evalsite.analysis.plan import Hypothesis, Margin, Plan
from evalsite.analysis.ratings import Ratings, read_scores
from evalsite.analysis.report import Settings, make_reports
from tests.analysis.vectors import compare, read_vector


def test_margins_are_those_of_the_vector():
    data, expected, tolerance = read_vector("tost__joint_pages")
    scores = read_scores(
        Ratings(rater=data.rater, group=data["item"], system=data.system, value=data.value)
    )
    fit = fit_mixed(scores).fit

    for pair, wanted in expected.items():
        second, first = pair.split("-")
        weights = [(one == second) * 1.0 - (one == first) for one in scores.systems]
        difference, se, df = fit.contrast(weights)
        got = difference_tests.test_margin(difference=difference, se=se, df=df, margin=0.5)
        compare(got, wanted, tolerance)


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("system", "other", "status"), [("a", "c", 0), ("c", "a", 1), ("a", "b", 2)]
)
def test_gate_ends_with_what_the_ratings_were_made_to_show(system, other, status, tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", criteria=("clarity",))

    ended = main(["report", str(path), "--gate", system, "--against", other, "--margin", "0.1"])

    assert ended == status
    outcome = ("pass", "fail", "undecided")[status]
    assert f"Gate, clarity, {outcome}: " in capsys.readouterr().err


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--gate", "a", "--against", "b"], "needs the names of two systems"),
        (["--gate", "a", "--against", "a", "--margin", "1"], "two different systems"),
        (["--gate", "x", "--against", "a", "--margin", "1"], "There are: a, b, c"),
        (["--gate", "a", "--against", "b", "--margin", "1"], "decides: clarity, style"),
        (["--gate", "a", "--against", "b", "--margin", "-1"], "above 0"),
        (["--gate", "a", "--against", "b", "--margin", "nan"], "above 0"),
        (
            [
                "--gate",
                "a",
                "--against",
                "b",
                "--margin",
                "0.9",
                "--primary",
                "style",
                "--protocol",
                "magnitude",
            ],
            "above 1",
        ),
    ],
)
def test_faulty_gate_is_no_outcome(options, said, tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv")

    assert main(["report", str(path), *options]) == 3

    assert said in capsys.readouterr().err


@pytest.mark.parametrize("margin", [0.0, -1.0, float("nan")])
def test_a_margin_is_above_zero(margin):
    with pytest.raises(ValueError, match="above 0"):
        difference_tests.test_margin(difference=0, se=1, df=9, margin=margin)


def write_ratings(path, criteria=("clarity", "style")):
    """Ratings of three systems by six raters on eight inputs, of which c is lower."""
    rng = np.random.default_rng(4)
    rows = [
        (f"r{r}", f"i{i}-{s}", f"i{i}", s, key, int(rng.integers(1, 4)) + (s != "c"))
        for key in criteria
        for r in range(6)
        for i in range(8)
        for s in "abc"
    ]
    columns = ["participant", "item", "group", "system", "criterion", "value"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


def describe(key):
    answers = [{"value": point, "label": str(point)} for point in range(5)]
    return {
        "key": key, "label": key, "kind": "likert", "family": "points", "answers": answers,
        "reserved": [],
    }  # fmt: skip


def report(path, **options):
    keys = ("clarity", "style")
    return make_reports(
        {"ratings": path},
        Settings(instrument=[describe(key) for key in keys], seed=1, plan=Plan(**options)),
    )["kept"]


def list_p(criterion):
    return [pair["effect"]["details"] for pair in criterion["pairs"]]


@pytest.fixture
def ratings(tmp_path):
    return write_ratings(tmp_path / "ratings.csv")


def test_without_a_primary_criterion_p_values_are_corrected_across_all(ratings):
    found = report(ratings)

    p = sorted(one["p"] for each in found["criteria"] for one in list_p(each))
    least = min(one["p_corrected"] for each in found["criteria"] for one in list_p(each))
    assert least == pytest.approx(min(1, len(p) * p[0]))
    assert {one["family"] for each in found["criteria"] for one in list_p(each)} == {6}
    assert found["family"] == {"across": True, "comparisons": 6}
    assert [one["code"] for one in found["warnings"]].count("across") == 1


def test_the_primary_criterion_comes_first_and_is_corrected_by_itself(ratings):
    found = report(ratings, primary="style")

    first, second = found["criteria"]
    assert (first["key"], first["role"]) == ("style", "primary")
    assert (second["key"], second["role"]) == ("clarity", "secondary")
    for one in [*list_p(first), *list_p(second)]:
        assert one["p_corrected"] == one["p_within"]
        assert one["family"] == 3
    assert "across" not in [one["code"] for one in found["warnings"]]


def test_one_criterion_is_a_family_of_its_own(tmp_path):
    path = write_ratings(tmp_path / "one.csv", criteria=["style"])

    found = report(path)

    assert found["family"] == {"across": False, "comparisons": 3}
    assert found["criteria"][0]["role"] == ""


def test_planned_margins_are_judged_by_the_tested_difference(ratings):
    wanted = [
        ("not_worse", "a", "c", 1.0, "pass"),
        ("not_worse", "c", "a", 0.01, "fail"),
        ("equivalent", "a", "c", 0.01, "fail"),
        ("equivalent", "a", "b", 1.9, "pass"),
        ("not_worse", "a", "nobody", 1.0, None),
    ]
    planned = tuple(
        Margin(criterion="style", system=system, relation=relation, other=other, margin=margin)
        for relation, system, other, margin, _ in wanted
    )

    found = report(ratings, primary="style", margins=planned)["criteria"][0]["margins"]

    names = ("relation", "system", "other", "margin", "outcome")
    assert [tuple(one[name] for name in names) for one in found] == wanted
    # of a system without ratings
    assert found[-1]["reason"] == "no_data"


def test_a_stored_plan_of_today_is_read():
    assert Plan.read({"baseline": "a", "thresholds": {}}) == Plan(baseline="a")


def hypothesise(system, other, relation="better", criterion="style"):
    return Hypothesis(criterion=criterion, system=system, relation=relation, other=other)


@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["points", "preference"])
def test_p_values_are_corrected_for_what_hypotheses_name_and_the_rest_is_exploratory(
    kind, ratings, tmp_path
):
    planned = (hypothesise("a", "c"), hypothesise("a", "b", "differs"))
    if kind == "points":
        style = report(ratings, primary="style", hypotheses=planned)["criteria"][0]
    else:
        style = report_preferences(tmp_path, hypotheses=planned)["criteria"][0]

    by_pair = {frozenset((one["system_1"], one["system_2"])): one for one in style["pairs"]}
    details = {pair: one["effect"]["details"] for pair, one in by_pair.items()}
    p = {pair: one["p"] for pair, one in details.items()}
    first, second = sorted((frozenset("ac"), frozenset("ab")), key=p.get)
    # Holm by hand: two planned comparisons, and three where one isn't planned
    assert details[first]["p_corrected"] == pytest.approx(min(1, 2 * p[first]))
    assert details[second]["p_corrected"] == pytest.approx(min(1, max(2 * p[first], p[second])))
    assert [details[one].get("family") for one in (first, second, frozenset("bc"))] == [2, 2, 3]
    order = sorted(p, key=p.get)
    steps = [min(1, (3 - place) * p[pair]) for place, pair in enumerate(order)]
    assert details[frozenset("bc")]["p_corrected"] == pytest.approx(
        max(steps[: order.index(frozenset("bc")) + 1])
    )
    exploratory = [pair for pair, one in details.items() if one.get("is_exploratory")]
    assert exploratory == [frozenset("bc")]
    assert by_pair[frozenset("bc")]["finding"]["facts"]["is_exploratory"]


def report_preferences(tmp_path, **options):
    rng = np.random.default_rng(3)
    path = tmp_path / "preferences.csv"
    rows = [
        (f"r{r}", f"i{i}-{one}{two}", f"i{i}", one, two, "style",
         rng.choice(["first", "second", "tie"], p=[0.2, 0.6, 0.2] if two == "c" else None))
        for r in range(6) for i in range(12) for one, two in ("ab", "ac", "bc")
    ]  # fmt: skip
    columns = ["participant", "item", "group", "system_1", "system_2", "criterion", "preferred"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    described = {
        "key": "style", "label": "style", "kind": "preference", "family": "preference",
        "answers": [], "reserved": [],
    }  # fmt: skip
    return make_reports(
        {"ratings": path}, Settings(instrument=[described], seed=1, plan=Plan(**options))
    )["kept"]


def test_a_hypothesis_says_how_it_came_out_and_no_p_value_is_halved(ratings):
    planned = (
        hypothesise("a", "c"), hypothesise("c", "a"), hypothesise("b", "a"),
        hypothesise("a", "c", "differs"), hypothesise("a", "nobody"),
    )  # fmt: skip

    found = report(ratings, primary="style", hypotheses=planned)["criteria"][0]

    # ratings are made so that a and b are a point above c
    outcomes = ["better", "worse", "unclear", "better", None]
    assert [one["outcome"] for one in found["hypotheses"]] == outcomes
    pairs = {frozenset((one["system_1"], one["system_2"])): one for one in found["pairs"]}
    corrected = pairs[frozenset("ac")]["effect"]["details"]["p_corrected"]
    assert [one["p_corrected"] for one in found["hypotheses"]][:2] == [corrected, corrected]


def test_with_a_baseline_the_comparisons_with_it_are_the_family(ratings):
    found = report(ratings, primary="style", baseline="c", hypotheses=(hypothesise("a", "c"),))

    assert {one["family"] for one in list_p(found["criteria"][0])} == {2}


@pytest.mark.torture
def test_several_tests_against_margins_are_corrected_for_one_another(ratings):
    one = Margin(criterion="style", system="a", relation="not_worse", other="b", margin=0.3)
    three = [replace(one, margin=margin) for margin in (0.3, 0.5, 1.0)]

    alone = report(ratings, primary="style", margins=(one,))["criteria"][0]["margins"]
    among = report(ratings, primary="style", margins=three)["criteria"][0]["margins"]

    assert "p_corrected" not in alone[0]
    p = [test["p"] for test in among]
    assert p == sorted(p, reverse=True)
    # Holm by hand, the smallest p first
    third = 3 * p[2]
    second = max(third, 2 * p[1])
    wanted = [max(second, p[0]), second, third]
    assert [test["p_corrected"] for test in among] == pytest.approx(np.minimum(wanted, 1))
    assert [test["outcome"] == "pass" for test in among] == [q < 0.05 for q in wanted]


def test_a_margin_that_only_passes_alone_is_undecided_among_others():
    tests = [{"p": 0.03, "outcome": "pass"}, {"p": 0.04, "outcome": "pass"}]

    correct_margins(tests)

    assert [(one["p_corrected"], one["outcome"]) for one in tests] == [(0.06, "undecided")] * 2


def test_an_exact_difference_is_in_no_family_of_tests():
    exact = {"outcome": "pass", "reason": "constant"}
    tests = [{"p": 0.03, "outcome": "pass"}, exact]

    correct_margins(tests)

    assert tests == [{"p": 0.03, "outcome": "pass"}, {"outcome": "pass", "reason": "constant"}]


@pytest.mark.torture
def test_the_p_of_a_failed_margin_is_that_of_failing(ratings):
    planned = Margin(criterion="style", system="c", relation="not_worse", other="a", margin=0.01)

    found = report(ratings, primary="style", margins=(planned,))["criteria"][0]["margins"][0]

    assert found["outcome"] == "fail"
    assert found["p_fail"] == pytest.approx(1 - found["p"])


def test_a_planned_margin_of_half_the_scale_is_none(ratings):
    planned = Margin(criterion="style", system="a", relation="equivalent", other="b", margin=2.0)

    found = report(ratings, primary="style", margins=(planned,))["criteria"][0]["margins"][0]

    # points from 0 to 4
    assert (found["outcome"], found["reason"], found["limit"]) == (None, "no_margin", 2.0)
