"""What a report says of a judge: beside people, corrected, worth; and what it never says."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalsite.results.document.blocks import Document
from evalsite.results.document.html import render_html
from evalsite.results.document.latex import render_latex
from evalsite.results.document.text import render_text
from evalsite.results.report.sections.judges import make_judges
from tests.support.judges import POINTS, PREFERENCE, report, write_points, write_preferences
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
