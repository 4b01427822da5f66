"""McNemar's and Cochran's tests on what most raters decided of each input."""

import random

import pytest

from evalsite.analysis.effects import cochran_q
from evalsite.analysis.families.decision import compare_majorities
from evalsite.analysis.report import Settings, make_reports
from evalsite.results.report.sections.words import NOTES

Row = tuple[str, str, int]


def compare(rows: list[Row]):
    return compare_majorities(
        group=[row[0] for row in rows],
        system=[row[1] for row in rows],
        value=[row[2] for row in rows],
    )


def vote(group: str, system: str, decisions: str) -> list[Row]:
    return [(group, system, int(one)) for one in decisions]


def test_two_systems_are_compared_where_one_alone_has_the_majority():
    # McNemar (1947), exact: 6 of 7 inputs speak for B; p = 2 * (1 + 7) / 2 ** 7
    rows = [row for n in range(6) for row in vote(f"i{n}", "A", "001") + vote(f"i{n}", "B", "110")]
    rows += vote("i6", "A", "111") + vote("i6", "B", "000")
    rows += vote("i7", "A", "1") + vote("i7", "B", "1")

    found = compare(rows)

    assert (found.name, found.group) == ("mcnemar", (("system_1", "B"), ("system_2", "A")))
    assert found.value == pytest.approx((6 - 1) / 8)
    assert found.details["p"] == pytest.approx(0.125)
    assert (found.n["yes_of_first_only"], found.n["yes_of_second_only"]) == (6, 1)


def test_inputs_without_a_majority_of_each_system_are_left_out_and_counted():
    rows = vote("tied", "A", "10") + vote("tied", "B", "11")
    rows += vote("half", "A", "111")
    rows += vote("whole", "A", "110") + vote("whole", "B", "100")

    found = compare(rows)

    assert found.n["items"] == 1
    assert (found.n["inputs_tied"], found.n["inputs_incomplete"]) == (1, 1)


def test_three_systems_are_compared_by_cochran_s_q_of_the_majorities():
    chance = random.Random(4)
    table = [[chance.randint(0, 1) for _ in "ABC"] for _ in range(20)]
    rows = [
        row
        for n, line in enumerate(table)
        for system, one in zip("ABC", line, strict=True)
        for row in vote(f"i{n}", system, f"{one}{1 - one}{one}")
    ]

    found = compare(rows)

    expected = cochran_q(table)
    assert (found.value, found.details["p"]) == (expected.value, expected.details["p"])
    assert found.n["systems"] == 3


def test_one_system_is_compared_with_nothing():
    assert compare(vote("i", "A", "110")) is None


def test_systems_without_a_shared_input_have_no_figure():
    assert compare(vote("i", "A", "1") + vote("j", "B", "0")).reason == "no_data"


def test_the_report_on_decisions_gives_the_classic_test_and_says_how(tmp_path):
    path = tmp_path / "ratings.csv"
    lines = [
        f"p{rater},i{item},{system},decision,{(item * rater + (system == 'A') * item) % 2}"
        for rater in range(5)
        for item in range(8)
        for system in "AB"
    ]
    path.write_text("\n".join(["participant,item,system,criterion,value", *lines]) + "\n")
    answers = [{"value": 1, "label": "yes"}, {"value": 0, "label": "no"}]
    decision = {"key": "decision", "label": "Decision", "kind": "decision", "answers": answers}

    report = make_reports({"ratings": path}, Settings(instrument=[decision], seed=3))["kept"]

    (criterion,) = report["criteria"]
    (classic,) = [one for one in criterion["tests"] if one["name"] == "mcnemar"]
    assert 0 <= classic["details"]["p"] <= 1


def test_decisions_against_all_scores_are_listed_to_be_looked_at_again(tmp_path):
    # a1 rejects though all is well, a2 accepts though one score is bad, a3 does neither
    given = {"a1": (7, 6, 0), "a2": (7, 1, 1), "a3": (7, 6, 1)}
    header = "participant,item,system,criterion,value,annotation,scale_min,scale_max"
    lines = [
        f"p{number % 2},{name},{'AB'[number % 2]},{key},{value},{name},1,7"
        for number, (name, values) in enumerate(given.items())
        for key, value in zip(("fit", "fun", "decision"), values, strict=True)
    ]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    points = [{"value": value, "label": ""} for value in range(1, 8)]
    instrument = [
        {"key": key, "label": key, "kind": "likert", "answers": points} for key in ("fit", "fun")
    ]
    yes_no = [{"value": 1, "label": "yes"}, {"value": 0, "label": "no"}]
    instrument.append({"key": "decision", "label": "", "kind": "decision", "answers": yes_no})

    together = make_reports({"ratings": path}, Settings(instrument=instrument, seed=1))["kept"][
        "together"
    ]

    listed = together["contradictions"]
    assert [(one["annotation"], one["why"].split(",")[0]) for one in listed] == [
        ("a1", "rejected"),
        ("a2", "accepted"),
    ]
    assert listed[1]["scores"] == {"fit": 7, "fun": 1}


def test_criteria_that_go_together_closely_are_warned_of_by_their_labels(tmp_path):
    header = "participant,item,system,criterion,value"
    lines = [
        f"p{rater},i{item},A,{key},{value}"
        for rater in range(2)
        for item in range(8)
        for key, value in (("fit", item % 7 + 1), ("fun", item % 7 + 1), ("odd", item % 2 + 1))
    ]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    points = [{"value": value, "label": ""} for value in range(1, 8)]
    instrument = [
        {"key": key, "label": key.title(), "kind": "likert", "answers": points}
        for key in ("fit", "fun", "odd")
    ]

    report = make_reports({"ratings": path}, Settings(instrument=instrument, seed=1))["kept"]

    (warning,) = [one for one in report["warnings"] if one["code"] == "too_alike"]
    assert warning["criterion"] == "together"
    assert "Fit and Fun (1.00)" in NOTES.write(warning)
    assert "Odd" not in NOTES.write(warning)
