"""What a plan decides: which p values are corrected together, and tests against margins."""

import numpy as np
import pandas as pd
import pytest

from evalsite.analysis import equivalence
from evalsite.analysis.__main__ import main
from evalsite.analysis.mixed import fit_mixed
from evalsite.analysis.plan import Margin, Plan
from evalsite.analysis.report import make_reports
from evalsite.analysis.scores import read_scores
from tests.analysis.vectors import compare, read_vector


def test_margins_are_those_of_the_vector():
    data, expected, tolerance = read_vector("tost__joint_pages")
    scores = read_scores(rater=data.rater, group=data["item"], system=data.system, value=data.value)
    fit = fit_mixed(scores).fit

    for pair, wanted in expected.items():
        second, first = pair.split("-")
        weights = [(one == second) * 1.0 - (one == first) for one in scores.systems]
        difference, se, df = fit.contrast(weights)
        got = equivalence.test_margin(difference=difference, se=se, df=df, margin=0.5)
        compare(got, wanted, tolerance)


@pytest.mark.parametrize(
    ("system", "other", "status"), [("a", "c", 0), ("c", "a", 1), ("a", "b", 2)]
)
def test_gate_ends_with_what_the_ratings_were_made_to_show(system, other, status, tmp_path, capsys):
    path = write_ratings(tmp_path / "ratings.csv", criteria=("clarity",))

    ended = main(["report", str(path), "--gate", system, "--against", other, "--margin", "0.1"])

    assert ended == status
    outcome = ("pass", "fail", "undecided")[status]
    assert f"Gate, clarity, {outcome}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--gate", "a", "--against", "b"], "needs all of"),
        (["--gate", "a", "--against", "a", "--margin", "1"], "two different systems"),
        (["--gate", "x", "--against", "a", "--margin", "1"], "There are: a, b, c"),
        (["--gate", "a", "--against", "b", "--margin", "1"], "--primary: clarity, style"),
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
        equivalence.test_margin(difference=0, se=1, df=9, margin=margin)


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
        {"ratings": path}, instrument=[describe(key) for key in keys], seed=1,
        plan=Plan(**options),
    )["kept"]  # fmt: skip


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
        ("equivalent", "a", "b", 3.0, "pass"),
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
