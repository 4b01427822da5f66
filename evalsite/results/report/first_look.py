"""When results were first computed: tests assume that nobody goes on because of what they saw."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from evalsite.annotation.running.live_changes import FITTED
from evalsite.audit.models import AuditEntry
from evalsite.jobs.models import Job
from evalsite.quality.frozen_plans import find_version
from evalsite.quality.models import PlanEvent
from evalsite.quality.plan_state import count_answers
from evalsite.quality.top_up import TOP_UP_ACTION
from evalsite.studies.models import Study

# of the jobs that compute results
KIND = "analysis"


@dataclass(frozen=True, kw_only=True)
class Look:
    """The first time that results were there: how many answers were in, and were asked for then."""

    at: datetime
    answers: int
    asked_later: int
    is_revealed: bool = False  # an owner chose to look, though a plan was frozen

    def to_data(self) -> dict[str, Any]:
        return {**vars(self), "at": self.at.isoformat()}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Look":
        return cls(**{**data, "at": datetime.fromisoformat(data["at"])})


def find_first_look(study: Study) -> Look | None:
    """Return the first look, or None if results were never there.

    With a frozen plan, results that were computed while systems were hidden showed none: it was
    when an owner revealed them, or before the plan was frozen.
    """
    jobs = Job.objects.filter(study_id=study.pk, kind=KIND, finished_at__isnull=False)
    if plan := find_version(study):
        jobs = jobs.filter(finished_at__lt=plan.frozen_at)
    first = jobs.order_by("finished_at").first()
    if first is not None and first.finished_at is not None:
        return _describe(study, first.finished_at, count_answers(study, before=first.finished_at))
    revealed = study.plan_events.filter(kind=PlanEvent.Kind.REVEALED).first()
    if revealed is None:
        return None
    return replace(_describe(study, revealed.at, revealed.answers), is_revealed=True)


def _describe(study: Study, at: datetime, answers: int) -> Look:
    later = AuditEntry.objects.filter(
        study_id=study.pk, action__in=(TOP_UP_ACTION, FITTED), created_at__gt=at
    )
    # of a top-up, and of more answers per item or a further batch
    places = sum(one.detail.get("slots", 0) + one.detail.get("added", 0) for one in later)
    return Look(at=at, answers=answers, asked_later=places)
