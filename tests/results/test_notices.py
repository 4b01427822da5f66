"""E-mails to researchers whose studies need them: one a day at most, and nothing twice."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client

from evalsite.core.accounts.models import MailChoice
from evalsite.core.jobs.models import OutgoingMail
from evalsite.fieldwork.launch import pause_study
from evalsite.results.overview.notices import send_notices
from evalsite.studies.models import Membership, Study
from tests.support.factories import launch, make_study, make_user

pytestmark = pytest.mark.django_db

MORNING = datetime(2026, 11, 20, 7, tzinfo=UTC)


@pytest.fixture(autouse=True)
def mail_on(settings):
    settings.EMAIL_HOST, settings.DEFAULT_FROM_EMAIL = "mail.example.org", "eval@example.org"


@pytest.fixture
def clock():
    with time_machine.travel(MORNING, tick=False) as traveller:
        yield traveller


@pytest.fixture
def jane() -> User:
    user = make_user("jane")
    User.objects.filter(pk=user.pk).update(email="jane@example.org")
    return user


def make_paused(by: User, title: str = "Descriptions of places") -> Study:
    study = launch(make_study(items=2, title=title, by=by))
    pause_study(study=study, by=by)
    return study


def test_owner_of_a_paused_study_is_written_to_once_with_its_link(clock, jane):
    study = make_paused(jane)

    for _ in range(3):
        send_notices()
        clock.shift(timedelta(hours=30))

    message = OutgoingMail.objects.get()
    assert message.recipient == "jane@example.org"
    assert message.subject == "1 of your studies needs you"
    assert f"http://testserver/admin/studies/{study.pk}/" in message.body
    assert "Descriptions of places" in message.body


def test_two_studies_are_one_message(clock, jane):
    make_paused(jane)
    make_paused(jane, "A <b> & c")

    send_notices()

    message = OutgoingMail.objects.get()
    assert message.subject == "2 of your studies need you"
    assert "A <b> & c" in message.body


def test_something_new_waits_for_the_next_day(clock, jane):
    make_paused(jane)
    send_notices()
    make_paused(jane, "Another")
    clock.shift(timedelta(hours=3))
    send_notices()
    same_day = OutgoingMail.objects.count()
    clock.shift(timedelta(hours=21))

    send_notices()

    assert (same_day, OutgoingMail.objects.count()) == (1, 2)


def test_the_same_is_said_again_after_a_week(clock, jane):
    make_paused(jane)
    send_notices()
    clock.shift(timedelta(days=7))

    send_notices()

    assert OutgoingMail.objects.count() == 2


@pytest.mark.parametrize(("when", "days", "messages"), [("never", 3, 0), ("daily", 3, 3)])
def test_account_page_says_how_often(clock, jane, when, days, messages):
    launch(make_study(items=2, by=jane))
    client = Client()
    client.force_login(jane)
    client.post(
        "/account/", {"name": "", "username": "jane", "email": "jane@example.org", "mail": when}
    )

    for _ in range(days):
        send_notices()
        clock.shift(timedelta(days=1))

    assert OutgoingMail.objects.count() == messages


def test_viewers_strangers_and_closed_accounts_get_none(clock, jane):
    owner = make_user("owner")
    study = make_paused(owner)
    Membership.objects.create(study=study, user=jane, role="viewer")
    editor = make_user("editor")
    User.objects.filter(pk=editor.pk).update(email="e@example.org", is_active=False)
    Membership.objects.create(study=study, user=editor, role="editor")

    send_notices()

    assert not OutgoingMail.objects.exists()


@pytest.mark.both_databases
def test_worker_that_was_slower_posts_nothing(clock, jane, monkeypatch):
    make_paused(jane)
    MailChoice.objects.create(user=jane)
    original = MailChoice.objects.get_or_create

    def read_before_the_other(**given):
        found = original(**given)
        MailChoice.objects.filter(pk=found[0].pk).update(noticed_at=MORNING)
        return found

    monkeypatch.setattr(
        type(MailChoice.objects), "get_or_create", lambda _, **given: read_before_the_other(**given)
    )

    send_notices()

    assert not OutgoingMail.objects.exists()


def test_it_takes_a_few_queries_for_each_person_and_none_for_each_study(
    clock, jane, django_assert_max_num_queries
):
    for number in range(12):
        make_paused(jane, f"Study {number}")

    with django_assert_max_num_queries(20):
        send_notices()
