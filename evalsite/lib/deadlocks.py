"""Two transactions that wait for one another: PostgreSQL ends one of them, and it begins anew."""

from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError, transaction

Result = TypeVar("Result")
_TRIES = 3
# PostgreSQL's word for it
_DEADLOCK = "40P01"


def in_transaction(act: Callable[[], Result]) -> Result:
    """What `act` returns, done in a transaction; begun anew if the database ended a deadlock."""
    for _ in range(_TRIES - 1):
        try:
            with transaction.atomic():
                return act()
        except OperationalError as error:
            if getattr(error.__cause__, "pgcode", None) != _DEADLOCK:
                raise
    with transaction.atomic():
        return act()
