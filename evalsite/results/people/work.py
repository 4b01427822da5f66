"""How each person works, by their stored figures: rows of the table, flags and charts."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q

from evalsite.analysis.figure import write_coefficient
from evalsite.analysis.thresholds import Thresholds, make_thresholds
from evalsite.participants.models import ItemSet, Participant
from evalsite.quality.models import AnalysisPlan, Approval, Exclusion, PeopleFigures
from evalsite.quality.pay import list_payable
from evalsite.quality.people_figures import find_figures, read_people
from evalsite.quality.person_measures import Measures
from evalsite.results.analysis_plan.stored import own_thresholds, plan_of
from evalsite.results.people.work_flags import (
    PersonFlag,
    find_usual_agreement,
    find_usual_seconds,
    flag_people,
    write_seconds,
)
from evalsite.results.progress import Activity
from evalsite.studies.models import Study

# seconds beyond so many times the study's median are drawn at the edge
_MOST = 2.0
_STATES = Approval.State


@dataclass(frozen=True, kw_only=True)
class Work:
    """All that is known of the work of a study's people, by participant."""

    figures: PeopleFigures | None
    people: dict[int, Measures]
    flags: dict[int, list[PersonFlag]]
    limits: Thresholds
    excluded: set[int]
    working: set[int]
    total: int
    started: int  # without pilots

    @property
    def to_review(self) -> list[int]:
        """Return who is flagged and not excluded, most flags first."""
        return sorted(self.flags.keys() - self.excluded, key=lambda pk: (-len(self.flags[pk]), pk))

    def name(self, participants: Collection[int]) -> set[str]:
        """Return the pseudonyms of these people."""
        return {self.people[pk].pseudonym for pk in participants if pk in self.people}


def count_flagged(study: Study, activity: Activity) -> int:
    """Count who is flagged by the figures measured last, and neither excluded nor gone."""
    if activity.measured_at is None:
        return 0
    plan = AnalysisPlan(study=study, thresholds=activity.thresholds)
    limits = make_thresholds(own_thresholds(study, plan))
    gone = (activity.excluded, activity.left_early)
    return _count_flagged(study.pk, activity.measured_at, limits, gone)


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


@dataclass(frozen=True, kw_only=True)
class WorkRow:
    """The figures of one person as the table shows them; "" where there is none."""

    flags: list[PersonFlag] = field(default_factory=list)
    pace: str = ""  # the points of a line 100 wide and 100 high
    seconds: str = ""
    agreement: str = ""
    dot: str = ""  # where agreement is drawn, in percent
    attention: str = ""
    gold: str = ""
    same: str = ""


def read_work(study: Study) -> Work:
    """Return the stored figures, less those of people who withdrew since, with flags."""
    figures = find_figures(study)
    people = read_people(figures)
    states = _read_states(study)
    for one in states:
        if one.withdrawn_at is not None:
            people.pop(one.pk, None)
    limits = make_thresholds(own_thresholds(study, plan_of(study)))
    return Work(
        figures=figures,
        people=people,
        flags=flag_people(people, limits),
        limits=limits,
        excluded={one.pk for one in states if one.is_excluded},
        working={one.pk for one in states if one.is_working},
        total=len(states),
        started=sum(not one.is_pilot for one in states),
    )


def _read_states(study: Study) -> list[Any]:
    """Return who is a pilot, withdrew, is excluded and is working, of all people of the study."""
    unfinished = ItemSet.objects.filter(participant=OuterRef("pk"), finished_at__isnull=True)
    standing = Exclusion.objects.active().filter(participant=OuterRef("pk"))
    is_here = Q(withdrawn_at__isnull=True, stopped_at__isnull=True)
    people = study.participants.annotate(
        is_excluded=Exists(standing), is_working=Exists(unfinished) & is_here
    )
    columns = ("pk", "is_pilot", "withdrawn_at", "is_excluded", "is_working")
    return list(people.order_by().values_list(*columns, named=True))


def describe_others(work: Work) -> str:
    """Return the range of those who are not flagged, in a sentence; "" of fewer than three."""
    others = [
        one
        for pk, one in work.people.items()
        if pk not in work.flags and pk not in work.excluded and one.seconds is not None
    ]
    usual = find_usual_agreement(work.people)
    if len(others) < 3:
        return ""
    paces = [one.seconds for one in others if one.seconds is not None]
    low, high = (write_seconds(one).removesuffix(" s") for one in (min(paces), max(paces)))
    who = "The others take" if work.to_review else "They take"
    text = f"{who} {low if low == high else f'{low} to {high}'} seconds per item"
    agreements = [one.agreement for one in others if one.agreement is not None]
    if agreements and usual is not None:
        text += (
            f", and their agreement with the others is {write_coefficient(min(agreements))} to "
            f"{write_coefficient(max(agreements))} (study’s median {write_coefficient(usual)})"
        )
    return f"{text}."


def describe_work(work: Work, participants: Collection[int]) -> dict[int, WorkRow]:
    """Return the figures of each of these people as text, and where they are drawn."""
    usual = find_usual_seconds(work.people)
    return {
        pk: _describe(work.people[pk], work.flags.get(pk, []), usual)
        for pk in participants
        if pk in work.people
    }


def _describe(one: Measures, flags: list[PersonFlag], usual: float | None) -> WorkRow:
    return WorkRow(
        flags=flags,
        pace=_draw(one.paces, usual) if usual and len(one.paces) > 1 else "",
        seconds="" if one.seconds is None else write_seconds(one.seconds),
        agreement="" if one.agreement is None else write_coefficient(one.agreement),
        # 0 is drawn at a fifth
        dot="" if one.agreement is None else f"{max(4.0, 20 + 76 * one.agreement):.0f}%",
        attention=f"{one.attention - one.failed_attention} of {one.attention}"
        if one.attention
        else "",
        gold=f"{one.passed_gold} of {one.gold}" if one.gold else "",
        same="" if one.top_share is None else f"{one.top_share:.0%}",
    )


def _draw(seconds: list[float], usual: float) -> str:
    """Return the line of these times; the study's median stands at half of the height."""
    last = len(seconds) - 1
    return " ".join(
        f"{100 * place / last:.1f},{96 - 92 * min(one / usual, _MOST) / _MOST:.0f}"
        for place, one in enumerate(seconds)
    )


def describe_pay(study: Study, participants: Collection[int]) -> dict[int, str]:
    """Return how the sets of each of these people stand: "2 waiting, 1 approved"."""
    rows = (
        list_payable(study)
        .filter(participant__in=participants)
        .select_related(None)
        .order_by()
        .values_list("participant", "approval__state")
        .annotate(sets=Count("pk"))
    )
    found: dict[int, dict[Any, int]] = {}
    for person, state, sets in rows:
        states = found.setdefault(person, {})
        key = state or _STATES.WAITING.value
        states[key] = states.get(key, 0) + sets
    order = [one.value for one in _STATES]
    return {
        person: ", ".join(
            f"{states[key]} {_STATES(key).label.lower()}" for key in order if key in states
        )
        for person, states in found.items()
    }
