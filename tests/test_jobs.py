"""Jobs outlive their workers: whatever is killed when, a launch can be finished."""

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction
from django_tasks_db.models import DBTaskResult

from evalsite.annotation.launch import launch_study, newest_launch, restart_launch
from evalsite.annotation.models import Slot
from evalsite.jobs.models import Job
from evalsite.jobs.services import restart_job, run_job, start_job
from evalsite.lib.clock import now
from evalsite.studies.models import Study
from tests.factories import make_study, make_user
from tests.queues import run_waiting_jobs

ROOT = Path(__file__).resolve().parent.parent

# A worker that is killed (kill -9) at the moment when it would call the function named.
DYING_WORKER = """
import os, signal, sys
import django
django.setup()
from django.core.management import call_command
from evalsite.jobs import services
def die(job):
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "before it says that it runs":
    services.run_job = die
else:
    services._KINDS["launch"] = die
call_command("db_worker", "--batch", "--no-startup-delay")
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
