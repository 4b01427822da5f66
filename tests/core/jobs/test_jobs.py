"""Jobs outlive their workers: whatever is killed when, a launch can be finished."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from threading import Event

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction
from django_tasks_db.models import DBTaskResult

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import note_progress, restart_job, revive_job, run_job, start_job
from evalsite.fieldwork.launch import launch_study, newest_launch, restart_launch
from evalsite.handout.models import Slot
from evalsite.lib.clock import now
from evalsite.studies.models import Study
from tests.support.factories import make_study, make_user
from tests.support.queues import run_waiting_jobs

ROOT = Path(__file__).resolve().parents[3]

# A worker that is killed (kill -9) at the moment when it would call the function named.
DYING_WORKER = """
import os, signal, sys
import django
django.setup()
from django.core.management import call_command
from evalsite.core.jobs import services
def die(job, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "before it says that it runs":
    services.run_job = die
else:
    services._KINDS["launch"] = die
call_command("db_worker", "--batch")
"""


def in_ten_minutes(job: Job) -> Job:
    """The same job, as if all that it told had happened ten minutes ago."""
    earlier = timedelta(minutes=10)
    job.refresh_from_db()
    heartbeat = job.heartbeat_at and job.heartbeat_at - earlier
    Job.objects.filter(pk=job.pk).update(
        created_at=job.created_at - earlier, heartbeat_at=heartbeat
    )
    job.refresh_from_db()
    return job


@pytest.mark.both_databases
@pytest.mark.one_case
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("moment", ["before it says that it runs", "in the middle"])
def test_launch_whose_worker_is_killed_can_be_finished(moment, database_url):
    study = make_study(items=2)
    launch_study(study=study, by=make_user())

    done = subprocess.run(
        [sys.executable, "-c", DYING_WORKER, moment],
        cwd=ROOT,
        env=os.environ
        | {"DJANGO_SETTINGS_MODULE": "tests.settings", "EVALSITE_DATABASE": database_url},
        capture_output=True,
        text=True,
        check=False,
    )
    job = in_ten_minutes(newest_launch(study))
    restart_launch(study=study, by=make_user())
    run_waiting_jobs()

    assert done.returncode == -signal.SIGKILL, done.stderr
    assert job.is_stale
    assert Study.objects.get(pk=study.pk).is_launched
    assert Slot.objects.filter(study=study).count() == 6


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_job_and_its_place_in_the_queue_are_saved_together_or_not_at_all():
    study = make_study()

    with transaction.atomic():
        start_job("launch", study_id=study.pk, by=None)
        queued = DBTaskResult.objects.count()
        transaction.set_rollback(True)

    assert queued == 1
    assert not Job.objects.exists()
    assert not DBTaskResult.objects.exists()


def test_job_that_waits_for_a_moment_is_not_started_again(db):
    job = start_job("launch", study_id=make_study().pk, by=None)

    assert not job.is_stale
    with pytest.raises(ValidationError, match="still running"):
        restart_job(job, by=None)


@pytest.mark.both_databases
def test_job_that_was_given_up_is_not_run_by_a_worker_that_comes_late(db):
    study = make_study(items=1)
    launch_study(study=study, by=make_user())
    first = in_ten_minutes(newest_launch(study))

    second = restart_job(first, by=make_user())
    run_waiting_jobs()

    first.refresh_from_db()
    second.refresh_from_db()
    assert DBTaskResult.objects.successful().count() == 2
    assert (first.state, first.done, second.state) == ("failed", 0, "done")


@pytest.mark.both_databases
def test_worker_that_was_given_up_does_not_say_that_its_job_is_done(db, monkeypatch):
    job = start_job("slow", study_id=None, by=None)

    def give_up(running: Job) -> dict:
        Job.objects.filter(pk=running.pk).update(state="failed", heartbeat_at=now())
        return {}

    monkeypatch.setitem(run_job.__globals__["_KINDS"], "slow", give_up)

    assert run_job(job).state == "failed"


def test_job_that_ran_is_not_run_again(db):
    study = make_study(items=1)
    job = launch_study(study=study, by=make_user())

    states = [run_job(job).state for _ in range(2)]

    assert states == ["done", "done"]
    assert Job.objects.get().finished_at == job.finished_at


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_progress_is_shown_of_a_job_that_only_reads_from_a_snapshot(monkeypatch):
    monkeypatch.setitem(run_job.__globals__, "BEAT_SECONDS", 0.01)
    job = start_job("reads", study_id=None, by=None)

    def read(running: Job) -> dict:
        note_progress(running, 3, 7)
        for _ in range(10_000):
            running.refresh_from_db()
            if running.done:
                break
            Event().wait(0.001)
        return {"shown": [running.done, running.total]}

    monkeypatch.setitem(run_job.__globals__["_KINDS"], "reads", read)

    assert run_job(job).result == {"shown": [3, 7]}


@pytest.mark.django_db(transaction=True)
def test_job_is_alive_while_one_long_step_of_it_tells_nothing(monkeypatch):
    monkeypatch.setitem(run_job.__globals__, "BEAT_SECONDS", 0.01)
    job = start_job("slow", study_id=None, by=None)
    refused = []

    def take_long(running: Job) -> dict:
        running = in_ten_minutes(running)
        # the step ends once somebody else has heard of it, or gives up at last
        for _ in range(10_000):
            running.refresh_from_db()
            if not running.is_stale:
                break
            Event().wait(0.001)
        with pytest.raises(ValidationError, match="still running"):
            restart_job(running, by=None)
        refused.append(running.pk)
        return {}

    monkeypatch.setitem(run_job.__globals__["_KINDS"], "slow", take_long)

    assert run_job(job).state == "done"
    assert refused == [job.pk]
    assert Job.objects.get() == job


def test_job_that_waits_for_its_turn_is_alive_while_the_worker_is_at_another(db, monkeypatch):
    first = in_ten_minutes(start_job("slow", study_id=None, by=None, subject="first"))
    second = in_ten_minutes(start_job("slow", study_id=None, by=None, subject="second"))
    was_stale = second.is_stale
    seen = []

    def look_at_the_other(running: Job) -> dict:
        second.refresh_from_db()
        seen.append((second.state, second.is_stale))
        return {}

    monkeypatch.setitem(run_job.__globals__["_KINDS"], "slow", look_at_the_other)
    run_job(first)

    assert was_stale
    assert seen == [("waiting", False)]
    assert in_ten_minutes(second).is_stale


def test_job_that_is_done_by_now_is_not_done_again(db, monkeypatch):
    monkeypatch.setitem(run_job.__globals__["_KINDS"], "slow", lambda job: {"found": 1})
    shown = in_ten_minutes(start_job("slow", study_id=None, by=None))
    run_job(Job.objects.get())

    assert shown.is_stale
    with pytest.raises(ValidationError, match="This job is done"):
        restart_job(shown, by=None)
    assert revive_job(shown, by=None).result == {"found": 1}
    assert [job.state for job in Job.objects.all()] == ["done"]


def test_job_that_was_heard_of_since_a_page_was_shown_is_not_started_again(db):
    job = start_job("launch", study_id=make_study().pk, by=None)
    shown = in_ten_minutes(job)
    Job.objects.filter(pk=job.pk).update(state="running", heartbeat_at=now())

    assert shown.is_stale
    with pytest.raises(ValidationError, match="still running"):
        restart_job(shown, by=None)


def test_job_that_breaks_says_what_to_do_and_the_log_says_why(db, monkeypatch, caplog):
    def divide(job: Job) -> dict[str, object]:
        return {"share": 1 / job.done}

    monkeypatch.setitem(run_job.__globals__["_KINDS"], "share", divide)
    job = Job.objects.create(kind="share")

    with pytest.raises(ZeroDivisionError):
        run_job(job)

    job.refresh_from_db()
    assert job.state == "failed"
    assert "Start it again" in job.message
    assert str(job.pk) in job.message
    assert "ZeroDivisionError" not in job.message
    assert str(job.pk) in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_worker_knows_every_kind_of_job_that_the_code_declares():
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "evalsite").rglob("*.py")
        if "\n@job_kind(" in path.read_text(encoding="utf-8")
    }
    # a worker sets Django up; it need not look at the site's addresses
    program = (
        "import django, sys; django.setup(); print(*[n for n in sys.modules if 'evalsite' in n])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"},
    )  # fmt: skip

    assert modules
    assert modules <= set(done.stdout.split())
