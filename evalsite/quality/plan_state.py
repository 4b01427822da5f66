"""The analysis plan of a study as it stands, and what was known when it was written."""

from datetime import datetime

from django.db.models import Q

from evalsite.annotation.models import Annotation
from evalsite.participants.models import Origin
from evalsite.quality.models import AnalysisPlan
from evalsite.studies.models import Item, Study

_OF_PILOTS = Q(status=Annotation.Status.PILOT) | Q(participant__is_pilot=True)


def plan_of(study: Study) -> AnalysisPlan:
    """The study's plan; an empty one, which is not saved, where nobody wrote one."""
    return AnalysisPlan.objects.filter(study=study).first() or AnalysisPlan(study=study)


def count_answers(study: Study, *, before: datetime) -> int:
    """How many answers were in, whatever became of them; practice, checks and pilots left out."""
    given = Annotation.objects.agreed().filter(
        study=study, item__kind=Item.Kind.MAIN, submitted_at__lt=before
    )
    return given.exclude(_OF_PILOTS).count()


def count_answers_at(plan: AnalysisPlan) -> dict[str, int]:
    """How many answers were in when each part was last changed, of those that were."""
    return {name: count_answers(plan.study, before=moment) for name, moment in plan.moments.items()}


def has_imported(study: Study) -> bool:
    """Whether there are ratings collected elsewhere: of these nobody can say what was seen when."""
    return Annotation.objects.filter(study=study, origin=Origin.IMPORTED).exists()
