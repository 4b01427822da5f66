"""The analysis plan of a study, and what was known when it was written."""

from datetime import datetime

from django.db.models import Q, QuerySet

from evalsite.annotation.models import Annotation
from evalsite.lib.counts import count_together
from evalsite.participants.models import Origin
from evalsite.quality.models import AnalysisPlan
from evalsite.studies.models import Item, Study

_OF_PILOTS = Q(status=Annotation.Status.PILOT) | Q(participant__is_pilot=True)


def plan_of(study: Study) -> AnalysisPlan:
    """Return the study's plan, or an empty one that isn't saved."""
    plan = AnalysisPlan.objects.filter(study=study).first() or AnalysisPlan()
    # the one at hand: it isn't read once more
    plan.study = study
    return plan


def _find_answers(study: Study, *, before: datetime) -> QuerySet[Annotation]:
    """Return all answers so far, those left out since too; none of practice, checks or pilots."""
    answers = Annotation.objects.agreed().filter(
        study=study,
        item__kind__in=(Item.Kind.MAIN, Item.Kind.WITHDRAWN),
        submitted_at__lt=before,
    )
    return answers.exclude(_OF_PILOTS)


def count_answers(study: Study, *, before: datetime) -> int:
    return _find_answers(study, before=before).count()


def count_answers_at(plan: AnalysisPlan) -> dict[str, int]:
    """Return how many answers were in when each part was last changed, of those that were."""
    if not plan.moments:
        return {}
    return count_together(
        None, **{name: _find_answers(plan.study, before=at) for name, at in plan.moments.items()}
    )


def has_imported(study: Study) -> bool:
    """Return whether ratings were collected elsewhere; nobody knows who saw those, and when."""
    return Annotation.objects.filter(study=study, origin=Origin.IMPORTED).exists()
