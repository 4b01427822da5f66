"""Metrics in the results: computed again when scores change, and shown on pages and in reports."""

import io
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evalsite.data.importing import Source
from evalsite.data.metrics.importer import METRICS
from evalsite.data.models import MetricFile
from evalsite.results.document.blocks import Document
from evalsite.results.models import Report
from evalsite.results.report.computation import compute_report, newest_report, take_fingerprint
from evalsite.results.report.files import list_files, read_document, write_page
from evalsite.studies.models import Study
from tests.support.checking import check_scores
from tests.support.factories import make_study
from tests.support.imported import load, rows_for
from tests.support.lasting import lasting_rows

pytestmark = pytest.mark.django_db

ITEMS = ("item-001", "item-002", "item-003")
SYSTEMS = ("baseline", "neural", "template")


def store(study: Study, **metrics: Any) -> MetricFile:
    """Each metric gives every output the value of its function of item and system."""
    lines = [
        f"{item},{system},{','.join(str(score(i, s)) for score in metrics.values())}"
        for i, item in enumerate(ITEMS)
        for s, system in enumerate(SYSTEMS)
    ]
    text = "\n".join([f"item,system,{','.join(metrics)}", *lines])
    checked = check_scores(io.BytesIO(text.encode()), study=study)
    assert checked.faults == []
    digest = sha256(text.encode()).hexdigest()
    source = Source(study=study, file_name="m.csv", sha256=digest)
    return METRICS.store(checked=checked, source=source, by=None)


@pytest.fixture
def study(db: None) -> Study:
    return make_rated()


def make_rated() -> Study:
    """Magnitudes of 60 + 10 for each step of item and place; both people give the same."""
    study = make_study(items=3, k=2)
    load(study, rows_for(study, ["w1", "w2"]))
    return study


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest) -> Iterator[Report]:
    """The report of the study with the scores of two metrics: computed once, and only read."""
    with lasting_rows(request):
        study = make_rated()
        store(study, BLEU=close, chrF=far)
        yield compute_report(study)


@pytest.fixture
def report(made: Report, db: None) -> Report:
    return Report.objects.get(pk=made.pk)


def close(item: int, system: int) -> float:
    return item + system


def far(item: int, system: int) -> float:
    return (item * 2 + system * 5) % 3


def test_a_report_is_out_of_date_once_scores_come_or_go(study: Study) -> None:
    before = take_fingerprint(study)

    file = store(study, BLEU=close)
    between = take_fingerprint(study)
    METRICS.undo(file, by=None)

    assert between != before
    assert take_fingerprint(study) == before


@pytest.mark.torture
@pytest.mark.slow
def test_scores_taken_back_bring_the_report_from_before_to_the_front(study: Study) -> None:
    first = compute_report(study)
    file = store(study, BLEU=close)
    compute_report(study)
    METRICS.undo(file, by=None)

    again = compute_report(study)

    assert again == first
    newest = newest_report(study)
    assert newest == first
    assert newest.fingerprint == take_fingerprint(study)


@pytest.mark.slow
def test_results_show_each_metric_beside_what_people_said(
    report: Report, staff_client: Client
) -> None:
    study = report.study
    document = read_document(study, report)
    table = document.find_table("informativeness-metrics")
    assert table is not None
    figures = {(dict(one.group)["metric"], dict(one.group)["over"], one.name): one
               for one in Document("", [table]).figures}  # fmt: skip

    assert figures["BLEU", "output", "pearson"].n["rows"] == 9
    assert (figures["BLEU", "system", "pearson"].value or 0) > 0.99
    # three inputs with an output of each of three systems
    assert figures["BLEU", "within_inputs", "kendall"].n["inputs"] == 3
    assert {name for _, level, name in figures if level == "within_inputs"} >= {
        "tie_calibrated_accuracy",
    }  # fmt: skip
    assert "ceiling_of_metrics" in document.codes
    address = reverse("admin:results-question", args=[study.pk, "informativeness"])
    page = staff_client.get(address).text
    assert "metrics compared" in page
    assert "chrF" in page


@pytest.mark.slow
def test_reports_to_be_saved_hold_the_metrics(report: Report) -> None:
    files = list_files(report.study, report)

    assert "tables/informativeness-metrics.tex" in files
    assert "figures/informativeness-metric-1.pdf" in files
    assert "BLEU" in write_page(report.study, report)


@pytest.mark.slow
def test_without_scores_nothing_is_said_of_metrics(study: Study, staff_client: Client) -> None:
    document = read_document(study, compute_report(study))

    assert document.find_table("informativeness-metrics") is None
    page = staff_client.get(reverse("admin:study-results", args=[study.pk])).text
    assert reverse("admin:results-judges", args=[study.pk]) in page


@pytest.mark.slow
def test_the_command_tells_metrics_too(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    store(study, BLEU=close)

    call_command("analyse", str(study.pk))

    assert "BLEU" in capsys.readouterr().out
