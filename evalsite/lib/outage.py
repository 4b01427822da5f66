"""While the database is away, full, read-only or damaged, pages say so and ask to come back."""

import sqlite3
import sys

from django.db import InterfaceError, InternalError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views import defaults

from evalsite.lib.database_state import is_damaged

SECONDS_TO_WAIT = 10
# PostgreSQL's word for a server that takes no writes, such as one that stands by for another
_READ_ONLY = "25006"


def server_error(request: HttpRequest) -> HttpResponse:
    """503 with Retry-After if the database could not do its work; else the page for our faults.

    Nothing of the request is stored then: what was begun has been rolled back.
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
    """Whether this error is the database's own trouble, and not that of a query."""
    cause = error.__cause__ if error else None
    if is_damaged(error):
        return True
    if isinstance(error, InternalError):
        return getattr(cause, "pgcode", None) == _READ_ONLY
    # SQLite's word for a statement that it can't make sense of, such as one about a missing table
    if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:
        return False
    return isinstance(error, OperationalError | InterfaceError)
