"""Items that belong to certain people: giving them out, dealing them in sets, moving them on.

An assigned place has no lease. The k answers of an item count no matter who gives them: its free
places are assigned first, and if there is none left, the item gets one more.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from django.core.exceptions import ValidationError
from django.db.models import Count, Max, Q, QuerySet

from evalsite.handout.leases import lapsed_slots, lease_again, lock_participant
from evalsite.handout.models import ASSIGNED, TOP_UP_FROM, Annotation, Slot
from evalsite.handout.slots import CHUNK, plan_arrangements
from evalsite.lib.deadlocks import in_transaction
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Item, Study

# people and the items that each of them is given
Shares = Mapping[Participant, Sequence[int]]


@dataclass(frozen=True, kw_only=True)
class Assigned:
    """What assigning did, or would do: so many places, and how many of them are new."""

    places: int
    added: int
    # items that have more places than before, and the most that one of them has
    items: int
    most: int


def list_left(participant: Participant) -> list[Slot]:
    """Return this person's assigned places that are to be dealt, in their order."""
    slots = Slot.objects.assigned().filter(participant=participant, item__held_at__isnull=True)
    return list(slots.select_related("item").order_by("pos", "id"))


def pick_assigned(participant: Participant, study: Study) -> list[Slot]:
    """Return the places of this person's next set: whole groups where these stay together."""
    units: dict[object, list[Slot]] = defaultdict(list)
    is_together = study.groups == Study.Groups.TOGETHER
    for slot in list_left(participant):
        units[slot.item.group if is_together else slot.pk].append(slot)
    picked: list[Slot] = []
    for unit in units.values():
        if picked and len(picked) + len(unit) > study.set_size:
            break
        picked += unit
    return picked


# --- giving out -----------------------------------------------------------------------------


def foresee_assigning(study: Study, item_ids: Collection[int], times: Counter[int]) -> Assigned:
    """Return what it takes to assign each of these items so many times."""
    slots = Slot.objects.filter(item__in=item_ids).order_by()
    is_free = Q(state=0) | Q(pk__in=lapsed_slots(study))
    free = dict(slots.filter(is_free).values_list("item").annotate(n=Count("pk")))
    places = dict(slots.values_list("item").annotate(n=Count("pk")))
    more = {item: times[item] - free.get(item, 0) for item in times}
    more = {item: n for item, n in more.items() if n > 0}
    return Assigned(
        places=sum(times.values()),
        added=sum(more.values()),
        items=len(more),
        most=max((places.get(item, 0) + n for item, n in more.items()), default=study.k),
    )


def assign_items(study: Study, shares: Shares) -> Assigned:
    """Give these people their items, each as a place of its own. In the caller's transaction."""
    item_ids = sorted({item for items in shares.values() for item in items})
    _release_lapsed(study, item_ids)
    locked = Slot.objects.free().filter(item__in=item_ids).select_for_update().order_by("pos", "id")
    free: dict[int, deque[int]] = defaultdict(deque)
    for pk, item in locked.values_list("pk", "item_id"):
        free[item].append(pk)
    missing: list[tuple[Participant, int]] = []
    for person, items in shares.items():
        taken = {item: free[item].popleft() for item in items if free[item]}
        Slot.objects.filter(pk__in=[*taken.values()]).update(
            state=Slot.State.LEASED, participant=person, lease_until=ASSIGNED
        )
        missing += [(person, item) for item in items if item not in taken]
    return _add_places(study, missing, total=sum(map(len, shares.values())))


def _release_lapsed(study: Study, item_ids: list[int]) -> None:
    """Free places of these items that lapsed: nobody works on them."""
    lapsed = lapsed_slots(study).filter(item__in=item_ids)
    locked = lapsed.select_for_update(skip_locked=True).order_by("pos", "id")
    pks = list(locked.values_list("pk", flat=True))
    Slot.objects.filter(pk__in=pks).update(
        state=Slot.State.FREE, participant=None, lease_until=None
    )


def _add_places(study: Study, missing: list[tuple[Participant, int]], *, total: int) -> Assigned:
    """Make places beyond k for what no free place was left of, in the order planned for them."""
    items = sorted({item for _, item in missing})
    extra = Slot.objects.filter(item__in=items, no__gte=TOP_UP_FROM).order_by().values_list("item")
    counts: Counter[int] = Counter(dict(extra.annotate(n=Count("pk"))))
    last = dict(extra.annotate(last=Max("no")))
    number = {item: last.get(item, TOP_UP_FROM - 1) for item in items}
    total_counts = counts + Counter(item for _, item in missing)
    layers = plan_arrangements(study, max(total_counts.values(), default=0)) if missing else []
    top = Slot.objects.filter(study=study).aggregate(top=Max("pos"))["top"]
    pos = 0 if top is None else top + 1
    ranks = _rank_groups(study, items)
    slots = []
    for person, item in missing:
        layer, number[item] = counts[item], number[item] + 1
        counts[item] += 1
        slots.append(
            Slot(
                study=study,
                item_id=item,
                no=number[item],
                pos=pos + layer * len(ranks) + ranks[item],
                arrangement=layers[layer][item],
                state=Slot.State.LEASED,
                participant=person,
                lease_until=ASSIGNED,
            )
        )
    Slot.objects.bulk_create(slots, batch_size=CHUNK)
    places = Slot.objects.filter(item__in=items).order_by().values("item")
    most = places.annotate(n=Count("pk")).aggregate(most=Max("n"))["most"]
    return Assigned(places=total, added=len(slots), items=len(items), most=most or study.k)


def _rank_groups(study: Study, items: Collection[int]) -> dict[int, int]:
    """Return each item's place in a layer: that of its group where groups stay together."""
    is_together = study.groups == Study.Groups.TOGETHER
    rows = Item.objects.filter(pk__in=items).order_by("group_shuffle_key", "shuffle_key", "pk")
    ranks: dict[object, int] = {}
    rank_of = {}
    for pk, group in rows.values_list("pk", "group"):
        rank_of[pk] = ranks.setdefault(group if is_together else pk, len(ranks))
    return rank_of


# --- moving on --------------------------------------------------------------------------------


def move_assigned(
    study: Study, *, holder: Participant, to: Participant | None, but: Collection[int] = ()
) -> int:
    """Give what this person has left to another, or free it; return how many items that are.

    `but`: items that they keep. What they have on screen can still be saved: it counts if the item
    needs it then.
    """
    return in_transaction(partial(_move_assigned, study, holder, to, but))


def _move_assigned(
    study: Study, holder: Participant, to: Participant | None, but: Collection[int]
) -> int:
    for person in sorted(filter(None, (holder, to)), key=lambda person: person.pk):
        lock_participant(person)
    assigned = Slot.objects.assigned().filter(participant=holder).select_for_update()
    kept = set(but)
    slots = {
        slot.pk: slot.item_id for slot in assigned.order_by("pos", "id") if slot.item_id not in kept
    }
    if to is not None and find_who_has_any_of(slots.values()).filter(pk=to.pk).exists():
        raise ValidationError(
            "This person has some of these items already. Choose someone else.", code="has_items"
        )
    if to is None:
        Slot.objects.filter(pk__in=slots).update(
            state=Slot.State.FREE, participant=None, lease_until=None
        )
    else:
        Slot.objects.filter(pk__in=slots).update(participant=to)
    open_set = ItemSet.objects.filter(participant=holder, finished_at__isnull=True).first()
    if open_set is not None:
        gone = {*open_set.lost_ids, *slots.values()}
        open_set.lost_ids = [item for item in open_set.item_ids if item in gone]
        open_set.save(update_fields=["lost_ids"])
        # controls go with what they were dealt among
        lease_again(open_set, holder, study)
    return len(slots)


def find_who_has_any_of(item_ids: Collection[int]) -> QuerySet[Participant]:
    """Return those who have been given, or have answered, any of these items."""
    items = list(item_ids)
    taken = Slot.objects.filter(item__in=items, participant__isnull=False)
    answered = Annotation.objects.filter(item__in=items)
    return Participant.objects.filter(
        Q(pk__in=taken.values("participant")) | Q(pk__in=answered.values("participant"))
    )
