"""Backup and restore: the same site again."""

import json
import os
import sqlite3
import stat
import subprocess
from contextlib import closing
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection

from evalsite import operations
from evalsite.core.audit.models import AuditEntry
from evalsite.data.fsck import find_breaches
from evalsite.data.uploads import drop_upload
from evalsite.handout.models import Annotation
from evalsite.operations.archive import MANIFEST
from evalsite.operations.backup import make_backup
from evalsite.operations.restore import CheckedBackup, check_backup, restore_backup
from evalsite.operations.site_files import FOLDERS
from evalsite.results.models import Report
from evalsite.studies.models import Study
from tests.support import backups
from tests.support.backups import (
    ROOT,
    export_all,
    keep,
    new_site,
    only_sqlite,
    refused,
    run_fsck,
    unpack,
)
from tests.support.bundles import close, make_full_study
from tests.support.factories import answer_item, launch, make_annotator, make_study

data, path = backups.data, backups.path
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data"),
    pytest.mark.slow,
]


# --- the same site again ----------------------------------------------------------------


@pytest.mark.both_databases
def test_restored_site_has_equal_exports_and_an_equal_fsck(settings, tmp_path, path):
    study = close(make_full_study("magnitude"))
    upload = keep(make_study())
    report = Report.objects.create(study=study, fingerprint="f", sha256="s", content={})
    report.folder.mkdir(parents=True)
    report.outputs.write_bytes(b"item,mean\n1,2.5\n")
    before = export_all(), run_fsck(), User.objects.get(username="jane").pk

    make_backup(path)
    with new_site(settings, tmp_path / "new"):
        checked = restore_backup(path)

        assert (checked.faults, checked.remarks) == ([], [])
        assert (export_all(), run_fsck(), User.objects.get(username="jane").pk) == before
        assert upload.path.read_bytes() == b"a,b\n1,2\n"
        assert report.outputs.read_bytes() == b"item,mean\n1,2.5\n"
        assert {*settings.DATA_DIR.iterdir()} - {*settings.DATA_DIR.glob("evalsite.sqlite3*")} == {
            settings.DATA_DIR / "reports",
            settings.DATA_DIR / "uploads",
        }
        assert AuditEntry.objects.filter(action="backup restored").exists()


@pytest.mark.torture
def test_check_says_that_a_backup_can_be_restored_and_changes_nothing(data, path):
    make_full_study("fluency")
    keep(make_study())
    before, files = export_all(), sorted(data.rglob("*"))
    call_command("backup", path, stdout=StringIO())
    told = StringIO()

    call_command("restore", path, check=True, stdout=told)

    assert told.getvalue().startswith("This backup can be restored: ")
    assert export_all() == before
    assert sorted(data.rglob("*")) == files


def test_newest_backup_of_the_folder_is_checked(data, settings, tmp_path):
    folder = tmp_path / "backups"
    folder.mkdir()
    settings.BACKUP_FOLDER = str(folder)
    # neither an older one nor what isn't a backup
    for name in ("evalsite-20200101-000000.tar.gz", "evalsite-29990101-000000.tar", "zzz.tar.gz"):
        (folder / name).write_bytes(b"none")
    call_command("backup", folder, stdout=StringIO())
    output = StringIO()

    call_command("restore", "--check", "--newest", stdout=output)

    assert output.getvalue().startswith("This backup can be restored: ")


def test_backup_holds_every_folder_of_files_that_the_site_keeps():
    found = subprocess.run(
        ["git", "grep", "-hoE", r'settings\.DATA_DIR / "[a-z]+"', "evalsite"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    assert {line.split('"')[1] for line in found.splitlines()} == {*FOLDERS}


def test_backup_is_for_its_owner_alone_and_is_never_overwritten(path):
    make_backup(path)
    before = path.read_bytes()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert refused(make_backup, path) == "exists"
    assert path.read_bytes() == before


def test_backup_into_a_folder_gets_a_name_of_its_own(tmp_path):
    backup = make_backup(tmp_path)

    assert backup.path.parent == tmp_path
    assert backup.path.name.startswith("evalsite-")


@pytest.mark.both_databases
def test_backup_says_what_is_in_it(path, tmp_path):
    study = make_study(items=3)

    make_backup(path)

    about = json.loads((unpack(path, tmp_path / "unpacked") / MANIFEST).read_text())
    assert about["rows"]["studies_study"] == 1
    assert about["rows"]["studies_item"] == study.items.count()
    assert "studies" in {label for label, _ in about["migrations"]}
    assert about["database"] == connection.vendor
    assert settings_secret() not in json.dumps(about)


def settings_secret() -> str:
    return os.environ["EVALSITE_SECRET_KEY"]


@pytest.mark.both_databases
def test_file_that_goes_while_the_backup_is_made_is_kept_in_it(path, monkeypatch):
    """Here it goes right after the moment at which the database was copied."""
    upload = keep(make_study())
    dump = operations.backup.dump_database

    def dump_and_drop(folder: Path) -> Any:
        done = dump(folder)
        drop_upload(upload)
        return done

    monkeypatch.setattr(operations.backup, "dump_database", dump_and_drop)
    make_backup(path)

    assert check_backup(path).remarks == []


def test_answers_saved_before_the_backup_began_are_in_it_though_saving_goes_on(
    settings, tmp_path, path
):
    study = launch(make_study(items=40, k=1))
    me = make_annotator(study)
    items = list(study.items.main())
    for item in items[:10]:
        answer_item(me, item)
    before = {*Annotation.objects.filter(study=study).values_list("key", flat=True)}
    failed: list[BaseException] = []

    def save() -> None:
        try:
            for item in items[10:]:
                answer_item(me, item)
        except BaseException as error:  # told below, in the test's own thread
            failed.append(error)
        finally:
            connection.close()

    saving = Thread(target=save)
    saving.start()
    make_backup(path)
    saving.join()

    assert failed == []
    assert Annotation.objects.filter(study=study).count() == 40
    with new_site(settings, tmp_path / "new"):
        checked = restore_backup(path)
        restored = {*Annotation.objects.filter(study=study).values_list("key", flat=True)}
        assert before <= restored
        assert (checked.faults, checked.remarks) == ([], [])
        assert find_breaches(Study.objects.get()) == []


@pytest.mark.both_databases
def test_other_secret_key_is_said_after_restoring(settings, tmp_path, path):
    make_study()
    make_backup(path)

    same = check_backup(path)
    assert not same.has_other_secret_key
    settings.SECRET_KEY = "another-" + "k" * 50

    assert CheckedBackup(manifest=same.manifest).has_other_secret_key


@pytest.mark.both_databases
@only_sqlite
def test_server_that_was_left_running_sees_what_was_restored(settings, tmp_path, path):
    make_study()
    make_backup(path)

    with (
        new_site(settings, tmp_path / "new"),
        closing(sqlite3.connect(tmp_path / "new" / "evalsite.sqlite3")) as server,
    ):
        before = server.execute("SELECT COUNT(*) FROM studies_study").fetchone()
        restore_backup(path)
        after = server.execute("SELECT COUNT(*) FROM studies_study").fetchone()

    assert (before, after) == ((0,), (1,))
