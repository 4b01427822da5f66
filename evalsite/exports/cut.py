"""Reading many rows as they all stood at one moment."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from evalsite.lib.transactions import deferred_transaction


@contextmanager
def consistent_cut() -> Iterator[None]:
    """Read everything in the block as it was at its first query; refuse to write.

    Nobody waits for the block, and it waits for nobody. Keep it short: while it is open,
    PostgreSQL can't clean up behind those who rate.
    """
    if connection.in_atomic_block:
        # the caller's transaction has begun already: how much it may see was the caller's choice
        yield
    elif connection.vendor == "sqlite":
        with _refuse_writes(), deferred_transaction():
            yield
    else:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # all rows are wanted soon, where PostgreSQL takes it that the first ten per cent are
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
