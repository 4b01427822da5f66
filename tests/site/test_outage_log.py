"""A database that is away fills no log: one line a minute for each cause, without a traceback."""

import io
import logging
import time

import pytest
from django.db import OperationalError
from django.test import Client

from evalsite.core.outage import OneLineAMinute
from evalsite.people import access
from tests.site.test_bad_database import away
from tests.support.factories import make_participant, make_study, mint_link
from tests.support.soak import serve_ordinary_requests

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
REQUESTS = 73


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Return what the site's own handler writes."""
    (handler,) = (
        handler
        for handler in logging.getLogger("django").handlers
        if any(isinstance(filter_, OneLineAMinute) for filter_ in handler.filters)
    )
    stream = io.StringIO()
    # its own may have been that of an earlier test, which is closed
    monkeypatch.setattr(handler, "stream", stream)
    return stream


@pytest.fixture
def home() -> str:
    return mint_link(make_participant(make_study()))


@pytest.fixture
def quiet() -> Client:
    return Client(raise_request_exception=False)


@pytest.mark.torture
def test_a_database_that_is_away_is_one_line_a_minute_without_a_traceback(
    log, home, quiet, monkeypatch
):
    serve_ordinary_requests()
    # later than whatever was written about a database that was away before this test
    moment = time.monotonic() + 600
    monkeypatch.setattr(time, "monotonic", lambda: moment)

    with away():
        answers = [quiet.get(home).status_code for _ in range(REQUESTS)]
        lines = log.getvalue().splitlines()
        monkeypatch.setattr(time, "monotonic", lambda: moment + 120)
        answers.append(quiet.get(home).status_code)

    assert answers == [503] * (REQUESTS + 1)
    assert len([line for line in lines if "answered with 503" in line]) == 1
    later = log.getvalue().splitlines()[len(lines) :]
    assert [f"({REQUESTS - 1} more" in line for line in later] == [True]
    assert "Traceback" not in log.getvalue()
    assert home.split("/")[2] not in log.getvalue()


def test_each_cause_has_its_line_and_an_error_of_ours_keeps_its_traceback(
    log, home, quiet, monkeypatch
):
    for error in (OperationalError("first"), OperationalError("second"), ZeroDivisionError()):
        monkeypatch.setattr(access, "_find_owner", _raise(error))
        quiet.get(home)
        quiet.get(home)

    assert [log.getvalue().count(name) for name in ("first", "second")] == [1, 1]
    assert log.getvalue().count("Traceback") == 2


def _raise(error: Exception):
    def fail(*arguments: object, **options: object) -> None:
        raise error

    return fail
