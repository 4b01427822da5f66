"""A database for each process of tests: migrated once and copied, and emptied in little time.

Django would run all migrations in each process. After a test that commits it would empty all
tables, with rows or without, and make all content types and permissions again.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.test import TransactionTestCase
from pytest_django import DjangoDbBlocker

from evalsite.data.bundle import scratch
from evalsite.operations.database_dump import using_database

# what migrations leave, beside their own list
_KEPT = ["django_content_type", "auth_permission"]
# what a run leaves for the next: eleven seconds of migrations
_CACHE = Path(".pytest_cache", "evalsite").resolve()
# On PostgreSQL rows that were deleted take room until then.
_TRUNCATE_AFTER = 50

_empty_as_django = TransactionTestCase._fixture_teardown


# --- a database that is migrated ------------------------------------------------------


@pytest.fixture(scope="session")
def django_db_keepdb(
    django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker
) -> bool:
    """Copy the migrated database that the first process of this run made; nothing is to drop."""
    if "EVALSITE_TEST_POSTGRES" in os.environ:
        return False  # whoever runs that server wants no databases left
    template = Path(os.environ["EVALSITE_TEST_TEMPLATE"])
    settings = connection.settings_dict
    name = settings["TEST"]["NAME"] or f"test_{settings['NAME']}"
    with django_db_blocker.unblock(), locked(template.with_suffix(".lock")):
        if not template.exists():
            _make_template(template)
        _copy_template(template, name)
    return True


def make_database(name: str) -> None:
    """Make one more database with all tables and no rows, of this name or in this file."""
    template = Path(os.environ["EVALSITE_TEST_TEMPLATE"])
    if template.exists():
        with locked(template.with_suffix(".lock")):
            _copy_template(template, name)
        return
    if connection.vendor == "postgresql":
        _create_database(name, "TEMPLATE template0")
    with using_database(name):
        call_command("migrate", verbosity=0)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process in at a time."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def made_once(name: str, make: Callable[[], bytes]) -> bytes:
    """Return what the first process of this run that asked for it made."""
    kept = Path(os.environ["EVALSITE_TEST_TEMPLATE"]).with_name(name)
    with locked(kept.with_suffix(".lock")):
        if not kept.exists():
            kept.write_bytes(make())
        return kept.read_bytes()


def _make_template(template: Path) -> None:
    settings = connection.settings_dict
    known = settings["NAME"]
    if connection.vendor == "postgresql":
        _create_database(template.stem, "")
    connection.close()
    settings["NAME"] = template.stem if connection.vendor == "postgresql" else str(template)
    if connection.vendor == "postgresql":
        call_command("migrate", verbosity=0, interactive=False)
        template.touch()
    else:
        _migrate_once(template)
    connection.close()
    settings["NAME"] = known


def _migrate_once(template: Path) -> None:
    """Migrate the template, or copy it from an earlier run with the same migrations."""
    kept = _CACHE / f"{scratch._hash_migrations()}.sqlite3"
    if kept.exists():
        shutil.copyfile(kept, template)
        return
    call_command("migrate", verbosity=0, interactive=False)
    connection.close()
    _CACHE.mkdir(parents=True, exist_ok=True)
    for old in _CACHE.glob("*.sqlite3"):
        old.unlink(missing_ok=True)
    part = kept.with_suffix(f".{os.getpid()}")
    shutil.copyfile(template, part)
    part.replace(kept)


def _copy_template(template: Path, name: str) -> None:
    if connection.vendor == "postgresql":
        _create_database(name, f"TEMPLATE {connection.ops.quote_name(template.stem)}")
        return
    shutil.copyfile(template, name)
    # checks of bundles begin with one, too
    empty = f"{scratch._EMPTY}{scratch._hash_migrations()}.sqlite3"
    shutil.copyfile(template, Path(os.environ["EVALSITE_DATA_DIR"], empty))


def _create_database(name: str, template: str) -> None:
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {connection.ops.quote_name(name)} {template}")


# --- tables without rows --------------------------------------------------------------


def delete_all() -> None:
    """Delete the rows of all tables but those that migrations fill."""
    names = connection.introspection.django_table_names(include_views=False)
    with connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join(
                f"SELECT * FROM (SELECT '{name}' FROM {name} LIMIT 1) AS x"  # noqa: S608
                for name in sorted({*names} - {*_KEPT})
            )
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {name}")  # noqa: S608


@contextmanager
def no_rows() -> Iterator[None]:
    """The tables are empty inside the block; after it they hold what they held before."""
    with transaction.atomic():
        delete_all()
        yield
        transaction.set_rollback(True)


class Emptying:
    """How this process's tables get back to what migrations left."""

    def __init__(self) -> None:
        self.kept = self._read_kept()
        self.times = 0

    def empty(self, test_case: TransactionTestCase) -> None:
        """Delete all rows; if that isn't enough, do what Django does."""
        self.times += 1
        if self.times % _TRUNCATE_AFTER == 0 or self._read_kept() != self.kept:
            _empty_as_django(test_case)
            self.kept = self._read_kept()
            return
        with connection.constraint_checks_disabled(), transaction.atomic():
            if connection.vendor == "postgresql":
                # no search for rows that refer to a deleted one: they are deleted as well
                with connection.cursor() as cursor:
                    cursor.execute("SET LOCAL session_replication_role = replica")
            delete_all()

    def _read_kept(self) -> list[Any]:
        rows = []
        with connection.cursor() as cursor:
            for name in _KEPT:
                cursor.execute(f"SELECT * FROM {name} ORDER BY id")  # noqa: S608
                rows += cursor.fetchall()
        return rows


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Empty tables quickly after each test that commits."""
    if "EVALSITE_TEST_POSTGRES" in os.environ:
        yield  # whoever tests there need not be a superuser
        return
    with django_db_blocker.unblock():
        emptying = Emptying()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: emptying.empty(case))
        yield
