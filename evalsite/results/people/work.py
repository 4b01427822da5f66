"""How each person works, by their stored figures: rows of the table, flags and charts."""

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q

from evalsite.analysis.figure import write_coefficient
from evalsite.analysis.thresholds import Thresholds, make_thresholds
from evalsite.decisions.frozen_plans import plan_of
from evalsite.decisions.models import AnalysisPlan, Approval, Exclusion, PeopleFigures
from evalsite.decisions.pay import list_payable, list_reviews
from evalsite.decisions.people_figures import find_figures, read_people
from evalsite.decisions.person_measures import Measures
from evalsite.people.models import ItemSet, Participant
from evalsite.results.analysis_plan.stored import own_thresholds
from evalsite.results.people.work_flags import (
    PersonFlag,
    find_usual_seconds,
    flag_people,
    write_seconds,
)
from evalsite.results.progress import count_for, find_starters, find_unapproved
from evalsite.studies.models import Study

# seconds beyond so many times the study's median are drawn at the edge
_MOST = 2.0


@dataclass(frozen=True, kw_only=True)
class Work:
    """All that is known of the work of a study's people, by participant."""

    figures: PeopleFigures | None
    people: dict[int, Measures]
    flags: dict[int, list[PersonFlag]]
    limits: Thresholds
    states: dict[int, Any]  # of everyone, the newest first
    excluded: set[int]
    working: set[int]

    @property
    def started(self) -> int:
        return sum(not state.is_pilot for state in self.states.values())

    @property
    def is_invited(self) -> bool:
        """Return whether everyone was invited by name."""
        mine = [state.is_expert for state in self.states.values() if not state.is_pilot]
        return bool(mine) and all(mine)

    @property
    def to_review(self) -> list[int]:
        """Return who is flagged and not excluded, those with most flags first."""
        return sorted(self.flags.keys() - self.excluded, key=lambda pk: (-len(self.flags[pk]), pk))

    def name(self, participants: Collection[int]) -> set[str]:
        """Return the pseudonyms of these people."""
        return {self.people[pk].pseudonym for pk in participants if pk in self.people}


def count_flagged(
    study: Study, measured_at: datetime | None, thresholds: dict[str, float], gone: tuple[int, int]
) -> int:
    """Count who is flagged by the figures measured last, and neither excluded nor gone.

    `thresholds`: the plan's; `gone`: how many are excluded and have left.
    """
    if measured_at is None:
        return 0
    plan = AnalysisPlan(study=study, thresholds=thresholds)
    return _count_flagged(study.pk, measured_at, make_thresholds(own_thresholds(study, plan)), gone)


def count_tabs(study: Study, flagged: int | None = None) -> dict[str, dict[str, Any]]:
    """Count what is to be decided on each page of People, by its name.

    `flagged`: people who are flagged, where they are counted already.
    """
    # as the overview counts them: who is flagged is counted once for both
    people = Participant.objects.filter(is_pilot=False, pk__in=find_starters(study))
    gone = Q(stopped_at__isnull=False) | Q(withdrawn_at__isnull=False)
    row: Any = (
        Study.objects.filter(pk=study.pk)
        .order_by()
        .values(
            measured_at=F("people_figures__measured_at"),
            thresholds=F("analysis_plan__thresholds"),
            excluded=count_for(Exclusion.objects.active()),
            left_early=count_for(people.filter(gone)),
            undecided=count_for(find_unapproved(study)),
            reviews=count_for(list_reviews(study)),
        )
        .get()
    )
    if flagged is None:
        gone_people = (row["excluded"], row["left_early"])
        flagged = count_flagged(study, row["measured_at"], row["thresholds"] or {}, gone_people)
    return {
        "study-people": {"waiting": flagged},
        "study-pay": {"waiting": row["undecided"] + row["reviews"]},
        "study-exclusions": {"note": str(row["excluded"] or "")},
    }


@lru_cache(maxsize=256)
def _count_flagged(
    study_id: UUID, _measured_at: datetime, limits: Thresholds, _gone: tuple[int, int]
) -> int:
    """Count the flagged; once, until people are measured again, excluded, or leave."""
    people = read_people(PeopleFigures.objects.filter(study=study_id).first())
    excluded = Exclusion.objects.active().filter(participant=OuterRef("pk"))
    flagged = Participant.objects.filter(
        study=study_id, pk__in=list(flag_people(people, limits)), withdrawn_at=None
    )
    return flagged.exclude(Exists(excluded)).count()


def read_work(study: Study, plan: AnalysisPlan | None = None) -> Work:
    """Return the stored figures, less those of people who withdrew since, with flags.

    `plan`: the study's, where it is at hand.
    """
    figures = find_figures(study)
    states = {state.pk: state for state in _read_states(study)}
    people = {
        pk: person
        for pk, person in read_people(figures).items()
        if pk in states and states[pk].withdrawn_at is None
    }
    limits = make_thresholds(own_thresholds(study, plan or plan_of(study)))
    return Work(
        figures=figures,
        people=people,
        flags=flag_people(people, limits),
        limits=limits,
        states=states,
        excluded={state.pk for state in states.values() if state.is_excluded},
        working={state.pk for state in states.values() if state.is_working},
    )


def _read_states(study: Study) -> list[Any]:
    """Return who is a pilot, was invited, withdrew, is excluded and is working, of everyone."""
    unfinished = ItemSet.objects.filter(participant=OuterRef("pk"), finished_at__isnull=True)
    exclusions = Exclusion.objects.active().filter(participant=OuterRef("pk"))
    is_here = Q(withdrawn_at__isnull=True, stopped_at__isnull=True)
    people = study.participants.annotate(
        is_excluded=Exists(exclusions), is_working=Exists(unfinished) & is_here
    )
    columns = (
        "pk", "pseudonym", "is_pilot", "is_expert", "withdrawn_at", "is_excluded", "is_working",
    )  # fmt: skip
    return list(people.order_by("-pk").values_list(*columns, named=True))


def find_range(work: Work) -> dict[str, str]:
    """Return the least and the most of people without flags: seconds, and agreement if it is known.

    Nothing of fewer than three.
    """
    unflagged = [
        person
        for pk, person in work.people.items()
        if pk not in work.flags and pk not in work.excluded and person.seconds is not None
    ]
    if len(unflagged) < 3:
        return {}
    paces = [person.seconds for person in unflagged if person.seconds is not None]
    agreements = [person.agreement for person in unflagged if person.agreement is not None]
    ranges = {"pace": (paces, write_seconds), "agreement": (agreements, write_coefficient)}
    return {
        name: write_range(write(min(values)), write(max(values)))
        for name, (values, write) in ranges.items()
        if values
    }


def write_range(low: str, high: str) -> str:
    """Write both ends, or the one that they are: "36 to 68 s"."""
    return low if low == high else f"{low.removesuffix(' s')} to {high}"


def describe_work(work: Work, participants: Collection[int]) -> dict[int, dict[str, Any]]:
    """Return the figures of each of these people as a table shows them; "" where there is none."""
    usual = find_usual_seconds(work.people)
    return {
        pk: _describe(work.people[pk], work.flags.get(pk, []), usual)
        for pk in participants
        if pk in work.people
    }


def _describe(person: Measures, flags: list[PersonFlag], usual: float | None) -> dict[str, Any]:
    agreement = person.agreement
    return {
        "flags": flags,
        "pace": _draw(person.paces, usual) if usual and len(person.paces) > 1 else "",
        "seconds": "" if person.seconds is None else write_seconds(person.seconds),
        "agreement": "" if agreement is None else write_coefficient(agreement),
        # where it is drawn: 0 at a fifth
        "dot": "" if agreement is None else f"{max(4.0, 20 + 76 * agreement):.0f}%",
        "attention": f"{person.passed_attention} of {person.attention}" if person.attention else "",
        "gold": f"{person.passed_gold} of {person.gold}" if person.gold else "",
        "same": "" if person.top_share is None else f"{person.top_share:.0%}",
    }


def _draw(seconds: list[float], usual: float) -> str:
    """Return the points of a line of these times, 100 wide and high; the study's median is half."""
    last = len(seconds) - 1
    return " ".join(
        f"{100 * place / last:.1f},{96 - 92 * min(taken / usual, _MOST) / _MOST:.0f}"
        for place, taken in enumerate(seconds)
    )


def describe_pay(study: Study, participants: Collection[int]) -> dict[int, str]:
    """Return the states of each person's sets: "2 waiting, 1 approved"."""
    rows = (
        list_payable(study)
        .filter(participant__in=participants)
        .select_related(None)
        .order_by()
        .values_list("participant", "approval__state")
        .annotate(sets=Count("pk"))
    )
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    for person, state, sets in rows:
        counts[person][state or Approval.State.WAITING.value] += sets
    return {
        person: ", ".join(
            f"{states[state]} {state.label.lower()}" for state in Approval.State if states[state]
        )
        for person, states in counts.items()
    }
