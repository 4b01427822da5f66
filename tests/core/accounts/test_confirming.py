"""Whoever changes how one signs in gives the password or a code again, after five minutes."""

from datetime import timedelta

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

from evalsite.core.jobs.models import OutgoingMail
from evalsite.core.jobs.outbox import send_waiting_mail
from evalsite.lib.clock import now
from tests.support.accounts import NEW, PASSWORD, code_of, is_signed_in, sign_in, turn_on

pytestmark = pytest.mark.django_db

CONFIRM = "/account/confirm/"
PROFILE = {"name": "", "username": "jane", "email": "jane@example.org"}


@pytest.fixture
def clock():
    with time_machine.travel(now(), tick=False) as clock:
        yield clock


def later(clock) -> Client:
    """Return a browser that signed in six minutes ago."""
    client = Client()
    sign_in(client)
    clock.shift(timedelta(minutes=6))
    return client


@pytest.mark.parametrize(
    "change", [{"email": "new@example.org"}, {"username": "janet"}, {"email": ""}]
)
@pytest.mark.slow
@pytest.mark.usefixtures("served_before")
def test_address_and_user_name_change_once_the_password_is_given_again(jane, clock, change):
    client = later(clock)

    asked = client.post("/account/", PROFILE | change)
    before = User.objects.get(pk=jane.pk)
    client.post(asked.url, {"password": PASSWORD})
    after = User.objects.get(pk=jane.pk)

    assert asked.url.startswith(CONFIRM)
    assert (before.username, before.email) == ("jane", "jane@example.org")
    # what was entered is saved at once
    assert {name: getattr(after, name) for name in change} == change


def test_name_and_messages_change_without_it(jane, clock):
    client = later(clock)

    response = client.post("/account/", PROFILE | {"name": "Jane", "mail": "never"})

    assert response.url == "/account/"
    assert User.objects.get(pk=jane.pk).first_name == "Jane"


@pytest.mark.parametrize("minutes", [4, 6])
def test_signing_in_counts_for_five_minutes(jane, clock, minutes):
    client = Client()
    sign_in(client)
    clock.shift(timedelta(minutes=minutes))

    response = client.post("/account/", PROFILE | {"username": "janet"})

    assert response.url.startswith(CONFIRM) == (minutes > 5)


def test_other_devices_are_signed_out_once_the_password_is_given_again(jane, clock):
    elsewhere = Client()
    sign_in(elsewhere)
    client = later(clock)

    asked = client.post("/account/sessions/", {"out": "others"})
    before = is_signed_in(elsewhere)
    client.post(asked.url, {"password": PASSWORD})

    assert asked.url.startswith(CONFIRM)
    assert before
    assert not is_signed_in(elsewhere)


@pytest.mark.parametrize("path", ["two-factor/off/", "two-factor/codes/new/", "two-factor/codes/"])
def test_second_factor_changes_once_the_password_is_given_again(jane, clock, path):
    client = Client()
    sign_in(client)
    turn_on(client)
    clock.shift(timedelta(minutes=6))
    kept = list(Authenticator.objects.order_by("pk").values("pk", "data"))

    asked = client.post(f"/account/{path}") if path != "two-factor/codes/" else client.get(
        f"/account/{path}"
    )  # fmt: skip

    assert asked.url.startswith(CONFIRM)
    assert list(Authenticator.objects.order_by("pk").values("pk", "data")) == kept


def test_second_factor_is_turned_on_once_the_password_is_given_again(jane, clock):
    client = later(clock)

    assert client.get("/account/two-factor/").url.startswith(CONFIRM)


def test_password_changes_with_the_old_one_whose_failures_count(jane, clock):
    client = later(clock)
    fields = {"password1": NEW, "password2": NEW}

    wrong = [
        client.post("/account/password/", fields | {"oldpassword": f"wrong {number}"}).status_code
        for number in range(5)
    ]
    locked = client.post("/account/password/", fields | {"oldpassword": PASSWORD})

    assert wrong == [422, 422, 422, 422, 429]
    assert locked.status_code == 429
    assert User.objects.get(pk=jane.pk).check_password(PASSWORD)


def test_first_password_is_chosen_once_a_code_is_given_and_waits_nowhere(jane, clock):
    client = Client()
    sign_in(client)
    codes = turn_on(client)
    jane.set_unusable_password()
    jane.save()
    client.force_login(jane)
    fields = {"password1": NEW, "password2": NEW}

    sent = client.post("/account/password/set/", fields)
    asked = client.get(sent.url)
    is_kept = NEW in str(dict(client.session))
    client.post(asked.url, {"code": codes[0]})
    client.post("/account/password/set/", fields)

    assert sent.url == "/account/password/set/"
    assert asked.url.startswith("/account/confirm/code/")
    assert not is_kept
    assert User.objects.get(pk=jane.pk).check_password(NEW)


@pytest.mark.parametrize(("way", "field"), [("", "password"), ("code/", "code")])
def test_five_wrong_confirmations_lock(jane, clock, way, field):
    client = Client()
    sign_in(client)
    turn_on(client)
    clock.shift(timedelta(minutes=6))

    statuses = [client.post(f"{CONFIRM}{way}", {field: "000000"}).status_code for _ in range(6)]

    assert statuses == [422, 422, 422, 422, 429, 429]


@pytest.mark.slow
@pytest.mark.usefixtures("served_before")
def test_wrong_code_is_422_wherever_a_code_is_asked_for(jane, clock):
    client, other = Client(), Client()
    sign_in(client)
    client.get("/account/two-factor/")
    setting_up = client.post("/account/two-factor/", {"code": "000000"})
    turn_on(client)
    clock.shift(timedelta(minutes=5))
    signing_in = other.post(sign_in(other).url, {"code": "000000"})
    confirming = client.post("/account/confirm/code/", {"code": "000000"})
    empty = client.post("/account/confirm/code/", {})
    right = client.post("/account/confirm/code/", {"code": code_of(jane)})

    refused = (setting_up, signing_in, confirming, empty)
    assert [response.status_code for response in refused] == [422] * 4
    assert right.status_code == 302


# --- the former address --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("served_before")
def test_former_address_is_told_of_a_change_with_time_and_network(jane, mail_on, clock):
    clock.move_to("2026-11-01T10:43Z")
    client = Client(REMOTE_ADDR="192.0.2.77")
    sign_in(client)

    client.post("/account/", PROFILE | {"email": ""})
    send_waiting_mail()

    (message,) = mail.outbox
    assert message.to == ["jane@example.org"]
    for fact in ("jane", "1 November 2026", "10:43 UTC", "192.0.2.0/24"):
        assert fact in message.body


def test_former_address_is_told_when_the_new_one_is_confirmed(jane, mail_on):
    client = Client()
    sign_in(client)
    client.post("/account/", PROFILE | {"email": "new@example.org"})
    asked = OutgoingMail.objects.get()
    link = asked.body.split("http://testserver")[1].split()[0]

    Client().post(link)

    assert asked.recipient == "new@example.org"
    assert OutgoingMail.objects.latest("pk").recipient == "jane@example.org"


def test_nobody_is_told_where_there_was_no_address(jane, mail_on):
    User.objects.filter(pk=jane.pk).update(email="")
    client = Client()
    sign_in(client)
    client.post("/account/", PROFILE | {"email": "new@example.org"})
    link = OutgoingMail.objects.get().body.split("http://testserver")[1].split()[0]

    Client().post(link)

    assert OutgoingMail.objects.count() == 1
