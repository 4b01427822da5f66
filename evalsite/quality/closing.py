"""Closing studies at the time that was set for it."""

from evalsite.annotation.running.launch import close_at_its_time, count_held
from evalsite.jobs.schedule import scheduled
from evalsite.lib.clock import now
from evalsite.studies.models import Study


@scheduled("Close studies at their closing time")
def close_due_studies() -> str:
    """Close what is due, once nobody is at work on it.

    Results that a plan hides stay hidden until an owner has applied its rules, or declined to.
    """
    due = Study.objects.filter(
        state__in=[Study.State.LIVE, Study.State.PAUSED], closes_at__lte=now()
    )
    closed = 0
    for study in due:
        if count_held(study) is None:
            close_at_its_time(study=study)
            closed += 1
    return f"{closed} closed" if closed else ""
