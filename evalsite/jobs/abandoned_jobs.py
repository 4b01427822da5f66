"""Taking over jobs whose worker is gone."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from evalsite.jobs.models import STALE_AFTER, Job
from evalsite.jobs.services import enqueue_job, take_over_job
from evalsite.jobs.worker_presence import find_workers, forget_worker

# a worker that lost the database for a while gets so long to be heard of again
_SIGHT = timedelta(seconds=15)


class Takeover:
    """What one worker knows of the others, to find jobs that nobody runs any more."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        # stale jobs: the sign of life that was seen last, and when
        self._sightings: dict[UUID, tuple[Any, Any]] = {}

    def take_over_own(self) -> int:
        """Queue again what this worker, which runs nothing now, could not finish."""
        return self._take_over_all({self.worker})

    def take_over_lost(self) -> int:
        """Queue again what nobody runs: how many jobs were taken over.

        The lock of a worker on this machine is certain. One on another machine, or one without a
        lock, is taken for dead once its heartbeat is two minutes old and doesn't come back.
        """
        alive, dead = find_workers()
        taken = self._take_over_all(dead)
        for worker in dead:
            forget_worker(worker)
        taken += self._take_over_stale(alive | {self.worker})
        self._queue_forgotten()
        return taken

    def _take_over_all(self, workers: set[str]) -> int:
        jobs = Job.objects.filter(state=Job.State.RUNNING, worker__in=workers)
        return sum(take_over_job(job) is not None for job in jobs)

    def _take_over_stale(self, alive: set[str]) -> int:
        moment = timezone.now()
        jobs = Job.objects.filter(
            state=Job.State.RUNNING, heartbeat_at__lt=moment - STALE_AFTER
        ).exclude(worker__in=alive)
        known, self._sightings = self._sightings, {}
        taken = 0
        for job in jobs:
            heartbeat, since = known.get(job.pk, (None, moment))
            if heartbeat != job.heartbeat_at:
                self._sightings[job.pk] = (job.heartbeat_at, moment)
            elif moment - since < _SIGHT:
                self._sightings[job.pk] = (heartbeat, since)
            else:
                taken += take_over_job(job) is not None
        return taken

    def _queue_forgotten(self) -> None:
        """A job that waits must be in the queue: a worker of an older version may have lost it."""
        oldest = timezone.now() - STALE_AFTER
        waiting = list(Job.objects.filter(state=Job.State.WAITING, created_at__lt=oldest))
        if not waiting:
            return
        queued = {job_of(task) for task in DBTaskResult.objects.ready()}
        for job in waiting:
            if str(job.pk) not in queued:
                enqueue_job(job)


def job_of(task: DBTaskResult) -> str:
    """The id of the job that this task of the queue runs; empty if it runs something else."""
    arguments = task.args_kwargs["args"]
    return str(arguments[0]) if arguments else ""
