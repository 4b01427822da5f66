"""Whether the server's clock can be trusted: after a jump, tasks that delete wait for a day."""

import logging
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models.functions import Now

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import SiteClock
from evalsite.lib.clock import now

logger = logging.getLogger(__name__)

# by how much the clock may be set between two ticks: time servers correct less than this
_TOLERANCE = timedelta(minutes=5)
# a worker that was away for longer can't know how long it was
_LONGEST_GAP = timedelta(days=7)
STEADY_FOR = timedelta(hours=24)
# counts on while the machine sleeps, where the system has such a clock
_COUNTER = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class ClockWatch:
    """Compares the clock with the time that has really passed, at each tick of one worker."""

    def __init__(self) -> None:
        self._last: tuple[datetime, float] | None = None

    def tick(self) -> bool:
        """Note a jump of the clock, or that it has been steady for long enough since.

        Return False if the clock of this machine is wrong: nothing is due by it.
        """
        clocks = read_clocks()
        if clocks is not None and not clocks.agree:
            logger.error(
                "This machine's clock and the database server's differ by over %s. Its worker does "
                "nothing at set times until they agree.",
                _TOLERANCE,
            )
            return False
        moment, seconds = now(), count_seconds()
        clock, _ = SiteClock.objects.get_or_create(pk=1, defaults={"ticked_at": moment})
        has_jumped = abs(moment - clock.ticked_at) > _LONGEST_GAP
        if self._last is not None:
            then, before = self._last
            passed = timedelta(seconds=seconds - before)
            has_jumped |= abs((moment - then) - passed) > _TOLERANCE
        self._last = moment, seconds
        row = SiteClock.objects.filter(pk=1)
        if has_jumped:
            logger.error("The clock jumped: it is now %s. Tasks that delete wait.", moment)
            row.update(ticked_at=moment, jumped_at=moment)
            return True
        row.update(ticked_at=moment)
        # another worker may have seen a jump since
        row.filter(jumped_at__lte=moment - STEADY_FOR).update(jumped_at=None)
        return True


@dataclass(frozen=True, kw_only=True)
class Clocks:
    """When a worker last looked at the schedule, and whether two machines have the same time."""

    ticked_at: datetime
    # this machine and the database server
    agree: bool


def read_clocks() -> Clocks | None:
    """Return what the database says of the time; None before a worker first looked."""
    row = SiteClock.objects.values_list("ticked_at", Now()).first()
    if row is None:
        return None
    ticked_at, moment = row
    return Clocks(ticked_at=ticked_at, agree=_is_near(moment))


def _is_near(moment: datetime) -> bool:
    # SQLite has the clock of this machine
    return connection.vendor == "sqlite" or abs(datetime.now(UTC) - moment) <= _TOLERANCE


def count_seconds() -> float:
    """Return seconds that nobody can set, from an arbitrary start."""
    return time.clock_gettime(_COUNTER)


def find_jump() -> datetime | None:
    """Return when the clock jumped, while tasks that delete wait for that reason."""
    clock = SiteClock.objects.filter(pk=1).first()
    return None if clock is None else clock.jumped_at


@transaction.atomic
def trust_clock(*, by: Any) -> None:
    """Let tasks that delete run again, because an administrator says that the clock is right."""
    jumped = SiteClock.objects.filter(pk=1, jumped_at__isnull=False)
    if jumped.update(jumped_at=None):
        AuditEntry.objects.record("clock confirmed", by=by)
