"""When results were first computed: tests assume that nobody goes on because of what they saw."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Subquery

from evalsite.annotation.running.live_changes import FITTED
from evalsite.audit.models import AuditEntry
from evalsite.jobs.models import Job
from evalsite.quality.models import AnalysisPlanVersion, PlanEvent
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
    is_revealed: bool = False  # an owner chose to look, though results were hidden

    def to_data(self) -> dict[str, Any]:
        return {**vars(self), "at": self.at.isoformat()}


def find_first_look(study: Study) -> Look | None:
    """Return the first look, or None if results were never there before the study was closed.

    Results that were computed while systems were hidden showed none: it was when an owner revealed
    them, or before the launch.
    """
    jobs = Job.objects.filter(study_id=study.pk, kind=KIND, finished_at__isnull=False)
    shown = jobs.filter(finished_at__lt=Subquery(_read_frozen(study)))
    revealed = PlanEvent.objects.filter(study=OuterRef("pk"), kind=PlanEvent.Kind.REVEALED)
    asked = _find_asked(study).order_by("-created_at")
    # in one query: pages of results have few to spend
    known = Study.objects.filter(pk=study.pk).values_list(
        Subquery(jobs.order_by("finished_at").values("finished_at")[:1]),
        Subquery(shown.order_by("finished_at").values("finished_at")[:1]),
        Subquery(revealed.values("at")[:1]),
        Subquery(revealed.values("answers")[:1]),
        Subquery(asked.values("created_at")[:1]),
    )
    first, before_plan, revealed_at, answers, last_asked = known.get()
    if at := before_plan if study.hides_results else first:
        look = Look(at=at, answers=count_answers(study, before=at), asked_later=0)
    elif revealed_at:
        look = Look(at=revealed_at, answers=answers, asked_later=0, is_revealed=True)
    else:
        return None
    if study.closed_at is not None and look.at >= study.closed_at:
        return None  # nobody could go on because of it
    if last_asked is None or last_asked <= look.at:
        return look
    later = _find_asked(study).filter(created_at__gt=look.at)
    # of a top-up, and of more answers per item or a further batch
    places = sum(change.detail.get("slots", 0) + change.detail.get("added", 0) for change in later)
    return replace(look, asked_later=places)


def _read_frozen(study: Study) -> Any:
    versions = AnalysisPlanVersion.objects.filter(study_id=study.pk, number=1)
    return versions.values("frozen_at")[:1]


def _find_asked(study: Study) -> Any:
    """Find where more answers were asked for."""
    return AuditEntry.objects.filter(study_id=study.pk, action__in=(TOP_UP_ACTION, FITTED))
