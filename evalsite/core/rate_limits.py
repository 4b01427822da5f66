"""How often one thing may happen in a minute: counted in this process, in memory of fixed size."""

import math
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from ipaddress import ip_address
from threading import Lock

from django.conf import settings
from django.http import HttpRequest

from evalsite.lib.clock import now

# the least recent are forgotten first, and then start with a full minute's worth
_KEPT = 20_000
_lifted: ContextVar[bool] = ContextVar("limits_lifted", default=False)


class RateLimit:
    """A token bucket for each key: as many at once as a minute allows, then at that pace."""

    def __init__(self, kept: int = _KEPT) -> None:
        self.kept = kept
        self._buckets: OrderedDict[str, tuple[float, datetime]] = OrderedDict()
        self._lock = Lock()

    def take(self, key: str, a_minute: int) -> int:
        """Count one more for this key; return 0, or the seconds to wait if it is one too many.

        0 a minute means no limit.
        """
        if not a_minute or _lifted.get():
            return 0
        moment, pace = now(), a_minute / 60
        with self._lock:
            left, at = self._buckets.pop(key, (float(a_minute), moment))
            left = min(a_minute, left + max(0.0, (moment - at).total_seconds()) * pace)
            is_allowed = left >= 1
            self._buckets[key] = (left - 1 if is_allowed else left, moment)
            while len(self._buckets) > self.kept:
                self._buckets.popitem(last=False)
        return 0 if is_allowed else max(1, math.ceil((1 - left) / pace))

    def __len__(self) -> int:
        return len(self._buckets)


@contextmanager
def lifted() -> Iterator[None]:
    """Count nothing inside the block: simulated people share one process and one clock."""
    token = _lifted.set(True)
    try:
        yield
    finally:
        _lifted.reset(token)


def client_address(request: HttpRequest) -> str:
    """Return the address that connected to us, or to the proxy in front of us."""
    connected = str(request.META.get("REMOTE_ADDR", ""))
    if not settings.BEHIND_PROXY:
        return connected
    # The proxy adds what it saw at the end; everything before it came from outside.
    last = str(request.META.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip()
    try:
        return str(ip_address(last))
    except ValueError:
        return connected
