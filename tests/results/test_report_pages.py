"""Downloads of the results: who may read gets them, as files, without heavy libraries."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.exports.scripts import read_scripts
from evalsite.results.models import Report
from evalsite.results.report.views import report_views
from evalsite.studies.instruments import import_instrument
from evalsite.studies.models import Membership, Study
from tests.support.factories import make_study, make_user
from tests.support.instruments import make_built_study, read_gallery
from tests.support.reported import keep_report, make_reported_study

Settings = Any
TYPES = {
    "study-results-page": "text/html; charset=utf-8",
    "study-results-further": "text/html; charset=utf-8",
    "study-results-latex": "application/zip",
    "study-results-datasheet": "text/markdown; charset=utf-8",
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


@pytest.mark.one_case
@pytest.mark.parametrize("name", TYPES)
def test_a_viewer_gets_the_file_as_an_attachment(name: str, study: Study, report: Report) -> None:
    response = sign_in(Membership.Role.VIEWER, study).get(address(name, report))

    assert response.status_code == 200
    assert response["Content-Type"] == TYPES[name]
    assert response["Content-Disposition"].startswith('attachment; filename="restaurant-')
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.one_case
@pytest.mark.parametrize("name", TYPES)
def test_who_is_no_member_gets_nothing(name: str, study: Study, report: Report) -> None:
    assert sign_in(None, study).get(address(name, report)).status_code == 404


@pytest.mark.one_case
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


def test_files_offer_each_file_of_the_newest_report_and_how_many_answers_it_is_of(
    study: Study, report: Report
) -> None:
    viewer = sign_in(Membership.Role.VIEWER, study)
    address = reverse("admin:study-export", args=[study.pk])

    page = viewer.get(address).text

    for name in [*TYPES, "study-results-report"]:
        assert reverse(f"admin:{name}", args=[study.pk, report.pk]) in page
    answers = report.content["kept"]["data"]["annotations"]
    assert f"<p>from {answers} answers<br>computed " in page
    Report.objects.all().delete()
    assert "not computed yet" in viewer.get(address).text


def test_files_offer_the_scripts_as_they_are_in_bundles(study: Study) -> None:
    viewer = sign_in(Membership.Role.VIEWER, study)

    for name, text in read_scripts().items():
        address = reverse("admin:export-script", args=[study.pk, name.partition(".")[2]])
        assert address in viewer.get(reverse("admin:study-export", args=[study.pk])).text
        sent = viewer.get(address)
        assert sent.text == text
        assert sent["Content-Disposition"] == f'attachment; filename="{name}"'
    assert viewer.get(reverse("admin:export-script", args=[study.pk, "exe"])).status_code == 404
    # what a protocol asks is on every site
    assert viewer.get(reverse("admin:export-instrument", args=[study.pk])).status_code == 302


@pytest.mark.django_db
def test_files_offer_a_built_instrument_that_can_be_imported_elsewhere() -> None:
    content = next(one for one in read_gallery() if one["key"] == "adequacy_fluency")
    study = make_built_study(content)
    viewer = sign_in(Membership.Role.VIEWER, study)
    address = reverse("admin:export-instrument", args=[study.pk])

    assert address in viewer.get(reverse("admin:study-export", args=[study.pk])).text
    sent = json.loads(viewer.get(address).text)

    version, _ = import_instrument(data=sent, by=make_user())
    assert version.content == study.instrument.content
