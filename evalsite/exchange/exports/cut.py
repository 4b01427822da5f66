"""Reading many rows as they all stood at one moment."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def consistent_cut() -> Iterator[None]:
    """All that the block reads stood at its first query; nobody waits for it, nor it for anybody.

    Keep the block short: while it is open PostgreSQL cannot clean up behind those who rate.
    """
    if connection.in_atomic_block:
        # the caller's transaction has begun already: how much it may see was the caller's choice
        yield
    elif connection.vendor == "sqlite":
        with _sqlite_cut():
            yield
    else:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            # all rows are wanted soon, where PostgreSQL takes it that the first ten per cent are
            cursor.execute("SET LOCAL cursor_tuple_fraction = 1")
            yield


@contextmanager
def _sqlite_cut() -> Iterator[None]:
    # not atomic(), which begins IMMEDIATE here: the only writer's lock, for a reader
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")
