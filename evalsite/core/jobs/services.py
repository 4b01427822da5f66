"""Start jobs, run them, and report their progress."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, InterfaceError, connection, transaction
from django.db.models import Q
from django.utils import timezone
from django_tasks import TaskContext, task

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.outage import is_full_disk, is_outage

logger = logging.getLogger(__name__)

JobFunction = Callable[[Job], dict[str, Any]]
_KINDS: dict[str, JobFunction] = {}
# well below what makes a job stale: one heartbeat may come late, or not at all
BEAT_SECONDS = 30
_BEAT_AGAIN_SECONDS = 5
# how often noted progress is saved
_LOOK_SECONDS = 2
_NOTED: dict[UUID, tuple[int, int]] = {}
MAX_TAKEOVERS = 3
_FULL_DISK = (
    "The disk of this site is full or can't be written to, so nothing was stored. Ask your "
    "administrator to make room, then start the job again."
)
_TAKEN_OVER = "This job was interrupted, so it was started again."
_INTERRUPTED = (
    "This job was interrupted {times} times, because its worker was killed or the database went "
    "away. It isn't started again by itself: it may need more memory than the server has. Ask your "
    "administrator to look at the log for job {job}, then start it again."
)
_UNFORESEEN = (
    "This job stopped because of an unexpected error. Start it again. If it stops again, ask your "
    "administrator to look at the log for job {job}."
)


class JobTakenOver(Exception):
    """Another worker has taken over this job, so this one stops."""


def job_kind(name: str) -> Callable[[JobFunction], JobFunction]:
    """Register a function as a kind of job; it gets the Job and returns its result."""

    def register(function: JobFunction) -> JobFunction:
        _KINDS[name] = function
        return function

    return register


def start_job(
    kind: str, *, study_id: UUID | None, by: Any, subject: str = "", **params: Any
) -> Job:
    """Queue a job of this kind, or return the open one of the same study and subject.

    `params` must be plain data that fits into JSON.
    """
    return _queue_job(kind, study_id=study_id, by=by, subject=subject, params=params)


@transaction.atomic
def _queue_job(
    kind: str,
    *,
    study_id: UUID | None,
    by: Any,
    subject: str,
    params: dict[str, Any],
    takeovers: int = 0,
) -> Job:
    try:
        with transaction.atomic():
            job = Job.objects.create(
                kind=kind,
                study_id=study_id,
                subject=subject,
                params=params,
                started_by=by if getattr(by, "is_authenticated", False) else None,
                takeovers=takeovers,
            )
    except IntegrityError:
        return Job.objects.get(
            kind=kind,
            study_id=study_id,
            subject=subject,
            state__in=[Job.State.WAITING, Job.State.RUNNING],
        )
    # The queue is a table of this database: row and task are committed together, or neither is.
    enqueue_job(job)
    return job


@transaction.atomic
def restart_job(job: Job, *, by: Any) -> Job:
    """Queue a failed or stale job again; what it has done isn't done twice."""
    job = _lock(job)
    if not job.has_stopped:
        raise ValidationError("This job is still running." if job.is_open else "This job is done.")
    return _begin_anew(job, by)


@transaction.atomic
def revive_job(job: Job, *, by: Any) -> Job:
    """Queue a failed or stale job again; leave one that has responded since as it is."""
    job = _lock(job)
    return _begin_anew(job, by) if job.has_stopped else job


def _lock(job: Job) -> Job:
    # the page may be out of date: the worker may have responded since
    return Job.objects.select_for_update().get(pk=job.pk)


def _begin_anew(job: Job, by: Any) -> Job:
    # given up for good: a worker that comes back finds nothing to do
    Job.objects.filter(pk=job.pk).update(state=Job.State.FAILED)
    AuditEntry.objects.record("job restarted", by=by, study_id=job.study_id, kind=job.kind)
    return start_job(job.kind, study_id=job.study_id, by=by, subject=job.subject, **job.params)


@transaction.atomic
def take_over_job(seen: Job) -> Job | None:
    """Queue again a running job whose worker is gone; after three times it fails instead.

    Return None if the job has responded since it was seen, or another worker was quicker.
    """
    running = Job.objects.filter(
        pk=seen.pk, state=Job.State.RUNNING, worker=seen.worker, heartbeat_at=seen.heartbeat_at
    )
    job = running.select_for_update().first()
    if job is None:
        return None
    is_last = job.takeovers >= MAX_TAKEOVERS
    times = job.takeovers + 1
    message = _INTERRUPTED.format(times=times, job=job.pk) if is_last else _TAKEN_OVER
    _finish(job, Job.State.FAILED, message=message)
    logger.warning("Job %s (%s) of study %s: %s", job.pk, job.kind, job.study_id, message)
    if is_last:
        return None
    return _queue_job(
        job.kind,
        study_id=job.study_id,
        by=job.started_by,
        subject=job.subject,
        params=job.params,
        takeovers=times,
    )


@task(takes_context=True)
def run_job_task(context: TaskContext, job_id: str) -> None:
    run_job(Job.objects.get(pk=job_id), worker=context.task_result.worker_ids[-1])


def enqueue_job(job: Job) -> None:
    """Put the job into the queue of the workers."""
    run_job_task.enqueue(str(job.pk))


def begin_job(job_id: UUID | str, *, worker: str = "") -> bool:
    """Mark the job as running by this worker; return False if it is closed or another's."""
    is_free = Q(state=Job.State.WAITING)
    if worker:
        is_free |= Q(state=Job.State.RUNNING, worker=worker)
    moment = timezone.now()
    free = Job.objects.filter(is_free, pk=job_id)
    return bool(
        free.update(state=Job.State.RUNNING, worker=worker, started_at=moment, heartbeat_at=moment)
    )


def run_job(job: Job, *, worker: str = "") -> Job:
    """Run the job once, and store its result, or the reason why it failed."""
    if not begin_job(job.pk, worker=worker):
        job.refresh_from_db()  # run by another process, or given up
        return job
    try:
        _show_alive(job)
        with _keep_alive(job):
            result = _KINDS[job.kind](job)
    except ValidationError as error:
        _finish(job, Job.State.FAILED, message=" ".join(error.messages))
    except JobTakenOver:
        logger.warning("Job %s (%s) was taken over by another worker.", job.pk, job.kind)
    except BaseException as error:
        _note_failure(job, error)
        raise
    else:
        _finish(job, Job.State.DONE, result=result)
    job.refresh_from_db()
    return job


def _note_failure(job: Job, error: BaseException) -> None:
    """Store why the job failed, so that its page doesn't say "running" for ever."""
    if is_full_disk(error):
        logger.error("Job %s (%s): the disk is full (%s).", job.pk, job.kind, error)
        _finish(job, Job.State.FAILED, message=_FULL_DISK)
    elif is_outage(error) or isinstance(error, KeyboardInterrupt | SystemExit):
        # Nothing is wrong with the job. It counts as running until a worker takes it over.
        logger.warning("Job %s (%s) was interrupted: %s", job.pk, job.kind, error)
    else:
        logger.exception("Job %s (%s) of study %s stopped.", job.pk, job.kind, job.study_id)
        _finish(job, Job.State.FAILED, message=_UNFORESEEN.format(job=job.pk))


@contextmanager
def _keep_alive(job: Job) -> Iterator[None]:
    """Update the heartbeats of this job and of those that wait, and save noted progress.

    A thread with its own connection does this while the job computes, reads from a snapshot
    or waits for one long statement. If the worker is gone, so is the thread.
    """
    is_over = Event()

    def beat() -> None:
        quiet = 0.0
        while not is_over.wait(pause := min(_LOOK_SECONDS, BEAT_SECONDS)):
            quiet += pause
            progress = _NOTED.pop(job.pk, None)
            if progress is None and quiet < BEAT_SECONDS:
                continue
            is_shown = _show_alive(job, progress)
            quiet = 0.0 if is_shown else max(0.0, BEAT_SECONDS - _BEAT_AGAIN_SECONDS)
            # a connection that is broken, or kept for long, is not used again
            connection.close()

    thread = Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        _NOTED.pop(job.pk, None)


def _show_alive(job: Job, progress: tuple[int, int] | None = None) -> bool:
    """Update the heartbeat of this job, and of those that wait for a worker."""
    is_ours = Q(pk=job.pk, state=Job.State.RUNNING)
    try:
        Job.objects.filter(is_ours | Q(state=Job.State.WAITING)).update(heartbeat_at=timezone.now())
        if progress is not None:
            Job.objects.filter(is_ours).update(done=progress[0], total=progress[1])
    except (DatabaseError, InterfaceError):
        # SQLite has one writer, which may be the job itself: the next beat tries again
        logger.warning("Job %s could not show that it is alive.", job.pk)
        return False
    return True


def report_progress(job: Job, done: int, total: int) -> None:
    """Save the progress for the job's page, and update the heartbeat.

    Raise JobTakenOver if another worker has taken over the job.
    """
    running = Job.objects.filter(pk=job.pk, state=Job.State.RUNNING)
    if not running.update(done=done, total=total, heartbeat_at=timezone.now()):
        raise JobTakenOver(str(job.pk))


def note_progress(job: Job, done: int, total: int) -> None:
    """Have the job's page show this progress within seconds, without a query by the caller.

    For jobs that read from a snapshot, and so can't write.
    """
    _NOTED[job.pk] = done, total


def _finish(job: Job, state: str, **fields: Any) -> None:
    # not a job that was taken over meanwhile
    running = Job.objects.filter(pk=job.pk, state=Job.State.RUNNING)
    running.update(state=state, finished_at=timezone.now(), **fields)
