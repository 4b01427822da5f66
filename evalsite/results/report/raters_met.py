"""Raters who also took part in the study that this one repeats, as far as they are recognised."""

from dataclasses import dataclass

from django.db.models import QuerySet

from evalsite.annotation.models import Annotation
from evalsite.participants.models import Participant, ParticipantMark
from evalsite.quality.models import AnalysisPlan
from evalsite.studies.models import Study


@dataclass(frozen=True, kw_only=True)
class RatersMet:
    """How many of a study's raters had been in the study that it repeats."""

    number: int
    raters: int


def find_raters_met(study: Study) -> RatersMet | None:
    """Count them by what both studies keep of platform ids; None if nobody is recognised."""
    original = AnalysisPlan.objects.filter(study=study, repeats__isnull=False).values("repeats")
    earlier = ParticipantMark.objects.filter(study__in=original)
    marks = ParticipantMark.objects.filter(study=study.pk, digest__in=earlier.values("digest"))
    raters = _list_raters(study)
    number = raters.filter(pk__in=marks.values("participant")).count()
    return RatersMet(number=number, raters=raters.count()) if number else None


def _list_raters(study: Study) -> QuerySet[Participant]:
    answers = Annotation.objects.counted().filter(study=study)
    return Participant.objects.filter(pk__in=answers.values("participant"))
