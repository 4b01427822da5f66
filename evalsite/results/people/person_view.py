"""The page of one person: how they did beside the others, what they answered and wrote."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.db.models import Avg
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from evalsite.analysis.figure import write_coefficient
from evalsite.decisions.frozen_plans import is_hidden
from evalsite.decisions.notes import read_notes_of
from evalsite.decisions.pay import describe_sets, is_paid, list_payable, with_answer_counts
from evalsite.decisions.pay_views import LABELS, OFFERED
from evalsite.decisions.person_measures import Measures
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.schema import Criterion, Instrument
from evalsite.people.models import Origin, Participant
from evalsite.results.people.answers import (
    PersonAnswer,
    answers_of,
    describe_answers,
    with_words,
)
from evalsite.results.people.flags import list_flags
from evalsite.results.people.lookup import (
    describe_people,
    list_people,
    with_answers,
)
from evalsite.results.people.work import (
    Work,
    describe_work,
    read_work,
    write_range,
)
from evalsite.results.people.work_flags import (
    find_usual_agreement,
    find_usual_seconds,
    list_unjudged,
    write_seconds,
)
from evalsite.results.report.computation import newest_report
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.staff_pages import has_role, may_edit, may_see_identities, study_page
from evalsite.studies.summary_lines import count_of, format_money

ANSWERS = 50
# of one person's answers, so many in which something is written
MOST_WORDY = 200
PAST_OTHERS = 200
# the newest answers that a chart has room for
MOST_BARS = 120
# questions that have a column each, and characters of their names
_MOST_COLUMNS, _WIDEST = 4, 60
_SHORT = ("points", "decision")  # families whose answers take a word or two
# on scales with more points, a quarter of the scale is far
_FEW_POINTS = 11


# after the pages whose addresses look alike
@study_page(
    "people/<str:pseudonym>/", name="study-person", within="study-people", order=PAST_OTHERS
)
@require_safe
def show_person(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponseBase:
    """Show how one person did beside the others, all that they answered, and what they wrote."""
    # no database holds a NUL in a text, and some refuse to look for one
    people = with_answers(Participant.objects.filter(study=study))
    participant = get_object_or_404(people, pseudonym=pseudonym.replace("\0", " "))
    work, is_blind = read_work(study), is_hidden(study)
    [person] = describe_people(study, [participant], limits=work.limits)
    submitted = answers_of(participant)
    rows = Paginator(submitted, ANSWERS).get_page(request.GET.get("page"))
    shown, wordy = list(rows), list(with_words(study, submitted)[:MOST_WORDY])
    both = list({answer.pk: answer for answer in (*shown, *wordy)}.values())
    in_words = describe_answers(study, both, is_blind=is_blind)
    described = {row.annotation.pk: row for row in in_words}
    means, columns = find_means(study, shown, is_blind=is_blind), list_columns(study.config)
    sees_identities = may_see_identities(request, study)
    report = newest_report(study)
    measures = work.people.get(participant.pk)
    sets = _list_pay(study, participant) if sees_identities else []
    context = {
        "person": person,
        "sets": sets,
        "pay_acts": [
            do for do in ("approve", "reject") if any(row["state"] in OFFERED[do] for row in sets)
        ],
        "came_from": _describe_origin(participant),
        "indicators": list_indicators(work, participant.pk),
        "flags": work.flags.get(participant.pk, []),
        "usual": {
            "seconds": _write(find_usual_seconds(work.people), write_seconds),
            "agreement": _write(find_usual_agreement(work.people), write_coefficient),
        },
        "figures": describe_work(work, [participant.pk]).get(participant.pk),
        "unjudged": []
        if measures is None
        else list_unjudged(
            measures,
            work.limits,
            has_order=any(not criterion.scale.compares for criterion in study.config.criteria),
        ),
        "pace": draw_pace(participant.pk, find_usual_seconds(work.people)),
        "notes": read_notes_of(study, name="participant", ids=[participant.pk])[participant.pk],
        "neighbours": _find_neighbours(work, participant.pk),
        "sees_receipts": sees_identities,
        "rows": rows,
        "answers": [described[answer.pk] for answer in shown],
        "columns": columns,
        "table": [_describe_row(described[answer.pk], means, columns) for answer in shown],
        "wrote": [described[answer.pk] for answer in wordy],
        "has_active": any(answer.active_ms is not None for answer in shown),
        "counted": participant.annotations.counted().count(),
        "report": report,
        "signs": list_flags(report, participant.pseudonym),
        "can_edit": may_edit(request, study),
        "is_owner": has_role(request, study, Membership.Role.OWNER),
    }
    return TemplateResponse(request, "results/person.html", context)


def _write(value: float | None, write: Callable[[float], str]) -> str:
    return "" if value is None else write(value)


def _find_neighbours(work: Work, participant: int) -> dict[str, Any]:
    """Return who comes before and after this person in the list, and their place among flagged."""
    listed, flagged = list_people(work), work.to_review
    place = listed.index(participant) if participant in listed else 0
    before, after = listed[:place][-1:], listed[place + 1 :][:1]
    return {
        "previous": [work.states[pk].pseudonym for pk in before],
        "next": [work.states[pk].pseudonym for pk in after],
        "number": flagged.index(participant) + 1 if participant in flagged else 0,
        "flagged": len(flagged),
    }


def _list_pay(study: Study, participant: Participant) -> list[dict[str, Any]]:
    """Return what is due for each set of this person, and what may be decided about it."""
    if not is_paid(study):
        return []
    sets = list_payable(study).filter(participant=participant).order_by("number")
    return [
        {
            "number": row.item_set.number,
            "approval": row.approval,
            "state": row.state,
            "label": LABELS[row.state],
            "amount": format_money(row.amount, study.currency),
            "attention": row.attention,
        }
        for row in describe_sets(study, with_answer_counts(sets))
    ]


def _describe_origin(participant: Participant) -> str:
    """Say how this person came: "A panel, round 1: 2 visits"."""
    if participant.origin != Origin.OWN or participant.is_expert:
        return "Invited by name" if participant.is_expert else participant.get_origin_display()
    visits = participant.visits.select_related("recruitment")
    rounds = Counter(visit.recruitment for visit in visits)
    return "; ".join(
        f"{round_.adapter.label}{f', round {round_.number}' if round_.number else ''}: "
        f"{count_of(number, 'visit')}"
        for round_, number in rounds.items()
    )


# --- beside the others ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure to compare people by: how it is found and written, and the flag that rests on it."""

    label: str
    find: Callable[[Measures], float | None]
    write: Callable[[float], str]
    flag: str = ""
    is_share: bool = False


def _write_percent(share: float) -> str:
    return f"{share:.0%}"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


FIGURES = (
    Figure(
        label="Median time", find=lambda person: person.seconds, write=write_seconds,
        flag="too_fast",
    ),
    Figure(
        label="Agreement with the others", find=lambda person: person.agreement,
        write=write_coefficient, flag="disagrees", is_share=True,
    ),
    Figure(
        label="Attention passed",
        find=lambda person: _share(person.passed_attention, person.attention),
        write=_write_percent, flag="failed_checks", is_share=True,
    ),
    Figure(
        label="Gold passed", find=lambda person: _share(person.passed_gold, person.gold),
        write=_write_percent, is_share=True,
    ),
    Figure(
        label="Most used point", find=lambda person: person.top_share, write=_write_percent,
        flag="same_answer", is_share=True,
    ),
    Figure(
        label="Same answer in a row", find=lambda person: person.longest_run or None,
        write=lambda run: f"{run:.0f}",
    ),
)  # fmt: skip


def list_indicators(work: Work, participant: int) -> list[dict[str, Any]]:
    """Return the figures of this person beside the others', with places in per cent."""
    if participant not in work.people or len(work.people) < 3:
        return []
    codes = {flag.code for flag in work.flags.get(participant, [])}
    indicators = []
    for figure in FIGURES:
        mine = figure.find(work.people[participant])
        rest = sorted(
            value
            for pk, person in work.people.items()
            if pk != participant and (value := figure.find(person)) is not None
        )
        if mine is not None and len(rest) > 1:
            drawn = _draw(figure, mine, rest)
            indicators.append(drawn | {"is_flagged": figure.flag in codes})
    return indicators


def _draw(figure: Figure, mine: float, rest: Sequence[float]) -> dict[str, str]:
    low, high = rest[0], rest[-1]
    least = -1.0 if min(mine, low) < 0 else 0.0
    most = 1.0 if figure.is_share else max(mine, high) * 1.05 or 1.0

    def place(value: float) -> float:
        return 2 + 96 * (value - least) / (most - least)

    write = figure.write
    return {
        "label": figure.label,
        "value": write(mine),
        "others": write_range(write(low), write(high)),
        "median": write(median(rest)),
        "dot": f"{place(mine):.1f}%",
        "start": f"{place(low):.1f}%",
        "width": f"{max(0.5, place(high) - place(low)):.1f}%",
        "middle": f"{place(median(rest)):.1f}%",
    }


# --- the seconds of each answer -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Pace:
    """The seconds of the newest answers in their order, as bars of a chart 100 high."""

    bars: list[tuple[str, str, str, bool]]
    width: int
    first_at: Any
    last_at: Any
    line: str  # under which bars are marked, in words; "" without a median
    slow: int  # seconds at the top


def draw_pace(participant_id: int, study_median: float | None) -> Pace | None:
    """Draw how long this person took for each item; None of fewer than two."""
    rated = Annotation.objects.agreed().filter(
        participant=participant_id, item__kind=Item.Kind.MAIN, outcome=Annotation.Outcome.RATED
    )
    rows = list(
        rated.exclude(origin="imported")
        .order_by("-pk")
        .values_list("active_ms", "started_at", "submitted_at")[:MOST_BARS]
    )[::-1]
    times = [
        (end - start).total_seconds() if active is None else active / 1000
        for active, start, end in rows
    ]
    if len(times) < 2:
        return None
    # one long break would flatten all others
    top = max(1.0, sorted(times)[max(0, round(0.95 * len(times)) - 1)])
    line = study_median / 3 if study_median else 0.0
    bars = [
        (f"{10 * place + 1}", f"{100 - height:.0f}", f"{height:.0f}", seconds < line)
        for place, seconds in enumerate(times)
        if (height := max(2.0, 100 * min(1.0, seconds / top)))
    ]
    return Pace(
        bars=bars,
        width=10 * len(times),
        first_at=rows[0][2],
        last_at=rows[-1][2],
        line=f"{line:.0f} s" if line >= 1 else "",
        slow=round(top),
    )


# --- the table of answers ----------------------------------------------------------------------


class Mean(NamedTuple):
    """What the others gave an output on average; whether the person's own score is far away."""

    criterion: str
    text: str
    is_far: bool


def list_columns(config: Instrument) -> list[Criterion]:
    """Return the questions that have a column each: a few, of which an output gets one number."""
    asked = [criterion for criterion in config.criteria if criterion.scale.family != "text"]
    is_short = all(
        criterion.per_output and not criterion.per_turn and criterion.scale.family in _SHORT
        for criterion in asked
    )
    fits = len(asked) <= _MOST_COLUMNS and sum(len(str(row.label)) for row in asked) <= _WIDEST
    return asked if config.item.outputs.most == 1 and is_short and fits else []


def _describe_row(
    answer: PersonAnswer, means: Mapping[int, list[Mean]], columns: Sequence[Criterion]
) -> dict[str, Any]:
    """Return an answer with the means of the others, and with those of each column."""
    averages = means.get(answer.annotation.pk, [])
    by_question = {mean.criterion: mean for mean in averages}
    return {
        "given": answer,
        "others": ", ".join(mean.text for mean in averages),
        "is_apart": any(mean.is_far for mean in averages),
        "cells": [
            # without the words of a point: “4 (Good)”
            (
                column.label,
                answer.values.get(column.key, "").partition(" (")[0],
                by_question.get(column.key),
            )
            for column in columns
        ],
    }


# --- what the others answered ---------------------------------------------------------------------


def find_means(
    study: Study, annotations: Collection[Annotation], *, is_blind: bool
) -> dict[int, list[Mean]]:
    """Return of each answer the means of the others, as the answers beside are ordered.

    Only of scores: choices have no mean.
    """
    # nor do turns, which are many to an answer
    scales = {
        criterion.key: criterion
        for criterion in study.config.criteria
        if not criterion.scale.compares and not criterion.per_turn
    }
    mine = list(
        Rating.objects.filter(annotation__in=[answer.pk for answer in annotations], part="")
        .filter(criterion__in=scales, value__isnull=False, output__isnull=False)
        .order_by("pk")
        .values_list("annotation", "criterion", "output", "output__position", "value")
    )
    who = {answer.participant_id for answer in annotations}
    counted = Annotation.objects.counted().filter(study=study).exclude(participant__in=who)
    means = {
        (output, criterion): average
        for output, criterion, average in Rating.objects.filter(
            annotation__in=counted.values("pk"), output__in={row[2] for row in mine}, part=""
        )
        .order_by()
        .values_list("output", "criterion")
        .annotate(average=Avg("value"))
    }
    orders = {answer.pk: answer.order_shown for answer in annotations}
    scores: dict[int, list[tuple[tuple[int, int], Mean]]] = {}
    for annotation, criterion, output, position, value in mine:
        average = means.get((output, criterion))
        if average is None:
            continue
        scale, order = scales[criterion].scale, orders[annotation]
        # only points have two ends: penalties and edit rates have no upper one
        span = scale.maximum - scale.minimum if scale.family == "points" else 0
        is_far = span > 0 and abs(value - average) >= (2 if span < _FEW_POINTS else span / 4)
        # as the answers beside stand: in the order of the page where systems are hidden
        by_page = is_blind and position in order
        place = (order.index(position) if by_page else position, list(scales).index(criterion))
        mean = Mean(criterion, f"{average:.1f}", is_far)
        scores.setdefault(annotation, []).append((place, mean))
    return {pk: [mean for _, mean in sorted(rows)] for pk, rows in scores.items()}
