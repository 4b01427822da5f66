"""Places: k for each item, each free, held by one person, or filled by one answer.

Sets hold distinct items of the study; each place is answered by the time a set is finished.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Value

from evalsite.core.audit.models import AuditEntry
from evalsite.data.fsck.findings import (
    checks_in,
    is_in_progress,
    name_answers,
    name_places,
    named,
    names_answers,
    names_places,
)
from evalsite.handout.models import TOP_UP_ACTION, TOP_UP_FROM, Annotation, Slot, SlotQuerySet
from evalsite.lib.prepared import Prepared
from evalsite.people.models import ItemSet, StopKind, Visit
from evalsite.people.platforms import Outcome
from evalsite.studies.models import Item, Study


def _slots(study_id: Any) -> SlotQuerySet:
    # by way of the items, which have an index by study
    return Slot.objects.filter(item__study_id=study_id)


@names_places
def done_without_answer(study_id: Any) -> QuerySet[Any]:
    holder = Annotation.objects.filter(slot=OuterRef("pk"))
    return _slots(study_id).done().filter(~Exists(holder))


@names_answers
def answer_in_a_place_not_done(study_id: Any) -> QuerySet[Any]:
    holding = Annotation.objects.filter(study_id=study_id, slot__isnull=False)
    return holding.exclude(slot__state=2)


@named(lambda slot, n: f"place {slot} has {n} answers")
def place_with_several_answers(study_id: Any) -> QuerySet[Any, Any]:
    holding = Annotation.objects.filter(slot__item__study_id=study_id).order_by()
    several = holding.values("slot").annotate(n=Count("pk")).filter(n__gt=1)
    return several.order_by("slot").values_list("slot", "n")


@names_answers
def answer_in_anothers_place(study_id: Any) -> QuerySet[Any]:
    holding = Annotation.objects.filter(study_id=study_id, slot__isnull=False)
    return holding.exclude(slot__participant=F("participant"))


@names_answers
def answer_in_a_place_of_another_item(study_id: Any) -> QuerySet[Any]:
    holding = Annotation.objects.filter(study_id=study_id, slot__isnull=False)
    return holding.exclude(slot__item=F("item"))


@names_places
def place_in_an_impossible_state(study_id: Any) -> QuerySet[Any]:
    is_not_done = Q(kept_until__isnull=True)
    is_free = is_not_done & Q(state=0, participant__isnull=True, lease_until__isnull=True)
    is_leased = is_not_done & Q(state=1, participant__isnull=False, lease_until__isnull=False)
    is_done = Q(state=2, participant__isnull=False, lease_until__isnull=True)
    return _slots(study_id).exclude(is_free | is_leased | is_done)


@named(lambda person, item, n: f"{person} has {n} places of item {item}")
def two_places_of_an_item_for_one_person(study_id: Any) -> QuerySet[Any, Any]:
    taken = _slots(study_id).filter(participant__isnull=False).order_by()
    pair = ("participant__pseudonym", "item__key")
    pairs = taken.values(*pair).annotate(n=Count("pk")).filter(n__gt=1)
    return pairs.order_by(*pair).values_list(*pair, "n")


@named(lambda item, no, n: f"item {item} has {n} places of number {no}")
def place_number_twice(study_id: Any) -> QuerySet[Any, Any]:
    place = ("item__key", "no")
    numbers = _slots(study_id).order_by().values(*place).annotate(n=Count("pk")).filter(n__gt=1)
    return numbers.order_by(*place).values_list(*place, "n")


def item_without_its_k_places(study: Study) -> Iterable[str]:
    """Find main items of opened batches without k places; top-ups come on top."""
    if is_in_progress(study):
        return
    for key, places in (
        *_items_without_places.all(study.pk),
        *_items_of_another_k.all(study.pk, study.k),
    ):
        yield f"item {key} has {places} places of {study.k}"


@Prepared
def _items_without_places(study_id: Any) -> QuerySet[Any, Any]:
    items = Item.objects.main().filter(study_id=study_id, batch__opened_at__isnull=False)
    designed = Slot.objects.filter(item=OuterRef("pk"), no__lt=TOP_UP_FROM)
    bare = items.filter(~Exists(designed)).order_by("pk")
    return bare.annotate(n=Value(0)).values_list("key", "n")


@Prepared
def _items_of_another_k(study_id: Any, k: Any) -> QuerySet[Any, Any]:
    slots = _slots(study_id).filter(no__lt=TOP_UP_FROM, item__batch__opened_at__isnull=False)
    counts = (
        slots.filter(item__kind=Item.Kind.MAIN).order_by().values("item").annotate(n=Count("pk"))
    )
    return counts.exclude(n=k).order_by("item").values_list("item__key", "n")


def place_before_its_batch_is_open(study: Study) -> Iterable[str]:
    if is_in_progress(study):
        return ()
    return name_places(_slots(study.pk).filter(item__batch__opened_at__isnull=True))


@names_places
def place_of_a_control(study_id: Any) -> QuerySet[Any]:
    return _slots(study_id).exclude(item__kind=Item.Kind.MAIN)


def top_up_that_nobody_recorded(study: Study) -> Iterable[str]:
    added = _slots(study.pk).filter(no__gte=TOP_UP_FROM).count()
    entries = AuditEntry.objects.filter(study_id=study.pk, action=TOP_UP_ACTION)
    recorded = sum(entry.detail.get("slots", 0) for entry in entries)
    if added > recorded:
        yield f"{added:,} places are top-ups, but the log has {recorded:,}"


@names_places
def place_held_by_somebody_absent(study_id: Any) -> QuerySet[Any]:
    absent = Q(participant__withdrawn_at__isnull=False) | Q(participant__is_pilot=True)
    return _slots(study_id).leased().filter(absent)


# --- sets ---------------------------------------------------------------------------------------

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
    """Yield all sets, those of one person together."""
    sets = ItemSet.objects.filter(study=study, **fields).order_by("participant", "number")
    rows = sets.values_list(
        "pk", "participant", "participant__pseudonym", "number", "item_ids", "lost_ids"
    ).iterator()
    while chunk := [_Set(*row) for row in islice(rows, _CHUNK)]:
        yield chunk


def set_of_impossible_items(study: Study) -> Iterable[str]:
    """Find sets whose items aren't distinct, or that lost what they didn't hold."""
    for chunk in _sets_in_chunks(study):
        for item_set in chunk:
            items = set(item_set.item_ids)
            if len(items) != len(item_set.item_ids) or not items.issuperset(item_set.lost_ids):
                yield str(item_set)


def set_with_items_from_elsewhere(study: Study) -> Iterable[str]:
    for chunk in _sets_in_chunks(study):
        listed = {item_id for item_set in chunk for item_id in item_set.item_ids}
        known = set(Item.objects.filter(study=study, pk__in=listed).values_list("pk", flat=True))
        yield from (str(item_set) for item_set in chunk if not known.issuperset(item_set.item_ids))


@named(lambda pseudonym, number: f"set {number} of {pseudonym}")
def finished_set_without_a_code(study_id: Any) -> QuerySet[Any, Any]:
    uncoded = ItemSet.objects.filter(study_id=study_id, finished_at__isnull=False, code="")
    rows = uncoded.order_by("participant", "number")
    return rows.values_list("participant__pseudonym", "number")


def finished_set_with_open_places(study: Study) -> Iterable[str]:
    """Find places that weren't answered and didn't go to others, unless the study has ended."""
    if study.closed_at is not None or study.closes_at is not None:
        return
    for chunk in _sets_in_chunks(study, finished_at__isnull=False):
        people = {item_set.participant_id for item_set in chunk}
        answers = Annotation.objects.filter(participant__in=people).order_by()
        answered = set(answers.values_list("participant", "item").iterator())
        for item_set in chunk:
            asked = set(item_set.item_ids) - set(item_set.lost_ids)
            missing = sum((item_set.participant_id, item_id) not in answered for item_id in asked)
            if missing:
                yield f"{item_set} lacks {missing} of {len(asked)} answers"


def answer_outside_its_set(study: Study) -> Iterable[str]:
    """Find answers that name another set, or another place in it, than they were given in."""
    yield from _answer_in_a_set_of_another_person(study)
    for chunk in _sets_in_chunks(study):
        items = {item_set.pk: item_set.item_ids for item_set in chunk}
        people = {item_set.participant_id for item_set in chunk}
        # by person alone: an index by study would read all answers for each chunk
        answers = Annotation.objects.filter(participant__in=people).order_by()
        rows = answers.values_list("pk", "item_set", "item", "place").iterator()
        wrong = [
            pk
            for pk, set_id, item, place in rows
            if set_id in items and not _is_at(items[set_id], item, place)
        ]
        if wrong:
            yield from name_answers(Annotation.objects.filter(pk__in=wrong))


@names_answers
def _answer_in_a_set_of_another_person(study_id: Any) -> QuerySet[Any]:
    in_sets = Annotation.objects.filter(study_id=study_id, item_set__isnull=False)
    return in_sets.exclude(item_set__participant_id=F("participant_id"))


def _is_at(items: list[int], item: int, place: int) -> bool:
    """Return whether the item is in this place, from 1; 0 if the place wasn't recorded."""
    return item in items if place == 0 else items[place - 1 : place] == [item]


@named(lambda participant_id: f"visit of {participant_id}")
def visit_with_a_wrong_set(study_id: Any) -> QuerySet[Any, Any]:
    """Find visits with a set of somebody else, or completed ones with an unfinished set.

    The set may be unfinished if the work ended for our reasons.
    """
    visits = Visit.objects.filter(study_id=study_id, item_set__isnull=False)
    is_unfinished = Q(outcome=Outcome.COMPLETED, item_set__finished_at__isnull=True)
    is_unfinished &= ~Q(participant__stopped_for=StopKind.OURS)
    wrong = ~Q(item_set__participant_id=F("participant_id")) | is_unfinished
    return visits.filter(wrong).order_by("pk").values_list("participant_id")


CHECKS = checks_in(
    ("Places are done, but no answer fills them", done_without_answer),
    ("Answers fill places that are not done", answer_in_a_place_not_done),
    ("Places are filled by more than one answer", place_with_several_answers),
    ("Answers fill a place of another person", answer_in_anothers_place),
    ("Answers fill a place of another item", answer_in_a_place_of_another_item),
    ("Places are in a state that does not exist", place_in_an_impossible_state),
    ("People have more than one place of an item", two_places_of_an_item_for_one_person),
    ("Places of an item share a number", place_number_twice),
    ("Items don't have the places that the study asks for", item_without_its_k_places),
    ("Items have places though their batch is not open", place_before_its_batch_is_open),
    ("Items outside the k answers have places", place_of_a_control),
    ("Places were added without an entry in the log", top_up_that_nobody_recorded),
    ("Places are held by people who left or only try the study", place_held_by_somebody_absent),
    ("Sets name an item twice, or have lost what they never had", set_of_impossible_items),
    ("Sets name items that are not of their study", set_with_items_from_elsewhere),
    ("Finished sets have no code", finished_set_without_a_code),
    ("Finished sets have places without an answer", finished_set_with_open_places),
    ("Answers name a set or a place that is not theirs", answer_outside_its_set),
    ("Visits name a set of another person, or one that isn't finished", visit_with_a_wrong_set),
)
