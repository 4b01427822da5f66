"""Controls in the sets of participants: gold items, attention items and hidden repeats.

A control holds no place of an item and never counts. It is part of its set all the same: it wants
an answer before the set can be finished, and looks like the items around it.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate, groupby
from random import Random

from django.db.models import QuerySet

from evalsite.handout.models import Annotation, Slot, order_for
from evalsite.lib.seeds import derive_number, make_random
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.items import item_keys
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.set_size import (
    FEWEST,
    LEAST_DISTANCE,
    checks_in,
    has_room_for_repeats,
    most_items,
    repeats_in,
)

# --- hidden repeats -------------------------------------------------------------------
_LONGEST_KEY = 128
_MOST_TOLD = 5

# what is met together: a group that stays together, or else an item
Units = list[list[int]]


@dataclass(frozen=True)
class Past:
    """What a person has been dealt before: in order, and what of it may be shown again."""

    kept: Sequence[int] = ()
    mains: int = 0
    repeats: int = 0
    repeated: frozenset[int] = frozenset()
    repeatable: frozenset[int] = frozenset()


def find_past(participant: Participant, kept: Sequence[int], dealt_ids: Sequence[int]) -> Past:
    """Return this person's past: `kept` is what their sets showed, `dealt_ids` also what was lost.

    What they ignored or reported is not shown again, nor what waits for the researcher, nor what
    they have been dealt as a repeat already.
    """
    rows = Item.objects.filter(pk__in=dealt_ids).only("kind", "repeat_of", "held_at").order_by()
    known = {item.pk: item for item in rows}
    rated = Annotation.objects.filter(
        participant=participant, item__in=kept, outcome=Annotation.Outcome.RATED
    )
    repeated = frozenset(item.repeat_of_id for item in known.values() if item.repeat_of_id)
    mains = [pk for pk in kept if known[pk].kind == Item.Kind.MAIN]
    good = set(rated.order_by().values_list("item_id", flat=True)) - repeated
    return Past(
        kept=kept,
        mains=len(mains),
        repeats=sum(known[pk].kind == Item.Kind.REPEAT for pk in kept),
        repeated=repeated,
        repeatable=frozenset(pk for pk in mains if pk in good and known[pk].held_at is None),
    )


def count_repeats(study: Study, past: Past, new: int) -> int:
    """Return how many repeats a set with so many new items holds, so that the share is reached.

    0 while a person can't be asked 24 items: where there is a cap, it must leave room for so
    many, and the study must have them; where there is none, they must have been dealt. Never more
    than the share of the set itself, rounded up.
    """
    mains = past.mains + new
    if not study.repeat_percent or not _may_reach_enough(study, mains):
        return 0
    missing = (mains * study.repeat_percent + 50) // 100 - past.repeats
    # no set makes up for all the sets before it: it would be long, and repeats easy to notice
    return max(0, min(missing, repeats_in(study, new)))


def _may_reach_enough(study: Study, mains: int) -> bool:
    if mains >= FEWEST or most_items(study) is None:
        return mains >= FEWEST
    if not has_room_for_repeats(study):
        return False
    unit = "group" if study.groups == Study.Groups.ONCE else "pk"
    items = Item.objects.main().filter(study=study).order_by()
    return items.values(unit).distinct()[:FEWEST].count() == FEWEST


def place_repeats(
    units: Units, past: Past, repeatable: Sequence[int], count: int, distance: int, draw: Random
) -> list[tuple[int, int]]:
    """Return before which unit each repeat goes, and of which item: never first or inside a unit.

    Each is at least so many places after what it repeats. If not all fit, fewer are dealt.
    """
    places, place, open_ = [], len(past.kept), set(repeatable)
    every = [*past.kept, *(pk for unit in units for pk in unit)]
    first = next((at for at, pk in enumerate(every) if pk in open_), None)
    for number, unit in enumerate([*units, []]):
        if number and first is not None and place - first >= distance:
            places.append(number)
        place += len(unit)
    chosen = sorted(draw.sample(places, min(count, len(places))))
    line = list(past.kept)
    repeats: list[tuple[int, int]] = []
    for number, unit in enumerate([*units, []]):
        if number in chosen:
            far = [pk for pk in line[: max(0, len(line) - distance + 1)] if pk in open_]
            if far:
                original = draw.choice(far)
                open_.discard(original)
                repeats.append((number, original))
                line.append(-original)
        line += unit
    return repeats


# --- the items that repeat others ---------------------------------------------------------


def find_repeats(
    participant: Participant, study: Study, originals: Sequence[int]
) -> dict[int, int]:
    """Return the item that shows each of these again to this person, made if needed.

    With two or more outputs, each is in another place than this person saw before.
    """
    items = {item.pk: item for item in Item.objects.filter(pk__in=originals)}
    first = _first_shown(participant, items)
    keys: dict[str, tuple[Item, list[int]]] = {}
    for original in originals:
        item, order = items[original], first[original]
        turned = order[1:] + order[:1]
        keys[key_of_repeat(item.key, turned)] = (item, turned)
    _make_missing(study, keys)
    made = Item.objects.filter(study=study, key__in=list(keys), held_at__isnull=True).order_by()
    return {keys[key][0].pk: pk for key, pk in made.values_list("key", "pk")}


def key_of_repeat(key: str, order: Sequence[int]) -> str:
    """Return the id of a repeat that shows the outputs in this order; files may not use it."""
    # more outputs are shown in turns of one order, which its first tells
    phrases = order if len(order) <= _MOST_TOLD else order[:1]
    end = f" (repeat {'-'.join(str(position + 1) for position in phrases)})"
    if len(key) + len(end) > _LONGEST_KEY:
        key = f"{key[:80]} {sha256(key.encode()).hexdigest()[:16]}"
    return key + end


def _first_shown(participant: Participant, items: Mapping[int, Item]) -> dict[int, list[int]]:
    """Return the order in which each of these items was, or will be, shown to this person."""
    answers = Annotation.objects.filter(participant=participant, item__in=items)
    orders = dict(answers.order_by().values_list("item_id", "order_shown"))
    slots = {
        slot.item_id: slot for slot in Slot.objects.filter(participant=participant, item__in=items)
    }
    outputs = Counter(Output.objects.filter(item__in=items).values_list("item_id", flat=True))
    return {
        pk: orders.get(pk) or order_for(participant, item, outputs[pk], slots.get(pk))
        for pk, item in items.items()
    }


def _make_missing(study: Study, keys: Mapping[str, tuple[Item, list[int]]]) -> None:
    """Make an item, with its outputs in the order shown, for each key that the study lacks."""
    existing = set(
        Item.objects.filter(study=study, key__in=list(keys)).values_list("key", flat=True)
    )
    # in the order of the keys: two people who make the same ones must not wait for one another
    missing = sorted(keys.keys() - existing)
    if not missing:
        return
    # who comes second waits here, and then finds those of the first, outputs and all
    Item.objects.bulk_create(
        [_copy_item(study, keys[key][0], key) for key in missing], ignore_conflicts=True
    )
    bare = Item.objects.filter(study=study, key__in=missing, outputs__isnull=True).order_by()
    outputs: dict[int, dict[int, Output]] = {}
    for output in Output.objects.filter(item__in=[keys[key][0] for key in missing]):
        outputs.setdefault(output.item_id, {})[output.position] = output
    Output.objects.bulk_create(
        Output(
            study_id=study.pk,
            item_id=pk,
            system_id=outputs[keys[key][0].pk][shown].system_id,
            position=position,
            text=outputs[keys[key][0].pk][shown].text,
        )
        for pk, key in bare.values_list("pk", "key")
        for position, shown in enumerate(keys[key][1])
    )


def _copy_item(study: Study, original: Item, key: str) -> Item:
    return Item(
        study_id=study.pk,
        kind=Item.Kind.REPEAT,
        repeat_of=original,
        cluster=original.cluster,
        inputs=original.inputs,
        extra=original.extra,
        **item_keys(study, key=key, group=original.group),
    )


# --- controls in a set ----------------------------------------------------------------
CHECKS = (Item.Kind.GOLD, Item.Kind.ATTENTION)
CONTROLS = (*CHECKS, Item.Kind.REPEAT)


def deal_in_controls(
    ordered: list[int], items: Sequence[Item], participant: Participant, study: Study, number: int
) -> list[int]:
    """Return the items of a new set in their order, with its checks and repeats between them."""
    if not has_controls(study):
        return ordered
    draw = make_random(study.seed, "controls", participant.pseudonym, number)
    past = list(ItemSet.objects.filter(participant=participant))
    # nothing may come between the items of a group that stays together
    units: Units = [[item_id] for item_id in ordered]
    if study.groups == Study.Groups.TOGETHER:
        group_of = {item.pk: item.group for item in items}
        units = [list(unit) for _, unit in groupby(ordered, key=group_of.__getitem__)]
    if study.checks_per_person:
        count = checks_in(study, len(ordered))
        checks = pick_checks(participant, study, count, past=past, items=items)
        units = put_checks(units, checks, draw)
    if study.repeat_percent:
        units = _put_repeats(units, ordered, past, participant, study, draw)
    return [item_id for unit in units for item_id in unit]


def _put_repeats(
    units: Units,
    ordered: Sequence[int],
    sets: Sequence[ItemSet],
    participant: Participant,
    study: Study,
    draw: Random,
) -> Units:
    every = [item_id for item_set in sets for item_id in item_set.item_ids]
    past = find_past(participant, kept_items(sets), every)
    count = count_repeats(study, past, len(ordered))
    new = [item_id for item_id in ordered if item_id not in past.repeated]
    repeatable = [*past.repeatable, *new]
    places = place_repeats(units, past, repeatable, count, LEAST_DISTANCE, draw)
    repeat_of = find_repeats(participant, study, [original for _, original in places])
    # one that people reported waits for the researcher, and is left out
    inserted = {
        number: [repeat_of[original]] for number, original in places if original in repeat_of
    }
    line: Units = []
    for number, unit in enumerate([*units, []]):
        line += [inserted[number], unit] if number in inserted else [unit]
    return line


def has_controls(study: Study) -> bool:
    """Return whether sets of this study may hold controls."""
    return bool(study.checks_per_person or study.repeat_percent)


def find_controls(item_set: ItemSet, study: Study) -> dict[int, int | None]:
    """Return the controls of this set, each with the item that it shows again, if any."""
    if not has_controls(study):
        return {}
    controls = Item.objects.filter(pk__in=item_set.item_ids, kind__in=CONTROLS).order_by()
    return dict(controls.values_list("pk", "repeat_of"))


def kept_items(sets: Sequence[ItemSet]) -> list[int]:
    """Return what these sets show one after another: all but what went to others."""
    return [
        item_id
        for item_set in sets
        for item_id in item_set.item_ids
        if item_id not in item_set.lost_ids
    ]


# --- gold and attention items -------------------------------------------------------------


def _list_checks(study: Study) -> QuerySet[Item]:
    """Return the gold and attention items of batches that are open, in the study's seeded order."""
    checks = Item.objects.filter(study=study, kind__in=CHECKS)
    if study.is_launched:
        checks = checks.filter(batch__opened_at__isnull=False)
    return checks.order_by("shuffle_key", "id")


def pick_checks(
    participant: Participant,
    study: Study,
    count: int,
    *,
    past: Sequence[ItemSet],
    items: Sequence[Item],
) -> list[int]:
    """Return so many checks that this person has not met, in turn over all sets of the study.

    Over all sets a person gets as many as the study says, unless its protocol wants them in each.
    Where a person meets a group once, none that shares its group with what they have been dealt.
    """
    met = {item_id for item_set in past for item_id in item_set.item_ids}
    known = list(_list_checks(study).values_list("pk", "group", "held_at"))
    checks = [(item_id, group) for item_id, group, held_at in known if held_at is None]
    if not count or not checks:
        return []
    if not study.config.design.checks_take_places:
        # also those that were held since
        met_checks = sum(item_id in met for item_id, *_ in known)
        count = min(count, max(0, study.checks_per_person - met_checks))
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


def put_checks(units: Units, checks: Sequence[int], draw: Random) -> Units:
    """Put the checks between the units: never first, never last and never beside one another.

    The set is divided into as many stretches as there are checks. Within its stretch a check
    follows any unit with equal chance, so it can't be predicted. One that has no place is left out.
    """
    ends = list(accumulate(len(unit) for unit in units))[:-1]
    total = sum(len(unit) for unit in units)
    after: dict[int, int] = {}
    for stretch, check in enumerate(checks):
        first, last = stretch * total / len(checks), (stretch + 1) * total / len(checks)
        places = [
            place for place, end in enumerate(ends) if first < end <= last and place not in after
        ]
        if places:
            after[draw.choice(places)] = check
    line: Units = []
    for place, unit in enumerate(units):
        line.append(unit)
        if place in after:
            line.append([after[place]])
    return line


# --- what becomes of controls while a set is open -----------------------------------------


def lost_controls(
    item_set: ItemSet,
    controls: Mapping[int, int | None],
    *,
    lost: Collection[int],
    answered: Collection[int],
    held_ids: Collection[int],
) -> set[int]:
    """Return the controls that this set no longer needs, now that others have these items of it.

    All of them, once nothing else is left. A repeat, unless what it shows again is answered or has
    been held without a break, and still stands far enough before it.
    """
    if all(item_id in lost or item_id in controls for item_id in item_set.item_ids):
        return set(controls)
    gone = {pk for pk in controls if pk in item_set.lost_ids and pk not in answered}
    # in the order of the set: removing one brings all that follow it nearer
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
        is_new = original in item_set.item_ids and original not in {*answered, *held_ids}
        # 0: what it repeats is gone
        distance = kept.index(pk) - kept.index(original) if original in kept else 0
        if is_new or distance < LEAST_DISTANCE:
            gone.add(pk)
            kept.remove(pk)
    return gone
