"""Reading many rows as they all were at one moment."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from evalsite.lib.transactions import deferred_transaction


@contextmanager
def consistent_cut() -> Iterator[None]:
    """Read everything in the block as it was at its first query; refuse to write.

    It neither blocks others nor waits for them. It is a transaction of Django's, so
    `atomic()` inside it is a savepoint, on either database. Keep it short: while it is open,
    PostgreSQL can't clean up behind those who rate.
    """
    if connection.in_atomic_block:
        # how much the caller's transaction may see was decided when it began
        yield
    elif connection.vendor == "sqlite":
        with _refuse_writes(), deferred_transaction():
            yield
    else:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # all rows are wanted soon, though PostgreSQL plans for the first ten per cent
            cursor.execute("SET LOCAL cursor_tuple_fraction = 1")
            yield


@contextmanager
def _refuse_writes() -> Iterator[None]:
    """Let SQLite refuse writes, as PostgreSQL does in a transaction that is READ ONLY."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = ON")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = OFF")
