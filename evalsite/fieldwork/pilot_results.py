"""What a pilot shows: how long it took, and where colleagues disagree."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_UP, Decimal
from itertools import pairwise
from math import ceil
from statistics import mean, median
from typing import Any

from django.db.models import Count, Max, Min, OuterRef, Q, Subquery

from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.answer import AnswerRow, round_value
from evalsite.instruments.questions import (
    Question,
    group_questions,
    list_questions,
    read_values,
)
from evalsite.people.models import Consent, ItemSet, Participant
from evalsite.studies.models import Item, Output, Study

MOST_SHOWN = 50
ROWS = 20
# a figure for time and pay takes so many people who finished
ENOUGH = 3
# no pause counts for more
LONGEST_PAUSE = timedelta(minutes=5)
_LONG_LABEL = 14


@dataclass(frozen=True, kw_only=True)
class Tried:
    """How long one person took for a first set: before the items, and for them."""

    person: Participant
    name: str
    before: timedelta
    items: timedelta
    is_finished: bool

    @property
    def total(self) -> timedelta:
        return self.before + self.items

    @property
    def words(self) -> str:
        minutes, seconds = divmod(round(self.total.total_seconds()), 60)
        return f"{minutes} min {seconds:02} s"


def list_pilots(study: Study) -> list[Any]:
    """Return who has tried the study, newest first, with what they answered and when."""
    is_answer = ~Q(annotations__item__kind=Item.Kind.PRACTICE)
    agreed = Consent.objects.filter(participant=OuterRef("pk"), is_given=True)
    first_set = ItemSet.objects.filter(participant=OuterRef("pk"), number=1)
    return list(
        study.participants.filter(is_pilot=True)
        .select_related("tester")
        .annotate(
            given=Count("annotations", filter=is_answer),
            last=Max("annotations__submitted_at", filter=is_answer),
            agreed_at=Subquery(
                agreed.values("participant").annotate(at=Min("answered_at")).values("at")
            ),
            finished_at=Subquery(first_set.values("finished_at")[:1]),
        )
        .order_by("-id")[:MOST_SHOWN]
    )


def name_pilot(person: Participant) -> str:
    """Return the name that a colleague gave, or the pseudonym of someone from the team."""
    tester = getattr(person, "tester", None)
    return tester.name if tester else person.pseudonym


def find_answers(people: Sequence[Participant]) -> list[Annotation]:
    """Return what these people answered, practice included."""
    rows = Annotation.objects.filter(participant__in=people, status=Annotation.Status.PILOT)
    return list(rows.select_related("item").order_by("submitted_at"))


def measure_times(people: Sequence[Any], answers: Sequence[Annotation]) -> list[Tried]:
    """Return how long each took from consent to Finish, or so far; pauses are cut short."""
    by_person: dict[int, list[Annotation]] = defaultdict(list)
    for answer in answers:
        by_person[answer.participant_id].append(answer)
    times = []
    for person in people:
        answered = by_person[person.pk]
        main = [answer for answer in answered if answer.item.kind != Item.Kind.PRACTICE]
        if person.agreed_at is None or not main:
            continue
        end = person.finished_at or main[-1].submitted_at
        moments = sorted(
            {person.agreed_at, end}
            | {answer.started_at for answer in answered}
            | {answer.submitted_at for answer in answered}
        )
        begin = min(answer.started_at for answer in main)
        times.append(
            Tried(
                person=person,
                name=name_pilot(person),
                before=_without_pauses([moment for moment in moments if moment <= begin]),
                items=_without_pauses([moment for moment in moments if begin <= moment <= end]),
                is_finished=person.finished_at is not None,
            )
        )
    return times


def _without_pauses(moments: Sequence[datetime]) -> timedelta:
    steps = pairwise(moments)
    return sum((min(later - earlier, LONGEST_PAUSE) for earlier, later in steps), timedelta())


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """Time and pay of a set, from the median of those who finished."""

    minutes: int
    pay: Decimal | None
    people: int

    @property
    def values(self) -> dict[str, Any]:
        pay = {} if self.pay is None else {"pay_per_set": self.pay}
        return {"minutes_per_set": self.minutes, **pay}


def suggest_time_and_pay(study: Study, times: Sequence[Tried]) -> Suggestion | None:
    """Return the median, rounded up to a minute, and the pay for it, rounded up to 0.10."""
    finished = [tried.total.total_seconds() for tried in times if tried.is_finished]
    if len(finished) < ENOUGH:
        return None
    minutes = max(1, ceil(median(finished) / 60))
    target = study.pay_target
    pay = None
    if target is not None:
        tenths = (target * minutes / 60 * 10).to_integral_value(rounding=ROUND_UP)
        pay = (tenths / 10).quantize(Decimal("0.01"))
    return Suggestion(minutes=minutes, pay=pay, people=len(finished))


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One person's answer in a row; none: they gave no answer."""

    name: str
    text: str = ""
    is_far: bool = False


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What everyone answered to one question about one output."""

    item: str
    criterion: str
    text: str
    apart: float
    cells: list[Cell] = field(default_factory=list)


def compare_answers(
    study: Study, people: Sequence[Participant], answers: Sequence[Annotation]
) -> list[Difference]:
    """Return the answers side by side: for each item the widest question, largest first."""
    rated = [answer for answer in answers if answer.item.kind != Item.Kind.PRACTICE]
    rows: dict[tuple[int, str], list[AnswerRow]] = defaultdict(list)
    for pk, answered in Rating.objects.filter(annotation__in=rated).group_rows().items():
        for row in answered:
            rows[pk, row.criterion].append(row)
    outputs: dict[int, list[Output]] = defaultdict(list)
    asked = {answer.item_id for answer in rated}
    for output in Output.objects.filter(item__in=asked).order_by("item_id", "position"):
        outputs[output.item_id].append(output)
    by_item: dict[int, list[Annotation]] = defaultdict(list)
    for answer in rated:
        by_item[answer.item_id].append(answer)
    keys = [criterion.key for criterion in study.config.criteria]
    widest = [
        max(
            _compare_item(study, people, alike, outputs[item_id], rows),
            key=lambda difference: difference.apart,
        )
        for item_id, alike in by_item.items()
        if len(alike) > 1 and any((answer.pk, key) in rows for answer in alike for key in keys)
    ]
    return sorted(widest, key=lambda difference: (-difference.apart, difference.item))


def _compare_item(
    study: Study,
    people: Sequence[Participant],
    answers: Sequence[Annotation],
    outputs: Sequence[Output],
    rows: dict[tuple[int, str], list[AnswerRow]],
) -> list[Difference]:
    differences = []
    inputs = answers[0].item.inputs if answers else {}
    for asked in group_questions(list_questions(study.config, inputs, outputs)).values():
        criterion, scale = asked[0].criterion, asked[0].scale
        series = {
            answer.participant_id: read_values(asked, rows[answer.pk, criterion.key])
            for answer in answers
            if (answer.pk, criterion.key) in rows
        }
        for index, question in enumerate(asked):
            values = {pk: entry[index] for pk, entry in series.items() if entry[index] is not None}
            if not values:
                continue
            numbers = {pk: value for pk, value in values.items() if isinstance(value, int | float)}
            if len(numbers) == len(values):
                apart = round_value(max(numbers.values()) - min(numbers.values()))
            else:
                apart = int(len({str(value) for value in values.values()}) > 1)
            far = _find_farthest(numbers) if apart and len(numbers) == len(values) else None
            differences.append(
                Difference(
                    item=answers[0].item.key,
                    criterion=criterion.label,
                    text=_name_subject(question, outputs),
                    apart=apart,
                    cells=[
                        Cell(
                            name=name_pilot(person),
                            text=_say(scale, values.get(person.pk)),
                            is_far=person.pk == far,
                        )
                        for person in people
                    ],
                )
            )
    return differences


def _name_subject(question: Question, outputs: Sequence[Output]) -> str:
    """Return the text that a question is about, or the turn of it; "" if it is about all."""
    if question.turn:
        return f"Turn {question.turn}"
    return outputs[question.place - 1].text if question.place else ""


def _find_farthest(values: Mapping[int, float]) -> int | None:
    """Return whose answer is farthest from the mean of the others; None if two are."""
    if len(values) < ENOUGH:
        return None
    distance = {
        pk: abs(value - mean(other for key, other in values.items() if key != pk))
        for pk, value in values.items()
    }
    far = max(distance.values())
    names = [pk for pk, apart in distance.items() if apart == far]
    return names[0] if len(names) == 1 else None


def _say(scale: Any, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, int | float):
        return ", ".join(scale.name_tested(answer) for answer in scale.list_tested(value))
    label = scale.label_of(value)
    if not 0 < len(label) <= _LONG_LABEL:
        return str(value)
    # beside a bare 4, “best” wouldn't show how far apart they are
    return label if scale.is_told_in_words or scale.compares else f"{value} ({label})"
