"""A few comments for the summary: those on the items whose answers are furthest apart."""

from typing import Any

from django.db.models import Max, Min

from evalsite.annotation.models import Annotation, Rating
from evalsite.results.comments.written import find_texts
from evalsite.studies.models import Item, Study

_SHOWN = 2
# of the newest: a page can afford to look at so many
_LOOKED_AT = 200


def list_furthest(study: Study, key: str, *, is_everyone: bool) -> list[dict[str, Any]]:
    """Return two comments, in two queries at most. `key`: the question that says how far apart."""
    texts = find_texts(study, is_everyone=is_everyone).order_by("-pk")
    rows: list[dict[str, Any]] = [
        {
            "text": rating.text,
            "pseudonym": rating.annotation.participant.pseudonym,
            "item": rating.annotation.item_id,
            "title": _name_item(rating.annotation.item),
            "system": rating.output.system.name if rating.output and rating.output.system else "",
        }
        for rating in texts.select_related(
            "annotation__participant", "annotation__item", "output__system"
        ).defer("annotation__item__inputs", "output__text")[:_LOOKED_AT]
    ]
    if len(rows) <= _SHOWN:
        return rows
    apart = _measure_spread(study, key, {row["item"] for row in rows})
    chosen = sorted(rows, key=lambda row: -apart.get(row["item"], 0.0))
    # one of an item, if there are others
    firsts = list({row["item"]: row for row in reversed(chosen)}.values())[::-1]
    return (firsts if len(firsts) >= _SHOWN else chosen)[:_SHOWN]


def _name_item(item: Item) -> str:
    return str(item.extra.get("source_id", item.key))


def _measure_spread(study: Study, key: str, items: set[int]) -> dict[int, float]:
    """Return how far the answers to the question are apart, by item; of those with numbers."""
    counted = Annotation.objects.counted().filter(study=study, item__in=items)
    ratings = Rating.objects.filter(
        study=study, criterion=key, part="", annotation__in=counted, value__isnull=False
    ).order_by()
    spread = ratings.values_list("annotation__item").annotate(low=Min("value"), high=Max("value"))
    return {item: float(high) - float(low) for item, low, high in spread}
