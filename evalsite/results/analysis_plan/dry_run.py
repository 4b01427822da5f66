"""Trying exclusion rules on answers that are there already: counts and coverage, no results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evalsite.quality.exclusion_rules import Condition, Outcome, join_outcomes, run_rules
from evalsite.quality.person_measures import measure_people
from evalsite.results.progress import count_edge
from evalsite.studies.models import Item, Study

THIS, PILOT = "this", "pilot"
_MOST_STUDIES = 20


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """What rules would leave out of some answers."""

    name: str
    people: int
    answers: int
    items: int
    outcomes: list[Outcome]

    @property
    def together(self) -> Outcome:
        return join_outcomes(self.outcomes)


def list_targets(study: Study, user: Any, *, has_pilots: bool) -> list[tuple[str, str]]:
    """Return what rules can be tried on: own answers, and studies with the same questions."""
    choices = []
    if count_edge(study).done:
        choices.append((THIS, "This study’s answers"))
    if has_pilots:
        choices.append((PILOT, "Your pilot"))
    asked = [criterion.key for criterion in study.config.criteria]
    studies = Study.objects.visible_to(user).filter(protocol=study.protocol)
    studies = studies.filter(launched_at__isnull=False).exclude(pk=study.pk)
    for other in studies.select_related("version").order_by("-launched_at")[:_MOST_STUDIES]:
        if [criterion.key for criterion in other.config.criteria] == asked:
            choices.append((str(other.pk), other.title))
    return choices


def try_rules(
    study: Study, rules: Sequence[Sequence[Condition]], *, on: str, targets: dict[str, str]
) -> DryRun | None:
    """Try these rules on what was chosen; None of anything that isn't offered."""
    if on not in targets:
        return None
    chosen = study if on in (THIS, PILOT) else Study.objects.get(pk=on)
    people = measure_people(chosen, pilots=on == PILOT)
    return DryRun(
        name=targets[on],
        people=len(people),
        answers=sum(len(person.items) or person.answers for person in people.values()),
        items=Item.objects.main().filter(study=chosen).count(),
        outcomes=run_rules(list(rules), people),
    )
