"""Limits of signing in on a server that has served before, and with a clock that has jumped."""

import re
from contextlib import closing
from datetime import timedelta
from http.client import HTTPConnection
from urllib.parse import urlencode

import pytest
import time_machine
from django.test import Client

from evalsite.lib.clock import now
from tests.support.accounts import PASSWORD, make_account, sign_in, sign_in_from, turn_on
from tests.support.soak import (
    make_ordinary_people,
    send_ordinary_requests,
    serve_ordinary_requests,
)
from tests.support.webserver import WebServer

HOME = "192.0.2.1"


def sign_in_through(port: int, network: str, password: str, login: str = "jane") -> int:
    """Sign in as a browser does, through a proxy that saw this address; return the status."""
    seen = {"X-Forwarded-For": network}
    with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", "/account/login/", headers=seen)
        page = connection.getresponse()
        text, cookie = page.read().decode(), page.headers["Set-Cookie"].split(";")[0]
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', text)[1]
        fields = {"login": login, "password": password, "csrfmiddlewaretoken": token}
        headers = seen | {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/account/login/", urlencode(fields), headers)
        return connection.getresponse().status


@pytest.mark.slow
@pytest.mark.both_databases
def test_limits_hold_in_all_processes_of_a_server_that_has_served_before(database_url, tmp_path):
    make_account()
    links = make_ordinary_people()
    with WebServer(database_url, tmp_path, EVALSITE_TEST_PROXY="on") as server:
        port = server.port
        send_ordinary_requests(port, links)
        known = sign_in_through(port, HOME, PASSWORD)
        # 50 failures from 10 networks, one of them ten addresses of a /64
        networks = [f"198.51.100.{number}" for number in range(9) for _ in range(5)]
        networks += [f"2001:db8:1:2:{number:x}::1" for number in range(5)]
        failures = [sign_in_through(port, network, "wrong") for network in networks]
        at_home = sign_in_through(port, HOME, PASSWORD)
        elsewhere = sign_in_through(port, "203.0.113.9", PASSWORD)
        spraying = [
            sign_in_through(port, "203.0.113.10", "wrong", f"name-{number}") for number in range(12)
        ]

    assert known == 302
    assert (failures.count(422), failures.count(429)) == (40, 10)
    assert at_home == 302
    assert elsewhere == 429
    assert spraying == [422] * 9 + [429] * 3


# --- T19 ------------------------------------------------------------------------------------


def check_limits(number: int) -> None:
    """Meet every limit of signing in with an account and networks of their own."""
    name, block = f"owner-{number}", f"10.{number}"
    make_account(name)
    home = f"{block}.1.1"
    client = Client(REMOTE_ADDR=home)
    sign_in(client, login=name)
    turn_on(client)

    pair = [sign_in_from(f"{block}.2.1", "wrong", name) for _ in range(6)]
    spraying = [sign_in_from(f"{block}.3.1", "wrong", f"{name}-{k}") for k in range(12)]
    for k in range(9):
        for _ in range(5):
            sign_in_from(f"{block}.4.{k}", "wrong", name)
    shut = sign_in_from(f"{block}.5.1", login=name)
    at_home = sign_in(client := Client(REMOTE_ADDR=home), login=name)
    codes = [client.post(at_home.url, {"code": "000000"}).status_code for _ in range(6)]

    assert pair == [422] * 4 + [429] * 2, number
    assert spraying == [422] * 9 + [429] * 3, number
    assert shut == 429, number
    assert at_home.status_code == 302, number
    assert codes == [422] * 4 + [429] * 2, number


def check_freedom(number: int) -> None:
    """Whoever was locked an hour ago, by whatever clock, may try again."""
    name, block = f"owner-{number}", f"10.{number}"
    for network in (f"{block}.2.1", f"{block}.3.1", f"{block}.5.1"):
        assert sign_in_from(network, login=name) == 302, (number, network)


@pytest.mark.torture
@pytest.mark.django_db
def test_limits_of_signing_in_hold_after_10_000_requests_and_a_clock_jump_of_a_year():
    serve_ordinary_requests(10_000)
    with time_machine.travel(now(), tick=False) as clock:
        check_limits(1)
        clock.shift(timedelta(days=365))
        check_freedom(1)
        check_limits(2)
        clock.shift(-timedelta(days=365))
        # what was locked while the clock was ahead isn't locked for a year
        check_freedom(2)
        check_limits(3)
        clock.shift(timedelta(hours=1))
        check_freedom(3)
        check_limits(4)
