"""Highlights: in the text that they mark, once, and of something that is asked."""

from collections.abc import Callable, Iterable
from typing import Any

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Substr

from evalsite.annotation.fsck.findings import Finder, checks_in, find_twice, name_rows, named
from evalsite.annotation.models import Rating
from evalsite.instruments.answer import HIGHLIGHTS
from evalsite.studies.models import Study

_COLUMNS = ("pk", "annotation_id", "annotation__item__key")


def _highlights(study_id: Any) -> QuerySet[Rating]:
    return Rating.objects.marks().filter(annotation__study_id=study_id)


def _name_highlight(pk: int, answer_id: int, item: str) -> str:
    return f"highlight {pk} of answer {answer_id} to item {item}"


def _names_highlights(find: Callable[[Any], QuerySet[Rating]]) -> Finder:
    return name_rows(find, _COLUMNS, _name_highlight)


@_names_highlights
def highlight_that_does_not_fit(study_id: Any) -> QuerySet[Any]:
    """Find quotes that aren't at their place in an output of the item."""
    passage = Substr("output__text", F("start") + Value(1), F("end") - F("start"))
    fitting = Q(text=passage, output__item=F("annotation__item"))
    return _highlights(study_id).exclude(fitting)


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
    twice = find_twice(once, *_PLACE, "criterion", "end", "part")
    return twice.values_list("annotation", "start", "n")


@_names_highlights
def highlight_of_a_criterion_that_is_not_asked(study_id: Any) -> QuerySet[Any]:
    """Find highlights of a question; no scale has any."""
    return _highlights(study_id).exclude(criterion=HIGHLIGHTS)


@_names_highlights
def highlight_of_a_category_that_nothing_offers(study_id: Any) -> QuerySet[Any]:
    """Find highlights with a category, a severity or a turn; no scale has any."""
    return _highlights(study_id).exclude(part="", detail__isnull=True, turn=0)


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
)
