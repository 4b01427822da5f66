"""Quotas: how many people with an answer may have a place, counted from rows."""

from collections.abc import Mapping
from datetime import timedelta

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.people.models import Answer, ItemSet, Participant, Quota
from evalsite.studies.models import Study


def has_room(
    participant: Participant,
    study: Study,
    answers: Mapping[str, str] | None = None,
    *,
    is_locking: bool = False,
) -> bool:
    """Return whether no quota of this person's answers is full with other people.

    `answers`: those that aren't stored yet. `is_locking`: from here to the end of the transaction
    nobody else takes a place of these quotas.
    """
    if participant.is_pilot or participant.is_expert or not study.is_eligibility_on:
        return True
    quotas = list(Quota.objects.filter(study=study.pk).order_by("pk"))
    if not quotas:
        return True
    if answers is None:
        answers = dict(
            Answer.objects.filter(participant=participant).values_list("question", "value")
        )
    mine = [quota.pk for quota in quotas if answers.get(quota.question) == quota.value]
    matching = Quota.objects.filter(pk__in=mine).order_by("pk")
    if is_locking:
        matching = matching.select_for_update(no_key=True)
    holders = find_holders(study).exclude(pk=participant.pk)
    for quota in matching:
        alike = holders.filter(
            answers__question=quota.question, answers__value=quota.value, answers__study=study.pk
        )
        if alike.count() >= quota.people:
            return False
    return True


def find_holders(study: Study) -> QuerySet[Participant]:
    """Return who has a place: they finished a set, hold an item, or answered within a lease."""
    mine = {"participant": OuterRef("pk")}
    finished = Exists(ItemSet.objects.filter(**mine, finished_at__isnull=False))
    holds = Exists(Slot.objects.leased().filter(**mine, lease_until__gt=now()))
    since = now() - timedelta(minutes=study.lease_minutes)
    saved = Exists(Annotation.objects.filter(**mine, submitted_at__gt=since))
    is_at_work = Q(stopped_at__isnull=True) & (Q(holds) | Q(saved))
    people = Participant.objects.filter(study=study, is_pilot=False, is_expert=False)
    return people.filter(Q(finished) | is_at_work).order_by()


def count_holders(study: Study) -> dict[tuple[str, str], int]:
    """Return how many people with each answer have a place, by question and answer."""
    answers = Answer.objects.filter(participant__in=find_holders(study)).order_by()
    counted = answers.values_list("question", "value").annotate(people=Count("pk"))
    return {(question, value): people for question, value, people in counted}
