"""Transactions that only read, as everything was at one moment, or only write temporary tables."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from django.db import connection, transaction


@contextmanager
def deferred_transaction() -> Iterator[None]:
    """Run the block in a transaction of Django's that takes no lock before it writes.

    On SQLite `atomic()` begins IMMEDIATE, which takes the only writer's lock at once.
    """
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    with ExitStack() as stack:
        with _begin_mode("DEFERRED"):
            stack.enter_context(transaction.atomic())
        yield


@contextmanager
def _begin_mode(mode: str) -> Iterator[None]:
    """Begin transactions of SQLite in this mode."""
    wrapper: Any = connection
    wrapper.ensure_connection()  # which sets the usual mode
    usual, wrapper.transaction_mode = wrapper.transaction_mode, mode
    try:
        yield
    finally:
        wrapper.transaction_mode = usual


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
