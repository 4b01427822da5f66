"""What monitoring asks this site, and two files for machines, ahead of all other middleware."""

import time
from collections.abc import Callable
from datetime import timedelta
from email.utils import parseaddr
from functools import cache
from threading import Lock

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase

from evalsite.core.jobs.clock_watch import read_clocks
from evalsite.core.log_safety import LIVE, READY
from evalsite.core.outage import is_outage
from evalsite.lib.clock import now
from evalsite.lib.database_state import Migration

# the worker looks at the schedule once a minute
LATE_AFTER = timedelta(minutes=2)
_SECONDS_KEPT = 5
_DAYS_VALID = 180
_ROBOTS = "User-agent: *\nAllow: /$\nDisallow: /\n"

# the state of the database, the migrations, the worker and the clock
Health = dict[str, str]


class HealthAddresses:
    """Answer monitoring whatever the host, without HTTPS, a session or a line in the log."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._lock = Lock()
        self._health: Health = {}
        self._read_at = 0.0

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._answer(request.path_info) if request.method in ("GET", "HEAD") else None
        if response is None:
            return self.get_response(request)
        response.headers["Cache-Control"] = "no-store"
        return response

    def _answer(self, path: str) -> HttpResponseBase | None:
        if path == LIVE:
            return HttpResponse("ok", content_type="text/plain")
        if path == READY:
            health = self._read_health()
            return JsonResponse(health, status=200 if is_ready(health) else 503)
        if path == "/robots.txt":
            return HttpResponse(_ROBOTS, content_type="text/plain")
        if path == "/.well-known/security.txt" and (contact := settings.DEFAULT_FROM_EMAIL):
            expires = now() + timedelta(days=_DAYS_VALID)
            lines = f"Contact: mailto:{parseaddr(contact)[1]}\nExpires: {expires:%Y-%m-%dT%XZ}\n"
            return HttpResponse(lines, content_type="text/plain; charset=utf-8")
        return None

    def _read_health(self) -> Health:
        """Return the health of the last few seconds: asking often costs the database nothing."""
        with self._lock:
            if not self._health or time.monotonic() - self._read_at >= _SECONDS_KEPT:
                self._health = read_health()
                self._read_at = time.monotonic()
            return self._health


def is_ready(health: Health) -> bool:
    """Return whether pages work: they do without a worker.

    By a wrong clock, other people's places would seem to be over.
    """
    return health["database"] == health["migrations"] == health["clock"] == "ok"


def read_health() -> Health:
    """Ask the database for its migrations, the worker's last beat and the time: two queries."""
    health = {"database": "ok", "migrations": "ok", "worker": "ok", "clock": "ok"}
    unknown = {"worker": "unknown", "clock": "unknown"}
    try:
        applied = MigrationRecorder(connection).migration_qs.values_list("app", "name")
        if not _list_migrations() <= set(applied):
            return health | unknown | {"migrations": "missing"}
        clocks = read_clocks()
    except Error as error:
        if is_outage(error):
            return unknown | {"database": "unavailable", "migrations": "unknown"}
        # without its first migration a database has no table to ask
        return health | unknown | {"migrations": "missing"}
    # a beat that is to come was noted by a clock that was ahead
    if clocks is None or abs(now() - clocks.ticked_at) > LATE_AFTER:
        health["worker"] = "late"
    if clocks is not None and not clocks.agree:
        health["clock"] = "wrong"
    return health


@cache
def _list_migrations() -> set[Migration]:
    """Return the migrations of this code, which stay the same while a process runs."""
    return set(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)
