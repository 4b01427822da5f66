"""Signing in: by name or address, with a second factor, locked after wrong passwords."""

import re
from datetime import timedelta
from urllib.parse import unquote

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group, User
from django.core import mail
from django.test import Client
from django.urls import reverse

from evalsite.core.accounts.forms import ProfileForm
from evalsite.core.accounts.researchers import make_researcher
from evalsite.core.jobs.models import OutgoingMail
from evalsite.core.jobs.outbox import send_waiting_mail
from evalsite.lib.clock import now
from evalsite.studies.team_forms import AccountForm
from tests.support.accounts import NEW, PASSWORD, SIGN_IN, code_of, is_signed_in, sign_in, turn_on
from tests.support.factories import make_study, make_user

pytestmark = pytest.mark.django_db


def test_form_sent_after_the_session_ended_leads_back_to_its_page(client, jane):
    study = make_study(by=jane)
    people = reverse("admin:study-people", args=[study.pk])
    act = reverse("admin:people-note", args=[study.pk])

    refused = client.post(
        act, {"text": "Hm"}, headers={"referer": f"http://testserver{people}?show="}
    )
    asked = client.get(refused.url, follow=True)
    elsewhere = client.post(act, headers={"referer": "http://evil.example/"})

    assert unquote(asked.redirect_chain[-1][0]).endswith(f"?next={people}?show=")
    assert "You were signed out, so nothing was changed." in asked.text
    assert elsewhere.url == f"{reverse('admin:login')}?next=/admin/"


# --- with a password ----------------------------------------------------------------------


@pytest.mark.parametrize("login", ["jane", "JANE", "jane@example.org", " Jane@Example.org"])
def test_researcher_signs_in_by_user_name_or_address(jane, login):
    client = Client()

    response = sign_in(client, login=login)

    assert response.url == reverse("admin:index")
    assert is_signed_in(client)


def test_old_address_leads_to_the_page_for_signing_in_and_on_to_where_one_was_going(jane):
    client = Client()
    asked = client.get("/admin/records/", follow=True)

    response = sign_in(client, next=re.search(r'name="next" value="([^"]+)"', asked.text)[1])

    assert asked.request["PATH_INFO"] == SIGN_IN
    assert response.url == "/admin/records/"


def test_nobody_is_led_to_another_site(jane):
    assert sign_in(Client(), next="https://evil.example/").url == reverse("admin:index")


@pytest.mark.parametrize("state", [{"is_staff": False}, {"is_active": False}])
def test_account_that_is_closed_or_no_staff_reads_the_same_as_a_wrong_password(jane, state):
    wrong = sign_in(Client(), "wrong")
    User.objects.filter(pk=jane.pk).update(**state)

    response = sign_in(Client(REMOTE_ADDR="192.0.2.7"))

    assert response.status_code == wrong.status_code == 422
    assert "don’t match" in response.text
    assert "don’t match" in wrong.text


def test_whoever_loses_access_is_told_so_and_can_sign_out(jane):
    client = Client()
    sign_in(client)
    User.objects.filter(pk=jane.pk).update(is_staff=False)

    response = client.get(reverse("admin:index"), follow=True)

    assert response.status_code == 403
    assert reverse("admin:logout") in response.text


def test_there_is_no_page_for_signing_up():
    assert Client().get("/account/signup/").status_code == 404


# --- a new password -----------------------------------------------------------------------


def test_forgotten_password_is_chosen_anew_by_a_link_that_works_once(jane, mail_on):
    client, elsewhere = Client(), Client()
    sign_in(elsewhere)

    # whoever asks can't choose where the link leads
    client.post("/account/password/forgotten/", {"email": "JANE"}, HTTP_HOST="testserver:8443")
    send_waiting_mail()
    link = re.search(r"http://testserver(\S+)", mail.outbox[0].body)[1]
    form = client.get(link, follow=True)
    client.post(form.request["PATH_INFO"], {"password1": NEW, "password2": NEW})

    assert mail.outbox[0].to == ["jane@example.org"]
    assert sign_in(client, NEW).status_code == 302
    assert not is_signed_in(elsewhere)
    assert "This link no longer works" in Client().get(link, follow=True).text


def test_links_for_a_new_password_go_to_the_addresses_of_accounts_alone(jane, mail_on):
    mallory = User.objects.create_user("jane@example.org", "mallory@example.org", is_staff=True)

    Client().post("/account/password/forgotten/", {"email": "JANE@example.org"})
    send_waiting_mail()

    assert {message.to[0] for message in mail.outbox} == {jane.email, mallory.email}


def test_a_user_name_is_no_address_of_another_account(jane):
    make_user("zoe@example.org")
    mallory = make_user("mallory", email="mallory@example.org")
    own = {"username": "mallory", "email": "mallory@example.org"}

    for changed in ({"username": "Jane@example.org"}, {"email": "zoe@example.org"}):
        assert ProfileForm(own | changed, user=mallory).errors.keys() == changed.keys()
        fields = {"first_name": "M", "password1": NEW, "password2": NEW}
        new = own | {"username": "mal", "email": "mal@example.org"} | changed
        assert AccountForm(fields | new).errors.keys() == changed.keys()
    assert ProfileForm(own, user=mallory).is_valid()


def test_link_for_a_new_password_works_for_an_hour(jane, mail_on):
    client = Client()
    with time_machine.travel("2026-11-01T08:00Z", tick=False) as clock:
        client.post("/account/password/forgotten/", {"email": "jane@example.org"})
        send_waiting_mail()
        link = re.search(r"http://testserver(\S+)", mail.outbox[0].body)[1]
        clock.shift(timedelta(minutes=61))

        assert "This link no longer works" in client.get(link, follow=True).text


@pytest.mark.parametrize("login", ["nobody@example.org", "nobody", "jane"])
def test_page_does_not_tell_whether_there_is_such_an_account(jane, mail_on, login):
    response = Client().post("/account/password/forgotten/", {"email": login})

    assert response.url == "/account/password/forgotten/sent/"
    assert OutgoingMail.objects.count() == (login == "jane")


def test_site_without_mail_says_whom_to_ask_and_sends_nothing(jane):
    response = Client().post("/account/password/forgotten/", {"email": "jane"})

    assert "Ask your administrator" in response.text
    assert not OutgoingMail.objects.exists()


def test_changing_the_password_ends_other_sessions_only(jane):
    here, elsewhere = Client(), Client()
    sign_in(here)
    sign_in(elsewhere)

    here.post("/account/password/", {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW})

    assert is_signed_in(here)
    assert not is_signed_in(elsewhere)


# --- a second factor ----------------------------------------------------------------------


@pytest.fixture
def superuser_client() -> Client:
    client = Client()
    client.force_login(make_user("admin", is_superuser=True))
    return client


def test_second_factor_is_asked_for_after_the_password_and_ends_in_the_page_asked_for(jane):
    first, client = Client(), Client()
    sign_in(first)
    with time_machine.travel(now(), tick=False) as clock:
        codes = turn_on(first)
        clock.shift(timedelta(minutes=5))  # each code works once

        asked = sign_in(client, next="/account/")
        before = is_signed_in(client)
        wrong = client.post(asked.url, {"code": "000000"})
        done = client.post(asked.url, {"code": code_of(jane)})

    assert len(codes) == len(set(codes)) == 10
    assert not before
    assert "This code isn’t right" in wrong.text
    assert done.url == "/account/"
    assert is_signed_in(client)


def test_recovery_code_lets_in_once(jane):
    first = Client()
    sign_in(first)
    codes = turn_on(first)
    clients = [Client(), Client()]

    sent = {"code": codes[0], "recovery": "yes"}
    pages = [client.post(sign_in(client).url, sent) for client in clients]

    assert [is_signed_in(client) for client in clients] == [True, False]
    assert "it was used before" in pages[1].text


def test_five_wrong_codes_lock_the_second_step(jane):
    first, client = Client(), Client()
    sign_in(first)
    codes = turn_on(first)
    address = sign_in(client).url

    for _ in range(5):
        client.post(address, {"code": "000000"})
    client.post(address, {"code": codes[0]})

    assert not is_signed_in(client)


def test_turning_off_asks_for_the_password_five_minutes_after_the_last_time(jane):
    client = Client()
    with time_machine.travel(now(), tick=False) as clock:
        sign_in(client)
        turn_on(client)
        clock.shift(timedelta(minutes=6))
        asked = client.post("/account/two-factor/off/")
        kept = Authenticator.objects.filter(user=jane).exists()
        client.post(asked.url, {"password": PASSWORD})
        client.post("/account/two-factor/off/")
        late = [client.post(f"/account/two-factor/{one}") for one in ("off/", "codes/new/")]

    assert [one.url for one in late] == ["/account/", "/account/"]
    assert asked.url.startswith("/account/confirm/")
    assert kept
    assert not Authenticator.objects.filter(user=jane).exists()


def test_administrator_turns_it_off_for_someone_without_phone_and_codes(jane, superuser_client):
    first = Client()
    sign_in(first)
    turn_on(first)

    superuser_client.post(
        reverse("admin:auth_user_changelist"),
        {"action": "turn_off_two_factor", "_selected_action": [jane.pk]},
    )

    assert not Authenticator.objects.filter(user=jane).exists()
    assert sign_in(Client()).url == reverse("admin:index")


# --- the account --------------------------------------------------------------------------


def test_account_page_lists_devices_and_signs_them_out(jane):
    here = Client(headers={"user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0"})
    phone = Client(headers={"user-agent": "Mozilla/5.0 (iPhone; CPU) Version/18.0 Safari/604.1"})
    for client in (here, phone):
        sign_in(client)
    page = here.get("/account/").text
    button = re.search(r'name="out" value="(\d+)"', page)[1]

    here.post("/account/sessions/", {"out": button})

    assert "Firefox on Linux" in page
    assert "Safari on iPhone" in page
    assert not is_signed_in(phone)
    assert is_signed_in(here)


@pytest.mark.one_case
@pytest.mark.parametrize("out", ["others", "mine", "999", "²", ""])
def test_nobody_signs_out_someone_else(jane, out):
    other = make_user("other")
    other.set_password(PASSWORD)
    other.save()
    theirs, own = Client(), Client()
    sign_in(theirs, login="other")
    sign_in(own)
    session = theirs.session.session_key

    own.post("/account/sessions/", {"out": str(session) if out == "mine" else out})

    assert is_signed_in(theirs)
    assert is_signed_in(own)


def test_account_page_takes_as_many_queries_for_ten_devices(jane, django_assert_max_num_queries):
    client = Client()
    sign_in(client)
    with django_assert_max_num_queries(14):
        client.get("/account/")
    for _ in range(9):
        sign_in(Client())

    with django_assert_max_num_queries(14):
        page = client.get("/account/")

    assert page.text.count('name="out"') == 10


def test_new_address_counts_once_its_owner_opens_the_link_and_presses_the_button(jane, mail_on):
    client = Client()
    sign_in(client)

    client.post("/account/", {"name": "Jane", "username": "jane", "email": "new@example.org"})
    send_waiting_mail()
    link = re.search(r"http://testserver(\S+)", mail.outbox[0].body)[1]
    before = User.objects.get(pk=jane.pk).email
    Client().get(link)
    unopened = User.objects.get(pk=jane.pk).email
    Client().post(link)

    assert mail.outbox[0].to == ["new@example.org"]
    assert before == unopened == "jane@example.org"
    assert User.objects.get(pk=jane.pk).email == "new@example.org"
    assert Client().post(link).status_code == 410
    assert sign_in(Client(), login="jane@example.org").status_code == 422


@pytest.mark.parametrize(
    "taken", [{"username": "Other", "email": ""}, {"username": "jane", "email": "O@example.org"}]
)
def test_name_and_address_of_someone_else_are_refused(jane, taken):
    other = make_user("other")
    User.objects.filter(pk=other.pk).update(email="o@example.org")
    client = Client()
    sign_in(client)

    response = client.post("/account/", {"name": "", **taken})

    assert response.status_code == 422
    assert User.objects.get(pk=jane.pk).username == "jane"


def test_account_pages_lead_to_signing_in(db):
    for path in ("", "sessions/", "password/", "two-factor/", "two-factor/codes/", "confirm/"):
        response = Client().post(f"/account/{path}")
        assert response.status_code == 302
        assert "/login/" in response.url


def test_researchers_are_a_group_and_need_no_other_right(db):
    user = make_user("priya", is_staff=False)

    make_researcher(user)

    assert user.is_staff
    assert Group.objects.get(user=user).name == "Researchers"
    assert not user.get_all_permissions()
