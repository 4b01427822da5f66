"""The job worker: it runs one job at a time, and waits while the database is down.

The schedule has a thread of its own, so that no job holds up e-mails or the closing of studies.
"""

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event, Thread
from types import FrameType
from uuid import UUID

from django.db import (
    InterfaceError,
    InternalError,
    OperationalError,
    close_old_connections,
    connections,
    transaction,
)
from django.db.models import Max
from django.utils import timezone
from django.utils.crypto import get_random_string
from django_tasks_db.management.commands.db_worker import Worker as QueueWorker
from django_tasks_db.models import DBTaskResult

from evalsite.core.jobs.clock_watch import ClockWatch
from evalsite.core.jobs.models import STALE_AFTER, Job
from evalsite.core.jobs.schedule import run_schedule
from evalsite.core.jobs.services import begin_job, enqueue_job, take_over_job
from evalsite.core.outage import is_outage

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LOOKS = 10
SECONDS_BETWEEN_SCHEDULES = 60
# how long a worker that stops waits for a task of the schedule to end
_SECONDS_TO_END = 10
_FIRST_PAUSE, _LONGEST_PAUSE = 1, 30
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class JobWorker(QueueWorker):
    """The queue's worker, which orders jobs fairly and waits while the database is down."""

    def __init__(self, *, interval: float, batch: bool) -> None:
        super().__init__(
            queue_names=["*"],
            interval=interval,
            batch=batch,
            backend_name="default",
            startup_delay=False,
            max_tasks=None,
            worker_id=get_random_string(32),
            excluded_queue_names=[],
        )
        self.takeover = Takeover(self.worker_id)
        self._pause = _FIRST_PAUSE
        self._next_look = 0.0
        self._clock_watch = ClockWatch()

    def shutdown(self, signum: int, frame: FrameType | None) -> None:
        """Stop after the job that runs, or at once without one; a second signal ends the job.

        Nothing is logged here: a signal that arrives while a line is being written would be lost.
        """
        if not self.running:
            self.reset_signals()
            sys.exit(1)
        self.running = False
        if not self.running_task:
            sys.exit(0)

    def run(self) -> None:
        """Run jobs until asked to stop; in a batch, until none waits."""
        logger.info("The job worker %s is running.", self.worker_id)
        with self._keep_schedule():
            while self.running:
                has_worked = self._work_or_wait()
                if self.batch and has_worked is False:
                    return
                if self.running and has_worked is False:
                    self._sleep(self.interval)

    @contextmanager
    def _keep_schedule(self) -> Iterator[None]:
        """Look at the schedule once a minute beside the block; in a batch, once before it."""
        if self.batch:
            self._tick()
            yield
            return
        is_over = Event()

        def keep_ticking() -> None:
            self._tick()
            while not is_over.wait(SECONDS_BETWEEN_SCHEDULES):
                self._tick()

        thread = Thread(target=keep_ticking, name="schedule", daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join(_SECONDS_TO_END)

    def _tick(self) -> None:
        """Run what is due, unless the database is down: then the next tick does."""
        try:
            if self._clock_watch.tick():
                run_schedule()
        except Exception as error:  # whatever happens, the thread must look again in a minute
            if is_outage(error):
                logger.warning("The schedule waits: %s", " ".join(str(error).split()))
            else:
                logger.exception("The schedule broke off. It goes on at the next tick.")
            connections.close_all()
            return
        close_old_connections()

    def _work_or_wait(self) -> bool | None:
        """Run the next job; return whether there was one, or None after a wait for the database."""
        try:
            if self.takeover.take_over_own():
                self._wait("A job was interrupted.")
            if time.monotonic() >= self._next_look:
                self.takeover.take_over_lost()
                self._next_look = time.monotonic() + SECONDS_BETWEEN_LOOKS
            has_worked = self._run_next()
        except (OperationalError, InterfaceError, InternalError) as error:
            if not is_outage(error):
                raise
            connections.close_all()
            self._wait(f"The database can't be used ({' '.join(str(error).split())}).")
            return None
        close_old_connections()
        if not has_worked:
            self._pause = _FIRST_PAUSE
        return has_worked

    def _wait(self, reason: str) -> None:
        logger.warning("%s The job worker tries again in %d s.", reason, self._pause)
        self._sleep(self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        self._next_look = 0

    def _sleep(self, seconds: float) -> None:
        """Sleep for so long, or until asked to stop: a signal alone doesn't end a sleep."""
        end = time.monotonic() + seconds
        while self.running and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 1))

    def _run_next(self) -> bool:
        if not DBTaskResult.objects.ready().exists():  # no write lock only to look
            return False
        task = self._claim_next()
        if task is not None:
            self.run_task(task)
        return task is not None

    @transaction.atomic
    def _claim_next(self) -> DBTaskResult | None:
        """Claim a task together with its job, or neither."""
        for waiting in order_fairly(DBTaskResult.objects.ready()):
            task = DBTaskResult.objects.ready().filter(pk=waiting.pk).get_locked()
            if task is not None:
                task.claim(self.worker_id)
                begin_job(job_of(task), worker=self.worker_id)
                return task
        return None


def order_fairly(tasks: Iterable[DBTaskResult]) -> list[DBTaskResult]:
    """Order jobs: first the study served longest ago; within a study, the oldest job.

    So the second job of one study waits behind the first of another.
    """
    tasks = list(tasks)
    studies = dict(
        Job.objects.filter(pk__in={job_of(task) for task in tasks}).values_list("pk", "study_id")
    )
    begun = Job.objects.filter(study_id__in=set(studies.values()), started_at__isnull=False)
    served = dict(begun.order_by().values_list("study_id").annotate(Max("started_at")))
    study_of = {str(job): study for job, study in studies.items()}
    return sorted(tasks, key=lambda task: served.get(study_of.get(job_of(task)), _LONG_AGO))


# of one worker, by the clock of another, until its job is taken over
_SECONDS_OF_SILENCE = STALE_AFTER.total_seconds()


class Takeover:
    """What one worker knows of the others, to find abandoned jobs."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        # running jobs: the last heartbeat seen, and when it was first seen
        self._sightings: dict[UUID, tuple[datetime | None, float]] = {}

    def take_over_own(self) -> int:
        """Queue again what this worker, which runs nothing now, could not finish."""
        jobs = Job.objects.filter(state=Job.State.RUNNING, worker=self.worker)
        return sum(take_over_job(job) is not None for job in jobs)

    def take_over_lost(self) -> int:
        """Queue again the jobs whose heartbeat hasn't moved for two minutes; return how many.

        Heartbeats are compared with themselves only, and the two minutes are those of a clock
        that nobody can set: if the server's clock jumps, nothing is taken over.
        """
        moment = time.monotonic()
        known, self._sightings = self._sightings, {}
        taken = 0
        for job in Job.objects.filter(state=Job.State.RUNNING).exclude(worker=self.worker):
            heartbeat, since = known.get(job.pk, (None, moment))
            if heartbeat != job.heartbeat_at:
                heartbeat, since = job.heartbeat_at, moment
            elif moment - since >= _SECONDS_OF_SILENCE:
                taken += take_over_job(job) is not None
                continue
            self._sightings[job.pk] = (heartbeat, since)
        self._queue_forgotten()
        return taken

    def _queue_forgotten(self) -> None:
        """Queue waiting jobs that the queue has lost, as a worker of an older version may do."""
        oldest = timezone.now() - STALE_AFTER
        waiting = list(Job.objects.filter(state=Job.State.WAITING, created_at__lt=oldest))
        if not waiting:
            return
        queued = {job_of(task) for task in DBTaskResult.objects.ready()}
        for job in waiting:
            if str(job.pk) not in queued:
                enqueue_job(job)


def job_of(task: DBTaskResult) -> str:
    """Return the id of the job that this task of the queue runs; "" if it runs something else."""
    arguments = task.args_kwargs["args"]
    return str(arguments[0]) if arguments else ""
