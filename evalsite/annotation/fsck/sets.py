"""Sets: distinct items of the study, and each place answered by the time a set is finished."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple
from uuid import UUID

from django.db.models import F

from evalsite.annotation.fsck.findings import checks_in
from evalsite.annotation.fsck.sentences import name_answers
from evalsite.annotation.models import Annotation
from evalsite.participants.models import ItemSet
from evalsite.studies.models import Item, Study

_CHUNK = 200


class _Set(NamedTuple):
    """What is looked at of a set: plain values, because there are many."""

    pk: UUID
    participant_id: int
    pseudonym: str
    number: int
    item_ids: list[int]
    lost_ids: list[int]

    def __str__(self) -> str:
        return f"set {self.number} of {self.pseudonym}"


def _sets_in_chunks(study: Study, **fields: object) -> Iterator[list[_Set]]:
    """All sets, those of one person together."""
    found = ItemSet.objects.filter(study=study, **fields).order_by("participant", "number")
    rows = found.values_list(
        "pk", "participant", "participant__pseudonym", "number", "item_ids", "lost_ids"
    ).iterator()
    while chunk := [_Set(*row) for row in islice(rows, _CHUNK)]:
        yield chunk


def set_of_impossible_items(study: Study) -> Iterable[str]:
    """The items of a set are distinct, and what it lost was among them."""
    for chunk in _sets_in_chunks(study):
        for one in chunk:
            items = set(one.item_ids)
            if len(items) != len(one.item_ids) or not items.issuperset(one.lost_ids):
                yield str(one)


def set_with_items_from_elsewhere(study: Study) -> Iterable[str]:
    for chunk in _sets_in_chunks(study):
        named = {item_id for one in chunk for item_id in one.item_ids}
        known = set(Item.objects.filter(study=study, pk__in=named).values_list("pk", flat=True))
        yield from (str(one) for one in chunk if not known.issuperset(one.item_ids))


def finished_set_without_a_code(study: Study) -> Iterable[str]:
    for chunk in _sets_in_chunks(study, finished_at__isnull=False, code=""):
        yield from map(str, chunk)


def finished_set_with_open_places(study: Study) -> Iterable[str]:
    """Every place is answered or went to others, unless the study ended before."""
    if study.closed_at is not None or study.closes_at is not None:
        return
    for chunk in _sets_in_chunks(study, finished_at__isnull=False):
        people = {one.participant_id for one in chunk}
        answers = Annotation.objects.filter(participant__in=people).order_by()
        given = set(answers.values_list("participant", "item").iterator())
        for one in chunk:
            asked = set(one.item_ids) - set(one.lost_ids)
            missing = sum((one.participant_id, item_id) not in given for item_id in asked)
            if missing:
                yield f"{one} lacks {missing} of {len(asked)} answers"


def answer_outside_its_set(study: Study) -> Iterable[str]:
    """An answer names the set, and the place in it, in which it was given."""
    given = Annotation.objects.filter(study=study, item_set__isnull=False)
    yield from name_answers(given.exclude(item_set__participant_id=F("participant_id")))
    for chunk in _sets_in_chunks(study):
        items = {one.pk: one.item_ids for one in chunk}
        people = {one.participant_id for one in chunk}
        # by person alone: an index by study would read all answers for each chunk
        answers = Annotation.objects.filter(participant__in=people).order_by()
        rows = answers.values_list("pk", "item_set", "item", "place").iterator()
        wrong = [
            pk
            for pk, set_id, item, place in rows
            if set_id in items and not _is_at(items[set_id], item, place)
        ]
        yield from name_answers(Annotation.objects.filter(pk__in=wrong))


def _is_at(items: list[int], item: int, place: int) -> bool:
    """Return whether the item is in this place, from 1; 0 if the place wasn't recorded."""
    return item in items if place == 0 else items[place - 1 : place] == [item]


CHECKS = checks_in(
    ("Sets name an item twice, or have lost what they never had", set_of_impossible_items),
    ("Sets name items that are not of their study", set_with_items_from_elsewhere),
    ("Finished sets have no code", finished_set_without_a_code),
    ("Finished sets have places without an answer", finished_set_with_open_places),
    ("Answers name a set or a place that is not theirs", answer_outside_its_set),
)
