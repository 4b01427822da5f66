"""Addresses of monitoring: what they answer in each state, to whom, and at what cost."""

import io
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evalsite.core.jobs.models import SiteClock
from evalsite.core.outage import OneLineAMinute
from evalsite.lib.clock import now, standing_at
from evalsite.operations.health import LATE_AFTER
from tests.site.test_bad_database import away

LIVE, READY = "/health/live/", "/health/ready/"
WELL = {"database": "ok", "migrations": "ok", "worker": "ok", "clock": "ok"}
UNKNOWN = {"worker": "unknown", "clock": "unknown"}
UNAVAILABLE = UNKNOWN | {"database": "unavailable", "migrations": "unknown"}
MISSING = UNKNOWN | {"database": "ok", "migrations": "missing"}

in_transaction = pytest.mark.django_db
for_real = pytest.mark.django_db(transaction=True)


@pytest.fixture
def quiet() -> Client:
    """A client to which the site answers as to a browser, errors too."""
    return Client(raise_request_exception=False)


def note_beat(*, ago: timedelta = timedelta()) -> None:
    SiteClock.objects.update_or_create(pk=1, defaults={"ticked_at": now() - ago})


def ask(client: Client) -> tuple[int, dict[str, str]]:
    response = client.get(READY)
    return response.status_code, response.json()


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch, moment: float) -> Iterator[None]:
    """The clock that counts seconds stands at this moment."""
    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: moment)
        yield


@in_transaction
@pytest.mark.slow
@pytest.mark.parametrize("path", [LIVE, READY, "/robots.txt", "/.well-known/security.txt"])
def test_any_host_is_answered_without_https_or_a_session(served_before, settings, path):
    settings.SECURE_SSL_REDIRECT, settings.DEFAULT_FROM_EMAIL = True, "Team <a@example.org>"
    note_beat()
    client = Client(headers={"host": "10.1.2.3:8000"})

    answers = [client.get(path), client.get(path, secure=True), client.head(path)]

    assert [answer.status_code for answer in answers] == [200] * 3
    assert not any(answer.cookies or "Vary" in answer.headers for answer in answers)
    # the same host and scheme get no page
    assert client.get("/account/login/").status_code in (301, 400)


@in_transaction
def test_live_asks_no_database(django_assert_num_queries):
    with django_assert_num_queries(0):
        response = Client().get(LIVE)

    assert (response.status_code, response.text) == (200, "ok")


@in_transaction
@pytest.mark.both_databases
def test_ready_asks_two_queries_and_keeps_the_answer_for_five_seconds(monkeypatch):
    note_beat()
    client, counts = Client(), []
    client.get(LIVE)
    began = time.monotonic()

    for seconds in (0, 4.9, 5):
        with counted(monkeypatch, began + seconds), CaptureQueriesContext(connection) as queries:
            assert ask(client) == (200, WELL)
        counts.append(len(queries))

    assert counts == [2, 0, 2]


@in_transaction
@pytest.mark.parametrize("passed", [LATE_AFTER, LATE_AFTER + timedelta(seconds=1)])
def test_worker_without_a_beat_for_two_minutes_is_late_and_pages_work(passed):
    with standing_at(datetime(2026, 1, 1, tzinfo=UTC)):
        note_beat(ago=passed)

        answer = ask(Client())

    assert timedelta(minutes=2) == LATE_AFTER
    assert answer == (200, WELL | {"worker": "ok" if passed == LATE_AFTER else "late"})


@in_transaction
def test_worker_that_never_ran_is_late():
    assert ask(Client()) == (200, WELL | {"worker": "late"})


@in_transaction
@pytest.mark.both_databases
@pytest.mark.parametrize("minutes", [-6, -4, 4, 6])
def test_ready_fails_where_the_clock_is_not_that_of_the_database_server(minutes):
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=minutes), tick=False):
        note_beat()

        answer = ask(Client())

    # SQLite has the clock of this machine
    is_off = connection.vendor == "postgresql" and abs(minutes) > 5
    assert answer == ((503, WELL | {"clock": "wrong"}) if is_off else (200, WELL))


@in_transaction
def test_beat_of_a_clock_that_was_ahead_does_not_hide_that_the_worker_is_gone():
    note_beat(ago=timedelta(hours=-6))

    assert ask(Client()) == (200, WELL | {"worker": "late"})


@for_real
@pytest.mark.both_databases
@pytest.mark.slow
def test_ready_fails_while_the_database_is_away_and_recovers(served_before, quiet, monkeypatch):
    note_beat()
    before = ask(quiet)

    with away(), counted(monkeypatch, time.monotonic() + 10):
        during = ask(quiet)
        live = quiet.get(LIVE).status_code
    with counted(monkeypatch, time.monotonic() + 20):
        after = ask(quiet)

    assert (before, during, after) == ((200, WELL), (503, UNAVAILABLE), (200, WELL))
    assert live == 200


@in_transaction
def test_ready_fails_while_a_migration_is_missing():
    note_beat()
    label, name = MigrationRecorder(connection).migration_qs.values_list("app", "name").last()

    MigrationRecorder(connection).record_unapplied(label, name)

    assert ask(Client()) == (503, MISSING)


@for_real
@pytest.mark.both_databases
def test_ready_fails_on_a_database_without_tables(quiet):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE django_migrations RENAME TO put_away")
    try:
        answer = ask(quiet)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE put_away RENAME TO django_migrations")

    assert answer == (503, MISSING)


@pytest.fixture
def log():
    (handler,) = (
        handler
        for handler in logging.getLogger("django").handlers
        if any(isinstance(filter_, OneLineAMinute) for filter_ in handler.filters)
    )
    stream = io.StringIO()
    before = handler.setStream(stream)  # type: ignore[attr-defined]
    yield stream
    handler.setStream(before)  # type: ignore[attr-defined]


@for_real
def test_monitoring_writes_no_line_in_the_log(quiet, log):
    with away():
        statuses = [quiet.get(path).status_code for path in (LIVE, READY, "/nowhere/")]

    assert statuses == [200, 503, 404]
    assert READY not in log.getvalue()
    assert "/nowhere/" in log.getvalue()


@in_transaction
def test_form_that_comes_back_with_its_problems_writes_no_line_in_the_log(log):
    refused = Client().post("/account/login/", {"login": "", "password": ""})

    assert refused.status_code == 422
    assert log.getvalue() == ""


@in_transaction
def test_nothing_is_posted_to_monitoring():
    assert [Client().post(path).status_code for path in (LIVE, READY)] == [404, 404]


@in_transaction
def test_robots_may_read_the_first_page_only():
    lines = Client().get("/robots.txt").text.splitlines()

    assert lines == ["User-agent: *", "Allow: /$", "Disallow: /"]


@in_transaction
def test_security_contact_is_the_address_that_the_site_writes_from(settings):
    settings.DEFAULT_FROM_EMAIL = "Evaluation team <eval@example.org>"

    with standing_at(datetime(2026, 1, 1, 12, 30, tzinfo=UTC)):
        lines = Client().get("/.well-known/security.txt").text.splitlines()
    settings.DEFAULT_FROM_EMAIL = ""
    without = Client().get("/.well-known/security.txt")

    # RFC 9116: both are required, and a year is the most
    assert lines == ["Contact: mailto:eval@example.org", "Expires: 2026-06-30T12:30:00Z"]
    assert without.status_code == 404
