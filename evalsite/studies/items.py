"""What is counted of all items of a study, and the numbers that each of them has."""

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, QuerySet, Window

from evalsite.lib.seeds import derive_numbers
from evalsite.studies.models import Batch, Item, Output, Study

# items whose words are counted, to know how long the pages of a study are
_READ = 30

# Counts for which each item must be read are kept by each process while items stay. Whatever adds
# or removes items changes how many main items there are, or which is the newest; to withdraw an
# item and put another back makes further changes. Nothing else may change the id, the group or the
# record of an item.

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


# --- whole numbers, the same in every file, whatever is added or taken back -----------------


_AT_ONCE = 2_000
_MOST = 2**31


class ItemNumbers:
    """The numbers of a study's items and of their groups, in 24 bytes an item.

    Items are counted in the order in which they were added, so a later batch changes no number.
    A group has the number of its first item.
    """

    def __init__(self, study: Study) -> None:
        self._ids, self._numbers, self._groups = array("q"), array("q"), array("q")
        first: dict[str, int] = {}
        for pk, group, number in _number_items(study):
            self._ids.append(pk)
            self._numbers.append(number)
            self._groups.append(first.setdefault(group, number))

    def find(self, pk: int) -> tuple[str, str]:
        """Return the numbers of this item of the study and of its group."""
        place = bisect_left(self._ids, pk)
        return str(self._numbers[place]), str(self._groups[place])


def _number_items(study: Study) -> Iterator[tuple[int, str, int]]:
    """Yield the id, the group and the number of each item; numbers of removed items are skipped."""
    unused: list[list[int]] = Study.objects.values_list("unused_numbers", flat=True).get(
        pk=study.pk
    )
    gaps = {first: last for first, last in unused}
    # those that an import is writing take their numbers at once, and keep them when it is done
    going = Batch.all_objects.filter(stored_at__isnull=True, written_at__isnull=True)
    items = Item.all_objects.exclude(batch__in=going).filter(study=study).order_by("id")
    number = 0
    for pk, group in items.values_list("id", "group").iterator(chunk_size=_AT_ONCE):
        number += 1
        if number in gaps:
            number = gaps[number] + 1
        yield pk, group, number


def keep_numbers(study: Study, *, without: QuerySet[Item]) -> None:
    """Let all other items keep their numbers when these are deleted, which comes next."""
    going = set(without.values_list("pk", flat=True))
    unused, last = [], 0
    for pk, _group, number in _number_items(study):
        if pk in going:
            continue
        if number > last + 1:
            unused.append([last + 1, number - 1])
        last = number
    Study.objects.filter(pk=study.pk).update(unused_numbers=unused)


def are_unused_numbers(value: object) -> bool:
    """Return whether a study can skip these numbers: pairs in order, with used ones in between."""
    if not isinstance(value, list):
        return False
    last = -1
    for pair in value:
        if not isinstance(pair, list) or [type(number) for number in pair] != [int, int]:
            return False
        if not last + 1 < pair[0] <= pair[1] < _MOST:
            return False
        last = pair[1]
    return True


# --- numbers that the seed gives, by which items are shuffled ---------------------------------


def item_keys(study: Study, *, key: str, group: str) -> dict[str, Any]:
    """Return key, group, and the numbers that the study's seed gives them."""
    shuffle_key, group_shuffle_key = number_items(study)(key, group)
    return {
        "key": key,
        "group": group,
        "shuffle_key": shuffle_key,
        "group_shuffle_key": group_shuffle_key,
    }


def number_items(study: Study) -> Callable[[str, str], tuple[int, int]]:
    """Return a function from an item's key and group to the numbers that the seed gives them."""
    of_item = derive_numbers(study.seed, "item")
    of_group = derive_numbers(study.seed, "group")
    return lambda key, group: (of_item(key), of_group(group))


def number_segments(study: Study) -> dict[str, str]:
    """Return the number of each group in its cluster, in the order of upload."""
    items = Item.objects.filter(study=study).order_by("id").values_list("cluster", "group")
    counts: defaultdict[str, int] = defaultdict(int)
    segments: dict[str, str] = {}
    for cluster, group in items.iterator(chunk_size=_AT_ONCE):
        if group not in segments:
            counts[cluster or group] += 1
            segments[group] = str(counts[cluster or group])
    return segments
