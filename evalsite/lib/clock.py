"""The server's clock, which a simulation may replace."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

_simulated: ContextVar[datetime | None] = ContextVar("simulated_moment", default=None)


def now() -> datetime:
    """Return the moment in UTC: the server's, never a browser's."""
    return _simulated.get() or datetime.now(UTC)


@contextmanager
def standing_at(moment: datetime) -> Iterator[None]:
    """Stop the clock at this moment inside the block."""
    token = _simulated.set(moment)
    try:
        yield
    finally:
        _simulated.reset(token)
