"""Results of a kind of question that the site never heard of: a slider, analysed as points."""

from typing import Any

import pytest
from django.urls import reverse

from evalsite.analysis.report import Settings, make_reports
from evalsite.results.documents.datasheet import make_datasheet
from evalsite.results.models import Report
from evalsite.results.report.computation import take_fingerprint
from evalsite.results.report.files import (
    list_files,
    read_document,
    write_charts,
    write_page,
)
from evalsite.studies.models import Study
from tests.analysis.test_families import EFFORT, slide, write
from tests.support.factories import make_study

pytestmark = pytest.mark.django_db

KEY = "informativeness"


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> dict[str, Any]:
    path = write(tmp_path_factory.mktemp("slider"), slide(KEY))
    settings = Settings(instrument=[EFFORT | {"key": KEY}], seed=3)
    return make_reports({"ratings": path}, settings) | {"exclusions": []}


@pytest.fixture
def study(settings, tmp_path) -> Study:
    settings.DATA_DIR = tmp_path
    return make_study()


@pytest.fixture
def report(study, content) -> Report:
    report = Report.objects.create(
        study=study, fingerprint=take_fingerprint(study), sha256="5" * 64, content=content
    )
    write_charts(study, report)
    return report


@pytest.mark.slow
def test_its_page_answers(report, staff_client):
    key = report.content["kept"]["criteria"][0]["key"]

    answer = staff_client.get(reverse("admin:results-question", args=[report.study.pk, key]))

    assert answer.status_code == 200
    assert "points higher" in answer.text


@pytest.mark.slow
def test_it_is_written_as_a_page_as_latex_and_as_a_datasheet(report):
    document = read_document(report.study, report)

    assert document.find_table(f"{KEY}-pairs") is not None
    # without labels there are no points to count, but bins
    counts = document.find_table(f"{KEY}-counts")
    assert [column.label for column in counts.columns][-1] == "90 to 100"
    assert "Effort" in write_page(report.study, report)
    assert b"Effort" in list_files(report.study, report)["report.tex"]
    assert report.study.title in make_datasheet(report.study, report).title
