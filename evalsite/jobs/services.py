"""Starting jobs, running them, and telling how far they are."""

import logging
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django_tasks import task

from evalsite.audit.models import AuditEntry
from evalsite.jobs.models import Job

logger = logging.getLogger(__name__)

JobFunction = Callable[[Job], dict[str, Any]]
_KINDS: dict[str, JobFunction] = {}


def job_kind(name: str) -> Callable[[JobFunction], JobFunction]:
    """Register a function as a kind of job; it gets the Job and returns its result."""

    def register(function: JobFunction) -> JobFunction:
        _KINDS[name] = function
        return function

    return register


@transaction.atomic
def start_job(kind: str, *, study_id: UUID | None, by: Any, **params: Any) -> Job:
    """A job of this kind waits for a worker, or the open one of the same study is returned."""
    try:
        with transaction.atomic():
            job = Job.objects.create(
                kind=kind,
                study_id=study_id,
                params=params,
                started_by=by if getattr(by, "is_authenticated", False) else None,
            )
    except IntegrityError:
        return Job.objects.get(
            kind=kind, study_id=study_id, state__in=[Job.State.WAITING, Job.State.RUNNING]
        )
    # The queue is a table of this database: row and task are committed together, or neither is.
    run_job_task.enqueue(str(job.pk))
    return job


@transaction.atomic
def restart_job(job: Job, *, by: Any) -> Job:
    """A failed or stale job waits again; what it had done already is not done twice."""
    if job.is_open and not job.is_stale:
        raise ValidationError("This job is still running.")
    # given up for good: a worker that comes back finds nothing to do
    Job.objects.filter(pk=job.pk, state=job.state).update(state=Job.State.FAILED)
    AuditEntry.objects.record("job restarted", by=by, study_id=job.study_id, kind=job.kind)
    return start_job(job.kind, study_id=job.study_id, by=by, **job.params)


@task()
def run_job_task(job_id: str) -> None:
    run_job(Job.objects.get(pk=job_id))


def run_job(job: Job) -> Job:
    """The job has run, once: done with its result, or failed with the reason."""
    waiting = Job.objects.filter(pk=job.pk, state=Job.State.WAITING)
    if not waiting.update(state=Job.State.RUNNING, heartbeat_at=timezone.now()):
        job.refresh_from_db()  # run by somebody else, or given up
        return job
    try:
        result = _KINDS[job.kind](job)
    except ValidationError as error:
        _finish(job, Job.State.FAILED, message=" ".join(error.messages))
    except BaseException as error:
        # Whatever went wrong, the page must not say "running" for ever; the worker logs the rest.
        _finish(job, Job.State.FAILED, message=f"Stopped by an error: {type(error).__name__}.")
        raise
    else:
        _finish(job, Job.State.DONE, result=result)
    job.refresh_from_db()
    return job


def report_progress(job: Job, done: int, total: int) -> None:
    """The job's page shows this progress, and the job counts as alive."""
    Job.objects.filter(pk=job.pk).update(done=done, total=total, heartbeat_at=timezone.now())


def _finish(job: Job, state: str, **fields: Any) -> None:
    # not one that was given up meanwhile: another has taken its place
    running = Job.objects.filter(pk=job.pk, state=Job.State.RUNNING)
    running.update(state=state, finished_at=timezone.now(), **fields)
