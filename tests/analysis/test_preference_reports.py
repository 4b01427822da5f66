"""What a report of preferences says beside its figures: fit, power, balance and warnings."""

import random

import pytest

from evalsite.analysis.ratings import make_table
from evalsite.analysis.report import Material, Settings, make_report
from evalsite.results.report.sections.words import NOTES
from tests.analysis.test_report import LIKERT, PREFERENCE, Report, rate, report  # noqa: F401


def answer(chance, pairs, *, raters=6, items=12, share=1.0):
    """Preferences on pairs (first, second, chance of the first); each item a pair of an input."""
    return [
        {
            "participant": f"p{rater}", "item": f"i{item}-{place}", "group": f"i{item}",
            "preferred": first if chance.random() < better else second,
            "system_1": first, "system_2": second, "shown_first": (first, second)[item % 2],
        }
        for item in range(items)
        for place, (first, second, better) in enumerate(pairs)
        for rater in range(raters)
        if chance.random() < share
    ]  # fmt: skip


@pytest.fixture
def circle() -> list[dict[str, str]]:
    pairs = [("A", "B", 0.8), ("B", "C", 0.8), ("C", "A", 0.8)]
    return with_outcomes(answer(random.Random(4), pairs))


def with_outcomes(rows):
    return [row | {"outcome": "1" if row["preferred"] == row["system_1"] else "2"} for row in rows]


def codes(found):
    return {one["code"] for one in found["warnings"]}


def test_a_model_that_does_not_fit_is_warned_of_and_shown(report: Report, circle) -> None:  # noqa: F811
    found = report(circle, PREFERENCE)

    assert "model_misfit" in codes(found)
    (criterion,) = found["criteria"]
    for pair in criterion["fit"]["pairs"]:
        observed, expected = pair["observed"], pair["expected"]
        assert sum(observed.values()) == pytest.approx(sum(expected.values())) == 72
    fit = next(one for one in criterion["tests"] if one["name"] == "davidson_fit")
    assert fit["details"]["p"] < 0.05


def test_pairs_known_only_through_others_are_named(report: Report) -> None:  # noqa: F811
    rows = answer(random.Random(1), [("A", "B", 0.6), ("B", "C", 0.6)])

    found = report(with_outcomes(rows), PREFERENCE)

    (criterion,) = found["criteria"]
    assert criterion["fit"]["through_others"] == [["A", "C"]]
    assert "through_others" in codes(found)


def test_open_comparison_says_what_the_design_would_find(
    report: Report,  # noqa: F811
) -> None:
    rows = answer(random.Random(2), [("A", "B", 0.5)], items=30)

    (criterion,) = report(with_outcomes(rows), PREFERENCE)["criteria"]

    (pair,) = criterion["pairs"]
    assert pair["finding"]["code"] == "not_enough"
    detectable, details = criterion["detectable"], pair["effect"]["details"]
    # about (1.96 + 0.84) standard errors, somewhat more for few degrees of freedom
    assert 2.8 < detectable["value"] / details["se"] < 3.5
    assert detectable["low"] < detectable["value"] < detectable["high"]


@pytest.mark.torture
@pytest.mark.slow
def test_interval_without_zero_says_that_the_correction_is_why(report: Report) -> None:  # noqa: F811
    chance, told = random.Random(3), []
    for _ in range(6):
        pairs = [("A", "B", 0.62), ("A", "C", 0.62), ("B", "C", 0.5)]
        (criterion,) = report(with_outcomes(answer(chance, pairs)), PREFERENCE)["criteria"]
        for pair in criterion["pairs"]:
            details = pair["effect"]["details"]
            is_why = details["p"] < 0.05 <= details["p_corrected"]
            told.append(is_why)
            facts = pair["finding"]["facts"]
            assert (facts["p"] < 0.05 <= facts["p_corrected"], facts["family"]) == (is_why, 3)
    assert any(told)


@pytest.mark.torture
def test_single_raters_are_warned_of(report: Report) -> None:  # noqa: F811
    rows = with_outcomes(answer(random.Random(5), [("A", "B", 0.5)], items=20, share=0.4))
    alone = [row for row in rows if row["participant"] == "p0"]

    assert "one_rater" in codes(report(alone, PREFERENCE))


def test_places_of_both_sides_are_counted(report: Report) -> None:  # noqa: F811
    rows = with_outcomes(answer(random.Random(5), [("A", "B", 0.5)], items=9))

    places = report(rows, PREFERENCE)["data"]["places"]

    # the first stands first on even inputs: 5 of 9, seen by 6 raters
    assert places == {"A": {"1": 30, "2": 24}, "B": {"1": 24, "2": 30}}


def test_share_of_wins_of_each_of_three_has_its_interval(report: Report, circle) -> None:  # noqa: F811
    (criterion,) = report(circle, PREFERENCE)["criteria"]

    for system in criterion["systems"]:
        name = system["system"]
        won = sum(row["preferred"] == name for row in circle)
        met = sum(name in (row["system_1"], row["system_2"]) for row in circle)
        share = next(one for one in system["others"] if one["name"] == "win_share")
        assert share["value"] == pytest.approx(won / met)
        assert share["low"] < share["value"] < share["high"]
        assert share["n"]["answers"] == system["n"] == met


@pytest.mark.torture
def test_raters_and_inputs_that_nothing_links_are_warned_of(report: Report) -> None:  # noqa: F811
    rows = rate(random.Random(1), raters=6, items=12)
    apart = [row for row in rows if (row["participant"] < "p3") == (row["item"] in ONE_HALF)]

    assert "unlinked" not in codes(report(rows))
    assert "unlinked" in codes(report(apart))


ONE_HALF = {f"i{number}" for number in range(6)}


def test_criterion_without_ratings_does_not_stop_the_report() -> None:
    import pandas as pd  # noqa: PLC0415

    rows = rate(random.Random(1))
    table = make_table(pd.DataFrame([{"criterion": "quality", **row} for row in rows]))
    unused = LIKERT | {"key": "fluency", "label": "Fluency"}

    found = make_report(
        Material(table=table, everything=table, files={}),
        Settings(instrument=[LIKERT, unused], seed=1),
    )

    assert [one["key"] for one in found["criteria"]] == ["quality"]
    assert found["together"]["correlations"] == []


def test_strengths_are_counted_from_inputs_and_their_clusters(report: Report) -> None:  # noqa: F811
    pairs = [("A", "B", 0.6), ("B", "C", 0.6), ("A", "C", 0.6)]
    rows = with_outcomes(answer(random.Random(3), pairs, items=12))
    clustered = [{**row, "cluster": f"c{int(row['group'][1:]) // 3}"} for row in rows]

    (criterion,) = report(clustered, PREFERENCE)["criteria"]

    for system in criterion["systems"]:
        for figure in (system["headline"], *system["others"]):
            assert (figure["n"]["items"], figure["n"]["clusters"]) == (12, 4), figure["name"]


def answer_unevenly(answers: dict[str, tuple[range, str]]) -> list[dict[str, str]]:
    """Answers on A and B: by rater the inputs they saw, and what they preferred on each."""
    return with_outcomes(
        [
            {"participant": rater, "item": f"i{item}", "group": f"i{item}",
             "system_1": "A", "system_2": "B", "shown_first": "A", "preferred": preferred}
            for rater, (items, told) in answers.items()
            for item, preferred in zip(items, told, strict=True)
        ]
    )  # fmt: skip


def test_a_balance_that_is_not_of_all_answers_is_not_told_as_such(report: Report) -> None:  # noqa: F811
    # whoever answered most prefers A least; lme4's lmer has 0.6919 as the mean of wins and losses
    rows = answer_unevenly(
        {
            "p0": (range(12), "AABABAABAABA"),
            "p1": (range(5), "AAAAA"),
            "p2": (range(4, 9), "AAAAA"),
            "p3": (range(7, 12), "AAABA"),
            "p4": (range(0, 12, 3), "AAAA"),
            "p5": (range(2, 7), "AAAAB"),
        }
    )

    (criterion,) = report(rows, PREFERENCE)["criteria"]

    (pair,) = criterion["pairs"]
    assert pair["counts"] == {"wins": 30, "ties": 0, "losses": 6}
    facts = pair["finding"]["facts"]
    assert (facts["is_by_model"], round(facts["value"], 2)) == (True, 0.69)
    assert NOTES.write(criterion["weighing"]) == (
        "Comparisons weight raters and inputs; counts take each answer once. So the two can "
        "differ: for A and B, the counts give a net win share of 66.67 percentage points and the "
        "comparison gives 69.19."
    )


def test_a_balance_of_all_answers_needs_no_second_number(report: Report) -> None:  # noqa: F811
    rows = answer_unevenly(
        {f"p{rater}": (range(8), "AABAAAAA"[rater:] + "AABAAAAA"[:rater]) for rater in range(6)}
    )

    (criterion,) = report(rows, PREFERENCE)["criteria"]

    facts = criterion["pairs"][0]["finding"]["facts"]
    assert (facts["is_by_model"], round(facts["value"], 2)) == (True, 0.75)
    assert criterion["weighing"] is None


def find_first_share(found):
    (criterion,) = found["criteria"]
    return next(one for one in criterion["tests"] if one["name"] == "share_of_first_place")


def test_places_that_are_not_told_are_a_reason_of_their_own(report: Report) -> None:  # noqa: F811
    rows = answer_unevenly({f"p{rater}": (range(8), "AABAAAAA") for rater in range(6)})

    unknown = find_first_share(report([{**row, "shown_first": ""} for row in rows], PREFERENCE))
    known = find_first_share(report(rows, PREFERENCE))

    assert (unknown["value"], unknown["reason"]) == (None, "places_unknown")
    assert known["value"] == 7 / 8
    assert known["details"]["test"] == "exact_binomial"


def test_an_effect_of_the_place_needs_known_places(report: Report, circle) -> None:  # noqa: F811
    found = report([{**row, "shown_first": ""} for row in circle], PREFERENCE)

    (criterion,) = found["criteria"]
    effect = next(one for one in criterion["tests"] if one["name"] == "position_effect")
    assert effect["reason"] == "places_unknown"
