"""One moment of a database in a file, and back: SQLite's backup API, pg_dump and pg_restore."""

import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.core.exceptions import ValidationError
from django.db import DatabaseError, connection

from evalsite.lib.database_state import (
    WHAT_TO_DO_IF_DAMAGED,
    Migration,
    is_damaged,
    list_applied_migrations,
)
from evalsite.studies.version_cache import forget_versions

NAMES = {"sqlite": "database.sqlite3", "postgresql": "database.dump"}
_NOT_ALLOWED = "42501"  # PostgreSQL's code of a missing privilege
_SECONDS_FOR_A_LOCK = 20


@dataclass(frozen=True, kw_only=True)
class Dump:
    """The database at one moment, in a file."""

    path: Path
    version: str
    rows: dict[str, int]
    migrations: list[Migration]


def dump_database(folder: Path) -> Dump:
    """Write a snapshot of the site's database to a file in this folder."""
    path = folder / NAMES[connection.vendor]
    return _dump_sqlite(path) if connection.vendor == "sqlite" else _dump_postgresql(path)


@contextmanager
def using_database(name: str) -> Iterator[None]:
    """Lead the site's connection to another database of the same server inside the block."""
    known = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = name
    forget_versions()
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = known
        forget_versions()


@contextmanager
def loaded_aside(dump: Path) -> Iterator[None]:
    """Lead the site's connection to a throw-away database with this dump inside the block."""
    if connection.vendor == "sqlite":
        with using_database(str(dump)):
            yield
        return
    name = f"evalsite_check_{uuid4().hex[:12]}"
    _create_database(name)
    try:
        with using_database(name):
            _load_postgresql(dump)
            yield
    finally:
        _run_alone(f'DROP DATABASE "{name}" WITH (FORCE)')


def load_dump(dump: Path) -> None:
    """Replace everything in the site's database by this dump, in one transaction."""
    if connection.vendor == "sqlite":
        _load_sqlite(dump)
    else:
        _load_postgresql(dump)


def drop_tables() -> None:
    """Leave no table of a site in the database."""
    with connection.cursor() as cursor:
        cursor.execute(_write_drops())
    connection.close()


def read_major_version() -> int:
    """Return the first number of the PostgreSQL server's version."""
    with connection.cursor():
        wrapper: Any = connection
        return int(wrapper.pg_version) // 10_000


def count_rows(connection: Any) -> dict[str, int]:
    """Return table -> number of rows, for all tables of this connection's database."""
    with connection.cursor() as cursor:
        counts = {}
        for table in sorted(connection.introspection.table_names(cursor)):
            cursor.execute(f"SELECT COUNT(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608
            counts[table] = cursor.fetchone()[0]
    return counts


# --- SQLite -----------------------------------------------------------------------------


def _dump_sqlite(path: Path) -> Dump:
    site = Path(connection.settings_dict["NAME"])
    if not site.exists():
        raise ValidationError(f"There is no database {site}.", code="no_database")
    try:
        with (
            closing(sqlite3.connect(site, timeout=_SECONDS_FOR_A_LOCK)) as source,
            closing(sqlite3.connect(path)) as target,
        ):
            # in one step: the copy is consistent, and a write-ahead log lets others go on
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
            wrong = [row[0] for row in target.execute("PRAGMA integrity_check(5)")]
    except sqlite3.Error as error:
        if is_damaged(error):
            wrong = [str(error)]
        else:
            raise ValidationError(
                f"The database can't be copied to {path.parent}: {error}. Is the disk full?",
                code="unwritable",
            ) from error
    if wrong != ["ok"]:
        raise ValidationError(
            f"There is no new backup. {WHAT_TO_DO_IF_DAMAGED} SQLite reports: {'; '.join(wrong)}",
            code="damaged",
        )
    with using_database(str(path)):
        rows, migrations = count_rows(connection), list_applied_migrations(connection)
        # Django's connections use a write-ahead log; the file must be whole by itself
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA journal_mode=DELETE")
    return Dump(path=path, version=sqlite3.sqlite_version, rows=rows, migrations=migrations)


def _load_sqlite(dump: Path) -> None:
    path = Path(connection.settings_dict["NAME"])
    connection.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    try:
        with (
            closing(sqlite3.connect(dump)) as source,
            closing(sqlite3.connect(path, timeout=_SECONDS_FOR_A_LOCK)) as target,
        ):
            target.execute("PRAGMA synchronous=FULL")
            source.backup(target)
    except sqlite3.Error as error:
        if is_new:
            path.unlink(missing_ok=True)
        raise ValidationError(
            f"The database {path} can't be written: {error}. Nothing was restored.",
            code="unwritable",
        ) from error


# --- PostgreSQL -------------------------------------------------------------------------


def _dump_postgresql(path: Path) -> Dump:
    major = read_major_version()
    with closing(connection.copy()) as reader, reader.cursor() as cursor:
        # pg_dump and the counts see the same moment
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        cursor.execute("SELECT pg_export_snapshot()")
        (snapshot,) = cursor.fetchone()
        rows = count_rows(reader)
        migrations = list_applied_migrations(reader)
        _run_program(
            "pg_dump", major,
            "--format=custom", "--no-owner", "--no-privileges", "--no-password",
            f"--snapshot={snapshot}", f"--file={path}",
        )  # fmt: skip
        cursor.execute("ROLLBACK")
    return Dump(path=path, version=str(major), rows=rows, migrations=migrations)


def _load_postgresql(dump: Path) -> None:
    """Replace the tables of the connection's database by the dump's, in one transaction."""
    script, drops = dump.with_suffix(".sql"), dump.with_suffix(".drop.sql")
    major = read_major_version()
    # an open connection must not keep us waiting for ever
    drops.write_text(f"SET lock_timeout = '20s'; {_write_drops()}", encoding="utf-8")
    connection.close()
    # a file in between: psql would commit the half that came through a pipe
    _run_program(
        "pg_restore", major, "--no-owner", "--no-privileges", f"--file={script}", str(dump)
    )
    _run_program(
        "psql", major,
        "--no-psqlrc", "--no-password", "--quiet", "--single-transaction",
        "--set=ON_ERROR_STOP=1", f"--file={drops}", f"--file={script}",
    )  # fmt: skip
    script.unlink()


# functions of the site's own, such as that of a trigger, and none of an extension
_OWN_FUNCTIONS = """
    SELECT p.oid::regprocedure::text FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace AND NOT EXISTS (
        SELECT 1 FROM pg_depend d
        WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
    )
"""


def _write_drops() -> str:
    """Return the statements that drop all tables of the site and all functions of its triggers."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        cursor.execute(_OWN_FUNCTIONS)
        functions = [name for (name,) in cursor.fetchall()]
    quote = connection.ops.quote_name
    drops = [f"DROP FUNCTION {name} CASCADE;" for name in functions]
    if tables:
        drops.insert(0, f"DROP TABLE {', '.join(map(quote, tables))} CASCADE;")
    return " ".join(drops) or "SELECT 1;"


def _create_database(name: str) -> None:
    try:
        _run_alone(f'CREATE DATABASE "{name}" TEMPLATE template0')
    except DatabaseError as error:
        if getattr(error.__cause__, "pgcode", None) != _NOT_ALLOWED:
            raise
        user = connection.settings_dict["USER"]
        raise ValidationError(
            "Every checksum is right, but the backup couldn't be tried: the database user may not "
            f'create databases. Allow it (ALTER ROLE "{user}" CREATEDB) and check again.',
            code="not_tried",
        ) from error


def _run_alone(statement: str) -> None:
    """Run a statement that PostgreSQL takes outside transactions only."""
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute(statement)


def _run_program(name: str, major: int, *arguments: str) -> None:
    program = find_program(name, major)
    done = subprocess.run(  # noqa: S603
        [str(program), *arguments],
        env=os.environ | _describe_connection(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise ValidationError(f"{name} failed: {lines[0]}", code="program_failed")


def _describe_connection() -> dict[str, str]:
    """Return what leads libpq to the site's database; a command line would show the password."""
    values = connection.settings_dict
    variables = {
        "PGDATABASE": values["NAME"],
        "PGUSER": values["USER"],
        "PGPASSWORD": values["PASSWORD"],
        "PGHOST": values["HOST"],
        "PGPORT": str(values["PORT"]),
    }
    return {name: value for name, value in variables.items() if value}


def find_program(name: str, major: int, base: Path = Path("/usr/lib/postgresql")) -> Path:
    """Return the oldest of PostgreSQL's client programs that is no older than the server."""
    paths = sorted(base.glob(f"*/bin/{name}"))
    if on_path := shutil.which(name):
        paths.append(Path(on_path))
    versions = {}
    for path in paths:
        done = subprocess.run(  # noqa: S603
            [str(path), "--version"], capture_output=True, text=True, check=False
        )
        match = re.search(r"(\d+)(?:\.\d+|devel|beta|rc)", done.stdout)
        versions[path] = int(match[1]) if match else 0
    fitting = [path for path in paths if versions[path] >= major]
    if fitting:
        return min(fitting, key=lambda path: versions[path])
    newest = max(versions.values(), default=None)
    why = f"is missing (version {newest} is too old)" if newest else "is missing"
    raise ValidationError(
        f"The program {name} of PostgreSQL {major} {why}. Install PostgreSQL's client programs "
        f"(on Debian: postgresql-client-{major}), or put them on the PATH.",
        code="program_missing",
    )
