"""What has to happen at set times: a table that every worker looks at once a minute."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import InterfaceError, InternalError, OperationalError
from django.db.models import F

from evalsite.core.jobs.clock_watch import find_jump
from evalsite.core.jobs.models import ScheduledTask
from evalsite.core.outage import is_outage
from evalsite.lib.clock import now

logger = logging.getLogger(__name__)

# what a run may take before another worker takes the task for abandoned
LEASE = timedelta(minutes=15)
_FIRST_PAUSE = timedelta(minutes=1)
HOURLY, DAILY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class Task:
    """Something to do every so often: what is due by now, so that being late loses nothing."""

    name: str
    label: str
    every: timedelta
    run: Callable[[], str | None]
    is_on: Callable[[], bool]
    # then it waits after the clock has jumped
    is_deleting: bool = False


TASKS: dict[str, Task] = {}


def scheduled(
    label: str,
    *,
    every: timedelta = timedelta(minutes=1),
    is_on: Callable[[], bool] = lambda: True,
    is_deleting: bool = False,
) -> Callable[[Callable[[], str | None]], Callable[[], str | None]]:
    """Register a function that returns in a few words what it did, or nothing.

    It must do no harm if it runs twice: after a crash it starts again.
    """

    def register(function: Callable[[], str | None]) -> Callable[[], str | None]:
        name = function.__name__
        TASKS[name] = Task(
            name=name,
            label=label,
            every=every,
            run=function,
            is_on=is_on,
            is_deleting=is_deleting,
        )
        return function

    return register


def run_schedule() -> None:
    """Run every task that is due and that no other worker runs."""
    known = {task.name: task for task in ScheduledTask.objects.all()}
    moment, is_clock_trusted = now(), find_jump() is None
    for task in TASKS.values():
        if not task.is_on() or (task.is_deleting and not is_clock_trusted):
            continue
        row = known.get(task.name)
        if row is None:
            # two workers may start at the same moment
            row, _ = ScheduledTask.objects.get_or_create(
                name=task.name, defaults={"due_at": moment}
            )
        if (row.due_at <= moment or _is_too_far(task, row, moment)) and _claim(row):
            _run(task)


def _is_too_far(task: Task, row: ScheduledTask, moment: datetime) -> bool:
    """Return whether the task is due later than it can be, as after a clock that was ahead."""
    longest = max(task.every, HOURLY) if row.failures else task.every
    return row.due_at > moment + longest + LEASE


def _claim(row: ScheduledTask) -> bool:
    """Take the task; False if another worker has taken it since the row was read."""
    moment = now()
    free = ScheduledTask.objects.filter(pk=row.pk, due_at=row.due_at)
    return bool(free.update(due_at=moment + LEASE, started_at=moment))


def _run(task: Task) -> None:
    mine = ScheduledTask.objects.filter(pk=task.name)
    try:
        result = task.run() or ""
    except (OperationalError, InterfaceError, InternalError) as error:
        if is_outage(error):
            raise  # nothing is wrong with the task: it runs again once its lease is over
        _note_failure(task, error)
    except Exception as error:  # the other tasks must run, and the worker must go on
        _note_failure(task, error)
    else:
        moment = now()
        mine.update(
            due_at=moment + task.every,
            finished_at=moment,
            result=result[:200],
            error="",
            failures=0,
        )
        # what was last done stays in view when nothing was to do since
        if result:
            mine.update(acted_at=moment, acted=result[:200])


def _note_failure(task: Task, error: Exception) -> None:
    """Store why the task failed, and try again sooner the less often it has."""
    logger.exception("The scheduled task %s failed.", task.name)
    mine = ScheduledTask.objects.filter(pk=task.name)
    failures = mine.values_list("failures", flat=True)[0]
    pause = min(_FIRST_PAUSE * 2 ** min(failures, 10), max(task.every, HOURLY))
    mine.update(
        due_at=now() + pause,
        error=f"{type(error).__name__}: {error}"[:500],
        failures=F("failures") + 1,
    )


# --- what is shown of it --------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TaskState:
    """One line of the schedule, as a page or a command shows it."""

    task: Task
    row: ScheduledTask | None
    is_late: bool
    # due later than it can be
    is_too_far: bool
    # waits because the clock jumped
    is_waiting: bool

    @property
    def has_problem(self) -> bool:
        return self.is_late or self.is_too_far or bool(self.row and self.row.error)


def list_schedule() -> list[TaskState]:
    """Return every task that is on, with its last run."""
    rows = {row.name: row for row in ScheduledTask.objects.all()}
    moment, is_clock_trusted = now(), find_jump() is None
    states = []
    for task in sorted(TASKS.values(), key=lambda task: task.label):
        if not task.is_on():
            continue
        row, is_waiting = rows.get(task.name), task.is_deleting and not is_clock_trusted
        states.append(
            TaskState(
                task=task,
                row=row,
                is_late=row is not None and not is_waiting and row.due_at < moment - LEASE,
                is_too_far=row is not None and _is_too_far(task, row, moment),
                is_waiting=is_waiting,
            )
        )
    return states


def count_problems() -> int:
    """Return how many tasks failed the last time or are due at a wrong time; a jump counts too."""
    return sum(state.has_problem for state in list_schedule()) + (find_jump() is not None)
