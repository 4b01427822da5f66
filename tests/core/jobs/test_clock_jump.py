"""A clock that jumps: nothing is deleted by it, and nothing waits for it once it is back."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs import schedule
from evalsite.core.jobs.clock_watch import find_jump
from evalsite.core.jobs.models import OutgoingMail, ScheduledTask, SiteClock
from evalsite.core.jobs.outbox import post_mail
from evalsite.core.jobs.schedule import LEASE, TASKS, count_problems
from evalsite.core.jobs.worker import JobWorker
from evalsite.people.models import ParticipantIdentity
from evalsite.studies.models import Study
from tests.support.factories import launch, make_participant, make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
YEAR, MINUTE = timedelta(days=365), timedelta(minutes=1)
PASSWORD = "four unrelated words work"


class Server:
    """A worker, and both clocks of the machine it runs on."""

    def __init__(self, traveller: time_machine.Traveller, monkeypatch) -> None:
        self.worker = JobWorker(interval=0, batch=True)
        self._clock = traveller
        self._passed = 0.0
        monkeypatch.setattr("evalsite.core.jobs.clock_watch.count_seconds", lambda: self._passed)
        # the database is on this machine, and its clock is set with ours
        monkeypatch.setattr("evalsite.core.jobs.clock_watch._is_near", lambda moment: True)

    def tick(self, after: timedelta = MINUTE) -> None:
        """So much time passes; then the worker looks at the schedule."""
        self._passed += after.total_seconds()
        self._clock.shift(after)
        self.worker.run()

    def set_clock(self, by: timedelta) -> None:
        self._clock.shift(by)


@pytest.fixture
def server(settings, monkeypatch, tmp_path):
    settings.DATA_DIR = tmp_path
    settings.EMAIL_HOST, settings.DEFAULT_FROM_EMAIL = "mail.example.org", "eval@example.org"
    with time_machine.travel(NOON, tick=False) as traveller:
        yield Server(traveller, monkeypatch)


@pytest.fixture
def admin(db) -> Client:
    client = Client()
    client.force_login(make_user("root", is_superuser=True))
    return client


def make_rows_to_delete() -> None:
    """A session, an e-mail and an identity, each of which would be gone in a year."""
    user = make_user("jane")
    user.set_password(PASSWORD)
    user.save()
    Client().post("/account/login/", {"login": "jane", "password": PASSWORD})
    OutgoingMail.objects.create(recipient="jane@example.org", subject="Sent", sent_at=NOON)
    study = launch(make_study(items=1))
    person = make_participant(study)
    ParticipantIdentity.objects.create(
        study=study, participant=person, platform="prolific", outside_id="a" * 24
    )
    Study.objects.filter(pk=study.pk).update(state="closed", closed_at=NOON)


def count_rows() -> tuple[int, ...]:
    models = (Session, UserSession, OutgoingMail, ParticipantIdentity, AuditEntry)
    return tuple(model.objects.count() for model in models)


@pytest.mark.both_databases
def test_clock_that_jumps_a_year_and_back_deletes_nothing_and_silences_nothing(server):
    make_rows_to_delete()
    server.tick()
    before = count_rows()
    server.set_clock(YEAR)
    server.tick()
    in_the_jump = count_rows()
    server.set_clock(-YEAR)
    problems = count_problems()
    server.tick()
    after = ScheduledTask.objects.all()
    back = NOON + 3 * MINUTE

    assert all(number for number in before[:4])
    assert in_the_jump == before == count_rows()
    assert problems > 1
    late = [row.name for row in after if row.due_at > back + TASKS[row.name].every]
    assert late == []
    # what deletes isn't late: it waits for the clock, which is the only problem left
    assert count_problems() == 1
    post_mail(to="ben@example.org", subject="New", body="x")
    server.tick()
    assert OutgoingMail.objects.get(recipient="ben@example.org").sent_at is not None


def test_tasks_that_delete_run_again_after_a_steady_day(server):
    make_rows_to_delete()
    server.tick()
    server.set_clock(timedelta(minutes=6))
    server.tick()
    problems = [count_problems()]
    for _ in range(23):
        server.tick(timedelta(hours=1))
    problems.append(count_problems())
    deleted_at = ScheduledTask.objects.get(name="delete_ended_sessions").finished_at
    server.tick(timedelta(hours=1))
    problems.append(count_problems())

    assert problems == [1, 1, 0]
    row = ScheduledTask.objects.get(name="delete_ended_sessions")
    assert deleted_at < row.finished_at == NOON + timedelta(days=1, minutes=8)


def test_clock_that_is_corrected_by_little_is_trusted(server):
    for _ in range(3):
        server.tick()
        server.set_clock(timedelta(minutes=4))

    assert count_problems() == 0


def test_machine_that_was_off_for_over_a_week_waits_with_deleting(server):
    server.tick()
    server.worker = JobWorker(interval=0, batch=True)
    server.tick(timedelta(days=6))
    after_six_days = count_problems()
    server.worker = JobWorker(interval=0, batch=True)
    server.tick(timedelta(days=8))

    assert (after_six_days, count_problems()) == (0, 1)


def test_administrator_who_says_that_the_clock_is_right_ends_the_wait(server, admin):
    server.tick()
    server.set_clock(timedelta(hours=2))
    server.tick()
    page = reverse("admin:schedule")
    shown = admin.get(page)
    researcher = Client()
    researcher.force_login(make_user("jane"))
    refused = researcher.post(page).status_code
    still = count_problems()

    admin.post(page)
    admin.post(page)

    server.tick()
    assert shown.context["jumped_at"] is not None
    assert (refused, still, count_problems()) == (403, 1, 0)
    assert AuditEntry.objects.filter(action="clock confirmed").count() == 1


def test_failed_task_that_waits_an_hour_is_not_due_too_late(server, monkeypatch):
    kept = schedule.Task(
        name="fail", label="Fail", every=MINUTE, run=lambda: 1 / 0, is_on=lambda: True
    )
    monkeypatch.setattr(schedule, "TASKS", {"fail": kept})
    ScheduledTask.objects.create(name="fail", due_at=NOON, failures=9)
    server.tick()
    server.tick()

    row = ScheduledTask.objects.get(name="fail")
    assert row.failures == 10
    assert row.due_at > NOON + LEASE + 10 * MINUTE


def test_backup_is_made_while_the_clock_is_in_doubt_and_old_ones_stay(server, settings, tmp_path):
    folder = tmp_path / "backups"
    settings.BACKUP_FOLDER, settings.BACKUPS_KEPT = str(folder), 1
    server.tick()
    server.set_clock(YEAR)
    server.tick()
    kept = len(list(folder.iterdir()))
    server.tick(timedelta(days=1))

    assert (kept, len(list(folder.iterdir()))) == (2, 1)


@pytest.mark.both_databases
@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite is on this machine")
def test_worker_whose_clock_is_not_that_of_the_database_server_leaves_tasks_to_others():
    worker, seen = JobWorker(interval=0, batch=True), []
    worker.run()
    for ahead in (0, 6, 4):
        with time_machine.travel(datetime.now(UTC) + ahead * MINUTE, tick=False):
            worker.run()
        seen.append(
            (SiteClock.objects.get().ticked_at, *ScheduledTask.objects.values_list("due_at"))
        )

    assert seen[0] == seen[1] != seen[2]
    assert find_jump() is None
