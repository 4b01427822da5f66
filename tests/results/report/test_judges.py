"""What a report says of a judge: beside people, corrected, worth; and what it never says."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evalsite.results.document.blocks import Document, Sentence
from evalsite.results.document.figures import write_value
from evalsite.results.document.html import render_html
from evalsite.results.document.latex import render_latex
from evalsite.results.document.text import render_text
from evalsite.results.report.computation import hide_systems
from evalsite.results.report.sections import make_document
from evalsite.results.report.sections.findings import find_headline, write_decision
from evalsite.results.report.sections.judges import find_favour, list_judges, make_judges
from evalsite.results.report.sections.question_page import make_question_page
from evalsite.results.report.sections.summary import list_cards
from evalsite.results.report.source import Source, list_decisions
from tests.analysis.vectors import read_vector
from tests.support.judges import (
    POINTS,
    PREFERENCE,
    plan_judge,
    report,
    write,
    write_points,
    write_preferences,
)
from tests.support.reports import make_source


def show(paths: dict[str, Path], *instrument: dict[str, Any]) -> Document:
    return Document("", list(make_judges(make_source(report(paths, *instrument)))))


def find(document: Document, name: str) -> Any:
    return next(figure for figure in document.figures if figure.name == name)


def test_points_are_corrected_and_the_labels_have_a_worth(tmp_path):
    paths, expected = write_points(tmp_path, "ppi_pages")
    document = show(paths, POINTS)

    assert {"judge_agreement", "judged_difference", "label_worth"} <= set(document.codes)
    judged = find(document, "judged_difference")
    [pair] = expected["pairs"].values()
    assert judged.value == pytest.approx(pair["estimate"], abs=0.004)
    assert find(document, "people_difference").value == pytest.approx(
        pair["people"]["difference"], abs=0.004
    )
    assert find(document, "label_answers").value == pytest.approx(
        expected["worth"]["answers"], abs=0.004
    )
    assert document.find_table("judge-1-corrected")


def test_a_difference_is_written_from_the_side_of_the_higher_system(tmp_path):
    paths, _expected = write_points(tmp_path, "ppi_pages")
    before = find(show(paths, POINTS), "people_difference")
    names = {"A": "Z", "B": "B"}
    for name in ("ratings", "judge_labels"):
        rows = pd.read_csv(paths[name])
        rows.assign(system=rows["system"].map(names)).to_csv(paths[name], index=False)
    after = find(show(paths, POINTS), "people_difference")

    assert after.value == pytest.approx(before.value)
    assert dict(after.group)["system_2"] == "B" == dict(before.group)["system_2"]


def test_verdicts_have_orders_and_may_stand_in(tmp_path):
    paths, _expected = write_preferences(tmp_path)
    document = show(paths, PREFERENCE)
    assert {"judge_orders", "stands_in", "judged_difference"} <= set(document.codes)


def test_two_people_get_no_corrected_figure_anywhere(tmp_path):
    paths, _expected = write_points(tmp_path, "ppi_pages")
    ratings = pd.read_csv(paths["ratings"])
    two = sorted(ratings.participant.unique())[:2]
    ratings[ratings.participant.isin(two)].to_csv(paths["ratings"], index=False)
    document = show(paths, POINTS)

    assert "judge_few_people" in document.codes
    assert not {"judged_difference", "label_worth"} & {one.name for one in document.figures}
    assert document.find_table("judge-1-corrected") is None


def test_a_reason_that_holds_for_all_questions_is_said_once(tmp_path):
    paths, _expected = write_points(tmp_path, "ppi_pages")
    tables = {name: pd.read_csv(path) for name, path in paths.items()}
    two = sorted(tables["ratings"].participant.unique())[:2]
    tables["ratings"] = tables["ratings"][tables["ratings"].participant.isin(two)]
    for name, rows in tables.items():
        pd.concat([rows, rows.assign(criterion="fluency")]).to_csv(paths[name], index=False)
    document = show(paths, POINTS, {**POINTS, "key": "fluency", "label": "Fluency"})

    assert document.codes.count("judge_few_people") == 1
    assert "Fluency: Two people" not in render_text(document)


def test_a_judge_that_follows_nobody_changes_nothing(tmp_path):
    paths, _expected = write_points(tmp_path, "ppi_pages")
    labels = pd.read_csv(paths["judge_labels"]).assign(value=3)
    labels.to_csv(paths["judge_labels"], index=False)
    codes = show(paths, POINTS).codes
    assert "judge_follows_nobody" in codes
    assert "label_worth" not in codes


def test_hostile_names_of_judges_format_nothing(tmp_path):
    paths, _expected = write_points(tmp_path, "ppi_pages")
    name = r"\input{x} <b>$x_1$</b> **bold** עברית"
    labels = pd.read_csv(paths["judge_labels"]).assign(judge=name)
    labels.to_csv(paths["judge_labels"], index=False)
    document = show(paths, POINTS)

    assert "<b>" not in render_html(document)
    assert r"\input{x}" not in render_latex(document)
    assert "**bold**" not in render_text(document)


def test_without_labels_nothing_is_said_of_judges(tmp_path):
    paths, _expected = write_points(tmp_path, "ppi_pages")
    del paths["judge_labels"]
    assert show(paths, POINTS).blocks == []


def test_the_judge_leans_to_one_side_with_the_interval_of_that_side(tmp_path):
    paths, _expected = write_preferences(tmp_path)

    def read() -> list[str]:
        [text] = [
            block.text
            for block in show(paths, PREFERENCE).blocks
            if isinstance(block, Sentence) and block.code == "judge_orders"
        ]
        return re.split(" (first|second) ", text)

    before = read()
    labels = pd.read_csv(paths["judge_labels"])
    labels.assign(order=3 - labels.order).to_csv(paths["judge_labels"], index=False)
    after = read()

    assert {before[1], after[1]} == {"first", "second"}
    # what is said of the second side is what was said of the first
    assert before[2] == after[2]


def favour_one(folder: Path, favoured: str) -> dict[str, Path]:
    """Write points of five systems, and a judge that rates one of them a point higher."""
    rng = np.random.default_rng(3)
    rows = [
        {"participant": f"p{person}", "item": f"i{item:02}", "group": f"i{item:02}", "system": name,
         "output": f"i{item:02}#{name}", "criterion": "quality", "value": rng.integers(1, 5)}
        for item in range(24) for name in "ABCDE" for person in range(5)
    ]  # fmt: skip
    ratings = pd.DataFrame(rows)
    labels = ratings.groupby(["item", "system", "criterion"], as_index=False)["value"].mean()
    labels["value"] += labels["system"] == favoured
    return write(folder, ratings, labels.assign(judge="judge-a"))


def test_a_clear_bias_is_said_wherever_its_pair_stands(tmp_path):
    document = show(favour_one(tmp_path, "E"), POINTS)
    assert document.codes.count("judge_favours") == 3
    assert {
        dict(figure.group)["system_2"]
        for figure in document.figures
        if figure.name == "judge_favours"
    } == {"E"}


@pytest.mark.parametrize(("better", "system"), [("higher", "E"), ("none", None)])
def test_the_judge_favours_who_it_rates_better_than_people_do(
    better: str, system: str | None, tmp_path: Path
) -> None:
    kept = report(favour_one(tmp_path, "E"), {**POINTS, "better": better})
    [judge] = list_judges(make_source(kept).criteria)
    favour = find_favour(judge, *judge.parts[0])
    assert (favour and favour[0]) == system


def test_where_lower_is_better_the_judge_favours_who_it_rates_lower(tmp_path):
    paths = favour_one(tmp_path, "E")
    labels = pd.read_csv(paths["judge_labels"])
    labels["value"] -= 2 * (labels["system"] == "E")
    labels.to_csv(paths["judge_labels"], index=False)
    [judge] = list_judges(make_source(report(paths, {**POINTS, "better": "lower"})).criteria)
    favour = find_favour(judge, *judge.parts[0])
    assert favour is not None
    assert favour[0] == "E"
    assert favour[1].value == pytest.approx(1)


# --- a judge that the plan names ----------------------------------------------------------------

BETTER = {"system": "B", "relation": "better", "other": "A"}
ALIKE = {"system": "C", "relation": "equivalent", "other": "B", "margin": 0.32}


def make_planned(folder: Path, *rows: dict[str, Any], judge: str = "judge-a") -> Source:
    """What a document is made from: three systems, and a plan by this judge."""
    paths, _expected = write_points(folder, "ppi_three")
    kept = report(paths, POINTS, plan=plan_judge(*rows, judge=judge))
    # the vector has no file of annotations
    kept["data"]["annotations"] = kept["data"]["ratings"]
    return make_source(kept)


def test_the_headline_is_the_corrected_result_only_if_the_plan_says_so(tmp_path):
    with_judge, alone = (
        find_headline(make_planned(tmp_path, BETTER, judge=name)) for name in ("judge-a", "")
    )
    assert with_judge[0] == "decision_yes"
    assert with_judge[1].endswith("with the labels of judge-a")
    assert alone[0] == "decision_open"
    assert "judge" not in alone[1]


@pytest.mark.parametrize("row", [BETTER, ALIKE])
def test_a_decision_gives_the_corrected_figures_then_those_of_people(tmp_path, row):
    source = make_planned(tmp_path, row)
    [decision] = list_decisions(source.criteria[0])
    _, expected, _ = read_vector("v3_crossed_ppi__ppi_three")
    pair = expected["pairs"][f"{row['system']}-{row['other']}"]

    sentence = write_decision(decision)
    assert sentence.code == "decision_yes"
    first, *_, last = sentence.figures
    assert first.value == pytest.approx(pair["estimate"], abs=0.004)
    assert last.value == pytest.approx(pair["people"]["difference"], abs=0.004)
    ahead, _, after = sentence.text.partition("The labels of judge-a")
    assert write_value(first) in ahead
    assert write_value(last) in after


def test_a_card_draws_the_corrected_difference_above_that_of_people(tmp_path):
    for row in (BETTER, ALIKE):
        [card] = list_cards(make_planned(tmp_path, row), bundle="study.zip")
        assert [figure.value for figure in card.chart.figures] == [
            figure.value for figure in card.answer.figures if figure.name != "margin"
        ]
        assert len(card.chart.labels) == 2
        assert card.judge.code == "judge_used"


def test_the_page_of_a_question_begins_with_the_planned_result(tmp_path):
    page = make_question_page(make_planned(tmp_path, BETTER), "quality")
    assert page.title.endswith("with the labels of judge-a")
    assert [block.code for block in page.blocks[:2]] == ["decision_yes", "finding_crossed"]
    # people's own result is next, and says whose it is
    assert page.blocks[1].text.startswith("People alone: ")

    page = make_question_page(make_planned(tmp_path, ALIKE), "quality")
    assert page.title.startswith("Quality: yes, C and B differ by less than 0.32")


def test_several_planned_questions_say_which_labels_count(tmp_path):
    rows = [BETTER, {**BETTER, "relation": "differs"}]
    code, text = find_headline(make_planned(tmp_path, *rows))
    assert (code, text[:8]) == ("decisions", "All 2 pl")
    assert text.endswith(", with the labels of judge-a")


def test_without_labels_of_the_planned_judge_people_come_first_and_it_is_said(tmp_path):
    source = make_planned(tmp_path, BETTER, judge="judge-z")
    assert "judge" not in find_headline(source)[1]
    page = make_question_page(source, "quality")
    assert "judge" not in page.title
    codes = [block.code for block in page.blocks if isinstance(block, Sentence)]
    assert codes[:2] == ["finding_crossed", "judge_not_used"]
    [card] = list_cards(source, bundle="study.zip")
    assert card.judge.code == "judge_not_used"
    assert len(card.chart.figures) == 1


def test_what_is_printed_of_a_planned_judge_is_the_same_everywhere(tmp_path):
    source = make_planned(tmp_path, ALIKE)
    document = make_document(source)
    [decision] = list_decisions(source.criteria[0])
    value = write_value(write_decision(decision).figures[0])
    for text in (render_html(document), render_latex(document), render_text(document)):
        assert value in text
        assert "People alone" in text
    assert "judge_planned" in document.codes
    assert "judge_samples" not in document.codes
    methods = [block for block in document.blocks if getattr(block, "code", "") == "judge_methods"]
    assert [block.cites for block in methods] == [("angelopoulos2023",)]


def test_hidden_results_keep_what_a_planned_judge_decides(tmp_path):
    kept = dict(make_planned(tmp_path, BETTER, ALIKE).kept)
    hidden = hide_systems({"kept": kept, "all": None})
    [criterion] = hidden["kept"]["criteria"]
    assert not criterion["hypotheses"]
    assert not criterion["margins"]
    assert not criterion["judges"]
