"""Whole numbers of a study's items, the same in every file, whatever is added or taken back."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator

from django.db.models import QuerySet

from evalsite.studies.models import Batch, Item, Study

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
