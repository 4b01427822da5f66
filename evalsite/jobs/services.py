"""Starting jobs, running them, and telling how far they are."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import Q
from django.utils import timezone
from django_tasks import task

from evalsite.audit.models import AuditEntry
from evalsite.jobs.models import Job

logger = logging.getLogger(__name__)

JobFunction = Callable[[Job], dict[str, Any]]
_KINDS: dict[str, JobFunction] = {}
# well below what makes a job stale: one sign of life may come late, or not at all
BEAT_SECONDS = 30
_UNFORESEEN = (
    "It stopped on something that we did not foresee. Start it again; if it stops again, tell "
    "whoever runs this site that the log has the details under job {job}."
)


def job_kind(name: str) -> Callable[[JobFunction], JobFunction]:
    """Register a function as a kind of job; it gets the Job and returns its result."""

    def register(function: JobFunction) -> JobFunction:
        _KINDS[name] = function
        return function

    return register


@transaction.atomic
def start_job(
    kind: str, *, study_id: UUID | None, by: Any, subject: str = "", **params: Any
) -> Job:
    """A job of this kind waits for a worker, or the open one of the same study and subject is it.

    `params` are plain data that JSON can hold.
    """
    try:
        with transaction.atomic():
            job = Job.objects.create(
                kind=kind,
                study_id=study_id,
                subject=subject,
                params=params,
                started_by=by if getattr(by, "is_authenticated", False) else None,
            )
    except IntegrityError:
        return Job.objects.get(
            kind=kind,
            study_id=study_id,
            subject=subject,
            state__in=[Job.State.WAITING, Job.State.RUNNING],
        )
    # The queue is a table of this database: row and task are committed together, or neither is.
    run_job_task.enqueue(str(job.pk))
    return job


@transaction.atomic
def restart_job(job: Job, *, by: Any) -> Job:
    """A failed or stale job waits again; what it had done already is not done twice."""
    job = _lock(job)
    if not job.has_stopped:
        raise ValidationError(
            "This job is still running." if job.is_open else "This job is done by now."
        )
    return _begin_anew(job, by)


@transaction.atomic
def revive_job(job: Job, *, by: Any) -> Job:
    """A failed or stale job waits again; one that was heard of meanwhile stays what it is."""
    job = _lock(job)
    return _begin_anew(job, by) if job.has_stopped else job


def _lock(job: Job) -> Job:
    # what somebody saw on a page may be over: its worker may have been heard of since
    return Job.objects.select_for_update().get(pk=job.pk)


def _begin_anew(job: Job, by: Any) -> Job:
    # given up for good: a worker that comes back finds nothing to do
    Job.objects.filter(pk=job.pk).update(state=Job.State.FAILED)
    AuditEntry.objects.record("job restarted", by=by, study_id=job.study_id, kind=job.kind)
    return start_job(job.kind, study_id=job.study_id, by=by, subject=job.subject, **job.params)


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
        _tell_alive(job)
        with _keep_alive(job):
            result = _KINDS[job.kind](job)
    except ValidationError as error:
        _finish(job, Job.State.FAILED, message=" ".join(error.messages))
    except BaseException:
        # Whatever went wrong, the page must not say "running" for ever; the log has the rest.
        logger.exception("Job %s (%s) of study %s stopped.", job.pk, job.kind, job.study_id)
        _finish(job, Job.State.FAILED, message=_UNFORESEEN.format(job=job.pk))
        raise
    else:
        _finish(job, Job.State.DONE, result=result)
    job.refresh_from_db()
    return job


@contextmanager
def _keep_alive(job: Job) -> Iterator[None]:
    """The job counts as alive while it runs, however long one of its steps takes, and so do others.

    Told by a thread with a connection of its own, while the job computes or waits for one long
    statement. It tells nothing of a worker that is gone: the thread goes with it.
    """
    is_over = Event()

    def beat() -> None:
        while not is_over.wait(BEAT_SECONDS):
            _tell_alive(job)
            # a connection that is broken, or kept for long, is not used again
            connection.close()

    thread = Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _tell_alive(job: Job) -> None:
    """A worker is at work on this job, and will come to those that wait behind it.

    Not to those before it: the queue keeps their order, so whoever had begun them is gone.
    """
    is_ours = Q(pk=job.pk, state=Job.State.RUNNING)
    is_behind = Q(state=Job.State.WAITING, created_at__gt=job.created_at)
    try:
        Job.objects.filter(is_ours | is_behind).update(heartbeat_at=timezone.now())
    except DatabaseError:
        # SQLite has one writer, which may be the job itself: it is told the next time
        logger.warning("Job %s could not tell that it is alive.", job.pk)


def report_progress(job: Job, done: int, total: int) -> None:
    """The job's page shows this progress, and the job counts as alive."""
    Job.objects.filter(pk=job.pk).update(done=done, total=total, heartbeat_at=timezone.now())


def _finish(job: Job, state: str, **fields: Any) -> None:
    # not one that was given up meanwhile: another has taken its place
    running = Job.objects.filter(pk=job.pk, state=Job.State.RUNNING)
    running.update(state=state, finished_at=timezone.now(), **fields)
