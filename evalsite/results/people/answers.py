"""What one participant answered, item by item, as a researcher reads it: nothing is judged."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from evalsite.decisions.check_results import judge_checks
from evalsite.decisions.exclusions import may_be_excluded
from evalsite.decisions.frozen_plans import ItemNames, is_hidden
from evalsite.decisions.models import Exclusion
from evalsite.handout.models import Annotation, Revision
from evalsite.instruments.schema import Instrument
from evalsite.participation.held_items import reason_in_words
from evalsite.participation.ignored_items import reason_of
from evalsite.people.models import Origin, Participant
from evalsite.results.comments.written import find_texts
from evalsite.results.people.answer_words import Line, describe_ratings
from evalsite.studies.models import Item, Study


@dataclass(frozen=True, kw_only=True)
class PersonAnswer:
    """One answer with its values, its times, and what became of it."""

    annotation: Annotation
    item_name: str
    repeat_of: str  # of a repeat: the item that is shown again
    texts: list[Line]  # how the outputs begin, each with its name
    lines: list[Line]
    values: dict[str, str]  # by question, where an item has one output
    written: list[Line]  # what the person wrote: answers in their own words, and comments
    before: list[Line]  # of a repeat: what was answered the first time
    outcome: str  # in place of scores: why the item was ignored or reported
    seconds: float | None
    active_seconds: float | None
    agrees: bool | None  # with the gold of a check
    revisions: int
    exclusion: Exclusion | None
    can_be_excluded: bool


def answers_of(participant: Participant) -> QuerySet[Annotation]:
    """All that this person submitted and agreed to, in the order in which it was first saved."""
    submitted = Annotation.objects.agreed().filter(
        study=participant.study_id, participant=participant
    )
    return with_items(submitted).order_by("pk")


def with_words(study: Study, annotations: QuerySet[Annotation]) -> QuerySet[Annotation]:
    """Return those of these answers in which something was written."""
    words = find_texts(study).filter(annotation=OuterRef("pk"))
    return annotations.filter(~Q(note="") | Exists(words))


def with_items(annotations: QuerySet[Annotation]) -> QuerySet[Annotation]:
    """Return the annotations with what `describe_answers` needs of their items."""
    revisions = Revision.objects.filter(annotation=OuterRef("pk")).order_by().values("annotation")
    revised = Subquery(revisions.annotate(n=Count("pk")).values("n"))
    answers = annotations.select_related("participant", "item__repeat_of", "item_set")
    return answers.annotate(revised=Coalesce(revised, 0))


def describe_answers(
    study: Study, annotations: Sequence[Any], *, is_blind: bool | None = None
) -> list[PersonAnswer]:
    """These answers, of `with_items`, in words, in a few queries for all of them."""
    ids = [answer.pk for answer in annotations]
    first = _first_answers(annotations)
    pages = {answer.pk: (answer.item, answer.order_shown) for answer in annotations}
    pages |= {
        first[answer.pk].pk: (answer.item.repeat_of, first[answer.pk].order_shown)
        for answer in annotations
        if answer.pk in first
    }
    is_unnamed = is_hidden(study) if is_blind is None else is_blind
    names = ItemNames(study, is_blind=is_unnamed)
    words = describe_ratings(study.config, pages, is_blind=is_unnamed)
    agrees = judge_checks(study, Annotation.objects.filter(pk__in=ids))
    exclusions = Exclusion.objects.active().filter(annotation__in=ids).select_related("decided_by")
    excluded = {exclusion.annotation_id: exclusion for exclusion in exclusions}
    return [
        PersonAnswer(
            annotation=answer,
            item_name=names[answer.item],
            repeat_of=names[answer.item.repeat_of] if answer.item.repeat_of else "",
            texts=words[answer.pk].texts,
            lines=words[answer.pk].lines,
            values=words[answer.pk].values,
            written=words[answer.pk].written,
            before=words[first[answer.pk].pk].lines if answer.pk in first else [],
            outcome=_describe_outcome(study.config, answer),
            seconds=_count_seconds(answer),
            active_seconds=None if answer.active_ms is None else answer.active_ms / 1000,
            agrees=agrees[answer.pk][1] if answer.pk in agrees else None,
            revisions=answer.revised,
            exclusion=excluded.get(answer.pk),
            can_be_excluded=may_be_excluded(answer),
        )
        for answer in annotations
    ]


def _first_answers(annotations: Iterable[Annotation]) -> dict[int, Annotation]:
    """Return for each repeat the annotation from when this person first met the item."""
    repeats = {
        answer.pk: (answer.participant_id, answer.item.repeat_of_id)
        for answer in annotations
        if answer.item.kind == Item.Kind.REPEAT
    }
    if not repeats:
        return {}
    people, items = zip(*repeats.values(), strict=True)
    answers = Annotation.objects.filter(participant__in=people, item__in=items).order_by()
    first = {(answer.participant_id, answer.item_id): answer for answer in answers}
    return {pk: first[key] for pk, key in repeats.items() if key in first}


def _count_seconds(answer: Annotation) -> float | None:
    """From shown to saved; an imported answer has no times of its own."""
    if answer.origin == Origin.IMPORTED:
        return None
    return (answer.submitted_at - answer.started_at).total_seconds()


def _describe_outcome(config: Instrument, answer: Annotation) -> str:
    if answer.outcome == Annotation.Outcome.IGNORED:
        return f"Ignored: {reason_of(config, answer.reason).label}"
    if answer.outcome == Annotation.Outcome.REPORTED:
        return f"Reported: {reason_in_words(answer)}"
    if answer.outcome == Annotation.Outcome.SKIPPED:
        return "Skipped"
    return ""
