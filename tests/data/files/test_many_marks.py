"""3,000 marks of one output in 100 categories: pages, report, files and bundle hold them all."""

import io

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.data.bundle.restore import restore_bundle
from evalsite.data.files.services import Choice, count_rows, write_file
from evalsite.results.report.computation import compute_report
from tests.support.bundles import close, examine, pack, read_files
from tests.support.factories import make_annotator, make_user
from tests.support.spans import answer_spans, make_content, make_spans_study

MARKS, CATEGORIES, MOST_QUERIES = 3_000, 100, 15


def make_study(**fields):
    categories = [{"key": f"c{number}", "label": f"Category {number}"}
                  for number in range(CATEGORIES)]  # fmt: skip
    content = make_content(categories=categories, weights=[])
    study = make_spans_study(items=2, systems="AB", content=content, **fields)
    study.items.get(key="i01/A").outputs.update(text="Der Bahnhof. " * MARKS)
    return study


def answer(study):
    marks = [
        {"start": 13 * number, "end": 13 * number + 3, "category": f"c{number % CATEGORIES}",
         "severity": ("minor", "major")[number % 2]}
        for number in range(MARKS)
    ]  # fmt: skip
    for person in (make_annotator(study), make_annotator(study)):
        for item in study.items.all():
            answer_spans(person, item, marks if item.key == "i01/A" else [])


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_many_marks_come_back_from_files_and_from_a_bundle():
    with transaction.atomic():
        study = make_study()
        answer(study)
        report = compute_report(study)
        assert count_rows(study)["highlights"] == 2 * MARKS
        target = io.BytesIO()
        assert write_file(study, Choice(file="mqm"), target).rows == 2 * MARKS + 6
        bundle = pack(close(study), has_free_text=True)
        verified = examine(bundle)
        transaction.set_rollback(True)

    (criterion,) = report.content["kept"]["criteria"]
    spans = criterion["spans"]
    assert sum(figure["value"] for figure in spans["categories"]) == 2 * MARKS
    assert len({figure["group"]["category"] for figure in spans["categories"]}) == CATEGORIES
    f1 = next(figure for figure in spans["agreement"] if figure["name"] == "character_f1")
    assert f1["value"] == 1
    mean = next(system for system in criterion["systems"] if system["system"] == "A")
    # half of 3,000 weigh 5, half 1; the other output of the system has no error
    assert mean["headline"]["value"] == (MARKS * 3) / 2
    assert verified.faults == []
    assert "Every figure of its report, computed again." in verified.checks
    restored = restore_bundle(file=io.BytesIO(bundle), owner=make_user("other"), by="a test").study
    here, kept = read_files(pack(restored, has_free_text=True)), read_files(bundle)
    tables = [name for name in kept if name.startswith(("data/", "records/", "design/"))]
    assert {name: here[name] for name in tables} == {name: kept[name] for name in tables}


@pytest.mark.django_db
def test_pages_of_many_marks_stay_within_their_queries(staff_client, researcher):
    study = make_study(by=researcher)
    answer(study)
    compute_report(study)
    item = study.items.get(key="i01/A")
    addresses = [
        reverse("admin:results-question", args=[study.pk, "errors"]),
        reverse("admin:results-item", args=[study.pk, item.pk]),
        *(reverse(f"admin:{name}", args=[study.pk])
          for name in ("study-results", "results-items", "results-raters", "files-all")),
    ]  # fmt: skip
    for address in addresses:
        staff_client.get(address)

        with CaptureQueriesContext(
            connection,
        ) as queries:
            response = staff_client.get(address)

        assert response.status_code == 200
        assert len(queries) <= MOST_QUERIES, address
