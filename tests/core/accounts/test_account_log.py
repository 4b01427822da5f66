"""The log of accounts: one line for whatever happened, and none that can be changed."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse

from evalsite.core.accounts import urls
from evalsite.core.accounts.sessions import delete_old_sign_ins
from evalsite.core.audit.models import AccountEvent
from evalsite.core.jobs.outbox import send_waiting_mail
from evalsite.lib.clock import now
from evalsite.studies.site_invitations import invite_researcher
from tests.support.accounts import (
    NEW,
    PASSWORD,
    code_of,
    make_account,
    make_code,
    sign_in,
    sign_in_from,
    turn_on,
)
from tests.support.factories import make_user

pytestmark = pytest.mark.django_db


def list_lines() -> list[tuple[str, str]]:
    return list(AccountEvent.objects.order_by("id").values_list("event", "detail"))


class Walk:
    """Each address about accounts, with a POST that succeeds there."""

    def __init__(self, jane: User) -> None:
        self.jane = jane
        self.client = Client()

    def begin(self) -> None:
        self.client = Client()
        sign_in(self.client)

    def begin_with_codes(self) -> list[str]:
        self.begin()
        return turn_on(self.client)

    def read_link(self) -> str:
        send_waiting_mail()
        return re.search(r"http://testserver(\S+)", mail.outbox[-1].body)[1]

    # --- by the name of the address: what to do first, then path and fields --------------------

    def account(self):
        self.begin()
        return "/account/", {"name": "J", "username": "jane-2", "email": "jane@example.org"}

    def account_sessions(self):
        self.begin()
        sign_in(Client())
        return "/account/sessions/", {"out": "others"}

    def account_login(self):
        return "/account/login/", {"login": "jane", "password": PASSWORD}

    def mfa_authenticate(self):
        self.begin_with_codes()
        self.client = Client()
        address = sign_in(self.client).url
        return address, {"code": code_of(self.jane)}

    def account_reauthenticate(self):
        self.begin()
        return "/account/confirm/", {"password": PASSWORD}

    def mfa_reauthenticate(self):
        codes = self.begin_with_codes()
        return "/account/confirm/code/", {"code": codes[0]}

    def account_change_password(self):
        self.begin()
        fields = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
        return "/account/password/", fields

    def account_set_password(self):
        self.jane.set_unusable_password()
        self.jane.save()
        self.client.force_login(self.jane)
        return "/account/password/set/", {"password1": NEW, "password2": NEW}

    def account_reset_password(self):
        return "/account/password/forgotten/", {"email": "jane"}

    def account_reset_password_from_key(self):
        self.client.post(*self.account_reset_password())
        form = self.client.get(self.read_link(), follow=True)
        return form.request["PATH_INFO"], {"password1": NEW, "password2": NEW}

    def account_email(self):
        self.begin()
        fields = {"name": "J", "username": "jane", "email": "new@example.org"}
        self.client.post("/account/", fields)
        return self.read_link(), {}

    def mfa_activate_totp(self):
        self.begin()
        page = self.client.get("/account/two-factor/").text
        secret = re.search(r'<p class="mono">(\w+)</p>', page)[1]
        return "/account/two-factor/", {"code": make_code(secret)}

    def mfa_deactivate_totp(self):
        self.begin_with_codes()
        return "/account/two-factor/off/", {}

    def mfa_generate_recovery_codes(self):
        self.begin_with_codes()
        return "/account/two-factor/codes/new/", {}

    def logout(self):
        self.begin()
        return "/admin/logout/", {}

    def invitation(self):
        admin = make_user("root", is_superuser=True)
        made, _ = invite_researcher(key=uuid4(), label="p@example.org", by=admin)
        fields = {"do": "create", "username": "priya", "email": "p@example.org"}
        address = reverse("invitation", args=[made.token])
        return address, {**fields, "password1": NEW, "password2": NEW}


# name of the address -> what its POST leaves
LINES = {
    "account": ("changed", "username"),
    "account-sessions": ("sessions ended", ""),
    "account_login": ("signed in", "password"),
    "mfa_authenticate": ("signed in", "code"),
    "account_reauthenticate": ("confirmed", "password"),
    "mfa_reauthenticate": ("confirmed", "code"),
    "account_change_password": ("changed", "password"),
    "account_set_password": ("changed", "password"),
    "account_reset_password": ("reset asked", ""),
    "account_reset_password_from_key": ("reset", ""),
    "account-email": ("changed", "email"),
    "mfa_activate_totp": ("changed", "two-factor-on"),
    "mfa_deactivate_totp": ("changed", "two-factor-off"),
    "mfa_generate_recovery_codes": ("changed", "codes"),
    # not below /account/
    "logout": ("signed out", ""),
    "invitation": ("made", "invitation"),
}
# pages that only show something, and ways to and from an organisation, which `test_sso.py` walks
WITHOUT = {
    "account_reset_password_done",
    "account_reset_password_from_key_done",
    "mfa_view_recovery_codes",
    "mfa_download_recovery_codes",
    "mfa_index",
    "openid_connect_login",
    "openid_connect_callback",
    "socialaccount_login_cancelled",
    "socialaccount_login_error",
    "socialaccount_signup",
    "socialaccount_connections",
}


def test_walk_knows_every_address_about_accounts():
    names = {pattern.name for pattern in urls.urlpatterns}

    assert names | {"logout", "invitation"} == set(LINES) | WITHOUT


@pytest.mark.parametrize("name", sorted(WITHOUT - {"openid_connect_login"}))
def test_addresses_that_leave_no_line_take_no_form(jane, name):
    pattern = next(pattern for pattern in urls.urlpatterns if pattern.name == name)
    client = Client()
    client.force_login(jane)
    path = reverse(name, args=["sso"] if "<provider_id>" in str(pattern.pattern) else [])

    response = client.post(path)

    assert response.status_code in (301, 302, 404, 405, 502)
    assert list_lines() == []


@pytest.mark.parametrize("name", LINES)
def test_every_successful_post_about_accounts_leaves_exactly_one_line(jane, mail_on, name):
    walk = Walk(jane)
    # a code for signing in changes every half minute: not within this test
    start = now() + timedelta(seconds=35 - now().second % 30)
    with time_machine.travel(start, tick=False) as clock:
        path, fields = getattr(walk, name.replace("-", "_"))()
        before = len(list_lines())
        clock.shift(timedelta(seconds=1))

        response = walk.client.post(path, fields)

    assert response.status_code in (200, 302)
    assert list_lines()[before:] == [LINES[name]]


def test_changed_address_is_recorded_when_asked_for_and_when_it_counts(jane, mail_on):
    walk = Walk(jane)
    link, _ = walk.account_email()
    walk.client.get(link)
    walk.client.post(link)

    assert list_lines() == [("signed in", "password"), ("email asked", ""), ("changed", "email")]


@pytest.mark.slow
@pytest.mark.usefixtures("served_before")
def test_failures_the_lock_and_names_that_nobody_has_are_recorded(jane):
    for _ in range(7):
        sign_in_from("192.0.2.77", "wrong")
    sign_in_from("2001:db8:1:2::9", "wrong", "my secret password")

    lines = list(AccountEvent.objects.order_by("id"))
    assert [line.event for line in lines] == ["failed"] * 4 + ["locked", "failed"]
    assert {line.account_id for line in lines[:5]} == {jane.pk}
    assert {line.network for line in lines[:5]} == {"192.0.2.0/24"}
    assert (lines[5].account_id, lines[5].network) == (None, "2001:db8:1::/48")
    assert re.fullmatch("[0-9a-f]{64}", lines[5].unknown_name)
    assert {line.known_network for line in lines} == {""}


def test_password_before_a_code_and_wrong_codes_are_recorded(jane):
    first, client = Client(), Client()
    sign_in(first)
    codes = turn_on(first)
    before = len(list_lines())

    address = sign_in(client).url
    client.post(address, {"code": "000000"})
    client.post(address, {"code": codes[0], "recovery": "yes"})

    assert list_lines()[before:] == [
        ("code asked", "password"), ("failed", "code"), ("signed in", "recovery")
    ]  # fmt: skip


def test_what_administrators_and_commands_do_to_accounts_is_recorded(jane, capsys):
    client = Client()
    client.force_login(make_user("root", is_superuser=True))
    change = reverse("admin:auth_user_change", args=[jane.pk])
    fields = {
        "username": "jane",
        "email": "other@example.org",
        "is_staff": "on",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "08:00",
    }

    client.post(change, fields | {"is_active": "on"})
    client.post(change, fields)
    client.post(change, fields | {"is_active": "on"})
    client.post(change, fields | {"is_active": "on", "first_name": "Jane"})
    client.post(
        reverse("admin:auth_user_password_change", args=[jane.pk]),
        {"usable_password": "true", "password1": NEW, "password2": NEW},
    )
    client.post(
        reverse("admin:auth_user_add"),
        {"username": "new", "usable_password": "true", "password1": NEW, "password2": NEW},
    )
    call_command("password", "jane")

    assert list_lines() == [
        ("changed", "email,administrator"),
        ("disabled", "administrator"),
        ("enabled", "administrator"),
        ("changed", "password,administrator"),
        ("made", "administrator"),
        ("changed", "password,command"),
    ]


# --- read ----------------------------------------------------------------------------------


def test_account_page_lists_recent_sign_ins_of_its_owner_only(jane):
    make_account("priya")
    sign_in_from("198.51.100.7", "wrong", "priya")
    sign_in_from("192.0.2.77", "wrong")
    client = Client(REMOTE_ADDR="192.0.2.77")
    sign_in(client)

    events = client.get("/account/").context["events"]

    assert [event.event for event in events] == ["signed in", "failed"]


def test_administrators_read_all_sign_ins_and_nobody_else_does(jane, django_assert_max_num_queries):
    client, root = Client(), Client()
    sign_in(client)
    root.force_login(make_user("root", is_superuser=True))
    for number in range(12):
        sign_in_from(f"198.51.100.{number}", "wrong", f"name-{number}")
    address = reverse("admin:sign-ins")

    with django_assert_max_num_queries(6):
        page = root.get(address)
    of_jane = root.get(address, {"account": "jane"})

    assert client.get(address).status_code == 403
    assert len(page.context["events"]) == 13
    assert [event.event for event, _ in of_jane.context["events"]] == ["signed in"]
    assert "name-1" not in page.text
    assert address in root.get(reverse("admin:records")).text


# --- kept ----------------------------------------------------------------------------------


@pytest.mark.both_databases
def test_lines_are_kept_for_180_days(jane):
    with time_machine.travel("2026-01-01T08:00Z", tick=False) as clock:
        sign_in(Client())
        clock.shift(timedelta(days=179))
        early = delete_old_sign_ins()
        clock.shift(timedelta(days=2))
        late = delete_old_sign_ins()

    assert (early, late) == ("", "1 deleted")
    assert not AccountEvent.objects.exists()


@pytest.mark.both_databases
@pytest.mark.parametrize("act", ["update", "delete"])
@pytest.mark.slow
@pytest.mark.usefixtures("served_before")
def test_on_postgresql_no_line_can_be_changed_or_deleted(jane, act):
    if connection.vendor != "postgresql":
        pytest.skip("the trigger is PostgreSQL's")
    delete_old_sign_ins()
    sign_in(Client())
    lines = AccountEvent.objects.all()

    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        lines.delete() if act == "delete" else lines.update(network="")

    assert lines.get().network == "127.0.0.0/24"
