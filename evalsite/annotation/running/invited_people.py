"""Whether the people who were invited by links of their own can finish the study."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from evalsite.annotation.models import ASSIGNED, Slot
from evalsite.participants.models import ItemSet, PersonalLink, Recruitment, Visit
from evalsite.platforms import installed_platforms
from evalsite.studies.models import Study
from evalsite.studies.set_size import mains_per_set

_DONE = Q(state=Slot.State.DONE)


class Invited(NamedTuple):
    """A person who can answer something: by which link, and what they have and have done."""

    participant: int | None
    has_further_sets: bool
    sets: int
    done: int
    leased: int


def count_out_of_reach(study: Study) -> int:
    """Return how many answers are missing that the people invited can't give.

    Each of them answers an item once, and as many sets as they may. 0 where nobody is invited, or
    other people come, too: then it is for them to finish.
    """
    if not study.is_open or not find_if_alone(study).exists():
        return 0
    people = _list_able(study)
    # what is assigned is for the person who has it
    is_missing = ~_DONE & (Q(lease_until=None) | ~Q(lease_until=ASSIGNED))
    slots = Slot.objects.filter(study=study).order_by()
    unit = "item__group" if study.groups == Study.Groups.ONCE else "item"
    counts = slots.aggregate(
        missing=Count("pk", filter=is_missing), units=Count(unit, distinct=True)
    )
    missing, units = counts["missing"], counts["units"]
    most = sum(_count_left(study, units, person) for person in people)
    return max(0, missing - most, _count_short(slots, is_missing, people))


def find_if_alone(study: Study) -> QuerySet[Study]:
    """Return the study if people have links of their own, and nobody comes by a shared one."""
    platforms = installed_platforms().values()
    personal = [platform.key for platform in platforms if platform.has_personal_links]
    shared = Recruitment.objects.filter(study=study, is_on=True).exclude(platform__in=personal)
    visits = Visit.objects.filter(recruitment__study=study, recruitment__number=0)
    links = PersonalLink.objects.filter(study=study)
    # the study's own link is always on, so it counts only if someone came by it
    alone = ~Exists(shared.exclude(number=0)) & ~Exists(visits) & Exists(links)
    return Study.objects.filter(alone, pk=study.pk)


def list_rounds(study: Study) -> list[Any]:
    """Return the study's rounds, with how many links each has and whether somebody came by it."""
    rounds = Recruitment.objects.filter(study=study).annotate(
        link_count=Count("personal_links"),
        has_visits=Exists(Visit.objects.filter(recruitment=OuterRef("pk"))),
    )
    return list(rounds)


def count_expected(study: Study, rounds: Sequence[Any] | None = None) -> int | None:
    """Return how many people are invited or wanted; None where nobody is, or anyone may come."""
    people = 0
    for round_ in list_rounds(study) if rounds is None else rounds:
        is_open_link = round_.number == 0
        if is_open_link and not round_.has_visits:
            continue
        if is_open_link or (round_.has_link and round_.places is None):
            return None
        people += (round_.places or 0) if round_.has_link else round_.link_count
    return people or None


def _list_able(study: Study) -> list[Invited]:
    """Return the people with a link of their own who may still take part, experts left out."""
    links = PersonalLink.objects.filter(study=study, expert__isnull=True).order_by()
    has_left = Q(participant__withdrawn_at__isnull=False) | Q(participant__stopped_at__isnull=False)
    links = links.exclude(Q(participant=None, recruitment__is_on=False) | has_left)
    mine = {"participant": OuterRef("participant")}
    slots = Slot.objects.filter(study=study, **mine)
    rows = links.values_list(
        "participant",
        "recruitment__has_further_sets",
        _count(ItemSet.objects.filter(**mine)),
        _count(slots.filter(_DONE)),
        _count(slots.leased()),
    )
    return [Invited(*row) for row in rows]


def _count(rows: QuerySet[Any, Any]) -> Any:
    counted = rows.order_by().values("participant").annotate(rows=Count("pk")).values("rows")
    return Coalesce(Subquery(counted), 0)


def _count_left(study: Study, units: int, person: Invited) -> int:
    """Return how many answers this person can still give, of so many items or groups."""
    left = units - person.done
    limit = study.max_sets if person.has_further_sets else 1
    if limit is not None:
        left = min(left, person.leased + max(0, limit - person.sets) * mains_per_set(study))
    if study.max_items is not None:
        left = min(left, study.max_items - person.done)
    return max(0, left)


def _count_short(slots: QuerySet[Slot], is_missing: Q, people: list[Invited]) -> int:
    """Return how many answers are missing for want of people who haven't answered the item."""
    known = [person.participant for person in people if person.participant is not None]
    items = slots.values("item").annotate(
        missing=Count("pk", filter=is_missing),
        answered=Count("pk", filter=_DONE & Q(participant__in=known)),
    )
    short = items.filter(missing__gt=0, missing__gte=len(people) + 1 - F("answered"))
    total = short.aggregate(total=Sum(F("missing") + F("answered") - len(people)))["total"]
    return int(total or 0)
