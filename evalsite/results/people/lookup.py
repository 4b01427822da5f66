"""The people of a study as researchers look them up: by name, pseudonym, receipt or code."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from evalsite.analysis.thresholds import Thresholds, make_thresholds
from evalsite.decisions.frozen_plans import plan_of
from evalsite.decisions.models import Exclusion
from evalsite.decisions.person_measures import Measures
from evalsite.decisions.scale_use import ReservedUse, count_reserved, reserved_points
from evalsite.handout.models import Annotation
from evalsite.participation.bonus import find_earners
from evalsite.people.models import ItemSet, Origin, Participant
from evalsite.people.visits import Rounds, read_rounds, with_last_round
from evalsite.results.analysis_plan.stored import own_thresholds
from evalsite.results.people.work import Work
from evalsite.studies.models import Item, Study

MAX_SEARCH = 60


@dataclass(frozen=True, kw_only=True)
class Person:
    """One participant: where they are, and the sets they finished."""

    participant: Participant
    state: str
    answers: int
    finished: list[tuple[ItemSet, str]]  # with the code that was shown for it
    has_bonus: bool = False  # whether the bonus is due
    reserved: ReservedUse | None = None  # where the protocol reserves points of a scale
    exclusion: Exclusion | None = None  # the active one


def clean_search(text: str) -> str:
    """Return what was typed, without what no pseudonym, receipt or code can hold."""
    return text.replace("\0", "").strip()[:MAX_SEARCH]


def find_people(
    study: Study, search: str, *, names: Mapping[str, str], by_receipt: bool
) -> QuerySet[Participant]:
    """Return the participants that this text names.

    `names`: what the reader may call people, by pseudonym. Receipts are searched only for people
    who may see them.
    """
    sets = ItemSet.objects.filter(study=study, finished_at__isnull=False)
    if search.casefold() not in {code.casefold() for code in read_rounds(study).shared_codes}:
        sets = sets.filter(code__icontains=search)
    is_named = Q(pseudonym__icontains=search) | Q(pk__in=sets.values("participant"))
    is_named |= Q(
        pseudonym__in=[
            pseudonym for pseudonym, name in names.items() if search.casefold() in name.casefold()
        ]
    )
    if by_receipt:
        is_named |= Q(receipt__icontains=search)
    return study.participants.filter(is_named)


# which people a list shows, and what it calls them
SHOWN = {"": "All", "review": "To review", "working": "In progress", "excluded": "Excluded"}


def count_people(work: Work) -> list[tuple[str, str, int]]:
    """Return the lists to choose from: key, label and size."""
    return [(key, label, len(list_people(work, key))) for key, label in SHOWN.items()]


def list_people(work: Work, shown: str = "") -> list[int]:
    """Return the people of one of the lists in `SHOWN`: flagged, then the newest, then excluded."""
    flagged = work.to_review
    rest = [pk for pk in work.states if pk not in work.excluded and pk not in work.flags]
    if shown == "review":
        return flagged
    gone = [pk for pk in work.states if pk in work.excluded]
    everyone = [*flagged, *rest, *gone]
    if shown == "excluded":
        return gone
    return [pk for pk in everyone if pk in work.working] if shown == "working" else everyone


# by which columns the list is sorted; of equal figures, flagged people come first
SORTS = {
    "answers": lambda person: person.answers,
    "seconds": lambda person: person.seconds,
    "agreement": lambda person: person.agreement,
    "attention": lambda person: _share(person.passed_attention, person.attention),
    "gold": lambda person: _share(person.passed_gold, person.gold),
    "same": lambda person: person.top_share,
}


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def sort_people(work: Work, people: Collection[int], sort: str) -> list[int]:
    """Return these people by a figure, the highest first after a "-"; last those without one."""
    find_figure = SORTS.get(sort.removeprefix("-"))
    if find_figure is None:
        return list(people)
    unknown = Measures(pseudonym="")
    figures = {pk: find_figure(work.people.get(pk, unknown)) for pk in people}
    known = [pk for pk in people if figures[pk] is not None]
    known.sort(key=lambda pk: figures[pk] or 0, reverse=sort.startswith("-"))
    return [*known, *(pk for pk in people if figures[pk] is None)]


def describe_people(
    study: Study,
    participants: list[Any],
    *,
    limits: Thresholds | None = None,
    with_codes: bool = True,
) -> list[Person]:
    """Return these participants, of `with_answers`, in a few queries for all of them.

    `limits`: the plan's, where they are at hand; `with_codes`: those that rounds give, too.
    """
    ids = [person.pk for person in participants]
    every = ItemSet.objects.filter(study=study, participant__in=ids).order_by("number")
    sets: dict[int, list[ItemSet]] = {}
    for item_set in every:
        sets.setdefault(item_set.participant_id, []).append(item_set)
    earners = find_earners(study, every)
    reserved = _count_reserved(study, ids, limits)
    rounds = read_rounds(study) if with_codes else Rounds(codes={})
    exclusions = Exclusion.objects.active().filter(study=study, participant__in=ids)
    excluded = {
        exclusion.participant_id or 0: exclusion
        for exclusion in exclusions.select_related("decided_by")
    }
    return [
        Person(
            participant=person,
            state=state_of(person, sets.get(person.pk, [])),
            answers=person.given,
            finished=[
                (item_set, rounds.code_of(person.last_round) or item_set.code)
                for item_set in sets.get(person.pk, [])
                if item_set.finished_at is not None
            ],
            has_bonus=person.pk in earners,
            reserved=reserved.get(person.pk),
            exclusion=excluded.get(person.pk),
        )
        for person in participants
    ]


def _count_reserved(
    study: Study, ids: list[int], limits: Thresholds | None
) -> dict[int, ReservedUse]:
    if not reserved_points(study.config):
        return {}
    limits = limits or make_thresholds(own_thresholds(study, plan_of(study)))
    return count_reserved(study, ids, most=limits.reserved, fewest=limits.reserved_ratings)


def with_answers(people: QuerySet[Participant]) -> QuerySet[Any]:
    """Return these people with what `describe_people` asks for: their answers and last round."""
    # practice is there to be learned from, and controls tell of people, not of systems
    answers = Annotation.objects.agreed().filter(
        participant=OuterRef("pk"), item__kind=Item.Kind.MAIN
    )
    counts = answers.order_by().values("participant").annotate(given=Count("pk")).values("given")
    return with_last_round(people).annotate(given=Coalesce(Subquery(counts), 0))


def state_of(participant: Participant, sets: list[ItemSet]) -> str:
    """Return this person's state, in one or two words."""
    state = "arrived"
    if participant.origin == Origin.IMPORTED:
        return "imported" if participant.is_person else "imported, no single person"
    if participant.withdrawn_at is not None:
        state = "withdrawn"
    elif participant.is_qualified is False:
        state = "not qualified"
    elif any(item_set.finished_at is None for item_set in sets):
        state = "stopped" if participant.stopped_at is not None else "in progress"
    elif sets:
        state = "finished"
    elif participant.stopped_at is not None:
        state = "stopped"
    return f"pilot, {state}" if participant.is_pilot else state
