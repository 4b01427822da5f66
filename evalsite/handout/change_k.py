"""Places fitted to k in a study that runs: none beyond k, and no answer waiting for a free one.

What people gave is never deleted. An answer that loses its place is surplus; a surplus answer of
an item with a free place gets that place.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from evalsite.handout.models import TOP_UP_FROM, Annotation, Slot, SlotQuerySet, order_of
from evalsite.lib.deadlocks import in_transaction
from evalsite.studies.models import Batch, Item, Study

# items of one transaction, so that saves don't wait long on SQLite
_CHUNK = 500

_STATE = Slot.State


@dataclass(frozen=True, kw_only=True)
class Fit:
    """What fitting the places to another k does, in numbers."""

    free_gone: int = 0
    leased_gone: int = 0
    now_surplus: int = 0
    now_counted: int = 0
    added: int = 0

    def __add__(self, other: "Fit") -> "Fit":
        sums = {name: value + getattr(other, name) for name, value in vars(self).items()}
        return replace(self, **sums)


def _designed(study: Study) -> SlotQuerySet:
    """Return the places of the design; top-ups are none, and stay."""
    return Slot.objects.filter(item__study=study, no__lt=TOP_UP_FROM)


def _waiting(study: Study) -> QuerySet[Annotation]:
    """Return surplus answers that count once there is a place for them.

    Problem reports never do, nor answers to which their person hasn't agreed.
    """
    surplus = Annotation.objects.agreed().filter(study=study, status=Annotation.Status.SURPLUS)
    return surplus.exclude(outcome=Annotation.Outcome.REPORTED)


def foresee_fit(study: Study, k: int) -> Fit:
    """Return what would happen if this study asked for k answers per item from now on."""
    if k > study.k:
        return _foresee_more(study, k)
    fit = Fit()
    items = _designed(study).order_by().values("item")
    counts = items.annotate(
        places=Count("pk"),
        free=Count("pk", filter=Q(state=0)),
        leased=Count("pk", filter=Q(state=1)),
    )
    too_many = counts.filter(places__gt=k).values_list("places", "free", "leased")
    for places, free, leased in too_many.iterator():
        free_gone = min(places - k, free)
        leased_gone = min(places - k - free_gone, leased)
        now_surplus = places - k - free_gone - leased_gone
        fit += Fit(free_gone=free_gone, leased_gone=leased_gone, now_surplus=now_surplus)
    return fit


def _foresee_more(study: Study, k: int) -> Fit:
    items = Item.objects.main().filter(study=study, batch__opened_at__isnull=False).count()
    free = dict(_designed(study).free().order_by().values_list("item").annotate(n=Count("pk")))
    waiting = _waiting(study).filter(item__batch__opened_at__isnull=False).order_by()
    per_item = waiting.values_list("item").annotate(n=Count("pk"))
    more = k - study.k
    counted = sum(min(n, free.get(item, 0) + more) for item, n in per_item.iterator())
    return Fit(added=items * more, now_counted=counted)


# --- fewer ------------------------------------------------------------------------------


def remove_places(study: Study, note: Callable[[Fit], None]) -> None:
    """Leave no item more than k places of the design.

    Free places go first, then those that somebody holds, then those of the newest answers, which
    become surplus.

    `note` is called with what was done, in the transaction that did it.
    """
    every = Item.objects.main().filter(study=study).order_by("pk").values_list("pk", flat=True)
    last = 0
    while items := list(every.filter(pk__gt=last)[:_CHUNK]):
        with transaction.atomic():
            gone = _remove_free(study, items)
            note(Fit(free_gone=gone))
        for item_id in _too_many(study, items):
            # a person who is dealt a group may wait for a place of this item, and hold another
            in_transaction(partial(_fit_item, study, item_id, note))
        last = items[-1]


def _fit_item(study: Study, item_id: int, note: Callable[[Fit], None]) -> None:
    note(_remove_taken(study, item_id))


def _too_many(study: Study, items: list[int]) -> list[int]:
    counts = _designed(study).filter(item__in=items).order_by().values("item")
    too_many = counts.annotate(n=Count("pk")).filter(n__gt=study.k)
    return list(too_many.values_list("item", flat=True))


def _remove_free(study: Study, items: list[int]) -> int:
    """Delete the free places beyond k, the last of an item first; return how many there were."""
    extra = {
        item: places - study.k
        for item, places in _designed(study)
        .filter(item__in=_too_many(study, items))
        .order_by()
        .values_list("item")
        .annotate(n=Count("pk"))
    }
    free = _designed(study).free().filter(item__in=extra).order_by("item", "-no")
    chosen = []
    for pk, item in free.values_list("pk", "item"):
        if extra[item]:
            chosen.append(pk)
            extra[item] -= 1
    # in the order of the places, as by those who wait for one; who holds one just now keeps it
    locked = Slot.objects.free().filter(pk__in=chosen).select_for_update(skip_locked=True)
    going = list(locked.order_by("pos", "id").values_list("pk", flat=True))
    Slot.objects.filter(pk__in=going).delete()
    return len(going)


def _remove_taken(study: Study, item_id: int) -> Fit:
    """Leave this item k places; of its answers those submitted last become surplus."""
    answers, slots = _lock_item(study, item_id)
    answer_of = {answer.slot_id: answer for answer in answers}
    rank = {pk: number for number, pk in enumerate(answer_of)}
    # kept first: the oldest answers, then held places, then free ones
    slots.sort(key=lambda slot: (-slot.state, rank.get(slot.pk, 0), slot.no))
    going = slots[study.k :]
    surplus = [answer_of[slot.pk].pk for slot in going if slot.state == _STATE.DONE]
    Annotation.objects.filter(pk__in=surplus).update(slot=None, status=Annotation.Status.SURPLUS)
    Slot.objects.filter(pk__in=[slot.pk for slot in going]).delete()
    states = [slot.state for slot in going]
    return Fit(
        free_gone=states.count(_STATE.FREE),
        leased_gone=states.count(_STATE.LEASED),
        now_surplus=len(surplus),
    )


def _lock_item(study: Study, item_id: int) -> tuple[list[Annotation], list[Slot]]:
    """Return the item's answers that count, oldest first, and its places, all of them locked.

    Answers are locked before places, as when an answer is changed.
    """
    counted = Annotation.objects.counted().filter(item=item_id, slot__no__lt=TOP_UP_FROM)
    locked = counted.select_for_update(of=("self",)).order_by("submitted_at", "pk")
    answers = list(locked)
    slots = list(
        _designed(study).filter(item=item_id).select_for_update(of=("self",)).order_by("pos", "id")
    )
    # one that was saved in between is on its place already
    if sum(slot.state == _STATE.DONE for slot in slots) != len(answers):
        answers = list(locked.all())
    return answers, slots


# --- more -------------------------------------------------------------------------------


def list_lacking(study: Study) -> list[Batch]:
    """Return open batches with items of fewer than k places, and all opened with them.

    What was opened together is planned together, also if a job had stopped when some of it was
    done. Only those are given places: after k was lowered an item may have its k places under any
    numbers, and making number 0 again would be one too many.
    """
    places = _designed(study).filter(item=OuterRef("pk")).order_by().values("item")
    count = Subquery(places.annotate(n=Count("pk")).values("n"))
    items = Item.objects.main().filter(study=study, batch__opened_at__isnull=False)
    lacking = items.annotate(places=Coalesce(count, 0)).filter(places__lt=study.k).order_by()
    return list(study.batches.filter(opened_at__in=lacking.values("batch__opened_at")))


def count_places(study: Study, batches: Collection[Batch]) -> int:
    """Return how many places the items of these batches have, top-ups included."""
    return Slot.objects.filter(item__study=study, item__batch__in=batches).count()


def count_waiting(study: Study, note: Callable[[Fit], None]) -> None:
    """Give surplus answers the free places of their items, the oldest first.

    `note` is called with what was done, in the transaction that did it.
    """
    free = Slot.objects.free().filter(item=OuterRef("item"))
    waiting = _waiting(study).filter(Exists(free)).order_by("submitted_at", "pk")
    for pk in list(waiting.values_list("pk", flat=True)):
        with transaction.atomic():
            if _give_place(study, pk):
                note(Fit(now_counted=1))


def _give_place(study: Study, annotation_id: int) -> bool:
    waiting = _waiting(study).select_for_update(of=("self",)).select_related("item")
    answer = waiting.filter(pk=annotation_id).first()
    if answer is None:
        return False
    free = Slot.objects.free().filter(item=answer.item_id).select_for_update(skip_locked=True)
    slots = list(free.order_by("no"))
    if not slots:
        return False
    # one that shows the outputs as the answer saw them, if there is one
    item, shown = answer.item, answer.order_shown
    alike = (
        slot for slot in slots if order_of(study.seed, item, len(shown), slot.arrangement) == shown
    )
    slot = next(alike, slots[0])
    taken = Slot.objects.free().filter(pk=slot.pk)
    if not taken.update(state=_STATE.DONE, participant=answer.participant_id):
        return False
    answer.slot, answer.status = slot, Annotation.Status.COUNTED
    answer.save(update_fields=["slot", "status"])
    return True
