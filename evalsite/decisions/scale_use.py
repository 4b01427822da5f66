"""How participants use a scale: the points that its document reserves for difficult cases."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, Q

from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.schema import Instrument
from evalsite.studies.models import Study

# even use of 7 points puts 2 of them at 29%; a share above this isn't sparing
MOST_SHARE = 0.4
# fewer scores than this say little about a person
FEWEST_SCORES = 20


@dataclass(frozen=True, kw_only=True)
class ReservedUse:
    """How many of a participant's scores are on reserved points, and which share is often.

    `fewest`: the scores needed to judge.
    """

    reserved: int
    scores: int
    most: float = MOST_SHARE
    fewest: float = FEWEST_SCORES

    @property
    def percent(self) -> int:
        return round(100 * self.reserved / self.scores)

    @property
    def is_high(self) -> bool:
        """Return whether the share is high, given enough scores to judge."""
        # the share as people read it: 0.29 times 100 is a little less than 29
        is_over = 100 * self.reserved > round(100 * self.most, 6) * self.scores
        return is_over and self.scores >= self.fewest


def reserved_points(config: Instrument) -> dict[str, list[float]]:
    """Return the reserved points of each criterion that has some."""
    points = {
        criterion.key: list(criterion.scale.reserved_values()) for criterion in config.criteria
    }
    return {key: reserved for key, reserved in points.items() if reserved}


def count_reserved(
    study: Study,
    participants: Collection[int],
    *,
    most: float = MOST_SHARE,
    fewest: float = FEWEST_SCORES,
) -> dict[int, ReservedUse]:
    """Return how these participants use reserved points, of those who scored on such a scale.

    `most`: the share above which a study calls it often, in `fewest` scores or more.
    """
    points = reserved_points(study.config)
    if not points:
        return {}
    is_reserved = Q(pk__in=[])
    for criterion, values in points.items():
        is_reserved |= Q(criterion=criterion, value__in=values)
    ratings = Rating.objects.filter(
        annotation__in=Annotation.objects.agreed().filter(
            study=study, participant__in=participants, status__in=("counted", "surplus", "pilot")
        ),
        criterion__in=list(points),
    )
    rows = ratings.order_by().values_list("annotation__participant")
    counts = rows.annotate(reserved=Count("pk", filter=is_reserved), scores=Count("pk"))
    return {
        participant: ReservedUse(reserved=reserved, scores=scores, most=most, fewest=fewest)
        for participant, reserved, scores in counts
    }
