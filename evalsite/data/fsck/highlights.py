"""Highlights: in the text that they mark, once, and of something that is asked."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Length, Substr

from evalsite.data.fsck.findings import (
    ANSWER,
    Finder,
    checks_in,
    find_twice,
    name_answer,
    name_rows,
    named,
)
from evalsite.handout.models import ROW, Rating
from evalsite.instruments.answer import HIGHLIGHTS, AnswerRow
from evalsite.instruments.scales import COMMENT, OUTPUT, Scale
from evalsite.lib.conversations import split_turns
from evalsite.studies.models import Output, Study

_COLUMNS = ("pk", "annotation_id", "annotation__item__key")
_ANSWER = tuple(f"annotation__{column}" for column in ANSWER)


def _highlights(study_id: Any) -> QuerySet[Rating]:
    return Rating.objects.marks().filter(annotation__study_id=study_id)


def _name_highlight(pk: int, answer_id: int, item: str) -> str:
    return f"highlight {pk} of answer {answer_id} to item {item}"


def _names_highlights(find: Callable[[Any], QuerySet[Rating]]) -> Finder:
    return name_rows(find, _COLUMNS, _name_highlight)


def highlight_that_does_not_fit(study: Study) -> Iterable[str]:
    """Find quotes that aren't at their place in an output of the item, or in an input of it."""
    yield from _misfit_of_an_output(study)
    conversations, criteria = study.config.conversations, [*_list_marking(study)]
    is_split = Q(part__contains="@") | Q(turn__gt=0)
    is_split |= Q(criterion__in=criteria if OUTPUT in conversations else ())
    marks = _highlights(study.pk).filter(is_split).order_by("output_id", "pk")
    columns = (*_COLUMNS, "annotation__item", "output_id", "part", "turn", "start", "end", "text")
    for output_id, of_output in groupby(
        marks.values_list(*columns).iterator(), key=lambda mark: mark[4]
    ):
        output = Output.objects.select_related("item").get(pk=output_id)
        texts: dict[str, dict[int, str]] = {}
        for *names, item_id, _output, part, turn, start, end, quote in of_output:
            column = part.partition("@")[2] or OUTPUT
            if column not in texts:
                text = output.text if column == OUTPUT else str(output.item.inputs.get(column, ""))
                texts[column] = split_turns(text) if column in conversations else {0: text}
            text = texts[column].get(turn, "")
            is_there = item_id == output.item_id and end <= len(text)
            if not is_there or text[start:end] != quote:
                yield _name_highlight(*names)


@_names_highlights
def _misfit_of_an_output(study_id: Any) -> QuerySet[Any]:
    passage = Substr("output__text", F("start") + Value(1), F("end") - F("start"))
    # of no length: Substr would be the rest of the text in some databases
    fitting = Q(text=passage, end__gt=F("start")) | Q(text="", end=F("start"))
    fitting &= Q(output__item=F("annotation__item"), end__lte=Length("output__text"))
    whole = _highlights(study_id).filter(turn=0)
    return whole.exclude(fitting).exclude(part__contains="@")


def highlight_given_twice(study: Study) -> Iterable[str]:
    """Find highlights that are stored twice; without a question, also two with one beginning."""
    for find in (_apart_given_twice, _once_given_twice):
        yield from find(study)


_PLACE = ("annotation", "output", "start")
_name_twice = named(lambda answer_id, start, n: f"answer {answer_id} has {n} highlights at {start}")


@_name_twice
def _apart_given_twice(study_id: Any) -> QuerySet[Any, Any]:
    apart = _highlights(study_id).filter(criterion=HIGHLIGHTS)
    return find_twice(apart, *_PLACE).values_list("annotation", "start", "n")


@_name_twice
def _once_given_twice(study_id: Any) -> QuerySet[Any, Any]:
    once = _highlights(study_id).exclude(criterion=HIGHLIGHTS)
    twice = find_twice(once, *_PLACE, "criterion", "turn", "end", "part")
    return twice.values_list("annotation", "start", "n")


def highlight_of_a_criterion_that_is_not_asked(study: Study) -> Iterable[str]:
    """Find highlights of a question that marks nothing."""
    known = [HIGHLIGHTS, *_list_marking(study)]
    return _name_all(_highlights(study.pk).exclude(criterion__in=known))


def highlight_of_a_category_that_nothing_offers(study: Study) -> Iterable[str]:
    """Find highlights with a category or a severity that their question doesn't have."""
    known = Q(criterion=HIGHLIGHTS, part="", detail__isnull=True)
    marking = _list_marking(study)
    for key, scale in marking.items():
        known |= Q(criterion=key) & scale.select_marks()
    return _name_all(
        _highlights(study.pk)
        .filter(criterion__in=[HIGHLIGHTS, *marking])
        .exclude(pk__in=_highlights(study.pk).filter(known).values("pk"))
    )


def answer_that_contradicts_its_marks(study: Study) -> Iterable[str]:
    """Find answers whose score isn't that of their marks, or that mark something and nothing."""
    for key, scale in _list_marking(study).items():
        rows = Rating.objects.filter(annotation__study_id=study.pk, criterion=key)
        rows = rows.exclude(part=COMMENT).order_by("annotation_id", "output_id", "pk")
        stored = rows.values_list(*_ANSWER, *ROW).iterator()
        for (name, _output), group in groupby(stored, key=lambda row: (row[:3], row[4])):
            if not scale.are_consistent([AnswerRow(*row[3:]) for row in group]):
                yield name_answer(*name)


def _list_marking(study: Study) -> dict[str, Scale]:
    return {criterion.key: criterion.scale for criterion in study.config.marking}


def _name_all(marks: QuerySet[Rating]) -> Iterator[str]:
    rows = marks.order_by("pk").values_list(*_COLUMNS).iterator()
    return (_name_highlight(*row) for row in rows)


CHECKS = checks_in(
    ("Highlights don't fit the text that they mark", highlight_that_does_not_fit),
    ("Highlights were given twice", highlight_given_twice),
    (
        "Highlights are of a criterion that marks nothing",
        highlight_of_a_criterion_that_is_not_asked,
    ),
    (
        "Highlights have a category or a severity that nothing offers",
        highlight_of_a_category_that_nothing_offers,
    ),
    ("Answers contradict their marked passages", answer_that_contradicts_its_marks),
)
