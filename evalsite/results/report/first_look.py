"""When results were first computed: tests assume that nobody goes on because of what they saw."""

from dataclasses import dataclass
from datetime import datetime

from evalsite.audit.models import AuditEntry
from evalsite.jobs.models import Job
from evalsite.quality.plan_state import count_answers
from evalsite.quality.top_up import TOP_UP_ACTION
from evalsite.results.report.computation import KIND
from evalsite.studies.models import Study


@dataclass(frozen=True, kw_only=True)
class Look:
    """The first time that results were there: how many answers were in, and were asked for then."""

    at: datetime
    answers: int
    asked_later: int


def find_first_look(study: Study) -> Look | None:
    """Return the first look, or None if results were never computed by a job."""
    jobs = Job.objects.filter(study_id=study.pk, kind=KIND, finished_at__isnull=False)
    first = jobs.order_by("finished_at").first()
    if first is None or first.finished_at is None:
        return None
    at = first.finished_at
    later = AuditEntry.objects.filter(
        study_id=study.pk, action=TOP_UP_ACTION, created_at__gt=at
    )  # fmt: skip
    return Look(
        at=at,
        answers=count_answers(study, before=at),
        asked_later=sum(one.detail.get("slots", 0) for one in later),
    )
