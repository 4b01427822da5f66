"""What state a database is in: damaged, or used by another version of this code."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, DatabaseError, OperationalError, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Migration = tuple[str, str]

# the name of its first migration, such as 0001_of_2026_11_28_1200, says from when the tables are
_DATED_APP = "studies"

# apps that are only where they were chosen: their applied migrations stay
RETIRED_APPS = frozenset({"socialaccount"})

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_MOST_NAMED = 5
_PRIMARY_CODE = 0xFF  # the lower byte of SQLite's extended error codes

WHAT_TO_DO_IF_DAMAGED = (
    "The database file is damaged. Stop the site, keep a copy of the file and of the files beside "
    "it whose names end in -wal and -shm, and restore the newest backup (manage.py restore)."
)


class OtherDatabase(ImproperlyConfigured):
    """The database was made by an older version of this code, or used by a newer one."""


def is_damaged(error: BaseException | None) -> bool:
    """Return whether SQLite says that its file is damaged, or no database at all."""
    cause = error.__cause__ if isinstance(error, DatabaseError) else error
    code = getattr(cause, "sqlite_errorcode", None)
    return code is not None and code & _PRIMARY_CODE in _DAMAGED


def find_damage(connection: Any, *, is_quick: bool = False) -> list[str]:
    """Return what SQLite finds wrong with its file; other databases look after themselves."""
    if connection.vendor != "sqlite":
        return []
    pragma = "quick_check" if is_quick else "integrity_check"
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA {pragma}(20)")
            lines = [line for (text,) in cursor.fetchall() for line in text.splitlines()]
    except DatabaseError as error:
        if not is_damaged(error):
            raise
        return [str(error)]
    return [] if lines == ["ok"] else lines


def list_applied_migrations(connection: Any) -> list[Migration]:
    """Return the migrations that this database has had, as (app label, name)."""
    return sorted(MigrationRecorder(connection).applied_migrations())


def find_unknown_migrations(applied: Iterable[Migration]) -> list[Migration]:
    """Return those of these migrations that this code doesn't have."""
    known = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    return sorted(
        migration
        for migration in applied
        if migration not in known and migration[0] not in RETIRED_APPS
    )


def are_older(unknown: Iterable[Migration]) -> bool:
    """Return whether these migrations are of a time before the first ones of this code.

    Until the first release these are made again from time to time, with the date in their names.
    """
    on_disk = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    first = min(name for label, name in on_disk if label == _DATED_APP)
    return any(label == _DATED_APP and name[:5] == first[:5] and name < first
               for label, name in unknown)  # fmt: skip


def describe_migrations(migrations: list[Migration]) -> str:
    """Name the migrations, the first few of many."""
    names = ", ".join(f"{label}.{name}" for label, name in migrations[:_MOST_NAMED])
    more = len(migrations) - _MOST_NAMED
    return f"{names} and {more} more" if more > 0 else names


def refuse_other_database() -> None:
    """Raise OtherDatabase if the database has had migrations that this code doesn't have.

    A database that can't be reached, or doesn't exist yet, passes: its users report that.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor == "sqlite" and not Path(connection.settings_dict["NAME"]).exists():
        return
    try:
        unknown = find_unknown_migrations(list_applied_migrations(connection))
    except OperationalError:
        return
    finally:
        if not connection.in_atomic_block:
            connection.close()
    name = connection.settings_dict["NAME"]
    if are_older(unknown):
        raise OtherDatabase(
            f"The database {name} was made by an older Evalsite, before the first release, and "
            "this version can't upgrade it. Nothing was changed. Start with an empty database: for "
            "make run, rename the folder var. To keep a study, make its bundle with the version "
            "that made the database (manage.py export_bundle), and import that here "
            "(manage.py import_bundle)."
        )
    if unknown:
        raise OtherDatabase(
            f"The database {name} was used by a newer Evalsite: this "
            f"code doesn't have its migrations {describe_migrations(unknown)}. Install the newer "
            "version again, or restore a backup from before the upgrade into an empty database."
        )
