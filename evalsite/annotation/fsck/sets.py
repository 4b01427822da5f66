"""Sets: distinct items of the study, and each place answered by the time a set is finished."""

from collections.abc import Iterable, Iterator
from itertools import islice

from django.db.models import F

from evalsite.annotation.fsck.findings import checks_in
from evalsite.annotation.fsck.naming import name_answers
from evalsite.annotation.models import Annotation
from evalsite.participants.models import ItemSet
from evalsite.studies.models import Item, Study

_CHUNK = 200


def _sets_in_chunks(study: Study, **fields: object) -> Iterator[list[ItemSet]]:
    found = ItemSet.objects.filter(study=study, **fields).select_related("participant")
    sets = found.order_by("pk").iterator()
    while chunk := list(islice(sets, _CHUNK)):
        yield chunk


def _name(item_set: ItemSet) -> str:
    return f"set {item_set.number} of {item_set.participant.pseudonym}"


def set_that_names_an_item_twice(study: Study) -> Iterable[str]:
    for chunk in _sets_in_chunks(study):
        for one in chunk:
            if len(set(one.item_ids)) != len(one.item_ids):
                yield _name(one)


def set_with_items_from_elsewhere(study: Study) -> Iterable[str]:
    for chunk in _sets_in_chunks(study):
        named = {item_id for one in chunk for item_id in one.item_ids}
        known = set(Item.objects.filter(study=study, pk__in=named).values_list("pk", flat=True))
        yield from (_name(one) for one in chunk if not known.issuperset(one.item_ids))


def set_that_lost_what_it_never_had(study: Study) -> Iterable[str]:
    for chunk in _sets_in_chunks(study):
        yield from (_name(one) for one in chunk if not set(one.item_ids) >= set(one.lost_ids))


def finished_set_without_a_code(study: Study) -> Iterable[str]:
    for chunk in _sets_in_chunks(study, finished_at__isnull=False, code=""):
        yield from map(_name, chunk)


def finished_set_with_open_places(study: Study) -> Iterable[str]:
    """Every place is answered or went to others, unless the study ended before."""
    if study.closed_at is not None or study.closes_at is not None:
        return
    for chunk in _sets_in_chunks(study, finished_at__isnull=False):
        named = {item_id for one in chunk for item_id in one.item_ids}
        people = {one.participant_id for one in chunk}
        answers = Annotation.objects.filter(participant__in=people, item__in=named).order_by()
        given = set(answers.values_list("participant", "item").iterator())
        for one in chunk:
            asked = set(one.item_ids) - set(one.lost_ids)
            missing = sum((one.participant_id, item_id) not in given for item_id in asked)
            if missing:
                yield f"{_name(one)} lacks {missing} of {one.total} answers"


def answer_outside_its_set(study: Study) -> Iterable[str]:
    """An answer names the set, and the place in it, in which it was given."""
    given = Annotation.objects.filter(study=study, item_set__isnull=False)
    yield from name_answers(given.exclude(item_set__participant_id=F("participant_id")))
    for chunk in _sets_in_chunks(study):
        places = {
            (one.pk, item_id): place
            for one in chunk
            for place, item_id in enumerate(one.item_ids, start=1)
        }
        answers = given.filter(item_set__in=[one.pk for one in chunk]).order_by("pk")
        wrong = [
            pk
            for pk, set_id, item_id, place in answers.values_list(
                "pk", "item_set", "item", "place"
            ).iterator()
            if (set_id, item_id) not in places or place not in (0, places[set_id, item_id])
        ]
        yield from name_answers(given.filter(pk__in=wrong))


CHECKS = checks_in(
    ("Sets name an item twice", set_that_names_an_item_twice),
    ("Sets name items that are not of their study", set_with_items_from_elsewhere),
    ("Sets have lost items that they never had", set_that_lost_what_it_never_had),
    ("Finished sets have no code", finished_set_without_a_code),
    ("Finished sets have places without an answer", finished_set_with_open_places),
    ("Answers name a set or a place that is not theirs", answer_outside_its_set),
)
