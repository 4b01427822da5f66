"""Leaving people or single answers out of analysis, and taking that back. Nothing is deleted."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.models import MOST_LETTERS, Exclusion, ExclusionRule
from evalsite.decisions.top_up import Shortage, excluded_answers, find_shortage
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.lib.counts import count_together
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Study

EXCLUDED = "excluded from results"
TAKEN_BACK = "exclusion taken back"


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What an exclusion does to results: how many answers go, and which items are then short."""

    answers: int
    shortage: Shortage


def excludable_answers(study: Study) -> QuerySet[Annotation]:
    """Return the answers that may be excluded: none of practice or pilots, none withdrawn.

    Answers that wait for consent are left out of everything, so they aren't among them.
    """
    answers = Annotation.objects.agreed().filter(study=study, status__in=_EXCLUDABLE)
    return answers.exclude(item__kind=Item.Kind.PRACTICE)


def may_be_excluded(answer: Annotation) -> bool:
    """Return whether this answer, which is agreed to, may be excluded."""
    return answer.status in _EXCLUDABLE and answer.item.kind != Item.Kind.PRACTICE


_EXCLUDABLE = (Annotation.Status.COUNTED, Annotation.Status.SURPLUS, Annotation.Status.CONTROL)


def foresee_exclusion(
    study: Study, *, participants: Collection[Participant], annotations: Collection[Annotation]
) -> Effect:
    """Return what excluding these would add to the exclusions so far."""
    also = Q(participant__in=[person.pk for person in participants])
    also |= Q(pk__in=[annotation.pk for annotation in annotations])
    counts = count_together(
        before=excluded_answers(study), after=excluded_answers(study, also=also)
    )
    return Effect(
        answers=counts["after"] - counts["before"],
        shortage=find_shortage(study, also=also),
    )


@transaction.atomic
def exclude(
    *,
    study: Study,
    participants: Collection[Participant] = (),
    annotations: Collection[Annotation] = (),
    reason: str,
    by: Any,
    rule: str = "",
    planned_rule: ExclusionRule | None = None,
) -> list[Exclusion]:
    """Exclude these people and answers from analysis; return the new exclusions.

    `rule`: the flag that was looked at, or PLANNED for the plan's rule in words; `planned_rule`:
    the rule of the plan that they meet. With neither it departs from a frozen plan.

    People who are excluded already stay so, for the first reason: a request sent twice counts once.
    """
    reason = reason.strip()
    if not reason:
        raise ValidationError("Enter a reason. It appears in exports and reports.")
    if len(reason) > MOST_LETTERS:
        raise ValidationError(f"Give the reason in {MOST_LETTERS} characters or fewer.")
    # two people who decide at once queue up here, so that none meets the other's new row
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    active = Exclusion.objects.active().filter(study=study)
    known_people = set(active.values_list("participant", flat=True))
    known_answers = set(active.values_list("annotation", flat=True))
    people = [person for person in participants if person.pk not in known_people]
    answers = [answer for answer in annotations if answer.pk not in known_answers]
    phrases: dict[str, Any] = {
        "study": study, "reason": reason, "rule": rule, "planned_rule": planned_rule,
        "decided_by": by,
    }  # fmt: skip
    made = [Exclusion.objects.create(participant=person, **phrases) for person in people]
    made += [Exclusion.objects.create(annotation=answer, **phrases) for answer in answers]
    if made:
        AuditEntry.objects.record(
            EXCLUDED,
            by=by,
            study_id=study.pk,
            exclusions=[exclusion.pk for exclusion in made],
            participants=[person.pseudonym for person in people],
            # the reason is in the exclusion, where it can be erased
            annotations=[str(answer.key) for answer in answers],
            **({"rule": rule} if rule else {}),
        )
    return made


@transaction.atomic
def take_back(*, study: Study, by: Any, ids: Collection[int] | None = None) -> int:
    """Take these active exclusions back, or all of the study, so that their answers count again.

    They are kept, with who made them and who took them back, and when. Return how many were active.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    active = Exclusion.objects.active().filter(study=study)
    if ids is not None:
        active = active.filter(pk__in=ids)
    pks = list(active.values_list("pk", flat=True))
    if pks:
        Exclusion.objects.filter(pk__in=pks).update(revoked_at=now(), revoked_by=by)
        AuditEntry.objects.record(TAKEN_BACK, by=by, study_id=study.pk, exclusions=pks)
    return len(pks)
