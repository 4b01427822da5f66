"""A database and a bundle of version 0.1, kept in fixtures/: this version goes on with them."""

import csv
import gzip
import io
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings
from django.urls import reverse

from evalsite.annotation.fsck import find_breaches
from evalsite.annotation.models import Annotation
from evalsite.exports.bundle.restore import restore_bundle
from evalsite.exports.bundle.verify import verify_bundle
from evalsite.operations.backup import make_backup
from evalsite.operations.database_dump import using_database
from evalsite.operations.restore import Examination, check_backup, restore_backup
from evalsite.protocol import find_folder
from evalsite.quality.models import Exclusion
from evalsite.results.models import Report
from evalsite.studies.models import Membership, Study
from tests.support.emptying import locked
from tests.support.exports import export
from tests.support.factories import make_user

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
KEPT = FIXTURES / "version_0_1"
BUNDLES = [FIXTURES / "bundle" / f"format-{number}.zip" for number in (1, 2)]
ABOUT = json.loads((KEPT / "about.json").read_text(encoding="utf-8"))
STUDIES = sorted(ABOUT["studies"])
EXPORTS = sorted(path.name for path in KEPT.glob("*.csv"))

only_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="is about SQLite's file")


@pytest.fixture(scope="module")
def restored(django_db_setup: None, django_db_blocker: Any) -> tuple[Path, Examination]:
    """The kept database, backed up as it is and brought to this version's tables by a restore.

    The first process of the run that asks for it does so: it takes all migrations since.
    """
    folder = Path(os.environ["EVALSITE_TEST_TEMPLATE"]).with_name("upgraded")
    told, path = folder / "told.json", folder / "new" / "evalsite.sqlite3"
    with locked(folder.with_suffix(".lock")):
        if not told.exists():
            shutil.rmtree(folder, ignore_errors=True)
            with django_db_blocker.unblock():
                examination = upgrade(folder / "old", path)
            told.write_text(json.dumps(asdict(examination)), encoding="utf-8")
        return path, Examination(**json.loads(told.read_text(encoding="utf-8")))


def upgrade(old: Path, path: Path) -> Examination:
    """Restore the kept database as a new site's database at `path`."""
    for folder in (old, path.parent):
        folder.mkdir(parents=True)
    kept = old / "evalsite.sqlite3"
    kept.write_bytes(gzip.decompress((KEPT / "evalsite.sqlite3.gz").read_bytes()))
    with override_settings(DATA_DIR=old), using_database(str(kept)):
        make_backup(old / "backup.tar.gz")
    with override_settings(DATA_DIR=path.parent), using_database(str(path)):
        return restore_backup(old / "backup.tar.gz")


@pytest.fixture
def site(
    transactional_db: None, restored: tuple[Path, Examination], tmp_path: Path, settings: Any
) -> Iterator[Path]:
    """A site on a copy of it."""
    path = tmp_path / "evalsite.sqlite3"
    shutil.copy(restored[0], path)
    settings.DATA_DIR = tmp_path
    with using_database(str(path)):
        yield tmp_path


@only_sqlite
def test_kept_database_has_all_that_it_is_kept_for(site):
    states = dict(Study.objects.values_list("title", "state"))

    assert sorted(states.values()) == ["closed", "draft", "live"]
    given = {*Annotation.objects.values_list("status", flat=True)}
    assert {"counted", "pilot", "withdrawn"} <= given
    assert Exclusion.objects.count() == 2
    assert Report.objects.count() == 1


@only_sqlite
def test_nothing_is_broken_after_the_upgrade(site):
    told = StringIO()

    call_command("fsck", stdout=told)

    assert "no breach" in told.getvalue()


@only_sqlite
@pytest.mark.parametrize("name", STUDIES)
def test_every_page_of_its_owner_answers(site, name):
    study = ABOUT["studies"][name]
    client = Client()
    client.force_login(
        User.objects.get(username="jane"), backend="django.contrib.auth.backends.ModelBackend"
    )
    overview = reverse("admin:study-overview", args=[study])
    page = client.get(overview).content.decode()
    linked = {overview, *re.findall(rf'href="([^"?#]*{study}[^"?#]*)"', page)}

    answers = {address: client.get(address).status_code for address in sorted(linked)}

    assert len(answers) > 5
    assert {address: code for address, code in answers.items() if code != 200} == {}


@only_sqlite
@pytest.mark.parametrize("name", ["closed", "live"])
def test_launched_study_asks_what_version_0_1_froze(site, name, monkeypatch):
    study = Study.objects.get(pk=ABOUT["studies"][name])
    kept = study.version.content["instrument"]
    folder = find_folder(study.protocol)
    first, *others = folder.instrument.criteria
    edited = replace(folder.instrument, criteria=(replace(first, label="Edited"), *others))
    monkeypatch.setitem(folder.__dict__, "instrument", edited)

    asked = study.config

    for criterion, stored in zip(asked.criteria, kept["criteria"], strict=True):
        for text in ("key", "label", "definition", "summary", "question", "range_note"):
            assert getattr(criterion, text) == stored[text]
        fields = {"kind": criterion.scale.kind} | json.loads(json.dumps(asdict(criterion.scale)))
        assert fields.items() >= stored["scale"].items()
    assert [column.name for column in asked.inputs] == [one["name"] for one in kept["inputs"]]
    assert [example.why for example in asked.examples] == [one["why"] for one in kept["examples"]]


@only_sqlite
def test_link_of_a_participant_goes_on_working(site):
    assert Client().get(f"/p/{ABOUT['token']}/", follow=True).status_code == 200


@only_sqlite
@pytest.mark.parametrize("name", EXPORTS)
def test_export_has_the_bytes_that_version_0_1_wrote(site, name):
    which, file = Path(name).stem.split("-")
    kept = (KEPT / name).read_bytes()

    data = export(Study.objects.get(pk=ABOUT["studies"][which]), file)

    rows, known = read_rows(data), read_rows(kept)
    width = len(known[0])
    assert [row[:width] for row in rows] == known
    # new columns come last
    assert data == kept or len(rows[0]) > width


def read_rows(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))


@only_sqlite
def test_backup_of_the_upgraded_site_is_one_that_can_be_restored(site):
    for report in Report.objects.all():
        report.folder.mkdir(parents=True)

    make_backup(site / "backup.tar.gz")

    examination = check_backup(site / "backup.tar.gz")
    assert (examination.faults, examination.remarks) == ([], [])


@only_sqlite
def test_backup_of_version_0_1_is_restored_and_brought_to_this_version(restored, site):
    _, examination = restored

    assert examination.faults == []
    # only the folder of the report, whose drawings aren't kept
    assert len(examination.remarks) == 1
    assert Membership.objects.filter(has_identities=False).count() == 3
    for name, study in ABOUT["studies"].items():
        assert find_breaches(Study.objects.get(pk=study)) == [], name


# --- the bundle -------------------------------------------------------------------------


@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.stem)
def test_kept_bundle_is_verified(path, django_db_setup):
    with path.open("rb") as file:
        report = verify_bundle(file)

    assert report.faults == []
    assert f"format-{report.about['format_version']}" == path.stem


@pytest.mark.both_databases
@pytest.mark.django_db
@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.stem)
def test_kept_bundle_makes_its_study_again(path):
    with path.open("rb") as file:
        restored = restore_bundle(file=file, owner=make_user(), by="a test")

    assert str(restored.study.pk) == ABOUT["studies"]["closed"]
    assert find_breaches(restored.study) == []
    kept = read_rows((KEPT / "closed-ratings.csv").read_bytes())
    rows = read_rows(export(restored.study, "ratings"))
    assert [row[: len(kept[0])] for row in rows] == kept
