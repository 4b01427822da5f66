"""What one participant answered, item by item, as a researcher reads it: nothing is judged."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from evalsite.annotation.models import Annotation, Rating, Revision
from evalsite.annotation.pages.held_items import reason_in_words
from evalsite.annotation.pages.ignored_items import reason_of
from evalsite.annotation.pages.view_models import output_label
from evalsite.participants.models import Origin, Participant
from evalsite.protocol import Protocol
from evalsite.quality.check_results import judge_checks
from evalsite.quality.exclusions import may_be_excluded
from evalsite.quality.frozen_plans import ItemNames, is_hidden
from evalsite.quality.models import Exclusion
from evalsite.studies.models import Item, Study

# a name, such as a system's, and what was said of it
Line = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Given:
    """One answer with its values, its times, and what became of it."""

    annotation: Annotation
    item_name: str
    repeat_of: str  # of a repeat: the item that is shown again
    lines: list[Line]
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
    orders = {one.pk: one.order_shown for one in [*annotations, *first.values()]}
    is_unnamed = is_hidden(study) if is_blind is None else is_blind
    names = ItemNames(study, is_blind=is_unnamed)
    said = _describe_ratings(study.config, orders, is_blind=is_unnamed)
    agrees = judge_checks(study, Annotation.objects.filter(pk__in=ids))
    standing = Exclusion.objects.standing().filter(annotation__in=ids).select_related("decided_by")
    excluded = {one.annotation_id: one for one in standing}
    return [
        Given(
            annotation=one,
            item_name=names[one.item],
            repeat_of=names[one.item.repeat_of] if one.item.repeat_of else "",
            lines=said[one.pk],
            before=said[first[one.pk].pk] if one.pk in first else [],
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


def _describe_outcome(config: Protocol, one: Annotation) -> str:
    if one.outcome == Annotation.Outcome.IGNORED:
        return f"Ignored: {reason_of(config, one.reason).label}"
    if one.outcome == Annotation.Outcome.REPORTED:
        return f"Reported: {reason_in_words(one)}"
    if one.outcome == Annotation.Outcome.SKIPPED:
        return "Skipped"
    return ""


# --- scores in words ----------------------------------------------------------------------


def _describe_ratings(
    config: Protocol, orders: dict[int, list[int]], *, is_blind: bool
) -> dict[int, list[Line]]:
    """Return the scores of each annotation: a line per output, or per comparison of them.

    `orders`: those of their pages, by which outputs are named where systems are hidden.
    """
    given: dict[int, list[Rating]] = defaultdict(list)
    ratings = Rating.objects.filter(annotation__in=list(orders))
    for one in ratings.select_related("output__system").order_by("output__position", "pk"):
        given[one.annotation_id].append(one)
    return defaultdict(
        list,
        {
            pk: _describe_scores(config, some, orders[pk], is_blind=is_blind)
            for pk, some in given.items()
        },
    )


def _describe_scores(
    config: Protocol, ratings: Sequence[Rating], order: list[int], *, is_blind: bool
) -> list[Line]:
    known = config.criterion_by_key
    places = {key: number for number, key in enumerate(known)}
    lines: dict[str, list[str]] = {}
    if is_blind:
        ratings = sorted(ratings, key=lambda one: _name_place(config, one, order))
    for one in sorted(ratings, key=lambda one: places.get(one.criterion, len(places))):
        criterion = known.get(one.criterion)
        label = one.criterion if criterion is None else str(criterion.label)
        system = _name_output(config, one, order, is_blind=is_blind)
        scale = None if criterion is None else criterion.scale
        words = "" if scale is None or one.value is None else scale.label_of(one.value)
        if scale is not None and scale.per == "item":
            lines.setdefault(label, []).append(f"{system} {words}".strip())
            continue
        label = f"{label} (turn {one.turn})" if one.turn else label
        value = f"{label} {one.value}" if len(known) > 1 else str(one.value)
        if scale is not None and scale.is_told_in_words and words:
            value = f"{label}: {words}"
        lines.setdefault(system, []).append(value)
    return [(name, ", ".join(said)) for name, said in lines.items()]


def _name_output(config: Protocol, one: Rating, order: list[int], *, is_blind: bool) -> str:
    """Return the system of the output that was rated; its place where no system is named."""
    if is_blind or one.output is None or one.output.system is None:
        return _name_place(config, one, order)
    return one.output.system.name


def _name_place(config: Protocol, one: Rating, order: list[int]) -> str:
    """Return what the page called the output: "Response A", by its place there."""
    if one.output is None:
        return ""
    if one.output.position not in order:
        return f"Another {config.output_name.lower()}"
    return output_label(config, order.index(one.output.position) + 1, len(order))
