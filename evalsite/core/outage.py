"""Pages for a database that is unreachable, full, read-only or damaged."""

import errno
import logging
import sqlite3
import sys
import time
from threading import Lock

from django.db import InterfaceError, InternalError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views import defaults

from evalsite.lib.database_state import is_damaged

SECONDS_TO_WAIT = 10
_SECONDS_BETWEEN_LINES = 60
_MOST_CAUSES = 100
# PostgreSQL's code for a server that takes no writes, such as a standby
_READ_ONLY = "25006"
# PostgreSQL's code for a full disk
_DISK_FULL = "53100"
# no room, no room for this user, a disk that takes no writes, a file larger than the disk takes
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG}


def server_error(request: HttpRequest) -> HttpResponse:
    """Return a 503 with Retry-After if the database or the disk failed, otherwise a 500.

    Nothing of the request is stored then: its transaction was rolled back.
    """
    # Django asks for this page while it handles the error, whichever layer raised it.
    if not is_outage(sys.exception()):
        return defaults.server_error(request)
    # no request in the template: a page about the database must not ask it who is signed in
    was_sent = request.method not in ("GET", "HEAD")
    response = render(None, "503.html", {"was_sent": was_sent}, status=503)
    response.headers["Retry-After"] = str(SECONDS_TO_WAIT)
    response.headers["Cache-Control"] = "no-store"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def is_outage(error: BaseException | None) -> bool:
    """Return whether the database or the disk failed, rather than a query."""
    if is_full_disk(error):
        return True
    cause = error.__cause__ if error else None
    if is_damaged(error):
        return True
    if isinstance(error, InternalError):
        return getattr(cause, "pgcode", None) == _READ_ONLY
    # SQLite's code for a statement that it can't run, such as one about a missing table
    if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
        return False
    return isinstance(error, OperationalError | InterfaceError)


def is_full_disk(error: BaseException | None) -> bool:
    """Return whether this error came from a disk that is full, or that takes no writes."""
    # closing a file that could not be written raises another error
    while error is not None:
        if (
            (isinstance(error, OSError) and error.errno in _NO_ROOM)
            or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
            or getattr(error, "pgcode", None) == _DISK_FULL
        ):
            return True
        error = error.__cause__ or error.__context__
    return False


class OneLineAMinute(logging.Filter):
    """Log requests that met an outage in one line a minute for each cause, without tracebacks."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()
        # by cause: when its last line was written, and how many were left out since
        self._lines: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if record.name != "django.request" or not is_outage(error):
            return True
        cause = f"{type(error).__name__}: {error}".splitlines()[0]
        left_out = self._count(cause)
        if left_out is None:
            return False
        record.msg, record.args = "Requests are answered with 503: %s", (cause,)
        if left_out:
            record.msg, record.args = (
                f"{record.msg} (%s more since the last line)",
                (cause, left_out),
            )
        record.exc_info = record.exc_text = None
        return True

    def _count(self, cause: str) -> int | None:
        """Return how many lines were left out before this one; None if it is left out as well."""
        moment = time.monotonic()
        with self._lock:
            if len(self._lines) > _MOST_CAUSES:
                self._lines.clear()
            written_at, left_out = self._lines.get(cause, (moment - _SECONDS_BETWEEN_LINES, 0))
            is_due = moment - written_at >= _SECONDS_BETWEEN_LINES
            self._lines[cause] = (moment, 0) if is_due else (written_at, left_out + 1)
        return left_out if is_due else None
