"""Applying a plan's rules: everyone who meets one is excluded, or an owner declines."""

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.exclusion_rules import Outcome, join_outcomes, list_rules, run_rules
from evalsite.decisions.exclusions import exclude
from evalsite.decisions.frozen_plans import PLANNED, count_answers_in, count_at_work
from evalsite.decisions.models import Exclusion, ExclusionRule, PlanEvent
from evalsite.decisions.person_measures import measure_people
from evalsite.fieldwork.launch import insist_on_owner
from evalsite.lib.clock import now
from evalsite.people.models import Participant
from evalsite.studies.models import Study
from evalsite.studies.versions import hash_content


@dataclass(frozen=True, kw_only=True)
class Matches:
    """Who meets the rules now, and who of them isn't excluded yet."""

    outcomes: list[Outcome]
    excluded: set[int]
    people: int
    answers: int

    @property
    def together(self) -> Outcome:
        return join_outcomes(self.outcomes)

    @property
    def open(self) -> Outcome:
        """Return all who would be excluded."""
        together = self.together
        people = {pk: met for pk, met in together.people.items() if pk not in self.excluded}
        return Outcome(sentence=together.sentence, rule=None, people=people)

    @property
    def mark(self) -> str:
        """Return a text that is equal as long as the same people would be excluded."""
        return hash_content(sorted(self.open.people))

    def first_rule(self, person: int) -> ExclusionRule:
        """Return the first rule that this person meets."""
        rules = (outcome.rule for outcome in self.outcomes if person in outcome.people)
        return next(rule for rule in rules if rule is not None)


def find_matches(study: Study) -> Matches:
    """Return who meets the study's rules now."""
    people = measure_people(study)
    active = Exclusion.objects.active().filter(study=study, participant__isnull=False)
    return Matches(
        outcomes=run_rules(list_rules(study), people),
        excluded={pk for pk in active.values_list("participant", flat=True) if pk is not None},
        people=len(people),
        answers=sum(len(measures.items) for measures in people.values()),
    )


@transaction.atomic
def apply_rules(*, study: Study, by: Any, seen: str) -> int:
    """Exclude everyone who meets a rule now; return how many.

    `seen`: the mark of the list that the owner has read.
    """
    insist_on_owner(study, by)
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    matches = find_matches(study)
    if matches.mark != seen:
        raise ValidationError(
            "Other people match the rules by now. Read the list again before you decide."
        )
    people = {
        person.pk: person for person in Participant.objects.filter(pk__in=matches.open.people)
    }
    by_rule: dict[int, list[int]] = {}
    for pk in matches.open.people:
        by_rule.setdefault(matches.first_rule(pk).pk, []).append(pk)
    for outcome in matches.outcomes:
        if outcome.rule is None or outcome.rule.pk not in by_rule:
            continue
        exclude(
            study=study,
            participants=[people[pk] for pk in by_rule[outcome.rule.pk]],
            reason=outcome.sentence[:200],
            by=by,
            rule=PLANNED,
            planned_rule=outcome.rule,
        )
    _record(study, by, PlanEvent.Kind.APPLIED, number=len(people))
    return len(people)


@transaction.atomic
def decline_rules(*, study: Study, by: Any, reason: str) -> None:
    """Keep that the owner leaves everyone in, which departs from the plan."""
    insist_on_owner(study, by)
    if not reason.strip():
        raise ValidationError("Enter why the rules aren’t applied. The report prints it.")
    _record(study, by, PlanEvent.Kind.DECLINED, reason=reason.strip()[:200])


def insist_on_rest(study: Study) -> None:
    """Raise ValidationError while people are at work: those who finish may meet a rule, too."""
    if places := count_at_work(study):
        raise ValidationError(
            f"People at work still hold {places} places. Wait until they have finished, or take "
            "the places back on the Overview."
        )


def _record(
    study: Study, by: Any, kind: PlanEvent.Kind, *, number: int = 0, reason: str = ""
) -> None:
    PlanEvent.objects.create(
        study=study, kind=kind, by=by, at=now(), answers=count_answers_in(study), number=number,
        reason=reason,
    )  # fmt: skip
    AuditEntry.objects.record(
        f"plan’s rules {kind.value}", by=by, study_id=study.pk, people=number, reason=reason
    )
