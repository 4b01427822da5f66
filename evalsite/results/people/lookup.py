"""The people of a study as researchers look them up: by pseudonym, receipt or code."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from django.db.models import Case, Count, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce

from evalsite.analysis.thresholds import Thresholds, make_thresholds
from evalsite.annotation.models import Annotation
from evalsite.annotation.pages.bonus import find_earners
from evalsite.participants.models import ItemSet, Origin, Participant
from evalsite.participants.visits import read_rounds, with_last_round
from evalsite.quality.check_results import ChecksMet, count_checks
from evalsite.quality.models import Exclusion
from evalsite.quality.scale_use import ReservedUse, count_reserved, reserved_points
from evalsite.results.analysis_plan.stored import own_thresholds, plan_of
from evalsite.results.models import Report
from evalsite.results.people.flags import Noted, read_notes
from evalsite.results.people.work import Work
from evalsite.studies.models import Item, Study

MAX_SEARCH = 60
# one action changes at most so many people
MOST_AT_ONCE = 500
# at most so many flagged people come first in the list
_MOST_FIRST = 200


@dataclass(frozen=True, kw_only=True)
class Person:
    """One participant: where they are, and the sets they finished."""

    participant: Participant
    state: str
    answers: int
    finished: list[tuple[ItemSet, str]]  # with the code that was shown for it
    has_bonus: bool = False  # whether the bonus is due
    reserved: ReservedUse | None = None  # where the protocol reserves points of a scale
    checks: ChecksMet | None = None  # where the study deals checks
    active_seconds: float | None = None  # the median of an item
    exclusion: Exclusion | None = None  # the active one
    noted: Noted = field(default_factory=Noted)  # by the newest report


def clean_search(text: str) -> str:
    """Return what was typed, without what no pseudonym, receipt or code can hold."""
    return text.replace("\0", "").strip()[:MAX_SEARCH]


def find_people(study: Study, search: str, *, by_receipt: bool) -> QuerySet[Participant]:
    """Return the participants that this text names, the newest first; all of them if it is empty.

    Receipts are searched only for people who may see them.
    """
    people = with_answers(Participant.objects.filter(study=study)).order_by("-id")
    if not search:
        return people
    sets = ItemSet.objects.filter(study=study, finished_at__isnull=False)
    if not _is_fixed_code(study, search):
        sets = sets.filter(code__icontains=search)
    named = Q(pseudonym__icontains=search) | Q(pk__in=sets.values("participant"))
    if by_receipt:
        named |= Q(receipt__icontains=search)
    return people.filter(named)


# which people a list shows, and what it calls them
SHOWN = {"": "All", "review": "To review", "working": "In progress", "excluded": "Excluded"}


def show_only(people: QuerySet[Participant], shown: str, work: Work) -> QuerySet[Participant]:
    """Return the people of one of the lists in `SHOWN`."""
    if shown == "review":
        return people.filter(pk__in=work.to_review)
    if shown == "excluded":
        return people.filter(pk__in=work.excluded)
    return people.filter(pk__in=work.working) if shown == "working" else people


def count_people(work: Work) -> list[tuple[str, str, int]]:
    """Return the lists that one can choose: key, label and size."""
    sizes = {
        "": work.total,
        "review": len(work.to_review),
        "working": len(work.working),
        "excluded": len(work.excluded),
    }
    return [(key, label, sizes[key]) for key, label in SHOWN.items()]


def put_first(people: QuerySet[Participant], flagged: Sequence[int]) -> QuerySet[Participant]:
    """Return these people with the flagged ones first, in their order."""
    if not flagged:
        return people
    place = Case(
        *(When(pk=pk, then=number) for number, pk in enumerate(flagged[:_MOST_FIRST])),
        default=_MOST_FIRST,
    )
    return people.order_by(place, "-id")


def _is_fixed_code(study: Study, search: str) -> bool:
    return search.casefold() in {code.casefold() for code in read_rounds(study).shared_codes}


def describe_people(
    study: Study,
    participants: list[Any],
    report: Report | None = None,
    *,
    with_figures: bool = True,
    limits: Thresholds | None = None,
) -> list[Person]:
    """These participants with their sets and answers, in a few queries for all of them.

    `with_figures`: their checks and seconds too; `limits`: the plan's, where they are at hand.
    """
    ids = [one.pk for one in participants]
    every = ItemSet.objects.filter(study=study, participant__in=ids).order_by("number")
    sets: dict[int, list[ItemSet]] = {}
    for item_set in every:
        sets.setdefault(item_set.participant_id, []).append(item_set)
    earners = find_earners(study, every)
    reserved = _count_reserved(study, ids, limits)
    checks = count_checks(study, ids) if with_figures and study.checks_per_person else {}
    rounds = read_rounds(study)
    seconds = _active_seconds(study, ids) if with_figures else {}
    excluded, notes = _excluded(study, ids), read_notes(report)
    return [
        Person(
            participant=one,
            state=state_of(one, sets.get(one.pk, [])),
            answers=one.given,
            finished=[
                (item_set, rounds.code_of(one.last_round) or item_set.code)
                for item_set in sets.get(one.pk, [])
                if item_set.finished_at is not None
            ],
            has_bonus=one.pk in earners,
            reserved=reserved.get(one.pk),
            checks=checks.get(one.pk),
            active_seconds=seconds.get(one.pk),
            exclusion=excluded.get(one.pk),
            noted=notes.get(one.pseudonym, Noted()),
        )
        for one in participants
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
    given = Annotation.objects.agreed().filter(
        participant=OuterRef("pk"), item__kind=Item.Kind.MAIN
    )
    counts = given.order_by().values("participant").annotate(given=Count("pk")).values("given")
    return with_last_round(people).annotate(given=Coalesce(Subquery(counts), 0))


def _active_seconds(study: Study, ids: list[int]) -> dict[int, float]:
    """The median active time of an item that each of these people rated, where it is known."""
    rated = Annotation.objects.agreed().filter(
        study=study,
        participant__in=ids,
        item__kind=Item.Kind.MAIN,
        outcome=Annotation.Outcome.RATED,
        active_ms__isnull=False,
    )
    found: dict[int, list[int]] = defaultdict(list)
    for participant, active_ms in rated.order_by().values_list("participant", "active_ms"):
        found[participant].append(active_ms or 0)
    return {one: median(times) / 1000 for one, times in found.items()}


def _excluded(study: Study, ids: list[int]) -> dict[int, Exclusion]:
    standing = Exclusion.objects.active().filter(study=study, participant__in=ids)
    return {one.participant_id or 0: one for one in standing.select_related("decided_by")}


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
