"""How participants use a scale: the points that its document reserves for difficult cases."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, Q

from evalsite.annotation.models import Annotation, Rating
from evalsite.protocol import Likert, ProtocolConfig
from evalsite.studies.models import Study

# even use of 7 points puts 2 of them at 29 %; above this nobody uses them sparingly
_MOST_PERCENT = 40
# fewer scores than this say little about anybody
_FEWEST_SCORES = 20


@dataclass(frozen=True, kw_only=True)
class ReservedUse:
    """How many of a participant's scores are on reserved points."""

    reserved: int
    scores: int

    @property
    def percent(self) -> int:
        return round(100 * self.reserved / self.scores)

    @property
    def is_high(self) -> bool:
        """Whether this is more than "sparingly", in scores enough to tell."""
        is_over = 100 * self.reserved > _MOST_PERCENT * self.scores
        return is_over and self.scores >= _FEWEST_SCORES


def reserved_points(config: ProtocolConfig) -> dict[str, list[int]]:
    """The reserved points of each criterion that has some."""
    found = {
        criterion.key: [point.value for point in criterion.scale.points if point.reserved]
        for criterion in config.criteria
        if isinstance(criterion.scale, Likert)
    }
    return {key: values for key, values in found.items() if values}


def count_reserved(study: Study, participants: Collection[int]) -> dict[int, ReservedUse]:
    """The use of reserved points by each of these participants who has scored on such a scale."""
    points = reserved_points(study.config)
    if not points:
        return {}
    is_reserved = Q(pk__in=[])
    for criterion, values in points.items():
        is_reserved |= Q(criterion=criterion, value__in=values)
    given = Rating.objects.filter(
        annotation__in=Annotation.objects.filter(
            study=study, participant__in=participants, status__in=("counted", "surplus", "pilot")
        ),
        criterion__in=list(points),
    )
    rows = given.order_by().values_list("annotation__participant")
    counts = rows.annotate(reserved=Count("pk", filter=is_reserved), scores=Count("pk"))
    return {
        participant: ReservedUse(reserved=reserved, scores=scores)
        for participant, reserved, scores in counts
    }
