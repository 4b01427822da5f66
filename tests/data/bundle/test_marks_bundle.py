"""A bundle of marks of a question: verified, loaded into another site, and packed again."""

import csv
import io
import json

import pytest
from django.db import transaction

from evalsite.data.bundle.format import REPORT
from evalsite.data.bundle.restore import restore_bundle
from evalsite.results.report.computation import compute_report
from tests.support.bundles import close, examine, pack, read_files
from tests.support.factories import make_annotator, make_user
from tests.support.spans import answer_spans, answer_vector, make_spans_study
from tests.support.tabs import open_tab
from tests.support.turns import OUTPUT, make_turns_study, mark

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
NOTED = [{"start": 0, "end": 3, "category": "style", "severity": "major", "note": "call me Jo"}]


@pytest.mark.parametrize("has_free_text", [True, False])
def test_marks_come_back_from_a_bundle_as_they_were(has_free_text):
    with transaction.atomic():
        study = make_spans_study(items=16)
        answer_vector(study)
        answer_spans(make_annotator(study), study.items.get(key="i16/A"), NOTED)
        compute_report(study)
        bundle = pack(close(study), has_free_text=has_free_text)
        report = examine(bundle)
        transaction.set_rollback(True)

    assert report.faults == []
    assert "Every figure of its report, computed again." in report.checks
    restored = restore_bundle(file=io.BytesIO(bundle), owner=make_user("other"), by="a test").study

    here, kept = read_files(pack(restored, has_free_text=has_free_text)), read_files(bundle)
    tables = [name for name in kept if name.startswith(("data/", "records/", "design/"))]
    assert {name: here[name] for name in tables} == {name: kept[name] for name in tables}
    assert ("call me Jo" in str(kept)) is has_free_text
    names = {figure["name"] for figure in json.loads(kept[REPORT])["figures"]}
    assert {"character_f1", "errors", "without_errors"} <= names


def test_marks_of_turns_come_back_from_a_bundle_as_they_were():
    with transaction.atomic():
        study = make_turns_study(OUTPUT)
        tab = open_tab(study)
        marks = [mark(5, "Thursday", "grammar"), mark(2, "lift", "omission", **{"in": "source"})]
        fields = {"state": tab.fields["state"], "go": "next", "errors": json.dumps(marks)}
        assert tab.client.post(tab.address_of(1), fields).status_code == 302
        compute_report(study)
        bundle = pack(close(study))
        report = examine(bundle)
        transaction.set_rollback(True)

    assert report.faults == []
    restored = restore_bundle(file=io.BytesIO(bundle), owner=make_user("other"), by="a test").study

    here, kept = read_files(pack(restored)), read_files(bundle)
    tables = [name for name in kept if name.startswith(("data/", "records/", "design/"))]
    assert {name: here[name] for name in tables} == {name: kept[name] for name in tables}
    rows = list(csv.DictReader(io.StringIO(kept["data/highlights.csv"].decode())))
    assert [(row["turn"], row["quote"]) for row in rows] == [("5", "Thursday"), ("2", "lift")]
    assert "data/mqm.tsv" not in kept
