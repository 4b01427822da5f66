"""System checks: refuse to start in a state that would lose data or confuse researchers."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

from evalsite.protocol import installed_protocols


@register("protocols")
def check_protocols(**kwargs: Any) -> list[CheckMessage]:
    """Every line of PROTOCOLS is a protocol that registered."""
    found = {config.name for config in installed_protocols().values()}
    return [
        Error(
            f"PROTOCOLS lists {name!r}, but no ProtocolConfig registered there.",
            hint="Its apps.py must hold exactly one subclass of evalsite.protocol.ProtocolConfig.",
            id="evalsite.E001",
        )
        for name in settings.PROTOCOLS
        if name not in found
    ]


@register(Tags.database)
def check_durability(databases: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """The database keeps what it said it saved: IMMEDIATE, WAL, FULL; synchronous_commit on."""
    problems: list[CheckMessage] = []
    for alias in databases or []:
        connection = connections[alias]
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute("PRAGMA journal_mode")
                journal = cursor.fetchone()[0]
                cursor.execute("PRAGMA synchronous")
                synchronous = cursor.fetchone()[0]
                if (
                    journal != "wal"
                    or synchronous < 2
                    or getattr(connection, "transaction_mode", None) != "IMMEDIATE"
                ):
                    problems.append(
                        Error(
                            "SQLite must run with WAL, synchronous FULL and IMMEDIATE.",
                            hint="Use the OPTIONS of evalsite.lib.env.SQLITE_OPTIONS.",
                            id="evalsite.E002",
                        )
                    )
            else:
                cursor.execute("SHOW synchronous_commit")
                if cursor.fetchone()[0] == "off":
                    problems.append(
                        Error("PostgreSQL must run with synchronous_commit on.", id="evalsite.E003")
                    )
    return problems
