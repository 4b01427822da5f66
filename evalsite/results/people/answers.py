"""What one participant answered, item by item, as a researcher reads it: nothing is judged."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from evalsite.annotation.models import Annotation, Revision
from evalsite.annotation.pages.held_items import reason_in_words
from evalsite.annotation.pages.ignored_items import reason_of
from evalsite.instruments.schema import Instrument
from evalsite.participants.models import Origin, Participant
from evalsite.quality.check_results import judge_checks
from evalsite.quality.exclusions import may_be_excluded
from evalsite.quality.frozen_plans import ItemNames, is_hidden
from evalsite.quality.models import Exclusion
from evalsite.results.comments.written import find_notes, find_texts
from evalsite.results.people.answer_words import Line, describe_ratings
from evalsite.studies.models import Item, Study


@dataclass(frozen=True, kw_only=True)
class Given:
    """One answer with its values, its times, and what became of it."""

    annotation: Annotation
    item_name: str
    repeat_of: str  # of a repeat: the item that is shown again
    texts: list[Line]  # how the outputs begin, each with its name
    lines: list[Line]
    written: list[Line]  # what the person wrote: answers in their own words, and comments
    before: list[Line]  # of a repeat: what was answered the first time
    said: str  # in place of scores: why the item was ignored or reported
    seconds: float | None
    active_seconds: float | None
    agrees: bool | None  # with the gold of a check
    revisions: int
    exclusion: Exclusion | None
    can_be_excluded: bool


def answers_of(participant: Participant) -> QuerySet[Annotation]:
    """All that this person submitted and agreed to, in the order in which it was first saved."""
    found = Annotation.objects.agreed().filter(study=participant.study_id, participant=participant)
    return with_items(found).order_by("pk")


def with_words(study: Study, annotations: QuerySet[Annotation]) -> QuerySet[Annotation]:
    """Return those of these answers in which something was written."""
    words = find_texts(study).filter(annotation=OuterRef("pk"))
    return annotations.filter(~Q(note="") | Exists(words))


def count_comments(study: Study, participants: Collection[int]) -> Counter[int]:
    """Count what each of these people wrote, on questions and items, in two queries."""
    notes = find_notes(study).filter(participant__in=participants).order_by()
    words = find_texts(study).filter(annotation__participant__in=participants).order_by()
    counts: Counter[int] = Counter()
    for rows, person in ((notes, "participant"), (words, "annotation__participant")):
        counts.update(dict(rows.values_list(person).annotate(n=Count("pk"))))
    return counts


def with_items(annotations: QuerySet[Annotation]) -> QuerySet[Annotation]:
    """Return the annotations with what `describe_answers` needs of their items."""
    revisions = Revision.objects.filter(annotation=OuterRef("pk")).order_by().values("annotation")
    revised = Subquery(revisions.annotate(n=Count("pk")).values("n"))
    found = annotations.select_related("participant", "item__repeat_of", "item_set")
    return found.annotate(revised=Coalesce(revised, 0))


def describe_answers(
    study: Study, annotations: Sequence[Any], *, is_blind: bool | None = None
) -> list[Given]:
    """These answers, of `with_items`, in words, in a few queries for all of them."""
    ids = [one.pk for one in annotations]
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
    standing = Exclusion.objects.active().filter(annotation__in=ids).select_related("decided_by")
    excluded = {one.annotation_id: one for one in standing}
    return [
        Given(
            annotation=one,
            item_name=names[one.item],
            repeat_of=names[one.item.repeat_of] if one.item.repeat_of else "",
            texts=words[one.pk].texts,
            lines=words[one.pk].lines,
            written=words[one.pk].written,
            before=words[first[one.pk].pk].lines if one.pk in first else [],
            said=_describe_outcome(study.config, one),
            seconds=_count_seconds(one),
            active_seconds=None if one.active_ms is None else one.active_ms / 1000,
            agrees=agrees[one.pk][1] if one.pk in agrees else None,
            revisions=one.revised,
            exclusion=excluded.get(one.pk),
            can_be_excluded=may_be_excluded(one),
        )
        for one in annotations
    ]


def _first_answers(annotations: Iterable[Annotation]) -> dict[int, Annotation]:
    """Return for each repeat the annotation from when this person first met the item."""
    repeats = {
        one.pk: (one.participant_id, one.item.repeat_of_id)
        for one in annotations
        if one.item.kind == Item.Kind.REPEAT
    }
    if not repeats:
        return {}
    people, items = zip(*repeats.values(), strict=True)
    given = Annotation.objects.filter(participant__in=people, item__in=items).order_by()
    first = {(one.participant_id, one.item_id): one for one in given}
    return {pk: first[key] for pk, key in repeats.items() if key in first}


def _count_seconds(one: Annotation) -> float | None:
    """From shown to saved; an imported answer has no times of its own."""
    if one.origin == Origin.IMPORTED:
        return None
    return (one.submitted_at - one.started_at).total_seconds()


def _describe_outcome(config: Instrument, one: Annotation) -> str:
    if one.outcome == Annotation.Outcome.IGNORED:
        return f"Ignored: {reason_of(config, one.reason).label}"
    if one.outcome == Annotation.Outcome.REPORTED:
        return f"Reported: {reason_in_words(one)}"
    if one.outcome == Annotation.Outcome.SKIPPED:
        return "Skipped"
    return ""
