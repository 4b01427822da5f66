"""Metrics in the results: computed anew when scores change, and shown on pages and in reports."""

import csv
import io
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from evalsite.results.report.html_document import write_page
from evalsite.results.report.latex_document import list_files

from evalsite.imports.core import Source
from evalsite.imports.metrics.importer import store_scores, undo_scores
from evalsite.imports.models import MetricFile
from evalsite.results.models import Report
from evalsite.results.report.computation import compute_report, newest_report, take_fingerprint
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
    return store_scores(checked=checked, source=source, by=None)


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
    undo_scores(file=file, by=None)

    assert between != before
    assert take_fingerprint(study) == before


@pytest.mark.torture
@pytest.mark.slow
def test_scores_taken_back_bring_the_report_from_before_to_the_front(study: Study) -> None:
    first = compute_report(study)
    file = store(study, BLEU=close)
    compute_report(study)
    undo_scores(file=file, by=None)

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
    address = reverse("admin:study-results", args=[study.pk])
    page = staff_client.get(f"{address}?part=informativeness").content.decode()

    assert "Informativeness: automatic metrics" in page
    assert page.index("BLEU") < page.index("chrF")
    assert "within inputs (mean over inputs)" in page
    assert "over outputs, inputs’ means removed" in page
    assert "Pairwise accuracy with ties" in page
    assert "Soft pairwise accuracy is over inputs, with raters fixed" in page
    assert "Informativeness: metrics compared" in page
    assert "what as many other people would reach" in page
    assert "Automatic metrics are shown beside the human score" in page
    assert {"informativeness-metrics.svg", "informativeness-metrics.pdf"} <= {
        path.name for path in report.folder.iterdir()
    }
    table = reverse(
        "admin:study-results-table",
        args=[study.pk, report.pk, "informativeness", "informativeness-correlations"],
    )
    sent = staff_client.get(table).content.decode()
    rows = list(csv.DictReader(io.StringIO(sent, newline="")))
    pearson = {
        row["over"]: row for row in rows if (row["metric"], row["figure"]) == ("BLEU", "pearson")
    }
    assert pearson["output"]["n_rows"] == "9"
    assert pearson["system"]["n_systems"] == "3"
    assert float(pearson["system"]["value"]) > 0.99
    # three inputs with an output of each of three systems
    assert pearson["within_inputs"]["n_inputs"] == "3"
    figures = {(row["over"], row["figure"]) for row in rows}
    assert {
        ("within_inputs", "tie_calibrated_accuracy"), ("system", "soft_pairwise_accuracy")
    } <= figures  # fmt: skip


@pytest.mark.slow
def test_reports_to_be_saved_hold_the_metrics(report: Report) -> None:
    study = report.study

    page = write_page(study, report, is_further=True)
    files = list_files(study, report)

    assert "Informativeness: automatic metrics" in page
    assert "metrics. The table has the same figures." in page
    latex = (files["report.tex"] + files["further.tex"]).decode()
    assert "Informativeness: automatic metrics" in latex
    assert "figures/informativeness-metrics.pdf" in latex
    assert "The scores of BLEU and chrF were correlated with the human scores" in latex
    assert "williams1959" in files["references.bib"].decode()
    assert "figures/informativeness-metrics.pdf" in files


@pytest.mark.slow
def test_without_scores_nothing_is_said_of_metrics(study: Study, staff_client: Client) -> None:
    compute_report(study)

    page = staff_client.get(reverse("admin:study-results", args=[study.pk])).content.decode()

    assert "automatic metrics</h3>" not in page
    assert reverse("admin:metrics-list", args=[study.pk]) in page


@pytest.mark.slow
def test_the_command_tells_metrics_too(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    store(study, BLEU=close)

    call_command("analyse", str(study.pk))

    out = capsys.readouterr().out
    assert "Informativeness: automatic metrics" in out
    assert "BLEU" in out
