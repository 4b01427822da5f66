"""Whether the people who are invited by name can finish the study."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from evalsite.fieldwork.shares import count_planned, list_items
from evalsite.handout.models import ASSIGNED, Slot
from evalsite.handout.rounds import count_taken
from evalsite.lib.clock import now
from evalsite.people.models import Expert, Recruitment, Visit
from evalsite.people.platforms import installed_platforms
from evalsite.studies.models import Item, Study


def count_out_of_reach(study: Study) -> int:
    """Return how many answers can never come from the people who are invited.

    0 where nobody is invited by name, and while others may come: by the open link, or from a panel
    with people still to come. In a draft, what people are to rate is planned first.
    """
    if study.has_ended or not find_if_alone(study).exists():
        return 0
    if study.is_launched:
        return count_unassigned(study)
    return count_planned(study, list(study.experts.order_by("pk")), list_items(study).count())[1]


def find_if_alone(study: Study) -> QuerySet[Study]:
    """Return the study if people are invited by name, and nobody else can come any more."""
    personal = [
        platform.key for platform in installed_platforms().values() if platform.has_personal_links
    ]
    shared = Recruitment.objects.filter(study=study, is_on=True).exclude(platform__in=personal)
    shared = count_taken(shared, study).filter(Q(places=None) | Q(places__gt=F("taken")))
    invited = Expert.objects.filter(study=study)
    return Study.objects.filter(~Exists(shared), Exists(invited), pk=study.pk)


def count_unassigned(study: Study) -> int:
    """Return how many answers are missing that nobody has to give.

    People have their items, so two bounds are one number here: what each item lacks beyond the
    people who may still rate it, and what all items lack beyond all that people have left.
    """
    stays = Q(participant__stopped_at=None, participant__withdrawn_at=None)
    is_for_somebody = Q(state=Slot.State.LEASED) & (
        (Q(lease_until=ASSIGNED) & stays) | Q(lease_until__gt=now(), lease_until__lt=ASSIGNED)
    )
    slots = Slot.objects.filter(study=study, item__kind=Item.Kind.MAIN)
    return slots.exclude(state=Slot.State.DONE).exclude(is_for_somebody).count()


def list_rounds(study: Study) -> list[Any]:
    """Return the study's rounds, with how many links each has and whether somebody came by it."""
    rounds = Recruitment.objects.filter(study=study).annotate(
        link_count=Count("personal_links__expert"),
        has_visits=Exists(Visit.objects.filter(recruitment=OuterRef("pk"))),
    )
    return list(rounds)


def count_expected(study: Study, rounds: Sequence[Any] | None = None) -> int | None:
    """Return how many people are invited or wanted; None where nobody is, or anyone may come."""
    people = 0
    for round_ in list_rounds(study) if rounds is None else rounds:
        is_open_link = round_.number == 0
        if is_open_link and not (round_.is_on or round_.has_visits):
            continue
        if is_open_link or (round_.has_link and round_.places is None):
            return None
        people += (round_.places or 0) if round_.has_link else round_.link_count
    return people or None
