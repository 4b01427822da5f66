"""The findings of a report: headline, planned questions, every question, table for a paper."""

from typing import Any

import pytest

from evalsite.results.document.blocks import Cell
from evalsite.results.report.sections.findings import (
    describe_finding,
    find_headline,
    head_decision,
    make_paper,
    write_decision,
    write_finding,
)
from evalsite.results.report.source import Criterion, list_decisions
from tests.support.reports import make_content, make_figure, make_pair, make_points, make_source


def find(*pairs: dict[str, Any], **known: Any) -> tuple[str, str]:
    return describe_finding(Criterion(make_points(*pairs, **known)))


def tier(criterion: dict[str, Any], **tiers: int | None) -> dict[str, Any]:
    for system in criterion["systems"]:
        system["cluster"] = tiers[system["system"]]
    return criterion


def head(*criteria: dict[str, Any], **known: Any) -> tuple[str, str]:
    content = make_content(criteria=list(criteria))
    content["data"] |= {"annotations": 40, "systems": ["a", "b", "c"], **known}
    return find_headline(make_source(content))


# --- one question -------------------------------------------------------------------------------


def test_tiers_say_who_is_ahead_and_who_shows_no_clear_difference() -> None:
    criterion = make_points(
        make_pair("a", "b", "not_enough"), make_pair("a", "c", "higher"),
        make_pair("c", "b", "lower"),
    )  # fmt: skip

    code, text = describe_finding(Criterion(tier(criterion, a=1, b=1, c=2)))

    assert code == "finding"
    assert text == "a and b are rated higher than c. a and b: no clear difference."


def test_a_system_with_too_few_values_is_never_ahead() -> None:
    """Systems without a tier have too few values to be compared."""
    criterion = make_points(make_pair("a", "b", "higher"), make_pair("a", "c", "not_enough"))
    criterion = tier(criterion, a=1, b=2, c=None)

    code, text = describe_finding(Criterion(criterion))

    assert code == "finding"
    assert text == "a is rated higher than b. c can’t be compared: too few values."
    assert head(criterion)[1] == "a is rated higher than b on fluency"


def test_others_behind_are_counted_beside_a_system_that_cannot_be_compared() -> None:
    criterion = make_points(
        make_pair("a", "b", "higher"), make_pair("a", "d", "higher"),
        make_pair("a", "c", "not_enough"), means=(3.9, 3.5, 3.4, 3.0),
    )  # fmt: skip

    assert head(tier(criterion, a=1, b=2, d=3, c=None))[1] == (
        "a is rated higher than 2 other systems on fluency"
    )


def test_a_pair_that_is_clear_within_a_tier_is_named() -> None:
    criterion = make_points(make_pair("a", "b", "higher"), make_pair("b", "c", "not_enough"))

    _, text = describe_finding(Criterion(tier(criterion, a=1, b=1, c=2)))

    assert "a is rated higher than b, though they share a tier." in text


def test_clear_pairs_without_tiers_are_named_and_the_rest_is_counted() -> None:
    code, text = find(
        make_pair("a", "c", "higher"), make_pair("a", "b", "not_enough"),
        make_pair("b", "c", "not_enough"),
    )  # fmt: skip

    assert code == "finding_crossed"
    assert text == "a is rated higher than c. 2 other pairs: no clear difference."


@pytest.mark.parametrize(
    ("finding", "better", "code", "text"),
    [
        ("higher", "higher", "finding_single",
         "a is rated 0.40 points higher than b (95% CI 0.10 to 0.70, corrected p = .010)."),
        ("higher", "lower", "finding_single",
         "b is rated 0.40 points lower than a (95% CI 0.10 to 0.70, corrected p = .010)."),
        ("not_enough", "higher", "finding_none",
         "No clear difference: 0.40 points (95% CI 0.10 to 0.70, corrected p = .20)."),
    ],
)  # fmt: skip
def test_two_systems_have_their_difference_in_the_finding(finding, better, code, text) -> None:
    pair = make_pair("a", "b", finding)

    assert find(pair, means=(3.9, 3.5), better=better) == (code, text)


@pytest.mark.parametrize(
    ("better", "text"), [("higher", "b is rated 0.40 points higher than a"),
                         ("lower", "a is rated 0.40 points lower than b")],
)  # fmt: skip
def test_the_interval_goes_with_the_size_that_is_told(better: str, text: str) -> None:
    # a minus b is −0.40, from −0.70 to −0.10
    _, words = find(make_pair("a", "b", "lower"), means=(3.5, 3.9), better=better)

    assert words == f"{text} (95% CI 0.10 to 0.70, corrected p = .010)."


def test_nothing_clear_is_never_called_equal() -> None:
    pairs = [make_pair("a", "b", "not_enough"), make_pair("a", "c", "not_enough")]

    assert find(*pairs) == ("finding_none", "No clear difference between the systems.")


def test_what_one_person_rated_is_not_tested() -> None:
    pair = make_pair("a", "b", "by_one_rater")
    pair["effect"]["details"] = {}

    code, text = find(pair, means=(3.9, 3.5))

    assert code == "finding_untested"
    assert "One person rated" in text


def test_systems_that_were_rated_on_other_inputs_are_not_said_to_have_no_data() -> None:
    none = make_figure("difference", None, reason="no_data")
    pairs = [make_pair(*names, "not_enough", effect=none) for names in ("ab", "ac", "bc")]

    code, text = find(*pairs)

    assert code == "finding_untested"
    assert text == "Systems can’t be compared: they share no input."


def test_a_secondary_question_says_so() -> None:
    sentence = write_finding(Criterion(make_points(role="secondary")), link="fluency")

    assert sentence.question == "Fluency (secondary)"
    assert sentence.link == "fluency"


# --- the headline -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "code"), [(0, "no_answers"), (9, "too_few"), (10, "finding_none")]
)
def test_too_few_answers_have_no_finding(answers: int, code: str) -> None:
    pairs = [make_pair("a", "b", "not_enough"), make_pair("a", "c", "not_enough")]

    assert head(make_points(*pairs), make_points(*pairs), annotations=answers)[0] == code


def test_only_a_system_ahead_of_all_others_leads() -> None:
    leads = make_points(make_pair("a", "b", "higher"), make_pair("a", "c", "higher"))
    some = make_points(make_pair("a", "b", "higher"), make_pair("a", "c", "not_enough"))

    assert head(leads)[1] == "a is rated higher than both others on fluency"
    assert head(some)[1] == "1 of 2 pairs differ clearly on fluency"


def test_several_questions_are_told_the_clear_ones_first() -> None:
    leads = make_points(make_pair("a", "b", "higher"), make_pair("a", "c", "higher"))
    open_one = make_points(make_pair("a", "b", "not_enough"), key="n", label="Naturalness")

    assert head(open_one, leads)[1] == (
        "a is rated higher than both others on fluency; no clear difference on naturalness"
    )


def test_many_questions_are_counted() -> None:
    pairs = (make_pair("a", "b", "higher"), make_pair("a", "c", "higher"))
    leads = [make_points(*pairs, key=key) for key in "xyz"]
    open_one = make_points(make_pair("a", "b", "not_enough"))

    assert head(*leads, open_one)[1] == "a leads on 3 of 4 questions"
    assert head(*leads, make_points(*pairs, key="w"))[1] == "a leads on all 4 questions"
    assert head(*[open_one] * 5)[1] == "No clear difference on any of 5 questions"


def test_one_system_has_its_mean_as_headline() -> None:
    criterion = make_points(means=(3.94,))

    assert head(criterion, systems=["a"])[1] == "a: 3.94 of 5 on fluency (95% CI 2.94 to 5.00)"


# --- planned questions --------------------------------------------------------------------------


def make_margin(outcome: str | None, **known: Any) -> dict[str, Any]:
    return {
        "system": "b", "other": "a", "relation": "not_worse", "margin": 0.5, "method": "t",
        "outcome": outcome, "level": 0.05, "better": "higher", "is_log": False,
        "difference": -0.4, "low": -0.62, "high": -0.18, "p": 0.2, "p_fail": 0.8, "df": 30.0,
        **known,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "code", "answer", "headline"),
    [
        ("pass", "decision_yes", "Yes", "Yes: b is at most 0.5 points worse than a"),
        ("fail", "decision_no", "No", "No: b is more than 0.5 points worse than a"),
        ("undecided", "decision_open", "Not shown yet",
         "Not shown yet: b could be up to 0.62 points worse than a"),
        (None, "decision_untested", "Not tested",
         "Not tested: Is b at most 0.5 points worse than a on fluency?"),
    ],
)  # fmt: skip
def test_a_margin_is_answered_with_its_interval(outcome, code, answer, headline) -> None:
    criterion = make_points(margins=[make_margin(outcome)])
    (decision,) = list_decisions(Criterion(criterion))

    sentence = write_decision(decision)

    assert (sentence.code, sentence.answer) == (code, answer)
    assert sentence.question == "Is b at most 0.5 points worse than a on fluency?"
    assert head(criterion) == (code, headline)
    if outcome:
        assert "−0.40 points (90% CI −0.62 to −0.18, p = .20)" in sentence.text
        assert [figure.name for figure in sentence.figures] == ["planned_difference", "margin"]


def test_where_lower_is_better_the_difference_is_as_the_scale_has_it() -> None:
    criterion = Criterion(make_points(margins=[make_margin("pass", better="lower")]))
    (decision,) = list_decisions(criterion)

    figure = decision.planned_difference

    assert figure is not None
    assert (figure.value, figure.low, figure.high) == (0.4, 0.18, 0.62)


def test_an_exact_difference_has_neither_interval_nor_p() -> None:
    exact = {key: value for key, value in make_margin("pass").items()
             if key not in ("low", "high", "p", "p_fail", "df")}  # fmt: skip
    (decision,) = list_decisions(Criterion(make_points(margins=[exact])))

    assert write_decision(decision).text == "b − a: −0.40 points (no interval)."


def test_hypotheses_on_one_system_are_one_question() -> None:
    tested = [
        {"system": "a", "relation": "better", "other": other, "outcome": outcome,
         "p_corrected": 0.01}
        for other, outcome in (("b", "better"), ("c", "better"))
    ]  # fmt: skip
    criterion = make_points(
        make_pair("a", "b", "higher"), make_pair("a", "c", "higher"), hypotheses=tested
    )
    (decision,) = list_decisions(Criterion(criterion))

    assert write_decision(decision).question == "Is a rated higher than b and c on fluency?"
    assert write_decision(decision).answer == "Yes, than both"
    tested[1]["outcome"] = "unclear"
    (decision,) = list_decisions(Criterion(criterion))
    assert write_decision(decision).answer == "No clear difference"
    assert head_decision(decision) == "No clear difference between a and the others on fluency"
    tested[1]["outcome"] = "worse"
    (decision,) = list_decisions(Criterion(criterion))
    assert write_decision(decision).code == "decision_no"


def test_several_planned_questions_are_counted_in_the_headline() -> None:
    criterion = make_points(margins=[make_margin("pass"), make_margin("undecided")])

    assert head(criterion)[1] == "1 of 2 planned questions are answered yes"


# --- the table for a paper ----------------------------------------------------------------------


def test_letters_and_bold_stand_only_where_there_are_two_tiers() -> None:
    first = tier(make_points(), a=1, b=1, c=2)
    second = make_points(key="n", label="Naturalness")
    table = make_paper(make_source(make_content(criteria=[first, second])))

    cells = [row[1] for row in table.rows]
    assert [(cell.above, cell.is_strong) for cell in cells if isinstance(cell, Cell)] == [
        ("A", True), ("A", True), ("B", False),
    ]  # fmt: skip
    assert [cell.above for row in table.rows if isinstance(cell := row[2], Cell)] == ["", "", ""]


def test_the_half_width_is_that_of_the_distance_from_the_average() -> None:
    table = make_paper(make_source(make_content(criteria=[make_points()])))

    cell = table.rows[0][1]
    assert isinstance(cell, Cell)
    assert cell.text == "3.90 ± 0.20"
    assert [figure.name for figure in cell.figures] == ["mean", "distance"]


def test_a_system_that_a_question_lacks_has_an_empty_cell() -> None:
    second = make_points(key="n", label="Naturalness", means=(3.9, 3.5))
    table = make_paper(make_source(make_content(criteria=[make_points(), second])))

    assert table.rows[2][2] == ""


def test_the_last_row_is_agreement_or_why_there_is_none() -> None:
    undefined = make_figure("alpha_ordinal", None, reason="no_overlap")
    table = make_paper(make_source(make_content(criteria=[make_points(agreement=[undefined])])))

    assert table.foot[0][1].why == "no_overlap"  # type: ignore[union-attr]
