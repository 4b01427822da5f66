"""Backup and restore: the same site again, or a sentence that says why not."""

import gzip
import json
import os
import resource
import sqlite3
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import connection

from evalsite import operations
from evalsite.annotation.fsck import find_breaches
from evalsite.annotation.models import Annotation
from evalsite.audit.models import AuditEntry
from evalsite.exchange.models import Upload
from evalsite.exchange.uploads import drop_upload, keep_upload
from evalsite.operations.archive import MANIFEST
from evalsite.operations.backup import make_backup
from evalsite.operations.database_dump import find_program, using_database
from evalsite.operations.restore import Examination, check_backup, restore_backup
from evalsite.operations.site_files import FOLDERS
from evalsite.results.models import Report
from evalsite.studies.models import Study
from tests.bundles import close, make_full_study
from tests.exports import export
from tests.factories import answer_item, launch, make_annotator, make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parent.parent
only_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="is about SQLite's file")
only_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="is about PostgreSQL's programs"
)
FILES = ("ratings", "annotations", "items", "participants")


@pytest.fixture(autouse=True)
def data(settings: Any, tmp_path: Path) -> Path:
    """A data folder of the test's own."""
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    return settings.DATA_DIR


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "backup.tar.gz"


@contextmanager
def new_site(settings: Any, folder: Path) -> Iterator[None]:
    """A site without studies and users, on a database and in a folder of its own."""
    settings.DATA_DIR = folder
    folder.mkdir()
    name = f"{folder}/evalsite.sqlite3"
    if connection.vendor == "postgresql":
        name = f"site_{uuid4().hex[:8]}"
        with connection.cursor() as cursor:
            cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    with using_database(name):
        call_command("migrate", verbosity=0)
        yield
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def export_all() -> dict[str, bytes]:
    """Every file of every study."""
    return {
        f"{study.pk}/{file}": export(study, file)
        for study in Study.objects.order_by("pk")
        for file in FILES
    }


def run_fsck() -> str:
    told = StringIO()
    call_command("fsck", stdout=told)
    return told.getvalue()


def refused(action: Any, *arguments: Any) -> str:
    """The code with which this is refused."""
    with pytest.raises(ValidationError) as caught:
        action(*arguments)
    (error,) = caught.value.error_list
    return error.code


def keep(study: Study, data: bytes = b"a,b\n1,2\n") -> Upload:
    return keep_upload(study=study, file_name="batch.csv", chunks=[data], by=make_user())


def unpack(path: Path, folder: Path) -> Path:
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")
    return folder


def change(path: Path, folder: Path, **changes: Any) -> Path:
    """The backup with another manifest."""
    unpack(path, folder)
    about = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(about | changes))
    changed = path.with_name("changed.tar.gz")
    with tarfile.open(changed, "w:gz") as archive:
        for part in sorted(folder.rglob("*")):
            if part.is_file():
                archive.add(part, part.relative_to(folder).as_posix())
    return changed


# --- the same site again ----------------------------------------------------------------


def test_restored_site_has_equal_exports_and_an_equal_fsck(settings, tmp_path, path):
    study = close(make_full_study("magnitude"))
    upload = keep(make_study())
    report = Report.objects.create(study=study, fingerprint="f", sha256="s", content={})
    report.folder.mkdir(parents=True)
    report.outputs.write_bytes(b"item,mean\n1,2.5\n")
    before = export_all(), run_fsck(), User.objects.get(username="jane").pk

    make_backup(path)
    with new_site(settings, tmp_path / "new"):
        examination = restore_backup(path)

        assert (examination.faults, examination.remarks) == ([], [])
        assert (export_all(), run_fsck(), User.objects.get(username="jane").pk) == before
        assert upload.path.read_bytes() == b"a,b\n1,2\n"
        assert report.outputs.read_bytes() == b"item,mean\n1,2.5\n"
        assert {*settings.DATA_DIR.iterdir()} - {*settings.DATA_DIR.glob("evalsite.sqlite3*")} == {
            settings.DATA_DIR / "reports",
            settings.DATA_DIR / "uploads",
        }
        assert AuditEntry.objects.filter(action="backup restored").exists()


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


def test_backup_holds_every_folder_of_files_that_the_site_keeps():
    found = subprocess.run(
        ["git", "grep", "-hoE", r'settings\.DATA_DIR / "[a-z]+"', "evalsite"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    assert {line.split('"')[1] for line in found.splitlines()} == set(FOLDERS)


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


def test_backup_says_what_is_in_it(path, tmp_path):
    study = make_study(items=3)

    make_backup(path)

    about = json.loads((unpack(path, tmp_path / "unpacked") / MANIFEST).read_text())
    assert about["rows"]["studies_study"] == 1
    assert about["rows"]["studies_item"] == study.items.count()
    assert ["studies", "0001_initial"] in about["migrations"]
    assert about["database"] == connection.vendor
    assert settings_secret() not in json.dumps(about)


def settings_secret() -> str:
    return os.environ["EVALSITE_SECRET_KEY"]


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
        examination = restore_backup(path)
        restored = {*Annotation.objects.filter(study=study).values_list("key", flat=True)}
        assert before <= restored
        assert (examination.faults, examination.remarks) == ([], [])
        assert find_breaches(Study.objects.get()) == []


def test_other_secret_key_is_said_after_restoring(settings, tmp_path, path):
    make_study()
    make_backup(path)

    same = check_backup(path)
    assert not same.has_other_secret_key
    settings.SECRET_KEY = "another-" + "k" * 50

    assert Examination(manifest=same.manifest).has_other_secret_key


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


# --- refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("fill", [make_user, make_study])
def test_site_that_is_in_use_is_never_overwritten(fill, path):
    fill()
    make_backup(path)
    before = Study.objects.count(), User.objects.count()

    assert refused(restore_backup, path) == "not_empty"
    assert (Study.objects.count(), User.objects.count()) == before


def test_data_folder_with_files_of_a_site_is_never_mixed_with_a_backup(settings, tmp_path, path):
    make_study()
    make_backup(path)

    with new_site(settings, tmp_path / "new"):
        (tmp_path / "new" / "uploads").mkdir()
        (tmp_path / "new" / "uploads" / "theirs").write_bytes(b"1")

        assert refused(restore_backup, path) == "not_empty"
        assert not Study.objects.exists()


def test_database_with_tables_of_something_else_is_never_overwritten(settings, tmp_path, path):
    make_study()
    make_backup(path)

    with new_site(settings, tmp_path / "new"):
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE theirs (id integer)")

        assert refused(restore_backup, path) == "not_empty"
        assert not Study.objects.exists()


@pytest.mark.parametrize("is_check", [False, True])
def test_bad_88_restore_of_a_backup_from_a_newer_version(is_check, settings, tmp_path, path):
    make_study()
    make_backup(path)
    about = json.loads((unpack(path, tmp_path / "read") / MANIFEST).read_text())
    migrations = [*about["migrations"], ["studies", "9999_of_a_newer_version"]]
    newer = change(path, tmp_path / "a", migrations=migrations)
    newest = (
        newer.rename(tmp_path / "newer.tar.gz"),
        change(path, tmp_path / "b", format="evalsite.backup/2"),
    )

    with new_site(settings, tmp_path / "new"):
        for backup in newest:
            assert refused(check_backup if is_check else restore_backup, backup) == "newer"
        assert not Study.objects.exists()


def test_backup_of_another_kind_of_database_is_refused(tmp_path, path):
    make_backup(path)
    other = "postgresql" if connection.vendor == "sqlite" else "sqlite"

    assert refused(check_backup, change(path, tmp_path / "a", database=other)) == "other_database"


def flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


@pytest.mark.parametrize(
    "spoil",
    [
        flip,
        lambda data: data[: len(data) // 2],
        lambda data: data[:-40],
        lambda data: b"no archive at all",
        lambda data: b"",
        lambda data: gzip.compress(b"no archive either"),
    ],
)
def test_damaged_backup_is_refused_and_the_site_stays_empty(spoil, settings, tmp_path, path):
    make_study()
    keep(Study.objects.get(), os.urandom(100_000))
    make_backup(path)
    path.write_bytes(spoil(path.read_bytes()))

    with new_site(settings, tmp_path / "new"):
        assert refused(check_backup, path) == refused(restore_backup, path) == "damaged"
        assert not Study.objects.exists()
        assert not [one for one in (tmp_path / "new").rglob("*") if "evalsite" not in one.name]


def test_backup_with_other_rows_than_it_says_is_refused(settings, tmp_path, path):
    make_study()
    make_backup(path)
    about = json.loads((unpack(path, tmp_path / "read") / MANIFEST).read_text())
    changed = change(path, tmp_path / "a", rows=about["rows"] | {"studies_study": 2})

    assert len(check_backup(changed).faults) == 1
    with new_site(settings, tmp_path / "new"):
        assert refused(restore_backup, changed) == "damaged"
        assert not Study.objects.exists()
        assert not User.objects.exists()


def test_file_that_a_row_needs_and_that_is_missing_fails_the_check(path):
    upload = keep(make_study())
    upload.path.unlink()
    make_backup(path)
    told = StringIO()

    with pytest.raises(SystemExit) as ended:
        call_command("restore", path, check=True, stdout=told)

    assert ended.value.code == 1
    assert f"uploads/{upload.pk}" in told.getvalue()


def test_backup_that_is_not_there_is_said_in_a_sentence(tmp_path):
    with pytest.raises(CommandError, match="can't be unpacked"):
        call_command("restore", tmp_path / "nowhere.tar.gz")


def test_folder_that_is_not_there_is_said_in_a_sentence(tmp_path):
    assert refused(make_backup, tmp_path / "nowhere" / "backup.tar.gz") == "no_folder"


def test_full_disk_leaves_no_half_backup(database_url, tmp_path, data):
    """The limit on the size of a file stands for the disk."""
    keep(make_study(), os.urandom(2_000_000))
    before = sorted(tmp_path.rglob("*"))

    done = subprocess.run(
        [sys.executable, "manage.py", "backup", str(tmp_path / "backup.tar.gz")],
        cwd=ROOT,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "EVALSITE_DATABASE": database_url,
            "EVALSITE_DATA_DIR": str(data),
        },
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000)),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "can't be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


@only_sqlite
def test_damaged_database_gets_no_new_backup(tmp_path, path):
    make_study()
    copy = tmp_path / "evalsite.sqlite3"
    with (
        closing(sqlite3.connect(connection.settings_dict["NAME"])) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
    content = bytearray(copy.read_bytes())
    content[40_960:49_152] = os.urandom(8_192)
    copy.write_bytes(content)

    with using_database(str(copy)):
        code = refused(make_backup, path)

    assert code == "damaged"
    assert not path.exists()


@only_postgresql
def test_password_of_the_database_is_on_no_command_line(settings, path, monkeypatch):
    asked: list[Any] = []
    run = subprocess.run

    def record(command: list[str], **options: Any) -> Any:
        asked.append((command, options))
        return run(command, **options)

    monkeypatch.setitem(connection.settings_dict, "PASSWORD", "not-asked-for")
    monkeypatch.setattr("evalsite.operations.database_dump.subprocess.run", record)
    make_backup(path)

    dumps = [options for command, options in asked if "--format=custom" in command]
    assert [options["env"]["PGPASSWORD"] for options in dumps] == ["not-asked-for"]
    assert not [command for command, _ in asked if "not-asked-for" in " ".join(command)]


@only_postgresql
def test_user_who_may_not_create_databases_is_told_that_nothing_was_tried(path):
    make_study()
    make_backup(path)
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE plain_user LOGIN")
        cursor.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO plain_user")
    known = connection.settings_dict["USER"]
    connection.close()
    connection.settings_dict["USER"] = "plain_user"
    try:
        code = refused(check_backup, path)
    finally:
        connection.close()
        connection.settings_dict["USER"] = known
        with connection.cursor() as cursor:
            cursor.execute("DROP OWNED BY plain_user")
            cursor.execute("DROP ROLE plain_user")

    assert code == "not_tried"


def make_program(folder: Path, major: int) -> Path:
    program = folder / str(major) / "bin" / "pg_dump"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'pg_dump (PostgreSQL) {major}.4'\n")
    program.chmod(0o755)
    return program


def test_program_is_the_oldest_that_is_no_older_than_the_server(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    programs = {major: make_program(tmp_path, major) for major in (9, 14, 17)}

    assert find_program("pg_dump", 15, tmp_path) == programs[17]
    assert find_program("pg_dump", 14, tmp_path) == programs[14]
    assert refused(find_program, "pg_dump", 18, tmp_path) == "program_missing"
    assert refused(find_program, "pg_restore", 15, tmp_path) == "program_missing"
