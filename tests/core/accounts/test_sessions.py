"""When a sign-in ends."""

from datetime import timedelta

import pytest
import time_machine
from django.test import Client

from tests.support.accounts import is_signed_in, sign_in, turn_on

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock():
    with time_machine.travel("2026-11-01T08:00Z", tick=False) as clock:
        yield clock


def use_for(client: Client, clock, hours: int) -> list[bool]:
    """Ask for a page every three hours."""
    states = []
    for _ in range(hours // 3):
        clock.shift(timedelta(hours=3))
        states.append(is_signed_in(client))
    return states


def test_session_ends_after_12_hours_however_much_it_is_used(jane, clock):
    client = Client()
    sign_in(client)

    assert use_for(client, clock, 9) == [True] * 3
    clock.shift(timedelta(hours=2, minutes=59))
    assert is_signed_in(client)
    clock.shift(timedelta(minutes=2))
    assert not is_signed_in(client)


@pytest.mark.slow
def test_session_ends_after_four_hours_without_a_request(served_before, jane, clock):
    client = Client()
    sign_in(client)
    clock.shift(timedelta(hours=3, minutes=59))
    before = is_signed_in(client)
    clock.shift(timedelta(hours=3, minutes=59))
    used = is_signed_in(client)
    clock.shift(timedelta(hours=4, minutes=1))

    assert before
    assert used
    assert not is_signed_in(client)


def test_requests_within_a_minute_count(jane, clock):
    client = Client()
    sign_in(client)
    clock.shift(timedelta(minutes=10))
    is_signed_in(client)
    clock.shift(timedelta(hours=3, minutes=58))

    assert is_signed_in(client)


def test_session_of_30_days_ends_then_and_needs_no_use(jane, clock):
    client = Client()
    sign_in(client, remember="on")
    clock.shift(timedelta(days=29))
    before = is_signed_in(client)
    clock.shift(timedelta(days=1, minutes=1))

    assert before
    assert not is_signed_in(client)


def test_session_with_a_code_ends_as_the_form_before_said(jane, clock):
    first, client = Client(), Client()
    sign_in(first)
    codes = turn_on(first)
    client.post(sign_in(client, remember="on").url, {"code": codes[0]})
    clock.shift(timedelta(days=29))

    assert is_signed_in(client)


def test_session_without_a_form_ends_like_others(jane, clock):
    """As after signing in with an organisation."""
    clients = [Client(), Client()]
    for client in clients:
        client.force_login(jane)

    assert use_for(clients[0], clock, 9) == [True] * 3
    assert not is_signed_in(clients[1])
    clock.shift(timedelta(hours=3, minutes=1))
    assert not is_signed_in(clients[0])


def test_clock_that_jumped_ahead_and_back_lets_an_idle_session_end(jane, clock):
    client = Client()
    sign_in(client, remember="on")
    clock.shift(timedelta(days=20))
    is_signed_in(client)
    clock.shift(-timedelta(days=20))
    short = Client()
    sign_in(short)
    clock.shift(timedelta(hours=4, minutes=1))

    assert is_signed_in(client)
    assert not is_signed_in(short)


def test_device_without_use_is_no_longer_listed(jane, clock):
    sign_in(Client())
    clock.shift(timedelta(hours=4, minutes=1))
    client = Client()
    sign_in(client)

    assert len(client.get("/account/").context["devices"]) == 1
