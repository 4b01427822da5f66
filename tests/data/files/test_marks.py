"""Marks of a question in the files of a study, in its report and in bundles."""

import csv
import io

import pytest

from evalsite.data.files.services import Choice, count_rows, write_file
from evalsite.results.report.computation import analyse_study
from tests.analysis.vectors import compare, read_vector
from tests.support.factories import make_annotator
from tests.support.spans import answer_spans, answer_vector, make_spans_study

pytestmark = pytest.mark.django_db


def read(study, name, **chosen):
    target = io.BytesIO()
    write_file(study, Choice(file=name, **chosen), target)
    return list(csv.DictReader(io.StringIO(target.getvalue().decode(), newline="")))


MARKS = [
    {"start": 3, "end": 10, "category": "style", "severity": "major", "note": "mail jo@x.org"},
    {"start": 0, "end": 3, "category": "punctuation", "severity": "minor"},
    {"start": 4, "end": 11, "category": "accuracy", "severity": "neutral", "column": "source"},
    {"start": 80, "end": 80, "category": "accuracy", "severity": "minor"},
]


def test_each_mark_is_a_row_of_highlights_with_its_weight():
    study = make_spans_study(items=1, systems="D")
    answer_spans(make_annotator(study), study.items.get(), MARKS)

    rows = read(study, "highlights")

    names = ("criterion", "input", "start", "end", "category", "severity", "weight", "quote")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("errors", "", "0", "3", "punctuation", "minor", "0.1", "Der"),
        ("errors", "", "3", "10", "style", "major", "5", "Bahnhof"),
        ("errors", "", "80", "80", "accuracy", "minor", "1", ""),
        ("errors", "source", "4", "11", "accuracy", "neutral", "0", "station"),
    ]
    assert [row["note"] for row in rows][1] == "mail jo@x.org"
    assert "jo@x.org" not in str(read(study, "highlights", is_masked=True))
    assert count_rows(study)["highlights"] == 4


def test_ratings_have_the_score_and_whether_there_is_no_error():
    study = make_spans_study(items=1, systems="DE")
    me = make_annotator(study)
    first, second = study.items.order_by("key")
    answer_spans(me, first, MARKS)
    answer_spans(me, second, [])

    rows = read(study, "ratings")

    names = ("item", "part", "value", "scale", "scale_min", "scale_max", "better")
    assert sorted(tuple(row[name] for name in names) for row in rows) == [
        ("i01/D", "", "6.1", "spans", "0", "", "lower"),
        ("i01/E", "", "0", "spans", "0", "", "lower"),
        ("i01/E", "none", "1", "spans", "0", "", "lower"),
    ]
    simple = read(study, "ratings_simple")
    assert {row["item"]: row["errors"] for row in simple} == {"i01/D": "6.1", "i01/E": "0"}


def test_the_report_of_a_study_has_the_figures_of_the_vector():
    _, expected, tolerance = read_vector("spans__spans_errors")
    study = make_spans_study()
    answer_vector(study)

    report, _ = analyse_study(study)

    (criterion,) = report["kept"]["criteria"]
    means = {system["system"]: system["headline"]["value"] for system in criterion["systems"]}
    compare(means, expected["mqm"], tolerance)
    figures = {figure["name"]: figure for figure in criterion["spans"]["agreement"]
               if not figure.get("group")}  # fmt: skip
    assert figures["character_f1"]["value"] == pytest.approx(expected["span_f1"]["f1"], abs=1e-9)
    assert criterion["better"] == "lower"
    assert [system["system"] for system in criterion["systems"]] == ["C", "B", "A"]
