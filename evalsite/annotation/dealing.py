"""Handing out work: slots made at launch, dealt in sets under a lease (reliability.md section 2).

Counts are always derived from rows; there is no counter that could drift.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from evalsite.annotation.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.lib.seeds import SHUFFLE_PRIME, derive_number, make_random
from evalsite.participants.models import ItemSet, Participant
from evalsite.studies.models import Batch, Item, Study

CHUNK = 20_000
_TRIES = 3
_REAP = 5


class LostRace(Exception):
    """Somebody else took a slot between the look and the update: look again."""


# --- making slots -----------------------------------------------------------------


def make_slots(
    study: Study,
    batches: Iterable[Batch],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Each main item of these batches has k slots; returns how many slots they have.

    In layers: every item once in a seeded order, then again in another. May be run again after
    a stop in the middle: what stands already is left as it is.
    """
    ids = [batch.pk for batch in batches]
    items = Item.objects.main().filter(study=study, batch__in=ids).order_by("id")
    # Only the ids of chunk borders are kept, so memory stays flat at any size.
    all_ids = list(items.values_list("id", flat=True).iterator())
    base = _first_free_layer(study, ids)
    total = len(all_ids) * study.k
    done = 0
    for no in range(study.k):
        for start in range(0, len(all_ids), CHUNK):
            chunk = all_ids[start : start + CHUNK]
            _insert_layer(study, ids, no, base, first=chunk[0], last=chunk[-1])
            done += len(chunk)
            progress(done, total)
    return Slot.objects.filter(study=study, item__batch__in=ids).count()


def _first_free_layer(study: Study, batch_ids: list[Any]) -> int:
    """Where layers of these batches begin: after every layer that other batches have."""
    others = Slot.objects.filter(study=study).exclude(item__batch__in=batch_ids)
    top = others.aggregate(top=Max("pos"))["top"]
    return 0 if top is None else (top // SHUFFLE_PRIME + 1) * SHUFFLE_PRIME


def _insert_layer(
    study: Study, batch_ids: list[Any], no: int, base: int, *, first: int, last: int
) -> None:
    """One layer of slots for one chunk of items, in one short statement.

    The order is item key x factor + shift modulo a prime: another shuffle for each layer, and
    never two items at one place. Items that stay together get their group's key.
    """
    key = "group_shuffle_key" if study.groups == Study.Groups.TOGETHER else "shuffle_key"
    factor = 1 + derive_number(study.seed, "factor", base, no) % (2**22 - 1)
    shift = derive_number(study.seed, "shift", base, no)
    prepare = Item._meta.get_field("batch").target_field.get_db_prep_value
    marks = ", ".join(["%s"] * len(batch_ids))
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO annotation_slot (study_id, item_id, no, pos, arrangement, state) "  # noqa: S608 (names only)
            f"SELECT study_id, id, %s, %s + ({key} * %s + %s) %% %s, %s, 0 FROM studies_item "
            f"WHERE id BETWEEN %s AND %s AND kind = 'main' AND batch_id IN ({marks}) "
            f"ON CONFLICT DO NOTHING",
            [
                no,
                base + no * SHUFFLE_PRIME,
                factor,
                shift,
                SHUFFLE_PRIME,
                no,
                first,
                last,
                *(prepare(batch_id, connection) for batch_id in batch_ids),
            ],
        )


# --- claiming a set ----------------------------------------------------------------


def lease_end(study: Study) -> Any:
    return now() + timedelta(minutes=study.lease_minutes)


def claim_set(participant: Participant) -> ItemSet | None:
    """The participant holds the items of an open set, or None: there is nothing for them now.

    An open set comes back as it was, less what others have finished since its lease lapsed.
    """
    # Locked rows are skipped; before anyone hears that nothing is left, they are waited for. In
    # a transaction of its own: who waits must hold no lock but in the order of the places, and
    # PostgreSQL keeps a lock on each row that it looked at and found taken.
    return _claim_in_tries(participant, skip_locked=True) or _claim_in_tries(
        participant, skip_locked=False
    )


def _claim_in_tries(participant: Participant, *, skip_locked: bool) -> ItemSet | None:
    for _ in range(_TRIES):
        try:
            with transaction.atomic():
                return _claim(participant, skip_locked=skip_locked)
        except (LostRace, IntegrityError):
            # IntegrityError: a late answer of mine took a slot of the same item meanwhile
            continue
    return None


def _claim(participant: Participant, *, skip_locked: bool) -> ItemSet | None:
    # Two tabs of one person queue here, one behind the other. no_key: an answer that is being
    # saved refers to this row, and holds a slot that is wanted here; neither may wait for ever.
    me = Participant.objects.select_for_update(no_key=True).get(pk=participant.pk)
    study = Study.objects.get(pk=me.study_id)
    if me.stopped_at or me.withdrawn_at or not study.is_open:
        return None
    if skip_locked:
        _release_lapsed(study, but=me)
    open_set = ItemSet.objects.filter(participant=me, finished_at__isnull=True).first()
    if open_set is not None and _hold_again(open_set, me, study):
        return open_set
    if open_set is None and not may_have_another_set(me, study):
        return None
    slots = _pick(me, study, skip_locked=skip_locked)
    return _deal(slots, me, study, open_set) if slots else None


def may_have_another_set(me: Participant, study: Study) -> bool:
    """Whether the study's cap of sets leaves room for one more."""
    if study.max_sets is None:
        return True
    return ItemSet.objects.filter(participant=me).count() < study.max_sets


def _lapsed(study: Study) -> QuerySet[Slot]:
    return Slot.objects.leased().filter(study=study, lease_until__lt=now())


def _release_lapsed(study: Study, *, but: Participant) -> None:
    """A few slots whose lease has ended are free again, each with all that share its place."""
    # By heads, as they are dealt: two claims that each lock a part of one group would wait for
    # one another.
    lower = Slot.objects.leased().filter(
        participant=OuterRef("participant"), pos=OuterRef("pos"), id__lt=OuterRef("id")
    )
    heads = (
        _lapsed(study)
        .filter(~Exists(lower))
        .exclude(participant=but)
        .select_for_update(skip_locked=True)
        .order_by("lease_until")
        .values("participant", "pos")[:_REAP]
    )
    for place in heads:
        shared = Slot.objects.leased().filter(study=study, **place)
        locked = list(shared.select_for_update(skip_locked=True).values_list("pk", flat=True))
        # fewer: their holder is back at this very moment, and keeps them
        if len(locked) == shared.count():
            Slot.objects.filter(pk__in=locked).update(
                state=Slot.State.FREE, participant=None, lease_until=None
            )


def _hold_again(open_set: ItemSet, me: Participant, study: Study) -> bool:
    """Renew what I hold of my open set, retake what is free; False when nothing of it is left."""
    until = lease_end(study)
    answered = set(open_set.annotations.values_list("item_id", flat=True))
    mine = Slot.objects.leased().filter(participant=me, study=study)
    # in the order of the places, as they are locked by those who wait
    locked = dict(mine.select_for_update().order_by("pos", "id").values_list("item_id", "pk"))
    Slot.objects.filter(pk__in=locked.values()).update(lease_until=until)
    held = locked.keys() & set(open_set.item_ids)
    kept = []
    for item_id in open_set.item_ids:
        if item_id in answered or item_id in held or _take_slot(item_id, me, until):
            kept.append(item_id)
    if kept != open_set.item_ids:
        open_set.item_ids = kept
        open_set.save(update_fields=["item_ids"])
    return bool(kept)


def _take_slot(item_id: int, me: Participant, until: Any) -> bool:
    slot = free_slot_of(item_id)
    if slot is None:
        return False
    return bool(
        Slot.objects.free()
        .filter(pk=slot.pk, item__held_at__isnull=True)
        .update(state=Slot.State.LEASED, participant=me, lease_until=until)
    )


def free_slot_of(item_id: int) -> Slot | None:
    """A free slot of this item, locked where the database locks rows."""
    return (
        Slot.objects.free()
        .filter(item_id=item_id)
        .select_for_update(skip_locked=True)
        .order_by("no")
        .first()
    )


def renew_leases(me: Participant, study: Study) -> None:
    """Every slot I hold in this study is mine for another full lease."""
    Slot.objects.leased().filter(participant=me, study=study).update(lease_until=lease_end(study))


def _pick(me: Participant, study: Study, *, skip_locked: bool) -> list[Slot]:
    """Free slots for one set, whole groups only, each item once; empty when there are none."""
    if not skip_locked:
        return _pick_from(me, study, -1, skip_locked=False)
    slots = _pick_from(me, study, me.cursor, skip_locked=True)
    if not slots and me.cursor >= 0:
        slots = _pick_from(me, study, -1, skip_locked=True)
    return slots


def _pick_from(me: Participant, study: Study, cursor: int, *, skip_locked: bool) -> list[Slot]:
    chosen: list[Slot] = []
    items: set[int] = set()
    # No more heads are locked than a set can hold: what one locks, others have to do without.
    wanted = 1 if study.groups == Study.Groups.TOGETHER else study.set_size
    while len(chosen) < study.set_size:
        heads = list(_heads(me, study, cursor, skip_locked=skip_locked)[:wanted])
        groups = _groups_at(heads, me)
        for group in groups:
            fresh = [slot for slot in group if slot.item_id not in items]
            if chosen and len(chosen) + len(fresh) > study.set_size:
                return chosen
            chosen += fresh
            items |= {slot.item_id for slot in fresh}
        if len(heads) < wanted:
            return chosen
        cursor = heads[-1].pos
        wanted = max(1, (study.set_size - len(chosen)) // max(map(len, groups), default=1))
    return chosen


def _heads(me: Participant, study: Study, cursor: int, *, skip_locked: bool) -> QuerySet[Slot]:
    """The lowest free slot of each place after the cursor, of items that are new to me."""
    lower = Slot.objects.free().filter(
        study=OuterRef("study"), pos=OuterRef("pos"), id__lt=OuterRef("id")
    )
    mine = Slot.objects.filter(participant=me, item=OuterRef("item"))
    answered = Annotation.objects.filter(participant=me, item=OuterRef("item"))
    return (
        Slot.objects.free()
        .filter(~Exists(lower), ~Exists(mine), ~Exists(answered))
        .filter(study=study, pos__gt=cursor, item__held_at__isnull=True)
        .select_for_update(skip_locked=skip_locked, of=("self",))
        .order_by("pos", "id")
    )


def _groups_at(heads: list[Slot], me: Participant) -> list[list[Slot]]:
    """The free slots that share a place with each head, without items that I have already."""
    if not heads:
        return []
    mine = Slot.objects.filter(participant=me, item=OuterRef("item"))
    answered = Annotation.objects.filter(participant=me, item=OuterRef("item"))
    slots = (
        Slot.objects.free()
        .filter(~Exists(mine), ~Exists(answered), item__held_at__isnull=True)
        .filter(study_id=heads[0].study_id, pos__in=[head.pos for head in heads])
        .select_related("item")
        .order_by("pos", "id")
    )
    groups: dict[int, list[Slot]] = {head.pos: [] for head in heads}
    for slot in slots:
        groups[slot.pos].append(slot)
    return [group for group in groups.values() if group]


def _deal(slots: list[Slot], me: Participant, study: Study, emptied: ItemSet | None) -> ItemSet:
    """These slots are leased to me as my set; LostRace if one of them was taken meanwhile.

    A set of mine that others have emptied is filled again. It is never deleted: an answer that
    arrives late may still name it.
    """
    taken = (
        Slot.objects.free()
        .filter(pk__in=[slot.pk for slot in slots])
        .update(state=Slot.State.LEASED, participant=me, lease_until=lease_end(study))
    )
    if taken != len(slots):
        raise LostRace
    me.cursor = max(slot.pos for slot in slots)
    me.save(update_fields=["cursor"])
    mine = emptied or ItemSet(study=study, participant=me, number=_next_number(me))
    mine.item_ids = _order_items([slot.item for slot in slots], me, study, mine.number)
    mine.save()
    return mine


def _next_number(me: Participant) -> int:
    return (ItemSet.objects.filter(participant=me).aggregate(last=Max("number"))["last"] or 0) + 1


def _order_items(items: list[Item], me: Participant, study: Study, number: int) -> list[int]:
    """The order of a set: as uploaded, or shuffled for this participant, groups in one piece."""
    if study.item_order == Study.ItemOrder.UPLOADED:
        return sorted(item.pk for item in items)
    draw = make_random(study.seed, "set", me.pseudonym, number)
    groups: dict[str, list[int]] = {}
    for item in sorted(items, key=lambda item: item.key):
        together = item.group if study.groups == Study.Groups.TOGETHER else item.key
        groups.setdefault(together, []).append(item.pk)
    order = list(groups.values())
    draw.shuffle(order)
    for group in order:
        draw.shuffle(group)
    return [item_id for group in order for item_id in group]


def has_work(me: Participant, study: Study) -> bool:
    """Whether a claim by this person would find something now."""
    if not study.is_open or me.stopped_at or not may_have_another_set(me, study):
        return False
    mine = Slot.objects.filter(participant=me, item=OuterRef("item"))
    answered = Annotation.objects.filter(participant=me, item=OuterRef("item"))
    # a claim frees what has lapsed, so that is work too
    return any(
        slots.filter(~Exists(mine), ~Exists(answered), item__held_at__isnull=True).exists()
        for slots in (Slot.objects.free().filter(study=study), _lapsed(study))
    )


# --- pilots -------------------------------------------------------------------------


def deal_pilot_set(participant: Participant) -> ItemSet | None:
    """A pilot participant has a set of the first items; no slot is touched. None: no items left."""
    with transaction.atomic():
        me = Participant.objects.select_for_update().get(pk=participant.pk)
        open_set = ItemSet.objects.filter(participant=me, finished_at__isnull=True).first()
        if open_set is not None:
            return open_set
        study = Study.objects.get(pk=me.study_id)
        seen = Q(annotations__participant=me)
        items = list(
            Item.objects.main().filter(study=study).exclude(seen).order_by("id")[: study.set_size]
        )
        if not items:
            return None
        number = _next_number(me)
        return ItemSet.objects.create(
            study=study,
            participant=me,
            number=number,
            item_ids=_order_items(items, me, study, number),
        )
