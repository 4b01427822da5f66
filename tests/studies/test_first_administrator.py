"""The one-time link to the first administrator's account."""

import re
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.db import connection  # noqa: F401 (the mark reads it)
from django.test import Client

from evalsite.core.accounts.first_administrator import make_first_administrator, make_first_link
from evalsite.core.accounts.researchers import find_or_make_first
from evalsite.core.audit.models import AccountEvent, AuditEntry
from tests.site.test_staff_pages import sign_in
from tests.support.accounts import PASSWORD, is_signed_in
from tests.support.factories import make_user
from tests.support.races import Held, at_once, only_postgresql

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)


def make_path() -> str:
    link = make_first_link()
    assert link is not None
    return re.fullmatch(r"https?://[^/]+(/account/first/[^/]+/)", link[0])[1]


def create(path: str, name: str = "ada", client: Client | None = None, **fields: str) -> int:
    """Fill the page in; return the status."""
    data = {"first_name": "Ada", "email": f"{name}@example.org", "username": name}
    data |= {"password1": PASSWORD, "password2": PASSWORD}
    return (client or Client()).post(path, data | fields).status_code


def list_administrators() -> list[str]:
    return list(User.objects.filter(is_superuser=True).values_list("username", flat=True))


def test_link_is_at_the_address_of_the_site(settings):
    settings.SITE_ADDRESS = "https://eval.example.org"

    with time_machine.travel(NOON, tick=False):
        address, until = make_first_link()

    assert address.startswith("https://eval.example.org/account/first/")
    assert until == datetime(2026, 11, 29, 12, tzinfo=UTC)


def test_link_makes_an_administrator_who_is_signed_in_and_recorded():
    client, path = Client(), make_path()

    shown = client.get(path)
    status = create(path, client=client)

    user = User.objects.get()
    assert (shown.status_code, status) == (200, 302)
    assert (user.is_superuser, user.is_staff, user.check_password(PASSWORD)) == (True, True, True)
    assert [group.name for group in user.groups.all()] == ["Researchers"]
    assert is_signed_in(client)
    assert client.get("/admin/sign-ins/").status_code == 200
    assert AuditEntry.objects.filter(actor=user, action="first administrator made").count() == 1
    assert AccountEvent.objects.filter(event="made", account_id=user.pk).count() == 1


def test_reading_the_link_changes_nothing():
    path = make_path()

    statuses = [Client().get(path).status_code, Client().head(path).status_code]

    assert statuses == [200, 200]
    assert not User.objects.exists()
    assert not Group.objects.exists()


@pytest.mark.parametrize(
    "fields", [{"password1": "short", "password2": "short"}, {"username": ""}, {"email": "x"}]
)
def test_faults_are_shown_and_leave_the_link_open(fields):
    path = make_path()

    statuses = [create(path, **fields), create(path)]

    assert statuses == [422, 302]


def test_name_of_another_account_is_refused_and_leaves_the_link_open():
    make_user("ada")
    path = make_path()

    statuses = [create(path), create(path, "grace")]

    assert statuses == [422, 302]
    assert list_administrators() == ["grace"]


@pytest.mark.slow
def test_link_works_once_and_so_do_all_that_were_made_before_it(served_before):
    User.objects.filter(is_superuser=True).delete()
    first, second = make_path(), make_path()

    statuses = [create(first), create(first, "eve"), create(second, "eve")]
    pages = [Client().get(path).status_code for path in (first, second)]

    assert statuses == [302, 410, 410]
    assert pages == [410, 410]
    assert list_administrators() == ["ada"]


def test_used_link_stays_closed_when_its_administrator_is_gone():
    path = make_path()
    create(path)
    User.objects.all().delete()

    assert create(path, "eve") == 410
    assert create(make_path(), "grace") == 302
    assert list_administrators() == ["grace"]


@pytest.mark.parametrize("is_active", [True, False])
def test_nothing_works_on_a_site_with_an_administrator(is_active):
    path = make_path()
    make_user("root", is_superuser=True, is_active=is_active)

    assert (create(path), Client().get(path).status_code) == (410, 410)
    assert make_first_link() is None
    assert list_administrators() == ["root"]


def test_no_account_is_made_beside_an_administrator_whose_account_is_disabled():
    made, _ = find_or_make_first()
    User.objects.update(is_active=False)

    assert find_or_make_first() == (made, "")


def test_researcher_who_is_signed_in_may_open_the_link():
    client = sign_in(make_user("jane"))

    assert client.get(make_path()).status_code == 200


@pytest.mark.parametrize("passed", [timedelta(hours=24), timedelta(hours=24, seconds=1)])
def test_link_works_for_24_hours(passed):
    with time_machine.travel(NOON, tick=False) as clock:
        path = make_path()
        clock.shift(passed)

        status = create(path)

    assert status == (302 if passed == timedelta(hours=24) else 410)


@pytest.mark.parametrize("change", [lambda path: path[:-2] + "/", lambda path: path[:-4] + "abc/"])
def test_link_that_was_changed_opens_nothing(change):
    path = change(make_path())

    assert (Client().get(path).status_code, create(path)) == (404, 404)
    assert not User.objects.exists()


def test_link_survives_a_change_of_the_secret_key_only_as_a_fallback(settings):
    path, former = make_path(), settings.SECRET_KEY
    settings.SECRET_KEY = "k" + "another-key-of-this-site" * 3

    without = create(path)
    settings.SECRET_KEY_FALLBACKS = [former]

    assert (without, create(path)) == (404, 302)


@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
def test_two_at_once_make_one_administrator():
    path = make_path()

    statuses = at_once([lambda name=name: create(path, name) for name in ("ada", "grace")])

    # whoever came second is led to the page that says so
    assert sorted(statuses) in ([302, 302], [302, 410])
    assert len(list_administrators()) == 1
    assert User.objects.count() == 1


@only_postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.both_databases
@pytest.mark.parametrize("has_group", [True, False])
def test_second_waits_for_the_first_to_commit(has_group):
    if has_group:
        Group.objects.create(name="Researchers")
    token = make_path().split("/")[3]

    def make(name: str) -> User | None:
        return make_first_administrator(token, lambda: make_user(name))

    held = Held(lambda: make("ada"), lambda: make("grace"))
    users = held.run()

    assert held.has_waited
    assert [user and user.username for user in users] == ["ada", None]
    assert list_administrators() == ["ada"]
