"""Downloads of the results: who may read gets them, as files, without heavy libraries."""

from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.results.models import Report
from evalsite.results.report.views import report_views
from evalsite.studies.models import Membership, Study
from tests.support.factories import make_study, make_user
from tests.support.reported import keep_report, make_reported_study

Settings = Any
TYPES = {
    "study-results-page": "text/html; charset=utf-8",
    "study-results-further": "text/html; charset=utf-8",
    "study-results-latex": "application/zip",
    "study-results-datasheet": "text/markdown; charset=utf-8",
    "study-results-datasheet-data": "application/json; charset=utf-8",
}


@pytest.fixture
def study(db: None, settings: Settings, tmp_path: Path) -> Study:
    settings.DATA_DIR = tmp_path
    return make_reported_study()


@pytest.fixture
def report(study: Study) -> Report:
    return keep_report(study)


def sign_in(role: Membership.Role | None, study: Study) -> Client:
    user = make_user("reader")
    if role is not None:
        Membership.objects.create(study=study, user=user, role=role)
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def address(name: str, report: Report) -> str:
    return reverse(f"admin:{name}", args=[report.study_id, report.pk])


def test_every_download_is_tested_here() -> None:
    assert {view.name for view in report_views} == set(TYPES)


@pytest.mark.parametrize("name", TYPES)
def test_a_viewer_gets_the_file_as_an_attachment(name: str, study: Study, report: Report) -> None:
    response = sign_in(Membership.Role.VIEWER, study).get(address(name, report))

    assert response.status_code == 200
    assert response["Content-Type"] == TYPES[name]
    assert response["Content-Disposition"].startswith('attachment; filename="restaurant-')
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("name", TYPES)
def test_who_is_no_member_gets_nothing(name: str, study: Study, report: Report) -> None:
    assert sign_in(None, study).get(address(name, report)).status_code == 404


@pytest.mark.parametrize("name", TYPES)
def test_a_report_of_another_study_is_not_found(name: str, study: Study, report: Report) -> None:
    other = make_study(title="Another")
    client = sign_in(Membership.Role.OWNER, other)

    assert client.get(reverse(f"admin:{name}", args=[other.pk, report.pk])).status_code == 404
    assert client.get(reverse(f"admin:{name}", args=[other.pk, uuid4()])).status_code == 404


def test_the_archive_holds_text_references_and_figures(study: Study, report: Report) -> None:
    response = sign_in(Membership.Role.VIEWER, study).get(address("study-results-latex", report))

    names = ZipFile(BytesIO(response.content)).namelist()
    assert {"report.tex", "references.bib", "figures/informativeness-systems.pdf"} <= set(names)


def test_the_results_page_offers_every_download(study: Study, report: Report) -> None:
    client = sign_in(Membership.Role.VIEWER, study)

    page = client.get(reverse("admin:study-results", args=[study.pk])).content.decode()

    for name in TYPES:
        assert f'href="{address(name, report)}"' in page
