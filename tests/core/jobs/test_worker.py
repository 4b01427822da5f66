"""The job worker: outlives its database, takes over what others left, and is fair to studies."""

import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import psycopg2
import pytest
import time_machine
from django.core.management import call_command
from django.db import connection
from django_tasks_db.models import DBTaskResult

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs import services
from evalsite.core.jobs.models import Job, ScheduledTask
from evalsite.core.jobs.services import (
    MAX_TAKEOVERS,
    JobTakenOver,
    begin_job,
    report_progress,
    run_job,
    start_job,
    take_over_job,
)
from evalsite.core.jobs.worker import (
    JobWorker,
    Takeover,
    order_fairly,
)
from evalsite.fieldwork.launch import launch_study, newest_launch
from evalsite.handout.models import Slot
from evalsite.lib.clock import now
from evalsite.studies.models import Study
from tests.support.databases import NO_SERVER, Cluster, find_binaries
from tests.support.factories import launch, make_study, make_user
from tests.support.workers import (
    read_until,
    run_program,
    running,
    take_over_lost_jobs,
    wait_until,
)

WORKER = 'call_command("db_worker", "--interval", "0.05")'
# a launch whose worker is killed when the places are made, and before the job is done
DYING = """
launch = services._KINDS["launch"]
def die(job):
    launch(job)
    os.kill(os.getpid(), signal.SIGKILL)
services._KINDS["launch"] = die
"""
only_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="is about SQLite")


def run_batch() -> None:
    call_command("db_worker", "--batch", "--interval", "0")


@pytest.fixture(autouse=True)
def data_dir(settings, monkeypatch, tmp_path: Path) -> Path:
    """A folder of this test's own: the workers of a folder see one another."""
    settings.DATA_DIR = tmp_path
    monkeypatch.setenv("EVALSITE_DATA_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def kinds(monkeypatch) -> dict[str, services.JobFunction]:
    """The kinds of jobs, to which a test may add its own."""
    known = dict(services._KINDS)
    monkeypatch.setattr(services, "_KINDS", known)
    return known


# --- taking over ------------------------------------------------------------------


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_job_of_a_worker_that_was_killed_is_taken_over_and_done_once(database_url):
    study = make_study(items=2)
    first = launch_study(study=study, by=make_user())
    died = run_program(DYING + WORKER, database_url)
    died.communicate()
    first.refresh_from_db()
    left = first.state

    run_batch()
    first.refresh_from_db()
    was_left = first.state
    take_over_lost_jobs()
    run_batch()

    first.refresh_from_db()
    second = newest_launch(study)
    assert (died.returncode, left, was_left) == (-signal.SIGKILL, "running", "running")
    assert (first.state, second.state, second.takeovers) == ("failed", "done", 1)
    assert second.started_by == first.started_by
    assert Slot.objects.filter(study=study).count() == 6
    assert AuditEntry.objects.filter(action="study launched").count() <= 1


def make_running(worker: str, *, takeovers: int = 0, minutes: int = 0) -> Job:
    """A job that this worker runs, last heard of so many minutes ago."""
    job = start_job("slow", study_id=None, by=None, subject=worker)
    DBTaskResult.objects.all().delete()
    begin_job(job.pk, worker=worker)
    Job.objects.filter(pk=job.pk).update(
        takeovers=takeovers, heartbeat_at=now() - timedelta(minutes=minutes)
    )
    job.refresh_from_db()
    return job


def test_job_is_taken_over_once_its_heartbeat_has_not_moved_for_two_minutes(db, monkeypatch):
    back = make_running("back", minutes=10)
    make_running("gone", minutes=10)
    seconds = iter([0, 119, 121, 238, 240])
    clock = SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr("evalsite.core.jobs.worker.time", clock)
    takeover = Takeover("another")

    taken = [takeover.take_over_lost(), takeover.take_over_lost()]
    Job.objects.filter(pk=back.pk).update(heartbeat_at=now())
    taken += [takeover.take_over_lost(), takeover.take_over_lost()]
    states = dict(Job.objects.exclude(state="waiting").values_list("worker", "state"))

    assert taken == [0, 0, 1, 0]
    assert states == {"back": "running", "gone": "failed"}
    assert takeover.take_over_lost() == 0


@pytest.mark.parametrize("days", [-400, 400])
def test_a_clock_that_jumps_takes_over_nothing(db, days):
    job = make_running("alive")
    takeover = Takeover("another")

    takeover.take_over_lost()
    with time_machine.travel(now() + timedelta(days=days)):
        taken = takeover.take_over_lost()

    job.refresh_from_db()
    assert (taken, job.state) == (0, "running")


@pytest.mark.both_databases
def test_two_workers_that_see_one_lost_job_take_it_over_once(db):
    seen = make_running("gone")

    taken = [take_over_job(Job.objects.get(pk=seen.pk)), take_over_job(seen)]

    assert [job is not None for job in taken] == [True, False]
    assert Job.objects.filter(state="waiting").count() == 1


@pytest.mark.both_databases
def test_job_that_was_heard_of_since_it_was_seen_is_not_taken_over(db):
    seen = make_running("elsewhere.one", minutes=10)
    report_progress(seen, 1, 2)

    assert take_over_job(seen) is None
    assert [job.state for job in Job.objects.all()] == ["running"]


def test_job_that_kills_its_worker_each_time_fails_in_the_end(db):
    job = make_running("gone", takeovers=MAX_TAKEOVERS)

    assert take_over_job(job) is None

    job.refresh_from_db()
    assert job.state == "failed"
    assert "interrupted 4 times" in job.message
    assert not Job.objects.filter(state="waiting").exists()


def test_worker_that_comes_back_stops_at_its_next_sign_of_life(db, kinds):
    first = start_job("slow", study_id=None, by=None)

    def lose(job: Job) -> dict[str, object]:
        job.refresh_from_db()
        take_over_job(job)
        report_progress(job, 1, 2)
        raise AssertionError("A job that was taken over went on.")

    kinds["slow"] = lose

    assert run_job(first, worker="elsewhere.first").state == "failed"
    assert Job.objects.get(state="waiting").takeovers == 1
    with pytest.raises(JobTakenOver):
        report_progress(first, 2, 2)


@pytest.mark.django_db(transaction=True)
def test_job_that_waits_without_a_place_in_the_queue_gets_one(kinds):
    kinds["slow"] = lambda job: {}
    with time_machine.travel(now() - timedelta(minutes=10)):
        start_job("slow", study_id=None, by=None)
    DBTaskResult.objects.all().delete()

    run_batch()

    assert [job.state for job in Job.objects.all()] == ["done"]


# --- fairness ---------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_second_job_of_a_study_waits_behind_the_first_of_another(kinds):
    order = []
    kinds["slow"] = lambda job: order.append(job.subject) or {}
    one, two, three = (make_study().pk for _ in range(3))
    for study, subject in [(one, "1a"), (one, "1b"), (one, "1c"), (two, "2a"), (three, "3a"),
                           (two, "2b")]:  # fmt: skip
        start_job("slow", study_id=study, by=None, subject=subject)

    run_batch()

    assert order == ["1a", "2a", "3a", "1b", "2b", "1c"]


@pytest.mark.both_databases
def test_order_of_the_queue_takes_as_many_queries_for_many_jobs(db, django_assert_num_queries):
    for number in range(30):
        start_job("slow", study_id=make_study().pk, by=None, subject=str(number))

    with django_assert_num_queries(3):
        order_fairly(DBTaskResult.objects.ready())


# --- a database that is away ------------------------------------------------------


@pytest.mark.both_databases
@only_sqlite
@pytest.mark.django_db(transaction=True)
def test_worker_outlives_a_database_that_another_process_locks(database_url):
    path = connection.settings_dict["NAME"]
    patience = (
        'from django.db import connection; connection.settings_dict["OPTIONS"]["timeout"]=0.1'
    )
    locker = sqlite3.connect(path, isolation_level=None)
    job = launch_study(study=make_study(items=2), by=make_user())
    locker.execute("BEGIN IMMEDIATE")

    with running(f"{patience}\n{WORKER}", database_url) as worker:
        told = read_until(worker, "can't be used")
        locker.execute("ROLLBACK")
        wait_until(lambda: Job.objects.get(pk=job.pk).state == "done")
        code = worker.poll()

    locker.close()
    assert "database is locked" in told
    assert code is None


@pytest.mark.torture
@only_sqlite
@pytest.mark.django_db(transaction=True)
def test_job_that_finds_the_database_locked_in_its_middle_is_done_later(database_url):
    """The lock comes after the job has begun, and outlasts the time that SQLite waits."""
    path = connection.settings_dict["NAME"]
    program = f"""
from django.db import connection
connection.settings_dict["OPTIONS"]["timeout"] = 0.1
import sqlite3
locker = sqlite3.connect({path!r}, isolation_level=None)
seen = []
@job_kind("locked")
def lock(job):
    if not seen:
        seen.append(1)
        locker.execute("BEGIN IMMEDIATE")
    elif locker.in_transaction:
        raise AssertionError
    report_progress(job, 1, 1)
    return {{}}
from evalsite.core.jobs import worker
wait = worker.JobWorker._wait
def release(self, reason):
    wait(self, reason)
    if locker.in_transaction:
        locker.execute("ROLLBACK")
worker.JobWorker._wait = release
"""
    start_job("locked", study_id=None, by=None)

    with running(program + WORKER, database_url):
        wait_until(lambda: Job.objects.filter(state="done").exists())

    assert Job.objects.get(state="done").takeovers == 1


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server that only this test uses, with the tables of the site."""
    binaries = find_binaries()
    if binaries is None:
        if os.environ.get("CI") == "true":
            pytest.fail(NO_SERVER)
        pytest.skip(NO_SERVER)
    cluster = Cluster(binaries)
    cluster.start()
    try:
        with_database(cluster, "CREATE DATABASE evalsite", database="postgres")
        made = run_program(TABLES, cluster.url)
        told = made.communicate()[1]
        assert made.returncode == 0, told
        yield cluster
    finally:
        cluster.stop()


def with_database(cluster: Cluster, statement: str, *, database: str = "evalsite") -> list[tuple]:
    """What the server answers."""
    link = psycopg2.connect(host=str(cluster.folder), user="postgres", dbname=database)
    try:
        link.autocommit = True
        with link.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []
    finally:
        link.close()


# straight from the models: all migrations would take far longer than the test
TABLES = """
from django.apps import apps
from django.conf import settings
settings.MIGRATION_MODULES = {config.label: None for config in apps.get_app_configs()}
call_command("migrate", run_syncdb=True, verbosity=0)
"""
SLOW = """
@job_kind("slow")
def run(job):
    if not job.takeovers:
        # until the server is gone
        while True:
            report_progress(job, 1, 2)
    return {}
"""


@pytest.mark.torture
@pytest.mark.slow
def test_worker_outlives_a_postgresql_server_that_is_restarted(cluster):
    def states() -> list[str]:
        return [row[0] for row in with_database(cluster, "SELECT state FROM jobs_job")]

    start = 'start_job("slow", study_id=None, by=None)'
    with running(SLOW + WORKER, cluster.url) as worker:
        run_program(start, cluster.url).communicate()
        wait_until(lambda: states() == ["running"])
        cluster.crash()
        read_until(worker, "can't be used")
        cluster.serve()
        wait_until(lambda: sorted(states()) == ["done", "failed"])
        code = worker.poll()

    assert code is None


# a job that ends only once the schedule, which looks more often here, has closed the study
HOLDING = """
from evalsite.core.jobs import worker
from evalsite.studies.models import Study
worker.SECONDS_BETWEEN_SCHEDULES = 0.1
@job_kind("hold")
def hold(job):
    while Study.objects.get().state != "closed":
        time.sleep(0.05)
    return {}
"""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_study_closes_at_the_next_tick_while_a_job_runs_and_another_waits(database_url):
    study = launch(make_study(items=2))
    held = start_job("hold", study_id=study.pk, by=None)
    start_job("hold", study_id=study.pk, by=None, subject="next")
    closing = ScheduledTask.objects.filter(name="close_due_studies")

    with running("import time" + HOLDING + WORKER, database_url):
        wait_until(lambda: Job.objects.get(pk=held.pk).state == "running")
        # its first tick is over, and the next is due in a minute
        wait_until(lambda: closing.filter(finished_at__isnull=False).exists())
        Study.objects.filter(pk=study.pk).update(closes_at=now())
        closing.update(due_at=now())
        wait_until(lambda: not Job.objects.exclude(state="done").exists())

    assert Study.objects.get().state == "closed"


@pytest.mark.torture
def test_worker_that_is_asked_to_stop_while_the_database_is_away_stops(tmp_path: Path):
    url = f"sqlite:///{tmp_path}/nowhere/evalsite.sqlite3"
    with running(WORKER, url) as worker:
        read_until(worker, "can't be used")
        worker.send_signal(signal.SIGTERM)
        try:
            code = worker.wait(timeout=30)
        except subprocess.TimeoutExpired:
            code = None

    assert code == 0


def test_signal_that_arrives_while_a_line_is_logged_is_not_lost(caplog):
    """A handler that logs fails in the middle of another line, and logging hides that."""
    worker = JobWorker(interval=0, batch=False)

    with pytest.raises(SystemExit):
        worker.shutdown(signal.SIGTERM, None)

    assert not worker.running
    assert not caplog.records
