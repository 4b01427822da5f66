"""Counts for which each item of a study must be read, kept by each process while items stay.

Whatever adds or removes items changes how many main items there are, or which is the newest; to
withdraw an item and put another back makes further changes. Nothing else may change the id, the
group or the record of an item.
"""

from collections.abc import Collection
from functools import lru_cache
from math import ceil
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, Window

from evalsite.studies.models import Item, Output, Study

# items whose words are counted, to know how long the pages of a study are
_READ = 30

# of so many studies, as they were at one time
_MOST_KNOWN = 1024
_records: dict["MainItems", int] = {}


class MainItems(NamedTuple):
    """The main items of a study as they are now."""

    study_id: UUID
    number: int
    newest: int | None
    changes: int


def count_records(items: MainItems) -> int:
    """Return how many records of the researcher's data these items come from."""
    return count_records_of([items])[items.study_id]


def count_records_of(studies: Collection[MainItems]) -> dict[UUID, int]:
    """Return the same of several studies: one query for all that aren't known."""
    counts = {items.study_id: _records.get(items, 0) for items in studies}
    unknown = [items for items in studies if items.number and items not in _records]
    if unknown:
        named = Item.objects.main().filter(study__in=[items.study_id for items in unknown])
        rows = named.records().values("study")
        counts |= dict(rows.values_list("study", Count("name", distinct=True)))
        if len(_records) > _MOST_KNOWN:
            _records.clear()
        _records.update({items: counts[items.study_id] for items in unknown})
    return counts


@lru_cache(maxsize=_MOST_KNOWN)
def measure_groups(items: MainItems) -> tuple[int, tuple[int, ...]]:
    """Return how many groups these items form, and the different sizes of groups."""
    if not items.number:
        return 0, ()
    groups = Item.objects.main().filter(study=items.study_id).order_by().values("group")
    groups = groups.annotate(size=Count("pk"), groups=Window(Count("*")))
    sizes = dict(groups.values_list("size", "groups").distinct())
    return max(sizes.values(), default=0), tuple(sorted(sizes))


def count_words(study: Study) -> None:
    """Keep how many words people read on a page of a draft, by its first items.

    Whatever adds, removes or changes items of a draft calls it, so that pages of people needn't.
    """
    if study.version_id is not None:
        return
    first = study.items.main().order_by("pk")[:_READ]
    outputs = Output.objects.filter(item__in=first.values("pk")).select_related("item")
    inputs = {output.item_id: output.item.inputs for output in outputs}
    texts = [
        *(output.text for output in outputs),
        *(str(value) for values in inputs.values() for value in values.values()),
    ]
    study.words_per_page = ceil(sum(len(text.split()) for text in texts) / max(len(inputs), 1))
    Study.objects.filter(pk=study.pk, version=None).update(words_per_page=study.words_per_page)
