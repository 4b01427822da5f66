"""The section of a question: chart, tables, agreement, and what a corrected test doesn't show."""

from itertools import combinations, pairwise
from typing import Any

import pytest

from evalsite.results.document.blocks import Chart, Document, Sentence, Table
from evalsite.results.document.charts import list_stacks
from evalsite.results.report.sections.questions import (
    explain_correction,
    list_answers,
    list_shown_pairs,
    make_question,
    tabulate_pairs,
    tabulate_systems,
)
from evalsite.results.report.source import Criterion
from tests.support.reports import make_content, make_figure, make_pair, make_points, make_source


def show(*criteria: dict[str, Any]) -> Document:
    source = make_source(make_content(criteria=list(criteria)))
    return Document("", list(make_question(source, source.criteria[0])))


def find_sentence(document: Document, code: str) -> Sentence:
    blocks = (block for block in document.blocks if isinstance(block, Sentence))
    return next(block for block in blocks if block.code == code)


def test_the_line_around_a_mean_is_the_interval_of_its_distance_and_ends_with_the_scale() -> None:
    document = show(make_points(means=(4.95, 3.5, 3.4)))

    (chart,) = (block for block in document.blocks if isinstance(block, Chart))
    first = chart.figures[0]
    assert (first.low, first.high) == (pytest.approx(4.75), 5)


def test_systems_are_ordered_by_what_is_better() -> None:
    for better, names in (("higher", ["a", "b", "c"]), ("lower", ["c", "b", "a"])):
        assert Criterion(make_points(better=better)).names == names


def test_with_more_than_three_questions_tables_of_systems_are_further_analyses() -> None:
    tables = [block.name for block in show(*[make_points()] * 4).blocks if isinstance(block, Table)]

    assert "fluency-systems" not in tables


def test_more_than_six_systems_show_each_with_the_next() -> None:
    names = "abcdefgh"
    pairs = [make_pair(*sides, "not_enough") for sides in combinations(names, 2)]
    means = tuple(4 - place / 10 for place in range(8))

    shown = list_shown_pairs(Criterion(make_points(*pairs, means=means)))

    assert [(pair.first, pair.second) for pair in shown] == list(pairwise(names))


def test_of_many_systems_the_planned_comparisons_are_shown() -> None:
    names = "abcdefgh"
    pairs = [make_pair(*sides, "not_enough") for sides in combinations(names, 2)]
    for pair in pairs[1:]:
        pair["effect"]["details"]["is_exploratory"] = True
    means = tuple(4 - place / 10 for place in range(8))

    assert len(list_shown_pairs(Criterion(make_points(*pairs, means=means)))) == 1


def test_a_pair_has_difference_t_p_and_effect_each_as_a_figure() -> None:
    pair = make_pair("a", "b", "higher")
    pair["effect"]["details"] |= {"d": 0.31, "d_low": 0.08, "d_high": 0.54}
    criterion = Criterion(make_points(pair))

    table = tabulate_pairs(criterion, criterion.pairs)

    document = Document("", [table])
    assert [column.label for column in table.columns] == [
        "Comparison", "Difference, points (95% CI)", "t (df)", "p", "Corrected p",
        "Effect (95% CI)", "Finding",
    ]  # fmt: skip
    assert {figure.name for figure in document.figures} == {
        "difference", "t", "p", "p_corrected", "effect",
    }  # fmt: skip
    assert table.rows[0][-1] == "a ahead"


def test_the_distribution_is_given_for_points_and_not_for_many_values() -> None:
    few = tabulate_systems(Criterion(make_points()))
    many = [{"value": value, "label": ""} for value in range(101)]
    without = tabulate_systems(Criterion(make_points(answers=many)))

    assert few.columns[-1].label == "% of 1 to 5"
    assert without.columns[-1].label == "SD"


@pytest.mark.parametrize(
    ("systems", "words"),
    [((0, 1, 2), "No intervals: only one input."), ((1,), "No interval of b: only one input."),
     ((), "all answers.")],
)  # fmt: skip
def test_a_mean_without_an_interval_says_why(systems: tuple[int, ...], words: str) -> None:
    criterion = make_points()
    for place in systems:
        open_ends = {"low": None, "high": None, "details": {"interval": "one_input"}}
        criterion["systems"][place]["headline"] |= open_ends

    assert tabulate_systems(Criterion(criterion)).caption.endswith(words)


def test_p_of_pairs_that_no_hypothesis_names_is_corrected_for_all_and_of_one_pair_not_at_all() -> (
    None
):
    def make(first: str, second: str, family: int, **known: bool) -> dict[str, Any]:
        pair = make_pair(first, second, "higher")
        details = pair["effect"]["details"] | {"family": family} | known
        return pair | {"effect": pair["effect"] | {"details": details}}

    def explain(*pairs: dict[str, Any]) -> str:
        (criterion,) = make_source(make_content(criteria=[make_points(*pairs)])).criteria
        return explain_correction(criterion)

    planned = make("a", "b", 1)
    exploratory = [make("a", "c", 3, is_exploratory=True), make("b", "c", 3, is_exploratory=True)]

    assert explain(planned) == "There is one comparison, so its p isn’t corrected."
    assert explain(planned, *exploratory) == (
        "One comparison is planned, so its p isn’t corrected. "
        "p of exploratory ones is corrected for all 3 (Holm)."
    )
    assert explain(make("a", "b", 2), make("a", "c", 2), exploratory[1]) == (
        "p is corrected for the 2 planned comparisons (Holm). "
        "p of exploratory ones is corrected for all 3 (Holm)."
    )


def test_an_interval_that_excludes_0_is_told_where_correction_leaves_nothing() -> None:
    document = show(make_points(make_pair("a", "b", "not_enough"), means=(3.9, 3.5, 3.4)))

    text = find_sentence(document, "uncorrected_only").text

    assert text.startswith("a is 0.40 points above b: the interval for this pair excludes 0")
    assert "after correction for 3 comparisons the difference isn’t clear (p = .20)" in text


def test_joint_test_and_agreement_are_sentences_with_their_figures() -> None:
    joint = make_figure("joint_f", 17.4, details={"df1": 2.0, "df2": 41.3, "p": 0.0001})
    agreement = [
        make_figure("alpha_ordinal", 0.58, low=0.5, high=0.64), make_figure("ac2", 0.77),
        make_figure("ICC(1,1)", 0.59), make_figure("percent_agreement", 0.61),
    ]  # fmt: skip
    document = show(make_points(joint=joint, agreement=agreement))

    assert find_sentence(document, "joint").text == (
        "All 3 systems together: F(2, 41.3) = 17.4, p < .001."
    )
    told = find_sentence(document, "agreement")
    assert told.text == (
        "Agreement: α .58 (95% CI .50 to .64), AC2 .77, ICC(1,1) .59, the same answer 61%."
    )
    assert [one.name for one in told.figures] == ["alpha", "ac", "icc_one", "same_answer"]


def test_agreement_that_cannot_be_computed_says_why() -> None:
    undefined = make_figure("alpha_ordinal", None, reason="no_overlap")

    sentence = find_sentence(show(make_points(agreement=[undefined])), "agreement")

    assert sentence.text == "α can’t be computed: no item has two ratings."


def test_in_the_bar_of_a_pair_each_name_keeps_its_direction_and_its_side() -> None:
    pair = make_pair("سلام-7B", "tuned", "higher", counts={"wins": 6, "ties": 1, "losses": 3})

    figures = list_answers(Criterion(make_points(pair)).pairs[0], is_only=False)
    ((name, _),) = list_stacks(Chart("x", "stacked", "Answers", figures))

    assert name == "\N{FIRST STRONG ISOLATE}سلام-7B\N{POP DIRECTIONAL ISOLATE} : tuned"


def test_preferences_of_two_systems_are_counted_before_the_finding() -> None:
    pair = make_pair("a", "b", "higher", counts={"wins": 6, "ties": 1, "losses": 3})
    criterion = make_points(
        pair, means=(0.65, 0.35), kind="preference", family="preference", answers=[]
    )
    document = show(criterion)

    assert find_sentence(document, "preference").text == (
        "a is preferred in 6 of 10 answers and b in 3: a difference of 30 percentage points."
    )
    (chart,) = (block for block in document.blocks if isinstance(block, Chart))
    assert (chart.kind, [one.value for one in chart.figures]) == ("stacked", [0.6, 0.1, 0.3])
