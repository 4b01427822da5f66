"""Transactions that only read, or only write temporary tables."""

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
