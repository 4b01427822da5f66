"""Controls in the sets of participants: gold items, attention items and hidden repeats.

A control holds no place of an item and never counts. It is part of its set all the same: it wants
an answer before the set can be finished, and no page tells it from the items around it.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from random import Random

from django.db.models import QuerySet

from evalsite.annotation.allocation.hidden_repeats import (
    Units,
    count_repeats,
    find_past,
    find_repeats,
    place_repeats,
)
from evalsite.lib.seeds import derive_number, make_random
from evalsite.participants.models import ItemSet, Participant
from evalsite.studies.models import Item, Study
from evalsite.studies.set_size import checks_in

CHECKS = (Item.Kind.GOLD, Item.Kind.ATTENTION)
CONTROLS = (*CHECKS, Item.Kind.REPEAT)


def deal_in_controls(
    dealt: list[int], items: Sequence[Item], me: Participant, study: Study, number: int
) -> list[int]:
    """The items of a new set in their order, with its checks and repeats between them."""
    if not has_controls(study):
        return dealt
    draw = make_random(study.seed, "controls", me.pseudonym, number)
    past = list(ItemSet.objects.filter(participant=me))
    units = _in_units(dealt, items, study)
    if study.check_every:
        count = checks_in(study, len(dealt))
        checks = pick_checks(me, study, count, past=past, items=items)
        units = put_checks(units, checks, study.check_every, draw)
    if study.repeat_percent:
        units = _put_repeats(units, dealt, past, me, study, draw)
    return [item_id for unit in units for item_id in unit]


def _in_units(dealt: Sequence[int], items: Sequence[Item], study: Study) -> Units:
    """What nothing may come between is one unit: a group that stays together, or one item."""
    if study.groups != Study.Groups.TOGETHER:
        return [[item_id] for item_id in dealt]
    group_of = {item.pk: item.group for item in items}
    return [list(unit) for _, unit in groupby(dealt, key=lambda item_id: group_of[item_id])]


def _put_repeats(
    units: Units,
    dealt: Sequence[int],
    sets: Sequence[ItemSet],
    me: Participant,
    study: Study,
    draw: Random,
) -> Units:
    every = [item_id for one in sets for item_id in one.item_ids]
    past = find_past(me, kept_items(sets), every)
    count = count_repeats(study, past, len(dealt))
    new = [item_id for item_id in dealt if item_id not in past.repeated]
    repeatable = [*past.repeatable, *new]
    places = place_repeats(units, past, repeatable, count, study.repeat_distance, draw)
    found = find_repeats(me, study, [original for _, original in places])
    # one that people reported waits for the researcher, and is left out
    inserted = {number: [found[one]] for number, one in places if one in found}
    line: Units = []
    for number, unit in enumerate([*units, []]):
        line += [inserted[number], unit] if number in inserted else [unit]
    return line


def has_controls(study: Study) -> bool:
    """Whether sets of this study may hold controls."""
    return bool(study.check_every or study.repeat_percent)


def find_controls(item_set: ItemSet, study: Study) -> dict[int, int | None]:
    """The controls of this set, each with the item that it shows again, if it shows one again."""
    if not has_controls(study):
        return {}
    found = Item.objects.filter(pk__in=item_set.item_ids, kind__in=CONTROLS).order_by()
    return dict(found.values_list("pk", "repeat_of"))


def kept_items(sets: Sequence[ItemSet]) -> list[int]:
    """What these sets show one after the other: all but what went to others."""
    return [item_id for one in sets for item_id in one.item_ids if item_id not in one.lost_ids]


# --- gold and attention items -------------------------------------------------------------


def open_checks(study: Study) -> QuerySet[Item]:
    """The gold and attention items that may be dealt, in the study's seeded order."""
    checks = Item.objects.filter(study=study, kind__in=CHECKS, held_at__isnull=True)
    if study.is_launched:
        checks = checks.filter(batch__opened_at__isnull=False)
    return checks.order_by("shuffle_key", "id")


def pick_checks(
    me: Participant, study: Study, count: int, *, past: Sequence[ItemSet], items: Sequence[Item]
) -> list[int]:
    """So many checks that this person has not met, in turn over all sets of the study.

    Where a person meets a group once, none that shares its group with what they have been dealt.
    """
    met = {item_id for one in past for item_id in one.item_ids}
    checks = list(open_checks(study).values_list("pk", "group"))
    if not count or not checks:
        return []
    sets = ItemSet.objects.filter(study=study).count()
    start = derive_number(study.seed, "checks") + sets * count
    turn = start % len(checks)
    groups: set[str] = set()
    if study.groups == Study.Groups.ONCE:
        known = Item.objects.filter(pk__in=met).order_by()
        groups = {*known.values_list("group", flat=True), *(item.group for item in items)}
    new = [
        item_id
        for item_id, group in checks[turn:] + checks[:turn]
        if item_id not in met and group not in groups
    ]
    return new[:count]


def put_checks(units: Units, checks: Sequence[int], every: int, draw: Random) -> Units:
    """The units with a check after each `every` items or so, never first and never inside a unit.

    Of each stretch of so many items it stands behind any one: nobody can count it out.
    """
    waiting = [
        (stretch * every + draw.randint(1, every), check) for stretch, check in enumerate(checks)
    ]
    found: Units = []
    done = 0
    for unit in units:
        found.append(unit)
        done += len(unit)
        while waiting and waiting[0][0] <= done:
            found.append([waiting.pop(0)[1]])
    return found


# --- what becomes of controls while a set is open -----------------------------------------


def lost_controls(
    item_set: ItemSet,
    controls: Mapping[int, int | None],
    *,
    lost: Collection[int],
    answered: Collection[int],
    held: Collection[int],
    study: Study,
) -> set[int]:
    """Controls that this set asks for no more, now that these items of it went to others.

    All of them, once nothing else is left. A repeat, unless what it shows again is answered or has
    been held without a break, and still stands as far before it as the study wants.
    """
    if all(item_id in lost or item_id in controls for item_id in item_set.item_ids):
        return set(controls)
    gone = {pk for pk in controls if pk in item_set.lost_ids and pk not in answered}
    # in the order of the set: what goes moves all that stands behind it nearer
    repeats = {
        pk: of
        for pk in item_set.item_ids
        if (of := controls.get(pk)) and pk not in answered and pk not in gone
    }
    if not repeats:
        return gone
    earlier = ItemSet.objects.filter(
        participant=item_set.participant_id, number__lt=item_set.number
    )
    kept = kept_items(list(earlier))
    kept += [pk for pk in item_set.item_ids if pk not in lost and pk not in gone]
    for pk, original in repeats.items():
        is_new = original in item_set.item_ids and original not in {*answered, *held}
        if is_new or _distance(kept, original, pk) < study.repeat_distance:
            gone.add(pk)
            kept.remove(pk)
    return gone


def _distance(kept: Sequence[int], first: int, second: int) -> int:
    """How many items further on the second stands; 0 where the first is gone."""
    return kept.index(second) - kept.index(first) if first in kept else 0
