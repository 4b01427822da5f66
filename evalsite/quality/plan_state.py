"""The analysis plan of a study, and what was known when it was written."""

from datetime import datetime

from django.db.models import Q

from evalsite.annotation.models import Annotation
from evalsite.participants.models import Origin
from evalsite.quality.models import AnalysisPlan
from evalsite.studies.models import Item, Study

_OF_PILOTS = Q(status=Annotation.Status.PILOT) | Q(participant__is_pilot=True)


def plan_of(study: Study) -> AnalysisPlan:
    """Return the study's plan, or an empty one that isn't saved."""
    return AnalysisPlan.objects.filter(study=study).first() or AnalysisPlan(study=study)


def count_answers(study: Study, *, before: datetime) -> int:
    """Count the answers so far, excluded ones included; without practice, checks and pilots."""
    given = Annotation.objects.agreed().filter(
        study=study, item__kind=Item.Kind.MAIN, submitted_at__lt=before
    )
    return given.exclude(_OF_PILOTS).count()


def count_answers_at(plan: AnalysisPlan) -> dict[str, int]:
    """Return how many answers were in when each part was last changed, of those that were."""
    return {name: count_answers(plan.study, before=moment) for name, moment in plan.moments.items()}


def has_imported(study: Study) -> bool:
    """Return whether ratings were collected elsewhere; nobody knows who saw those, and when."""
    return Annotation.objects.filter(study=study, origin=Origin.IMPORTED).exists()
