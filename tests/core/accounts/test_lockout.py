"""How often one may try: by account and network, by network over all names, and by account."""

import re
from datetime import timedelta

import pytest
import time_machine
from django.core.management import call_command
from django.test import Client

from evalsite.lib.clock import now
from tests.support.accounts import (
    PASSWORD,
    code_of,
    is_signed_in,
    make_account,
    sign_in,
    sign_in_from,
    turn_on,
)

pytestmark = pytest.mark.django_db

HOME = "192.0.2.1"


def fail_from(networks, login="jane", times=5) -> list[int]:
    return [sign_in_from(network, "wrong", login) for network in networks for _ in range(times)]


def test_five_wrong_passwords_lock_for_15_minutes_even_for_the_right_one(jane):
    client = Client()
    with time_machine.travel("2026-11-01T10:43Z", tick=False) as clock:
        given = [sign_in(client, "wrong") for _ in range(5)]
        locked = sign_in(client)
        clock.shift(timedelta(minutes=14, seconds=59))
        still_locked = sign_in(client)
        clock.shift(timedelta(seconds=2))
        free = sign_in(client)

    assert [one.status_code for one in given] == [422, 422, 422, 422, 429]
    assert "1 of 5 attempts left" in given[3].text
    assert locked.status_code == still_locked.status_code == 429
    assert "Try again at 10:58 UTC" in locked.text
    assert locked["Retry-After"] == "901"
    assert free.status_code == 302


def test_name_and_address_of_one_account_count_together(jane):
    for login in ("jane", "jane@example.org", "Jane", "jane", "jane@example.org"):
        response = sign_in(Client(), "wrong", login)

    assert response.status_code == 429


def test_unknown_name_is_locked_like_a_known_one():
    given = [sign_in(Client(), "wrong", "nobody").status_code for _ in range(6)]

    assert given == [422, 422, 422, 422, 429, 429]


def test_right_password_starts_the_count_again(jane):
    for _ in range(2):
        given = [sign_in(Client(), "wrong").status_code for _ in range(4)]
        sign_in(Client())

    assert given == [422] * 4


def test_new_password_from_the_command_ends_the_lock(jane, capsys):
    for _ in range(5):
        sign_in(Client(), "wrong")

    call_command("password", "jane")
    password = re.search(r"Password: (\S+)", capsys.readouterr().out)[1]

    assert sign_in(Client(), password).status_code == 302


def sign_in_through_proxy(seen: str, password: str) -> int:
    """An attempt whose X-Forwarded-For is this, as the proxy on this machine sends it."""
    client = Client(REMOTE_ADDR="127.0.0.1", headers={"x-forwarded-for": seen})
    return sign_in(client, password).status_code


def test_bad_62_behind_the_proxy_the_lock_is_for_the_address_that_the_proxy_saw(jane, settings):
    settings.BEHIND_PROXY = True
    for number in range(5):
        # what stands before the last comma was sent by the client, and is not believed
        sign_in_through_proxy(f"203.0.113.{number}, 192.0.2.1", "wrong")

    assert sign_in_through_proxy("203.0.113.9, 192.0.2.1", PASSWORD) == 429
    assert sign_in_through_proxy("192.0.2.2", PASSWORD) == 302


def test_bad_62_without_a_proxy_a_forwarded_address_is_ignored(jane):
    for number in range(5):
        sign_in_through_proxy(f"192.0.2.{number}", "wrong")

    assert sign_in_through_proxy("192.0.2.9", PASSWORD) == 429


@pytest.mark.parametrize("seen", ["", "unknown", "192.0.2.1, <script>", "192.0.2.1,"])
def test_bad_62_malformed_forwarded_address_counts_as_the_proxys_own(jane, settings, seen):
    settings.BEHIND_PROXY = True
    for _ in range(5):
        sign_in_through_proxy(seen, "wrong")

    assert sign_in_through_proxy("127.0.0.1", PASSWORD) == 429


def test_a_name_that_is_too_long_is_refused_before_it_is_looked_up():
    assert sign_in(Client(), login="j" * 300).status_code == 422


def test_lock_of_one_network_locks_no_other(jane):
    fail_from([HOME])

    assert sign_in_from(HOME) == 429
    assert sign_in_from("192.0.2.2") == 302


@pytest.mark.both_databases
@pytest.mark.slow
@pytest.mark.usefixtures("served_before")
def test_fifty_failures_from_ten_networks_shut_out_new_networks_only(jane):
    sign_in_from(HOME)
    statuses = fail_from(f"198.51.100.{number}" for number in range(10))

    assert statuses.count(422) == 40
    assert statuses.count(429) == 10
    assert sign_in_from("203.0.113.9") == 429
    assert sign_in_from(HOME) == 302
    # nor does the owner's sign-in give others new attempts
    assert sign_in_from("203.0.113.10") == 429


def test_unknown_name_is_shut_to_new_networks_after_fifty_failures_like_a_known_one():
    fail_from((f"198.51.100.{number}" for number in range(10)), "nobody")

    assert sign_in_from("203.0.113.9", "wrong", "nobody") == 429


def test_networks_are_known_for_90_days(jane):
    with time_machine.travel("2026-06-01T08:00Z", tick=False) as clock:
        sign_in_from(HOME)
        sign_in_from("192.0.2.50", login="jane@example.org")
        clock.shift(timedelta(days=89))
        sign_in_from("192.0.2.50")
        clock.shift(timedelta(days=2))
        fail_from(f"198.51.100.{number}" for number in range(10))

        assert sign_in_from(HOME) == 429
        assert sign_in_from("192.0.2.50") == 302


def test_known_network_of_another_account_is_new_to_this_one(jane):
    make_account("priya")
    sign_in_from(HOME, login="priya")
    fail_from(f"198.51.100.{number}" for number in range(10))

    assert sign_in_from(HOME) == 429


def test_network_stays_known_when_the_secret_key_changes(jane, settings):
    sign_in_from(HOME)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "n" * 60, [settings.SECRET_KEY]
    fail_from(f"198.51.100.{number}" for number in range(10))

    assert sign_in_from(HOME) == 302


def test_failures_on_a_known_network_lock_that_network_after_five(jane):
    sign_in_from(HOME)
    fail_from(f"198.51.100.{number}" for number in range(9))
    statuses = fail_from([HOME])

    assert statuses == [422, 422, 422, 422, 429]
    assert sign_in_from(HOME) == 429


def test_fiftieth_failure_by_the_owner_shuts_out_others_only(jane):
    sign_in_from(HOME)
    fail_from(f"198.51.100.{number}" for number in range(9))
    fail_from(["198.51.100.9"], times=4)

    assert fail_from([HOME], times=1) == [422]
    assert sign_in_from("203.0.113.9") == 429
    assert sign_in_from(HOME) == 302


@pytest.mark.slow
@pytest.mark.usefixtures("served_before")
def test_ten_addresses_of_one_64_count_as_one(jane):
    addresses = [f"2001:db8:1:2:{number:x}::1" for number in range(10)]
    statuses = [sign_in_from(address, "wrong") for address in addresses]

    assert statuses == [422] * 4 + [429] * 6
    assert sign_in_from("2001:db8:1:2:ffff::9") == 429
    assert sign_in_from("2001:db8:1:3::1") == 302


@pytest.mark.slow
@pytest.mark.usefixtures("served_before")
def test_ten_failures_of_a_network_over_all_names_lock_it_for_every_name(jane):
    with time_machine.travel("2026-11-01T10:00Z", tick=False) as clock:
        statuses = [sign_in_from(HOME, "wrong", f"name-{number}") for number in range(50)]
        locked = sign_in_from(HOME)
        elsewhere = sign_in_from("192.0.2.2")
        clock.shift(timedelta(minutes=15, seconds=1))

        assert statuses == [422] * 9 + [429] * 41
        assert locked == 429
        assert elsewhere == 302
        assert sign_in_from(HOME) == 302


def test_signing_in_to_an_account_of_ones_own_gives_no_new_attempts_at_others(jane):
    make_account("mallory")
    statuses = []
    for number in range(20):
        statuses.append(sign_in_from(HOME, "wrong", f"name-{number}"))
        sign_in_from(HOME, login="mallory")

    assert statuses == [422] * 9 + [429] * 11


def test_successes_are_no_failures(jane):
    assert {sign_in_from(HOME) for _ in range(15)} == {302}


@pytest.mark.one_case
@pytest.mark.parametrize("days", [1, 365])
def test_clock_that_jumped_forward_and_back_leaves_no_lock(jane, days):
    with time_machine.travel("2026-11-01T10:00Z", tick=False) as clock:
        clock.shift(timedelta(days=days))
        ahead = fail_from([HOME, "192.0.2.2"]) + fail_from(["192.0.2.3"], times=4)
        clock.shift(-timedelta(days=days))

        assert ahead.count(429) == 2
        assert sign_in_from(HOME) == 302
        assert fail_from(["192.0.2.2", "192.0.2.3"]) == [422, 422, 422, 422, 429] * 2


def test_links_for_new_passwords_are_counted_by_network_too(jane, mail_on):
    statuses = [
        Client(REMOTE_ADDR=f"2001:db8:1:2:{number:x}::1")
        .post("/account/password/forgotten/", {"email": f"name-{number}"})
        .status_code
        for number in range(21)
    ]

    assert statuses == [302] * 20 + [429]


# --- codes ---------------------------------------------------------------------------------


def enter_code(network: str, code: str) -> tuple[int, Client]:
    client = Client(REMOTE_ADDR=network)
    response = client.post(sign_in(client).url, {"code": code})
    return response.status_code, client


def test_codes_are_counted_for_each_known_network_and_once_for_all_others(jane):
    with time_machine.travel(now(), tick=False) as clock:
        client = Client(REMOTE_ADDR=HOME)
        sign_in(client)
        turn_on(client)
        clock.shift(timedelta(minutes=5))
        strangers = [enter_code(f"198.51.100.{number}", "000000")[0] for number in range(6)]
        shut, _ = enter_code("203.0.113.9", code_of(jane))
        wrong = [enter_code(HOME, "000000")[0] for _ in range(4)]
        _, owner = enter_code(HOME, code_of(jane))

    assert strangers == [422, 422, 422, 422, 429, 429]
    assert shut == 429
    assert wrong == [422] * 4
    assert is_signed_in(owner)
