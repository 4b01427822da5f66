"""Where one rater's ratings count, the report says what this rater did and claims nothing more."""

import random

import pytest

from evalsite.analysis.report import Settings, make_reports
from tests.analysis.test_degenerate_reports import Report, prefer, rate, report  # noqa: F401

STEPS = {"A": 4, "B": 2, "C": 0}
VALUES = {
    "likert": lambda item, system: 1 + STEPS[system] + (item % 3 == 0),
    "decision": lambda item, system: int(STEPS[system] > item % 3),
    "magnitude": lambda item, system: 50 * (1 + STEPS[system]) + item,
}


@pytest.mark.one_case
@pytest.mark.parametrize("kind", VALUES)
def test_systems_are_neither_tested_nor_ranked_by_one_rater(
    report: Report,  # noqa: F811
    kind: str,
) -> None:
    rows = rate(lambda rater, item, system: VALUES[kind](item, system), raters=1, items=20)

    made = report(rows, kind)

    (criterion,) = made["criteria"]
    check_nothing_is_claimed(criterion)
    assert {one["tier"] for one in criterion.get("order", [])} <= {None}
    # said once: not of few raters, too
    codes = [warning["code"] for warning in made["warnings"]]
    assert ("one_rater" in codes, "few_raters" in codes) == (True, False)


def check_nothing_is_claimed(criterion) -> None:
    assert {one["rank"] for one in criterion["systems"]} == {None}
    assert {one["cluster"] for one in criterion["systems"]} == {None}
    assert (criterion["joint"], criterion["detectable"]) == (None, None)
    for one in criterion["tests"]:
        assert one["name"] not in {"friedman", "mcnemar", "cochran_q"}
        assert "p" not in one["details"]
    for pair in criterion["pairs"]:
        assert pair["effect"]["value"] is not None
        assert not {"p", "p_corrected"} & set(pair["effect"]["details"])
        assert pair["effect"]["details"]["untested"] == "needs_two_raters"
        assert pair["checks"] == []
        assert pair["finding"]["code"] == "by_one_rater"


def test_what_one_rater_did_is_told_as_such(report: Report) -> None:  # noqa: F811
    rows = rate(lambda rater, item, system: VALUES["likert"](item, system), raters=1, items=20)

    (criterion,) = report(rows, "likert")["criteria"]

    facts = criterion["pairs"][0]["finding"]["facts"]
    assert (facts["first"], facts["second"], facts["value"]) == ("A", "B", 2)


def test_one_rater_who_rates_two_systems_alike_is_told_to(report: Report) -> None:  # noqa: F811
    chance = random.Random(2)
    values = [chance.randint(1, 7) for _ in range(12)]
    rows = rate(lambda rater, item, system: values[item], raters=1, systems="AB")

    (criterion,) = report(rows, "likert")["criteria"]

    assert criterion["pairs"][0]["finding"]["facts"]["value"] == 0


@pytest.mark.parametrize("pairs", [["AB"] * 12, ["AB", "BC", "AC"] * 8])
def test_preferences_of_one_rater_are_not_tested(report: Report, pairs) -> None:  # noqa: F811
    rows = prefer(lambda one, two: min(one, two), pairs, raters=1)

    (criterion,) = report(rows, "preference")["criteria"]

    check_nothing_is_claimed(criterion)


@pytest.mark.torture
def test_leaving_out_all_raters_but_one_shows_no_difference(tmp_path) -> None:
    rows = [
        "participant,item,system,criterion,value,excluded",
        *(
            f"p{rater},i{item},{system},quality,{1 + STEPS[system] + item % 2},{left_out}"
            for rater, left_out in enumerate(("", "yes")) for item in range(12) for system in "ABC"
        ),
    ]  # fmt: skip
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    described = {"key": "quality", "label": "Quality", "kind": "likert",
                 "answers": [{"value": value, "label": ""} for value in range(1, 8)]}  # fmt: skip

    made = make_reports({"ratings": path}, Settings(instrument=[described], seed=1))

    assert {pair["finding"]["code"] for pair in made["kept"]["criteria"][0]["pairs"]} == {
        "by_one_rater"
    }
