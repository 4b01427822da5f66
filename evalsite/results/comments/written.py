"""What people wrote: on questions, on items, and with a skip or a problem report."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Max, Min, QuerySet

from evalsite.data.files.rows import find_written
from evalsite.handout.models import Annotation, Rating
from evalsite.results.items.spread import leave_out_excluded
from evalsite.studies.models import Item, Study

# of trials, and of people who withdrew
_LEFT_OUT = (Annotation.Status.PILOT, Annotation.Status.WITHDRAWN)


def find_texts(study: Study, *, is_everyone: bool = True) -> QuerySet[Rating]:
    """Return the ratings with `words`: a comment on a question, its answer, a note on a passage."""
    ratings = Rating.objects.filter(
        study=study,
        annotation__study=study,
        annotation__awaits_consent=False,
        annotation__item__kind=Item.Kind.MAIN,
    )
    texts = find_written(ratings, study.config)
    texts = texts.exclude(annotation__status__in=_LEFT_OUT).order_by()
    return texts if is_everyone else leave_out_excluded(texts, study, "annotation__")


def find_notes(study: Study, *, is_everyone: bool = True) -> QuerySet[Annotation]:
    """Return the answers, skips and problem reports with a text of their own."""
    notes = Annotation.objects.agreed().filter(study=study, item__kind=Item.Kind.MAIN)
    notes = notes.exclude(note="").exclude(status__in=_LEFT_OUT).order_by()
    return notes if is_everyone else leave_out_excluded(notes, study)


def count_by_person(study: Study, *, is_everyone: bool) -> dict[str, int]:
    """Return the number of comments by pseudonym, in one query."""
    name = "participant__pseudonym"
    texts = find_texts(study, is_everyone=is_everyone).values_list(f"annotation__{name}")
    notes = find_notes(study, is_everyone=is_everyone).values_list(name)
    numbers = texts.annotate(n=Count("pk")).union(notes.annotate(n=Count("pk")), all=True)
    counts: dict[str, int] = {}
    for pseudonym, number in numbers:
        counts[pseudonym] = counts.get(pseudonym, 0) + number
    return dict(sorted(counts.items()))


def count_by_item(study: Study, items: Sequence[int], *, is_everyone: bool) -> dict[Any, int]:
    """Return the number of comments by item, of these or of all, in one query."""
    texts = find_texts(study, is_everyone=is_everyone)
    notes = find_notes(study, is_everyone=is_everyone)
    if items:
        texts, notes = texts.filter(annotation__item__in=items), notes.filter(item__in=items)
    counts: dict[Any, int] = {}
    for (item,) in texts.values_list("annotation__item").union(notes.values_list("item"), all=True):
        counts[item] = counts.get(item, 0) + 1
    return counts


# --- a few comments for the summary: those on the items whose answers are furthest apart

_SHOWN = 2
# of the newest: a page can afford to look at so many
_LOOKED_AT = 200


def list_furthest(study: Study, key: str, *, is_everyone: bool) -> list[dict[str, Any]]:
    """Return two comments, in two queries at most. `key`: the question that says how far apart."""
    texts = find_texts(study, is_everyone=is_everyone).order_by("-pk")
    newest: Any = texts.select_related(
        "annotation__participant", "annotation__item", "output__system"
    ).defer("annotation__item__inputs", "output__text")
    rows: list[dict[str, Any]] = [
        {
            "text": rating.words,
            "pseudonym": rating.annotation.participant.pseudonym,
            "item": rating.annotation.item_id,
            "title": str(rating.annotation.item.extra.get("source_id", rating.annotation.item.key)),
            "system": rating.output.system.name if rating.output and rating.output.system else "",
        }
        for rating in newest[:_LOOKED_AT]
    ]
    if len(rows) <= _SHOWN:
        return rows
    apart = _measure_spread(study, key, {row["item"] for row in rows})
    chosen = sorted(rows, key=lambda row: -apart.get(row["item"], 0.0))
    # one of an item, if there are others
    firsts = list({row["item"]: row for row in reversed(chosen)}.values())[::-1]
    return (firsts if len(firsts) >= _SHOWN else chosen)[:_SHOWN]


def _measure_spread(study: Study, key: str, items: set[int]) -> dict[int, float]:
    """Return how far the answers to the question are apart, by item; of those with numbers."""
    counted = Annotation.objects.counted().filter(study=study, item__in=items)
    ratings = Rating.objects.filter(
        study=study, criterion=key, part="", annotation__in=counted, value__isnull=False
    ).order_by()
    spread = ratings.values_list("annotation__item").annotate(low=Min("value"), high=Max("value"))
    return {item: float(high) - float(low) for item, low, high in spread}
