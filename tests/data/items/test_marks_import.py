"""Errors that were marked elsewhere, in the TSV of WMT: imported as answers of a study."""

import io

import pytest

from evalsite.data.files.services import Choice, write_file
from evalsite.data.tables.mqm import COLUMNS, mark_passage, write_line
from evalsite.handout.models import Rating
from evalsite.results.report.computation import analyse_study
from tests.analysis.vectors import compare, read_vector
from tests.support.imported import check, load
from tests.support.spans import (
    SOURCE,
    answer_vector,
    make_content,
    make_spans_study,
    make_text,
)

pytestmark = pytest.mark.django_db
TEXT = make_text(80)


def write(*changes):
    row = {"system": "D", "doc": "d", "docSegId": "1", "globalSegId": "1", "rater": "w1",
           "source": SOURCE, "target": mark_passage(TEXT, 3, 10), "category": "Errors/Style",
           "severity": "Major", "metadata": "{}"}  # fmt: skip
    rows = [[(row | change)[name] for name in COLUMNS] for change in changes]
    return "".join(map(write_line, [COLUMNS, *rows]))


def list_marks(study):
    rows = Rating.objects.filter(study=study).order_by("annotation", "start", "part")
    return [
        (row.part, row.start, row.end, row.text, row.detail, row.value)
        for row in rows
    ]  # fmt: skip


def export(study):
    target = io.BytesIO()
    write_file(study, Choice(file="mqm"), target)
    return target.getvalue().decode()


CLEAN = {"target": TEXT, "category": "No-error", "severity": "No-error"}


def test_errors_become_marks_with_their_score():
    study = make_spans_study(items=1, systems="DE")
    omitted = {
        "target": TEXT, "source": mark_passage(SOURCE, 4, 11), "category": "accuracy",
        "severity": "minor", "metadata": '{"note": "left out"}',
    }  # fmt: skip

    load(study, write({}, omitted, CLEAN | {"system": "E"}))

    detail = {"severity": "minor", "note": "left out"}
    assert set(map(str, list_marks(study))) == set(map(str, [
        ("style", 3, 10, TEXT[3:10], {"severity": "major"}, None),
        ("accuracy@source", 4, 11, "station", detail, None),
        ("", None, None, "", None, 6),
        ("none", None, None, "", None, 1),
        ("", None, None, "", None, 0),
    ]))  # fmt: skip


def test_what_was_exported_comes_back_as_it_was():
    _, expected, tolerance = read_vector("spans__spans_errors")
    first = make_spans_study()
    answer_vector(first)
    second = make_spans_study(by=first.memberships.first().user)

    load(second, export(first))

    report, _ = analyse_study(second)
    (criterion,) = report["kept"]["criteria"]
    means = {system["system"]: system["headline"]["value"] for system in criterion["systems"]}
    compare(means, expected["mqm"], tolerance)

    def keep(text):
        # who rated is called otherwise, and imported answers have no time
        return sorted(line.split("\t")[:4] + line.split("\t")[5:9] for line in text.splitlines())

    assert keep(export(second)) == keep(export(first))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ([{"category": "Errors/Invented"}], "value_invalid"),
        ([{"severity": "critical"}], "severity_unknown"),
        ([{"target": TEXT}], "value_invalid"),
        ([{"target": "Another text."}], "item_unknown"),
        ([{"system": "F"}], "item_unknown"),
        ([{}, {"target": f"{TEXT}!"}], "texts_differ"),
        ([{}, {}], "value_invalid"),
        ([{}, CLEAN], "no_error_beside"),
        ([{"target": f"<v>{TEXT}"}], "passage_unbalanced"),
    ],
)
def test_rows_that_dont_fit_are_named(changes, code):
    study = make_spans_study(items=1, systems="D")

    checked = check(study, write(*changes))

    assert {fault.code for fault in checked.faults} == {code}
    assert all(fault.record for fault in checked.faults)
    assert not Rating.objects.filter(study=study).exists()


def test_fault_of_a_severity_lists_those_of_the_study_as_people_see_them():
    study = make_spans_study(items=1, systems="D")
    severities = study.config.marking[0].scale.describe_marks()["severities"]

    (fault,) = check(study, write({"severity": "critical"})).faults

    assert ", ".join([*(severity["label"] for severity in severities), "No-error"]) in str(fault)


def test_texts_may_have_other_breaks_than_the_file():
    study = make_spans_study(items=1, systems="D")
    stored = "Der  Zug\r\nfährt. Der Zug steht."
    study.items.get().outputs.update(text=stored)
    target = "Der Zug fährt. Der <v>Zug</v> steht."

    load(study, write({"target": target}))

    (mark,) = Rating.objects.filter(study=study, start__isnull=False)
    assert (mark.start, mark.text) == (stored.rindex("Zug"), "Zug")


def test_a_file_of_scores_is_refused_since_the_score_follows_from_the_marks():
    study = make_spans_study(items=1, systems="D")

    checked = check(study, "participant,item,system,value\nw1,i01/D,D,6.1\n")

    assert [fault.code for fault in checked.faults] == ["value_invalid"]


def test_a_study_with_two_questions_on_passages_takes_no_such_file():
    content = make_content()
    content["criteria"].append(content["criteria"][0] | {"key": "more_errors"})
    study = make_spans_study(items=1, systems="D", content=content)

    checked = check(study, write({}))

    assert [fault.code for fault in checked.faults] == ["questions_several"]
    assert not Rating.objects.filter(study=study).exists()
