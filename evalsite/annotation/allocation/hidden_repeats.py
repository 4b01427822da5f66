"""Hidden repeats: items that a person has met before, shown again with the outputs turned.

A repeat is an item of its own, made when somebody first needs it and shared by all who need the
same. Its outputs are copies, in the order in which they are shown.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from random import Random

from evalsite.annotation.allocation.arrangement import order_for
from evalsite.annotation.models import Annotation, Slot
from evalsite.participants.models import Participant
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.services import item_keys
from evalsite.studies.set_size import FEWEST, has_room_for_repeats, most_items, repeats_in

_LONGEST_KEY = 128
_MOST_TOLD = 5

# what is met in one go: a group that stays together, else an item
Units = list[list[int]]


@dataclass(frozen=True)
class Past:
    """What a person has been dealt before: in order, and what of it may be shown again."""

    kept: Sequence[int] = ()
    mains: int = 0
    repeats: int = 0
    repeated: frozenset[int] = frozenset()
    repeatable: frozenset[int] = frozenset()


def find_past(me: Participant, kept: Sequence[int], dealt: Sequence[int]) -> Past:
    """The past of this person: `kept` is what their sets showed, `dealt` also what they lost.

    What they ignored or reported is not shown again, nor what waits for the researcher, nor what
    they have been dealt as a repeat already.
    """
    rows = Item.objects.filter(pk__in=dealt).only("kind", "repeat_of", "held_at").order_by()
    known = {item.pk: item for item in rows}
    rated = Annotation.objects.filter(
        participant=me, item__in=kept, outcome=Annotation.Outcome.RATED
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
    """How many repeats a set with so many new items holds, so that the share is reached.

    None while a person can't be asked 24 items: where there is a cap, it must leave room for so
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
    """Before which unit each repeat is put, and of which item; never first and never in a unit.

    Each stands at least so many places after what it repeats. Fewer are put where not so many can.
    """
    places, place = [], len(past.kept)
    first = _first_place(units, past, repeatable)
    for number, unit in enumerate([*units, []]):
        if number and first is not None and place - first >= distance:
            places.append(number)
        place += len(unit)
    chosen = sorted(draw.sample(places, min(count, len(places))))
    line, open_ = list(past.kept), set(repeatable)
    found: list[tuple[int, int]] = []
    for number, unit in enumerate([*units, []]):
        if number in chosen:
            far = [pk for pk in line[: max(0, len(line) - distance + 1)] if pk in open_]
            if far:
                original = draw.choice(far)
                open_.discard(original)
                found.append((number, original))
                line.append(-original)
        line += unit
    return found


def _first_place(units: Units, past: Past, repeatable: Sequence[int]) -> int | None:
    line = [*past.kept, *(pk for unit in units for pk in unit)]
    wanted = set(repeatable)
    return next((place for place, pk in enumerate(line) if pk in wanted), None)


# --- the items that repeat others ---------------------------------------------------------


def find_repeats(me: Participant, study: Study, originals: Sequence[int]) -> dict[int, int]:
    """The item that shows each of these again to this person, made if nobody needed it before.

    Of two or more outputs each stands in another place than where this person met it.
    """
    items = {item.pk: item for item in Item.objects.filter(pk__in=originals)}
    first = _first_shown(me, items)
    keys: dict[str, tuple[Item, list[int]]] = {}
    for original in originals:
        item, order = items[original], first[original]
        turned = order[1:] + order[:1]
        keys[key_of_repeat(item.key, turned)] = (item, turned)
    _make_missing(study, keys)
    made = Item.objects.filter(study=study, key__in=list(keys), held_at__isnull=True).order_by()
    return {keys[key][0].pk: pk for key, pk in made.values_list("key", "pk")}


def key_of_repeat(key: str, order: Sequence[int]) -> str:
    """The id of a repeat that shows the outputs in this order: no file may hold such an id."""
    # more outputs are shown in turns of one order, which its first tells
    phrases = order if len(order) <= _MOST_TOLD else order[:1]
    end = f" (repeat {'-'.join(str(position + 1) for position in phrases)})"
    if len(key) + len(end) > _LONGEST_KEY:
        key = f"{key[:80]} {sha256(key.encode()).hexdigest()[:16]}"
    return key + end


def _first_shown(me: Participant, items: Mapping[int, Item]) -> dict[int, list[int]]:
    """The order in which each of these items was, or will be, shown to this person."""
    answers = Annotation.objects.filter(participant=me, item__in=items)
    orders = dict(answers.order_by().values_list("item_id", "order_shown"))
    slots = {slot.item_id: slot for slot in Slot.objects.filter(participant=me, item__in=items)}
    outputs = Counter(Output.objects.filter(item__in=items).values_list("item_id", flat=True))
    return {
        pk: orders.get(pk) or order_for(me, item, outputs[pk], slots.get(pk))
        for pk, item in items.items()
    }


def _make_missing(study: Study, keys: Mapping[str, tuple[Item, list[int]]]) -> None:
    """Each of these keys names an item of the study, with its outputs in the order shown."""
    there = set(Item.objects.filter(study=study, key__in=list(keys)).values_list("key", flat=True))
    # in the order of the keys: two people who make the same ones must not wait for one another
    wanted = sorted(keys.keys() - there)
    if not wanted:
        return
    # who comes second waits here, and then finds those of the first, outputs and all
    Item.objects.bulk_create(
        [_copy_item(study, keys[key][0], key) for key in wanted], ignore_conflicts=True
    )
    bare = Item.objects.filter(study=study, key__in=wanted, outputs__isnull=True).order_by()
    outputs: dict[int, dict[int, Output]] = {}
    for output in Output.objects.filter(item__in=[keys[key][0] for key in wanted]):
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
