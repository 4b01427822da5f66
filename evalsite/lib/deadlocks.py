"""Repeat a transaction that PostgreSQL ended because two waited for one another."""

from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError, transaction

Result = TypeVar("Result")
_TRIES = 3
# PostgreSQL's code for a deadlock
_DEADLOCK = "40P01"


def in_transaction(act: Callable[[], Result]) -> Result:
    """Return the result of `act` in a transaction, tried again after a deadlock."""
    for _ in range(_TRIES - 1):
        try:
            with transaction.atomic():
                return act()
        except OperationalError as error:
            if getattr(error.__cause__, "pgcode", None) != _DEADLOCK:
                raise
    with transaction.atomic():
        return act()
