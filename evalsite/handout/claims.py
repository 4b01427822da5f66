"""Handing out work: sets of free slots under a lease.

Counts are always derived from rows; there is no counter that could drift. All writes for a
participant lock that participant's row first, so two tabs of one person never cross.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from random import Random

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from evalsite.handout.assigned import list_left, pick_assigned
from evalsite.handout.controls import deal_in_controls
from evalsite.handout.leases import (
    answered_items,
    could_lease_again,
    find_end,
    lapsed_slots,
    lease_again,
    lease_end,
    lock_participant,
    must_give_way,
    release_lapsed,
    release_places,
    reserve_set,
)
from evalsite.handout.models import Annotation, Slot
from evalsite.handout.network_places import check_network, is_invited
from evalsite.handout.quotas import has_room
from evalsite.handout.rounds import Place
from evalsite.handout.selection import (
    Pick,
    free_place,
    new_to,
    pick_places,
    with_room,
)
from evalsite.lib.clock import now
from evalsite.lib.deadlocks import in_transaction
from evalsite.lib.integrity import is_violation
from evalsite.lib.prepared import Prepared
from evalsite.lib.seeds import make_random
from evalsite.people.models import ItemSet, Participant, Refusal
from evalsite.people.networks import Network
from evalsite.people.platforms import Outcome
from evalsite.people.recognition import is_kept_out
from evalsite.people.services import record_entry
from evalsite.people.visits import end_visit, find_visit, is_over
from evalsite.studies.models import Item, Study
from evalsite.studies.set_size import mains_per_set

_TRIES = 3
_study_of = Prepared(lambda pk: Study.objects.for_pages().filter(pk=pk).order_by())
_last_set_of = Prepared(
    lambda participant: ItemSet.objects.filter(participant=participant).order_by("-number")[:1]
)


class LostRace(Exception):
    """Someone else took a slot between the query and the update: try again."""


# decides whether a person may take part, in the transaction that deals their first set
Admission = Callable[[Participant], bool]


def claim_set(
    participant: Participant, *, admit: Admission | None = None, network: Network | None = None
) -> ItemSet | None:
    """Give the participant the items of an open set; None: there is nothing for them now.

    An open set comes back as it was, less what others have finished since its lease lapsed. In a
    study that is paused or closed it comes back with what is still held, and nothing new is dealt.
    `admit` is called in each transaction that is tried, the last of which may have been undone.
    Raise NetworkIsFull, and change nothing, if people of this network hold too much.
    """
    # Locked rows are skipped; before anyone hears that nothing is left, they are waited for. In
    # a transaction of its own: who waits must hold no lock but in the order of the places, and
    # PostgreSQL keeps a lock on each row that it looked at and found taken.
    claim = partial(_claim, participant, admit, network)
    return _claim_in_tries(claim, skip_locked=True) or _claim_in_tries(claim, skip_locked=False)


def _claim_in_tries(claim: Callable[..., ItemSet | None], *, skip_locked: bool) -> ItemSet | None:
    for _ in range(_TRIES):
        try:
            # who changes k locks the places of an item, and this those of a group
            return in_transaction(partial(claim, skip_locked=skip_locked))
        except LostRace:
            continue
        except IntegrityError as error:
            if not is_lost_race(error):
                raise
    return None


def is_lost_race(error: IntegrityError) -> bool:
    """Return whether this person was dealt one of these items, or another set, just now."""
    return is_violation(error, Slot, "one_slot_of_an_item_per_participant") or is_violation(
        error, ItemSet, "one_open_set_per_participant", "set_number_once_per_participant"
    )


def _claim(
    participant: Participant,
    admit: Admission | None,
    network: Network | None,
    *,
    skip_locked: bool,
) -> ItemSet | None:
    locked = lock_participant(participant)
    study = _study_of.one(locked.study_id)
    # a person who has declined in another tab holds nothing
    if study is None or locked.stopped_at or locked.withdrawn_at or not locked.consented_to:
        return None
    is_admitted = admit(participant) if admit else locked.is_eligible is not False
    last_set = _last_set_of.one(locked.pk)
    open_set = last_set if last_set and last_set.finished_at is None else None
    place = Place(locked, study)
    has_quota = is_admitted and _has_room(locked, study, last_set, is_locking=True)
    if not has_quota or not place.is_to_be_had(open_set):
        return None
    if open_set is not None:
        if must_give_way(open_set, study):
            release_places(locked)
            return None
        if _lease_again(open_set, locked, study, network):
            place.take(open_set)
            return open_set
    if not study.is_open or (open_set is None and not may_have_another_set(locked, study)):
        return None
    number = last_set.number + 1 if last_set else 1
    mine = open_set or ItemSet(study=study, participant=locked, number=number)
    if locked.is_expert:
        return _deal_assigned(locked, study, mine, place)
    _take_network(locked, study, network)
    return _deal_new(locked, study, mine, place, skip_locked=skip_locked)


def _lease_again(
    open_set: ItemSet, participant: Participant, study: Study, network: Network | None
) -> bool:
    """Keep or retake my open set; what has lapsed counts like a new set of my network."""
    if network is not None:
        end = find_end(participant, study)
        missing = {*open_set.item_ids} - {*open_set.lost_ids}
        if (end is None or end <= now()) and missing - answered_items(open_set):
            _take_network(participant, study, network)
    return lease_again(open_set, participant, study)


def _take_network(participant: Participant, study: Study, network: Network | None) -> None:
    """Let this person take places from this network; NetworkIsFull if it has too many."""
    if network is None or is_invited(participant):
        return
    check_network(study, network, participant, is_locking=True)
    participant.network, participant.network_at = network.today, now()
    participant.save(update_fields=["network", "network_at"])


def _has_room(
    participant: Participant, study: Study, last_set: ItemSet | None, *, is_locking: bool = False
) -> bool:
    """Return whether the quotas leave room; who has answered something keeps their place."""
    is_earned = last_set is not None and last_set.reserved_until is None
    return is_earned or has_room(participant, study, is_locking=is_locking)


def _deal_new(
    participant: Participant, study: Study, mine: ItemSet, place: Place, *, skip_locked: bool
) -> ItemSet | None:
    pick = _pick(participant, study, skip_locked=skip_locked)
    # others may be about to give back what they only looked at: no short set before that is sure
    if not pick.places or (skip_locked and not pick.is_full):
        return None
    item_set = _deal(pick, participant, study, mine)
    place.take(item_set)
    return item_set


def _deal_assigned(
    participant: Participant, study: Study, mine: ItemSet, place: Place
) -> ItemSet | None:
    slots = pick_assigned(participant, study)
    if not slots:
        return None
    _fill(mine, slots, participant, study)
    place.take(mine)
    return mine


def _pick(participant: Participant, study: Study, *, skip_locked: bool) -> Pick:
    """Return what I can be dealt now, including what others have let lapse if that is needed."""
    left = items_left(participant, study)
    if not skip_locked:
        return pick_places(participant, study, left=left, skip_locked=False)
    is_more = release_lapsed(study, but=participant)
    pick = pick_places(participant, study, left=left, skip_locked=True)
    while not pick.is_full and is_more:
        is_more = release_lapsed(study, but=participant)
        pick = pick_places(participant, study, left=left, skip_locked=True)
    return pick


def may_have_another_set(participant: Participant, study: Study) -> bool:
    """Return whether the study's caps of sets and of items leave room for one more.

    Experts have no cap but what they were given.
    """
    if participant.is_expert:
        return bool(list_left(participant))
    if items_left(participant, study) == 0:
        return False
    if study.max_sets is None:
        return True
    return ItemSet.objects.filter(participant=participant).count() < study.max_sets


def items_left(participant: Participant, study: Study) -> int | None:
    """Return how many main items this person may still be dealt; None: there is no cap of items."""
    if study.max_items is None:
        return None
    taken = Slot.objects.filter(participant=participant, study=study).count()
    # what was reported or withdrawn, or came too late to count, was work too
    items = Item.objects.planned()
    more = Annotation.objects.filter(participant=participant, slot=None, item__in=items).count()
    return max(0, study.max_items - taken - more)


def _deal(pick: Pick, participant: Participant, study: Study, mine: ItemSet) -> ItemSet:
    """Lease these places to this person as a set; LostRace if one of them was taken meanwhile.

    A set of mine that others have emptied is filled again, behind the places it had. It is never
    deleted: an answer that arrives late may still name it.
    """
    slots = pick.slots
    is_first = mine.number == 1 and not answered_items(mine)
    is_unearned = is_first or mine.reserved_until is not None
    until = reserve_set(mine, study) if is_unearned else lease_end(study, 0)
    mine.leased_until = until
    taken = (
        Slot.objects.free()
        .filter(pk__in=[slot.pk for slot in slots])
        .update(state=Slot.State.LEASED, participant=participant, lease_until=until)
    )
    if taken != len(slots):
        raise LostRace
    if participant.cursor != pick.cursor:
        participant.cursor = pick.cursor
        Participant.objects.filter(pk=participant.pk).update(cursor=participant.cursor)
    _fill(mine, slots, participant, study)
    return mine


def _fill(mine: ItemSet, slots: Sequence[Slot], participant: Participant, study: Study) -> None:
    """Put the items of these places into the set, behind those it has."""
    items = [slot.item for slot in slots]
    arrangements = {slot.item_id: slot.arrangement for slot in slots}
    item_ids = order_items(items, participant, study, mine.number, arrangements)
    if mine._state.adding:
        item_ids = deal_in_controls(item_ids, items, participant, study, mine.number)
    else:
        # no controls then: distances within the set would be undefined
        kept = {*item_ids, *answered_items(mine)}
        mine.lost_ids = [item_id for item_id in mine.lost_ids if item_id not in kept]
    mine.item_ids += [item_id for item_id in item_ids if item_id not in mine.item_ids]
    mine.save()


def has_work(participant: Participant, study: Study) -> bool:
    """Return whether a claim by this person would find something now."""
    if not study.is_open or participant.stopped_at or is_over(find_visit(participant)):
        return False
    last_set = _last_set_of.one(participant.pk)
    if not _has_room(participant, study, last_set):
        return False
    open_set = last_set if last_set and last_set.finished_at is None else None
    if open_set is not None:
        if must_give_way(open_set, study):
            return False
        if could_lease_again(open_set, participant):
            return True
    elif not may_have_another_set(participant, study):
        return False
    return (
        bool(list_left(participant))
        if participant.is_expert
        else _has_places_for(participant, study)
    )


def _has_places_for(participant: Participant, study: Study) -> bool:
    """Return whether a place is free, or lapsed, that this person could be dealt."""
    left, is_new = items_left(participant, study), new_to(participant.pk, study.pk, study.groups)
    if left == 0:
        return False
    if left is None:
        # asked after every set, without a cap of items nearly always
        is_free = free_place(study.groups).one(participant.pk, study.pk) is not None
    else:
        free = with_room(Slot.objects.free().filter(study=study), study, left)
        is_free = free.filter(is_new).exists()
    if is_free:
        return True
    # a claim frees what has lapsed, so that is work too
    lapsed = lapsed_slots(study)
    return with_room(lapsed, study, left, among=lapsed).filter(is_new).exists()


def settle_entry(
    *, participant: Participant, answers: Mapping[str, str], network: Network | None = None
) -> ItemSet | None:
    """Record the entry answers, decide on them and reserve the first set, in one transaction.

    None: this person may not take part, or there is no place for them now. Raise NetworkIsFull, and
    record nothing, if people of this network hold too much.
    """

    def refuse(newcomer: Participant, stored: Mapping[str, str]) -> str:
        if is_kept_out(newcomer):
            return Refusal.EARLIER
        is_free = has_room(newcomer, participant.study, stored, is_locking=True)
        return "" if is_free else Refusal.QUOTA

    def admit(newcomer: Participant) -> bool:
        return record_entry(participant=newcomer, answers=answers, refuse=refuse)

    if participant.is_pilot:
        return deal_pilot_set(participant) if admit(participant) else None
    item_set = claim_set(participant, admit=admit, network=network)
    # where others were faster each time, the last try was undone
    if item_set is None and admit(participant):
        end_without_place(participant)
    return item_set


def end_without_place(participant: Participant) -> None:
    """End the visit of a person for whom no place is left and who has answered nothing on it."""
    visit = find_visit(participant)
    item_set = visit.item_set if visit else None
    if item_set is None or item_set.reserved_until is not None:
        end_visit(participant, Outcome.NO_PLACE)


def has_free_place(study: Study) -> bool:
    """Return whether a newcomer would be dealt something now: a place is free or lapsed."""
    return filter_free(Study.objects.filter(pk=study.pk)).exists()


def filter_free(studies: QuerySet[Study]) -> QuerySet[Study]:
    """Return those of these studies in which a place is free or lapsed."""
    mine = Slot.objects.filter(study=OuterRef("pk"), item__held_at__isnull=True)
    free = mine.filter(state=Slot.State.FREE)
    lapsed = mine.filter(state=Slot.State.LEASED, lease_until__lt=now())
    return studies.filter(Exists(free) | Exists(lapsed))


class Shortage(StrEnum):
    """Why no place is free for a person."""

    # every item has all its answers
    COMPLETE = "complete"
    # other people have the places, or have them first: waiting makes sense
    TAKEN = "taken"
    # what is missing are items that wait for the researcher, after reports
    CHECKED = "checked"
    # this person has done all that there is for them
    DONE = "done"


def find_shortage(study: Study, participant: Participant | None = None) -> Shortage:
    """Return why no place is free for this person, or for a newcomer."""
    missing = Slot.objects.filter(study=study).exclude(state=Slot.State.DONE)
    if not missing.exists():
        return Shortage.COMPLETE
    checked = missing.filter(item__held_at__isnull=False)
    taken = missing.filter(item__held_at__isnull=True)
    if participant is not None:
        if not may_have_another_set(participant, study):
            return Shortage.DONE
        checked = checked.exclude(item__annotations__participant=participant)
        taken = taken.filter(new_to(participant.pk, study.pk, study.groups)).exclude(
            participant=participant
        )
    if taken.exists():
        return Shortage.TAKEN
    return Shortage.CHECKED if checked.exists() else Shortage.DONE


def deal_pilot_set(participant: Participant) -> ItemSet | None:
    """Give a pilot participant a set of the first items, without slots. None: no items left."""
    with transaction.atomic():
        locked = Participant.objects.select_for_update().get(pk=participant.pk)
        last_set = _last_set_of.one(locked.pk)
        if last_set is not None and last_set.finished_at is None:
            return last_set
        study = Study.objects.get(pk=locked.study_id)
        seen = Q(annotations__participant=locked)
        unseen = Item.objects.main().filter(study=study).exclude(seen).order_by("id")
        items = list(unseen[: mains_per_set(study)])
        if not items:
            return None
        number = last_set.number + 1 if last_set else 1
        ordered = order_items(items, locked, study, number)
        return ItemSet.objects.create(
            study=study,
            participant=locked,
            number=number,
            item_ids=deal_in_controls(ordered, items, locked, study, number),
        )


# items that follow one another
Run = list[Item]


def order_items(
    items: Sequence[Item],
    participant: Participant,
    study: Study,
    number: int,
    arrangements: Mapping[int, int] | None = None,
) -> list[int]:
    """Return the order of a set: random for this participant, as uploaded, or in blocks.

    Items of a group that stays together are in the order of their slots' arrangements, which gives
    each of them every place equally often; without slots, as in a pilot, they are shuffled. What
    hangs together otherwise, such as the turns of a conversation, keeps its own order.
    """
    draw = make_random(study.seed, "set", participant.pseudonym, number)
    runs = _make_runs(items, study, draw, arrangements)
    if study.item_order == Study.ItemOrder.UPLOADED:
        runs.sort(key=_first_id)
    elif study.item_order == Study.ItemOrder.BLOCKED:
        runs = _in_blocks(runs, draw)
    else:
        draw.shuffle(runs)
        # items of a cluster in the order of the file, in the places that they drew
        waiting: dict[str, list[Run]] = {}
        for run in sorted(runs, key=_first_id, reverse=True):
            waiting.setdefault(run[0].cluster, []).append(run)
        runs = [waiting[run[0].cluster].pop() if run[0].cluster else run for run in runs]
    return [item.pk for run in runs for item in run]


def _make_runs(
    items: Sequence[Item], study: Study, draw: Random, arrangements: Mapping[int, int] | None
) -> list[Run]:
    """Return the items in an order that depends on nothing but their keys, whole groups as one."""
    is_together = study.groups == Study.Groups.TOGETHER
    runs: dict[str, Run] = {}
    for item in sorted(items, key=lambda item: item.key):
        runs.setdefault(item.group if is_together else item.key, []).append(item)
    for run in runs.values():
        draw.shuffle(run)
        if arrangements:
            run.sort(key=lambda item: arrangements[item.pk])
    return list(runs.values())


def _in_blocks(runs: list[Run], draw: Random) -> list[Run]:
    """Order items by cluster as uploaded, or else by group, mixed."""
    draw.shuffle(runs)
    blocks: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        item = run[0]
        name = ("cluster", item.cluster) if item.cluster else ("group", item.group)
        blocks.setdefault(name, []).append(run)
    for (kind, _), block in blocks.items():
        if kind == "cluster":
            block.sort(key=_first_id)
    order = list(blocks.values())
    draw.shuffle(order)
    return [run for block in order for run in block]


def _first_id(run: Run) -> int:
    return min(item.pk for item in run)
