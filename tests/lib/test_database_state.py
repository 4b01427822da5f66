"""A damaged database, and one that a newer version has used: refused with a sentence."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.urls import reverse

from evalsite.lib import database_state
from evalsite.lib.database_state import find_damage, find_unknown_migrations
from evalsite.studies.models import Study
from tests.site.test_settings import SAFE, SERVE, run_python, run_site
from tests.support.factories import make_study

only_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="is about SQLite's file")
FUTURE = ("studies", "9999_of_a_newer_version")


# --- damaged --------------------------------------------------------------------------


@pytest.fixture
def study(transactional_db: None) -> Study:
    return make_study()


@pytest.fixture
def copy(study: Study, tmp_path: Path) -> Path:
    """A copy of the test database with a study in it, in a file of its own."""
    path = tmp_path / "evalsite.sqlite3"
    with (
        closing(sqlite3.connect(connection.settings_dict["NAME"])) as source,
        closing(sqlite3.connect(path)) as target,
    ):
        source.backup(target)
    return path


def damage(path: Path, table: str = "studies_study") -> None:
    """Overwrite the first page of this table with noise."""
    with closing(sqlite3.connect(path)) as database:
        (page,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", [table]
        ).fetchone()
        (size,) = database.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(os.urandom(size))


def ruin(path: Path) -> None:
    path.write_bytes(b"This is a text, and not a database. " * 200)


@pytest.fixture
def damaged(copy: Path) -> Iterator[Path]:
    """The copy, damaged, is the database of this process."""
    damage(copy)
    known = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = str(copy)
    yield copy
    connection.close()
    connection.settings_dict["NAME"] = known


@only_sqlite
def test_fsck_says_that_the_file_is_damaged_and_what_to_do(damaged):
    with pytest.raises(CommandError) as caught:
        call_command("fsck")

    assert "restore the newest backup" in str(caught.value)


@only_sqlite
@pytest.mark.parametrize("is_quick", [False, True])
def test_damage_is_found_without_reading_a_row(damaged, is_quick):
    assert find_damage(connection, is_quick=is_quick)


@only_sqlite
@pytest.mark.parametrize("is_quick", [False, True])
def test_damage_that_breaks_no_query_is_found(study, is_quick):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE strict (a INTEGER)")
        cursor.execute("INSERT INTO strict VALUES (NULL)")
        cursor.execute("PRAGMA writable_schema = ON")
        cursor.execute(
            "UPDATE sqlite_master SET sql = 'CREATE TABLE strict (a INTEGER NOT NULL)'"
            " WHERE name = 'strict'"
        )
        cursor.execute("PRAGMA writable_schema = RESET")
        try:
            assert find_damage(connection, is_quick=is_quick) == ["NULL value in strict.a"]
        finally:
            cursor.execute("DROP TABLE strict")


@pytest.mark.both_databases
@pytest.mark.django_db
def test_sound_database_has_no_damage():
    assert find_damage(connection) == []


@pytest.mark.one_case
@pytest.mark.both_databases
@pytest.mark.slow
@only_sqlite
@pytest.mark.parametrize(
    ("spoil", "command"),
    # each command with one of them by turns, and in `make torture` with the other
    [
        pytest.param(spoil, command, marks=[pytest.mark.torture] if (one + two) % 2 else [])
        for one, command in enumerate([("fsck",), ("analyse", "any"), ("password",), ("migrate",)])
        for two, spoil in enumerate([damage, ruin])
    ],
)
def test_no_command_answers_damage_with_a_traceback(copy, tmp_path, spoil, command):
    damage(copy, "auth_user")
    damage(copy, "django_migrations")
    spoil(copy)

    done = run_site(
        *command, **SAFE, EVALSITE_DATABASE=f"sqlite:///{copy}", EVALSITE_DATA_DIR=str(tmp_path)
    )

    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "restore the newest backup" in done.stderr


@only_sqlite
def test_page_that_meets_damage_is_an_outage_and_no_fault_of_ours(study, damaged):
    client = Client(raise_request_exception=False)

    response = client.get(reverse("study-join", args=[study.pk]))

    assert response.status_code == 503
    assert int(response.headers["Retry-After"]) > 0


@pytest.mark.torture
@pytest.mark.both_databases
@pytest.mark.slow
@only_sqlite
def test_web_server_does_not_start_on_a_file_that_is_no_database(copy, tmp_path):
    ruin(copy)

    done = run_python(
        "-c", SERVE, **SAFE, EVALSITE_DATABASE=f"sqlite:///{copy}", EVALSITE_DATA_DIR=str(tmp_path)
    )

    assert done.returncode != 0
    assert "ImproperlyConfigured" in done.stderr
    assert "restore the newest backup" in done.stderr


# --- newer ----------------------------------------------------------------------------


@pytest.fixture
def newer(transactional_db: None) -> Iterator[None]:
    """The database has had a migration that this code doesn't have."""
    recorder = MigrationRecorder(connection)
    recorder.record_applied(*FUTURE)
    yield
    recorder.record_unapplied(*FUTURE)


@pytest.fixture
def site(database_url: str, tmp_path: Path) -> dict[str, str]:
    return SAFE | {"EVALSITE_DATABASE": database_url, "EVALSITE_DATA_DIR": str(tmp_path)}


@pytest.mark.one_case
@pytest.mark.parametrize("command", [("db_worker",), ("migrate",), ("fsck",), ("password",)])
def test_no_command_works_on_the_database_of_a_newer_version(newer, site, command):
    done = run_site(*command, **site)

    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "used by a newer Evalsite" in done.stderr
    assert ".".join(FUTURE) in done.stderr


@pytest.fixture
def older(transactional_db: None) -> Iterator[None]:
    """The database was made by a version whose first migrations had other names."""
    recorder = MigrationRecorder(connection)
    recorder.record_applied("studies", "0001_initial")
    yield
    recorder.record_unapplied("studies", "0001_initial")


@pytest.mark.one_case
@pytest.mark.parametrize(
    "command", [("-m", "evalsite", "serve", "--port", "1", "--demo"), ("manage.py", "migrate")]
)
def test_site_with_the_database_of_an_older_version_says_what_to_do_and_stops(older, site, command):
    before = sorted(database_state.list_applied_migrations(connection))

    done = run_python(*command, **site)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "made by an older Evalsite" in done.stderr
    assert "import_bundle" in done.stderr
    assert sorted(database_state.list_applied_migrations(connection)) == before


def test_first_migrations_of_an_earlier_date_are_older_and_of_a_later_one_newer():
    assert database_state.are_older([("studies", "0001_initial")])
    assert database_state.are_older([("studies", "0001_of_2026_11_27_1200")])
    assert not database_state.are_older([("studies", "0001_of_2999_01_01_0000")])
    assert not database_state.are_older([("studies", "0002_something"), FUTURE])


@pytest.mark.both_databases
def test_web_server_does_not_start_on_the_database_of_a_newer_version(newer, site):
    done = run_python("-c", SERVE, **site)

    assert done.returncode != 0
    assert ".".join(FUTURE) in done.stderr


@pytest.mark.torture
@pytest.mark.parametrize("command", ["showmigrations", "check"])
def test_commands_that_only_look_run_on_any_database(newer, site, command):
    done = run_site(command, **site)

    assert done.returncode == 0, done.stderr


@pytest.mark.django_db
def test_all_migrations_of_this_code_are_known():
    assert find_unknown_migrations(database_state.list_applied_migrations(connection)) == []


def test_migrations_of_apps_that_were_retired_are_no_sign_of_a_newer_version(monkeypatch):
    monkeypatch.setattr(database_state, "RETIRED_APPS", frozenset({"bygone"}))

    assert find_unknown_migrations([("bygone", "0001_initial"), FUTURE]) == [FUTURE]
