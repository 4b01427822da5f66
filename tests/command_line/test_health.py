"""evalsite health, and the link to the first account that evalsite prepare prints."""

import json
import re
import socket
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import django
import pytest
from django.contrib.auth.models import User
from django.test import Client

from evalsite.command_line import prepare
from evalsite.command_line.main import run_command
from evalsite.command_line.output import DONE, NO
from evalsite.core.jobs.models import SiteClock
from evalsite.lib.clock import now
from evalsite.operations import health
from tests.site.test_bad_database import away
from tests.support.factories import make_user


@pytest.fixture(autouse=True)
def set_up_once(monkeypatch):
    """Commands don't set Django up again: the log would go to this test's captured output, which is
    closed when the test ends, and later tests would fail at it."""
    monkeypatch.setattr(django, "setup", lambda: None)


@pytest.fixture
def port(live_server, monkeypatch) -> str:
    # the server is that of all tests, and keeps its answers for five seconds
    monkeypatch.setattr(health, "_SECONDS_KEPT", 0)
    return live_server.url.rpartition(":")[2]


@pytest.fixture
def read(capsys):
    """What a command wrote for programs."""
    return lambda: json.loads(capsys.readouterr().out)


def note_beat() -> None:
    SiteClock.objects.create(pk=1, ticked_at=now())


@pytest.mark.django_db(transaction=True)
def test_site_that_works_is_well_with_a_late_worker_too(port, read):
    code = run_command(["health", "--port", port, "--json"])

    assert code == DONE
    assert read() | {"evalsite": ""} == {
        "evalsite": "", "command": "health", "exit": 0,
        "database": "ok", "migrations": "ok", "worker": "late", "clock": "ok",
    }  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_site_without_its_database_is_not_well(port, read):
    with away():
        code = run_command(["health", "--port", port, "--json"])

    assert (code, read()["database"]) == (NO, "unavailable")


def test_site_that_does_not_answer_is_not_well(capsys):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

        code = run_command(["health", "--port", str(port)])

    assert code == NO
    assert f"127.0.0.1:{port}" in capsys.readouterr().out


@pytest.mark.parametrize("body", [b"", b"welcome", b"[1]", b"7", b"{}"])
def test_another_program_on_this_port_is_no_site(body):
    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        code = run_command(["health", "--port", str(server.server_port)])
        thread.join()

    assert code == NO


@pytest.mark.django_db
def test_worker_is_well_after_its_beat(read):
    before = run_command(["health", "--worker", "--json"]), read()["worker"]
    note_beat()
    after = run_command(["health", "--worker", "--json"]), read()["worker"]

    assert (before, after) == ((NO, "late"), (DONE, "ok"))


@pytest.mark.django_db(transaction=True)
def test_worker_without_its_database_is_not_well(read):
    note_beat()

    with away():
        code = run_command(["health", "--worker", "--json"])

    assert (code, read()["database"]) == (NO, "unavailable")


@pytest.mark.django_db
def test_prepare_prints_the_link_to_the_first_account_until_there_is_one(
    monkeypatch, capsys, read, settings
):
    settings.SITE_ADDRESS = "https://eval.example.org"
    monkeypatch.setattr(prepare, "prepare_site", lambda: None)

    code = run_command(["prepare", "--json"])
    link = read()["first_account"]["link"]
    opened = Client().get(link.removeprefix("https://eval.example.org")).status_code
    run_command(["prepare"])
    text = capsys.readouterr().out
    make_user("root", is_superuser=True)
    run_command(["prepare", "--json"])

    assert (code, opened) == (DONE, 200)
    assert re.search(r"^https://eval\.example\.org/account/first/\S+$", text, re.MULTILINE)
    assert "first_account" not in read()
    assert User.objects.count() == 1
