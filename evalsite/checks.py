"""System checks: refuse to start in a state that would lose data or confuse researchers."""

import logging
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, DatabaseError, OperationalError, connections
from django.utils.module_loading import import_string

from evalsite.instruments.installed import ProtocolConfig, installed_folders
from evalsite.instruments.schema import Instrument
from evalsite.lib.database_state import WHAT_TO_DO_IF_DAMAGED, is_damaged, refuse_other_database

logger = logging.getLogger(__name__)


@register("protocols")
def check_protocols(**kwargs: Any) -> list[CheckMessage]:
    """Check that every line of PROTOCOLS is a protocol that registered."""
    folders = {folder.name: folder for folder in installed_folders().values()}
    problems: list[CheckMessage] = [
        Error(
            f"PROTOCOLS lists {name!r}, but no ProtocolConfig registered there.",
            hint="Its apps.py must hold exactly one subclass of ProtocolConfig, which is in "
            "evalsite.instruments.installed.",
            id="evalsite.E001",
        )
        for name in settings.PROTOCOLS
        if name not in folders
    ]
    for folder in folders.values():
        problems += _check_instrument(folder)
    return problems


def _check_instrument(folder: ProtocolConfig) -> list[CheckMessage]:
    """Check that the instrument in this folder is whole and has the folder's name as its key."""
    faults = folder.problems or _find_missing_hooks(folder.instrument)
    return [
        Error(f"The protocol {folder.name!r} has a fault: {fault}", id="evalsite.E004")
        for fault in faults
    ]


def _find_missing_hooks(protocol: Instrument) -> Sequence[str]:
    missing = []
    for name in sorted(protocol.hook_names):
        try:
            import_string(name)
        except ImportError as error:
            missing.append(f"the hook {name} doesn't exist ({error})")
    return missing


@register(Tags.database)
def check_durability(databases: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Check that commits survive a crash: IMMEDIATE, WAL, FULL; synchronous_commit on."""
    problems: list[CheckMessage] = []
    for alias in databases or []:
        connection = connections[alias]
        is_sqlite = connection.vendor == "sqlite"
        problems += check_sqlite(connection) if is_sqlite else check_postgresql(connection)
    return problems


def check_sqlite(connection: Any) -> list[CheckMessage]:
    """Return an error if this connection to SQLite may lose commits."""
    state = (
        _ask(connection, "PRAGMA journal_mode"),
        _ask(connection, "PRAGMA synchronous") >= 2,
        connection.transaction_mode,
    )
    if state == ("wal", True, "IMMEDIATE"):
        return []
    return [
        Error(
            "SQLite must run with WAL, synchronous FULL and IMMEDIATE.",
            hint="Use the OPTIONS of evalsite.lib.env.SQLITE_OPTIONS, on a local disk.",
            id="evalsite.E002",
        )
    ]


def check_postgresql(connection: Any) -> list[CheckMessage]:
    """Return an error if this connection to PostgreSQL may lose commits."""
    if _ask(connection, "SHOW synchronous_commit") != "off":
        return []
    return [
        Error(
            "PostgreSQL must run with synchronous_commit on.",
            hint="Use the OPTIONS of evalsite.lib.env.POSTGRESQL_OPTIONS.",
            id="evalsite.E003",
        )
    ]


def _ask(connection: Any, question: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(question)
        return cursor.fetchone()[0]


def refuse_unsafe_database() -> None:
    """Raise ImproperlyConfigured unless the database keeps what it saved and fits this code."""
    # a web server runs no system checks, and most commands leave out those of databases
    try:
        problems = check_durability(databases=[DEFAULT_DB_ALIAS])
        refuse_other_database()
    except OperationalError as error:
        # each connection sets these options anyway, so the site may start before its database
        logger.warning("The database can't be reached yet: %s", str(error).strip())
        return
    except DatabaseError as error:
        if not is_damaged(error):
            raise
        raise ImproperlyConfigured(f"{WHAT_TO_DO_IF_DAMAGED} ({error})") from error
    finally:
        # a server that forks after this must not share the connection among its processes
        connections[DEFAULT_DB_ALIAS].close()
    if problems:
        raise ImproperlyConfigured(
            " ".join(f"{problem.msg} {problem.hint}" for problem in problems)
        )
