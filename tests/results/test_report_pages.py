"""Downloads of the results: who may read gets them, as files, without heavy libraries."""

import json
from copy import deepcopy
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.data.files.scripts import read_scripts
from evalsite.results.document.blocks import Chart, Table
from evalsite.results.models import Report
from evalsite.results.report.downloads import FILES
from evalsite.results.report.files import read_document
from evalsite.studies.instruments import import_instrument
from evalsite.studies.models import Membership, Study
from tests.support.factories import make_user
from tests.support.instruments import make_built_study, read_gallery
from tests.support.reported import keep_report, make_reported_study

Settings = Any
HTML = "text/html; charset=utf-8"
TYPES = {
    "report.html": HTML,
    "report.md": "text/markdown; charset=utf-8",
    "report_latex.zip": "application/zip",
    "further.html": HTML,
    "figures.zip": "application/zip",
    "tables.zip": "application/zip",
    "datasheet.md": "text/markdown; charset=utf-8",
    "outputs.csv": "text/csv; charset=utf-8",
}


@pytest.fixture
def study(db: None, settings: Settings, tmp_path: Path) -> Study:
    settings.DATA_DIR = tmp_path
    return make_reported_study()


@pytest.fixture
def report(study: Study) -> Report:
    report = keep_report(study)
    report.outputs.write_text("item,mean\r\nitem-1,50\r\n")
    return report


def sign_in(role: Membership.Role | None, study: Study) -> Client:
    user = make_user("reader")
    if role is not None:
        Membership.objects.create(study=study, user=user, role=role)
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def address(name: str, study: Study) -> str:
    return reverse("admin:report-file", args=[study.pk, name])


def test_every_download_is_tested_here() -> None:
    assert set(FILES) == set(TYPES)


@pytest.mark.one_case
@pytest.mark.parametrize("name", TYPES)
def test_a_viewer_gets_the_file_under_its_name(name: str, study: Study, report: Report) -> None:
    response = sign_in(Membership.Role.VIEWER, study).get(address(name, study))

    assert response.status_code == 200
    assert response["Content-Type"] == TYPES[name]
    place = "inline" if TYPES[name] == HTML else "attachment"
    named = f'{place}; filename="restaurant-descriptions_simulated_{name}"'
    assert response["Content-Disposition"] == named
    assert response["X-Content-Type-Options"] == "nosniff"


def test_a_page_that_the_browser_shows_runs_nothing_and_loads_nothing(
    study: Study, report: Report
) -> None:
    response = sign_in(Membership.Role.VIEWER, study).get(address("report.html", study))

    policy = response["Content-Security-Policy"].split("; ")
    assert {"default-src 'none'", "sandbox"} <= set(policy)
    assert not [part for part in policy if "script" in part or "self" in part]


def test_simulated_is_in_the_name_only_if_a_rating_of_the_report_is(
    study: Study, report: Report
) -> None:
    viewer = sign_in(Membership.Role.VIEWER, study)
    content = deepcopy(report.content)
    content["kept"]["data"]["origins"] = {"own": 3, "simulated": 0}
    Report.objects.update(content=content)

    sent = viewer.get(address("report.html", study))

    assert 'filename="restaurant-descriptions_report.html"' in sent["Content-Disposition"]


@pytest.mark.one_case
@pytest.mark.parametrize("name", TYPES)
def test_who_is_no_member_gets_nothing(name: str, study: Study, report: Report) -> None:
    assert sign_in(None, study).get(address(name, study)).status_code == 404


def test_what_is_not_there_is_not_found(study: Study) -> None:
    viewer = sign_in(Membership.Role.VIEWER, study)
    assert viewer.get(address("report.html", study)).status_code == 404
    keep_report(study)

    # where outputs are only compared there is no table of them
    for name in ("outputs.csv", "report.exe"):
        assert viewer.get(address(name, study)).status_code == 404


def test_the_archive_holds_text_references_and_figures(study: Study, report: Report) -> None:
    viewer = sign_in(Membership.Role.VIEWER, study)
    response = viewer.get(address("report_latex.zip", study))

    names = ZipFile(BytesIO(response.content)).namelist()
    assert {"report.tex", "references.bib", "figures/informativeness-systems.pdf"} <= set(names)


def test_tables_and_figures_come_alone_too(study: Study, report: Report) -> None:
    viewer = sign_in(Membership.Role.VIEWER, study)
    names = {
        name: ZipFile(BytesIO(viewer.get(address(name, study)).content)).namelist()
        for name in ("tables.zip", "figures.zip")
    }

    document = read_document(study, report)
    tables = [block for block in document.blocks if isinstance(block, Table)]
    charts = [block for block in document.blocks if isinstance(block, Chart)]
    assert names["tables.zip"] == [f"{table.name}.csv" for table in tables] != []
    assert len(names["figures.zip"]) == len(charts) > 0
    assert all(name.endswith(".pdf") for name in names["figures.zip"])


def test_all_files_offer_each_file_of_the_newest_report(study: Study, report: Report) -> None:
    viewer = sign_in(Membership.Role.VIEWER, study)
    page = reverse("admin:files-all", args=[study.pk])

    shown = viewer.get(page).text

    for name in TYPES:
        assert f'href="{address(name, study)}"' in shown
    assert shown.count("of the same report") == 5
    Report.objects.all().delete()
    assert "not computed yet" in viewer.get(page).text


def test_files_offer_the_scripts_as_they_are_in_bundles(study: Study) -> None:
    viewer = sign_in(Membership.Role.VIEWER, study)

    for name, text in read_scripts().items():
        address = reverse("admin:export-script", args=[study.pk, name.partition(".")[2]])
        assert address in viewer.get(reverse("admin:files-all", args=[study.pk])).text
        sent = viewer.get(address)
        assert sent.text == text
        named = f'attachment; filename="restaurant-descriptions_{name}"'
        assert sent["Content-Disposition"] == named
    assert viewer.get(reverse("admin:export-script", args=[study.pk, "exe"])).status_code == 404
    # what a protocol asks is on every site
    assert viewer.get(reverse("admin:export-instrument", args=[study.pk])).status_code == 302


@pytest.mark.django_db
def test_files_offer_a_built_instrument_that_can_be_imported_elsewhere() -> None:
    content = next(one for one in read_gallery() if one["key"] == "adequacy_fluency")
    study = make_built_study(content)
    viewer = sign_in(Membership.Role.VIEWER, study)
    address = reverse("admin:export-instrument", args=[study.pk])

    assert address in viewer.get(reverse("admin:files-all", args=[study.pk])).text
    sent = json.loads(viewer.get(address).text)

    version, _ = import_instrument(data=sent, by=make_user())
    assert version.content == study.instrument.content
