"""Backups that aren't made or restored: a sentence says why, and nothing is half done."""

import gzip
import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection

from evalsite.operations.archive import MANIFEST
from evalsite.operations.backup import make_backup
from evalsite.operations.database_dump import find_program, using_database
from evalsite.operations.restore import check_backup, restore_backup
from evalsite.studies.models import Study
from tests.support import backups
from tests.support.backups import (
    ROOT,
    change,
    keep,
    new_site,
    only_postgresql,
    only_sqlite,
    pack_again,
    refused,
    unpack,
)
from tests.support.factories import make_study, make_user

data, path = backups.data, backups.path
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data"),
    pytest.mark.slow,
]


# --- refused ----------------------------------------------------------------------------


@pytest.mark.both_databases
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


@pytest.mark.both_databases
def test_database_with_tables_of_something_else_is_never_overwritten(settings, tmp_path, path):
    make_study()
    make_backup(path)

    with new_site(settings, tmp_path / "new"):
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE theirs (id integer)")

        assert refused(restore_backup, path) == "not_empty"
        assert not Study.objects.exists()


@pytest.mark.one_case
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


@pytest.mark.both_databases
def test_backup_of_another_kind_of_database_is_refused(tmp_path, path):
    make_backup(path)
    other = "postgresql" if connection.vendor == "sqlite" else "sqlite"

    assert refused(check_backup, change(path, tmp_path / "a", database=other)) == "other_database"


def flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


@pytest.mark.one_case
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


def test_archive_that_is_whole_but_holds_other_bytes_is_refused(settings, tmp_path, path):
    keep(make_study(), b"a,b\n1,2\n")
    make_backup(path)
    folder = unpack(path, tmp_path / "read")
    (file,) = [
        one for one in folder.rglob("*") if one.is_file() and one.read_bytes()[:4] == b"a,b\n"
    ]
    file.write_bytes(b"a,b\n1,3\n")
    changed = pack_again(path, folder)

    with new_site(settings, tmp_path / "new"):
        assert refused(check_backup, changed) == refused(restore_backup, changed) == "damaged"
        assert not Study.objects.exists()


@pytest.mark.both_databases
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


@pytest.mark.parametrize("folder", ["", "empty", "nowhere"])
def test_newest_of_no_backup_is_said_in_a_sentence(folder, settings, tmp_path):
    (tmp_path / "empty").mkdir()
    settings.BACKUP_FOLDER = str(tmp_path / folder) if folder else ""

    with pytest.raises(CommandError, match=folder or "EVALSITE_BACKUP_FOLDER"):
        call_command("restore", "--check", "--newest")


def test_either_a_file_or_the_newest_is_restored(tmp_path):
    for words in ([], ["file.tar.gz", "--newest"]):
        with pytest.raises(CommandError, match="newest"):
            call_command("restore", *words)


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
    # whichever file is too large first: the copy of the database, or the archive
    assert re.search("can't be (written|copied)", done.stderr)
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


@pytest.mark.both_databases
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


# --- tampered with ----------------------------------------------------------------------


def list_paths(folder: Path) -> set[Path]:
    """Return all files and folders, but for what SQLite makes beside a database."""
    return {path for path in folder.rglob("*") if "sqlite3-" not in path.name}


@pytest.mark.one_case
@pytest.mark.parametrize("name", ["../../x", "static", "secret", "uploads/../../x", "/x", "."])
def test_bad_100_a_backup_that_names_other_folders_is_refused(name, settings, path, tmp_path):
    make_backup(path)
    about = json.loads((unpack(path, tmp_path / "about") / MANIFEST).read_text())
    tampered = change(path, tmp_path / "parts", folders=[*about["folders"], name])

    with new_site(settings, tmp_path / "deep" / "new"):
        before = list_paths(tmp_path)
        assert refused(check_backup, tampered) == refused(restore_backup, tampered) == "damaged"
        assert list_paths(tmp_path) == before


@pytest.mark.one_case
@pytest.mark.parametrize("name", ["files/static/evil.js", "files/secret", "secret", "uploads/x"])
def test_bad_100_a_backup_that_holds_other_files_is_refused(name, settings, path, tmp_path):
    make_backup(path)
    folder = unpack(path, tmp_path / "parts")
    about = json.loads((folder / MANIFEST).read_text())
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(b"evil")
    about["parts"][name] = {"sha256": sha256(b"evil").hexdigest(), "size": 4}
    (folder / MANIFEST).write_text(json.dumps(about))
    tampered = pack_again(path, folder)

    with new_site(settings, tmp_path / "deep" / "new"):
        before = list_paths(tmp_path)
        assert refused(check_backup, tampered) == refused(restore_backup, tampered) == "damaged"
        assert list_paths(tmp_path) == before
