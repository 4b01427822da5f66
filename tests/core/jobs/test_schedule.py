"""What happens at set times: once, by one worker, late rather than never, and visibly."""

from datetime import UTC, datetime, timedelta
from smtplib import SMTPServerDisconnected

import pytest
import time_machine
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs import schedule
from evalsite.core.jobs.models import OutgoingMail, ScheduledTask
from evalsite.core.jobs.outbox import post_mail
from evalsite.core.jobs.schedule import LEASE, Task, run_schedule
from evalsite.handout.claims import claim_set
from evalsite.studies.models import Study
from tests.support.factories import launch, make_annotator, make_study, make_user

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Counted:
    """A task that counts its runs and may fail."""

    def __init__(self) -> None:
        self.runs = 0
        self.error: Exception | None = None

    def __call__(self) -> str:
        self.runs += 1
        if self.error is not None:
            raise self.error
        return f"run {self.runs}"


@pytest.fixture
def task(monkeypatch) -> Counted:
    counted = Counted()
    kept = {
        "count": Task(
            name="count",
            label="Count",
            every=timedelta(hours=1),
            run=counted,
            is_on=lambda: True,
        )
    }
    monkeypatch.setattr(schedule, "TASKS", kept)
    return counted


@pytest.fixture
def clock():
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


@pytest.mark.both_databases
def test_task_runs_once_in_its_time_however_many_workers_look(task, clock):
    for _ in range(5):
        run_schedule()
        clock.shift(timedelta(minutes=11))
    at_55_minutes = task.runs
    clock.shift(timedelta(minutes=6))
    run_schedule()

    assert (at_55_minutes, task.runs) == (1, 2)
    assert ScheduledTask.objects.get().acted == "run 2"


def test_task_missed_for_days_runs_once(task, clock):
    run_schedule()
    clock.shift(timedelta(days=3))

    run_schedule()
    run_schedule()

    assert task.runs == 2


@pytest.mark.both_databases
def test_worker_that_read_the_table_before_another_claimed_the_task_leaves_it(task, clock):
    run_schedule()
    clock.shift(timedelta(hours=1))
    stale = ScheduledTask.objects.get()
    run_schedule()

    assert not schedule._claim(stale)
    assert task.runs == 2


@pytest.mark.both_databases
def test_task_whose_worker_died_runs_again_after_its_lease(task, clock):
    task.error = OperationalError("the connection was closed")
    task.error.__cause__ = None
    row = ScheduledTask.objects.create(name="count", due_at=NOON)
    assert schedule._claim(row)
    clock.shift(LEASE - timedelta(seconds=1))
    task.error = None
    run_schedule()
    early = task.runs
    clock.shift(timedelta(seconds=1))

    run_schedule()

    assert (early, task.runs) == (0, 1)


def test_failure_is_kept_with_its_reason_and_tried_again_ever_more_rarely(task, clock, caplog):
    task.error = ValueError("no folder")
    for _ in range(10):
        run_schedule()
        clock.shift(timedelta(minutes=1))
    failed = ScheduledTask.objects.get()
    task.error = None
    clock.shift(timedelta(hours=1))
    run_schedule()

    assert failed.error == "ValueError: no folder"
    assert failed.failures == task.runs - 1 == 4  # after 0, 1, 3 and 7 minutes
    assert ScheduledTask.objects.get().error == ""


def test_page_of_the_schedule_is_for_administrators_and_names_what_failed(task, clock):
    task.error = ValueError("no folder")
    run_schedule()
    admin, researcher = Client(), Client()
    admin.force_login(make_user("root", is_superuser=True))
    researcher.force_login(make_user("jane"))

    page = admin.get(reverse("admin:schedule"))

    assert "ValueError: no folder" in page.text
    assert "1 of 1 tasks needs a look" in page.text
    assert researcher.get(reverse("admin:schedule")).status_code == 403


# --- closing ------------------------------------------------------------------------------


def make_due() -> Study:
    study = launch(make_study(items=2))
    Study.objects.filter(pk=study.pk).update(closes_at=NOON)
    study.refresh_from_db()
    return study


@pytest.mark.both_databases
def test_study_closes_at_its_time_and_the_log_says_why(clock):
    study = make_due()
    Study.objects.filter(pk=study.pk).update(closes_at=NOON + timedelta(minutes=1))
    run_schedule()
    study.refresh_from_db()
    before = study.state
    clock.shift(timedelta(minutes=2))

    run_schedule()
    run_schedule()

    study.refresh_from_db()
    assert (before, study.state) == ("live", "closed")
    entry = AuditEntry.objects.get(action="study closed")
    assert entry.actor_name == "closing time"


def test_study_with_people_at_work_closes_once_their_places_are_free(clock):
    study = make_due()
    Study.objects.filter(pk=study.pk).update(closes_at=None)
    claim_set(make_annotator(study))
    Study.objects.filter(pk=study.pk).update(closes_at=NOON)

    run_schedule()
    study.refresh_from_db()
    at_work = study.state
    clock.shift(timedelta(days=1))
    run_schedule()

    study.refresh_from_db()
    assert (at_work, study.state) == ("live", "closed")


# --- mail, sessions -----------------------------------------------------------------------


def test_mail_waits_while_the_server_is_down_and_goes_out_once(settings, monkeypatch, clock):
    settings.EMAIL_HOST, settings.DEFAULT_FROM_EMAIL = "mail.example.org", "eval@example.org"
    post_mail(to="jane@example.org", subject="A link\nX: y", body="https://example.org/secret")
    connect = EmailBackend.open

    def fail(*given):
        raise SMTPServerDisconnected("gone")

    monkeypatch.setattr(EmailBackend, "open", fail)
    run_schedule()
    waiting = OutgoingMail.objects.get()
    reported = ScheduledTask.objects.get(name="send_waiting_mail").error
    monkeypatch.setattr(EmailBackend, "open", connect)
    for _ in range(3):
        clock.shift(timedelta(minutes=10))
        run_schedule()

    assert (waiting.tries, waiting.problem) == (0, "SMTPServerDisconnected")
    assert "1 e-mails wait" in reported
    assert [message.subject for message in mail.outbox] == ["A link X: y"]
    assert OutgoingMail.objects.get().body == ""
    assert ScheduledTask.objects.get(name="send_waiting_mail").error == ""


def test_ended_sessions_are_deleted(clock):
    client = Client()
    user = make_user("jane")
    user.set_password("four unrelated words work")
    user.save()
    client.post("/account/login/", {"login": "jane", "password": "four unrelated words work"})
    run_schedule()
    kept = Session.objects.count(), UserSession.objects.count()
    clock.shift(timedelta(days=2))

    run_schedule()

    assert kept == (1, 1)
    assert not Session.objects.exists()
    assert not UserSession.objects.exists()
