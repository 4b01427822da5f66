"""Items of any design in a study, and what its sets show of them, in tests."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from uuid import uuid4

from evalsite.handout.claims import claim_set
from evalsite.handout.models import Slot, order_of
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.items import item_keys
from evalsite.studies.models import Batch, Item, Output, Study, System
from tests.support.factories import launch, make_annotator, make_study

# of each group the systems of the outputs of each of its items
Design = Sequence[Sequence[Sequence[str]]]


def one_each(groups: int, systems: str = "abc") -> Design:
    """Each group has an item of one output for each system."""
    return [[[system] for system in systems]] * groups


def all_pairs(groups: int, systems: str = "ab") -> Design:
    return [[list(pair) for pair in combinations(systems, 2)]] * groups


def side_by_side(items: int, systems: str = "abc") -> Design:
    """Each item shows all systems, in the file in an order that changes."""
    turns = [systems[turn:] + systems[:turn] for turn in range(len(systems))]
    return [[list(turns[number % len(turns)])] for number in range(items)]


def add_design(study: Study, design: Design, *, first: int = 0, cluster_of: int = 0) -> Batch:
    """A batch of these items; so many groups at a time are one cluster."""
    batch = Batch.objects.create(study=study, file_name="batch.csv", sha256=uuid4().hex * 2, rows=1)
    for number, items in enumerate(design, start=first):
        for letter, names in enumerate(items):
            item = Item.objects.create(
                study=study,
                batch=batch,
                cluster=f"talk-{number // cluster_of}" if cluster_of else "",
                **item_keys(study, key=f"{number}-{letter}", group=f"group-{number}"),
            )
            for position, name in enumerate(names):
                system, _ = System.objects.get_or_create(study=study, name=name)
                Output.objects.create(study=study, item=item, system=system, position=position)
    return batch


def make_designed(design: Design, *, cluster_of: int = 0, **fields) -> Study:
    """A live study of this design."""
    study = make_study(items=0, **fields)
    add_design(study, design, cluster_of=cluster_of)
    return launch(study)


def pages_of(item_set: ItemSet) -> list[tuple[str, ...]]:
    """The systems on each page of the set, as the page shows them."""
    slots = Slot.objects.filter(participant=item_set.participant_id, item__in=item_set.item_ids)
    found = []
    for slot in slots.select_related("item", "study"):
        names = list(slot.item.outputs.values_list("system__name", flat=True))
        order = order_of(slot.study.seed, slot.item, len(names), slot.arrangement)
        found.append(tuple(names[position] for position in order))
    return found


def deal_to(people: Sequence[Participant]) -> list[ItemSet]:
    """The sets of these people, who take one after another until nobody gets any."""
    sets, waiting = [], list(people)
    while waiting:
        me = waiting.pop(0)
        item_set = claim_set(me)
        if item_set is not None:
            finish(me, item_set)
            sets.append(item_set)
            waiting.append(me)
    return sets


def deal_to_newcomers(study: Study) -> list[ItemSet]:
    """One set each for as many people as get one."""
    sets = []
    while item_set := claim_set(make_annotator(study)):
        sets.append(item_set)
    return sets


def finish(me: Participant, item_set: ItemSet) -> None:
    """This person has answered all of the set and finished it."""
    Slot.objects.leased().filter(participant=me).update(state=Slot.State.DONE, lease_until=None)
    ItemSet.objects.filter(pk=item_set.pk).update(finished_at=now())


def spread(counts: Counter, keys) -> int:
    """The largest difference between how often these were counted."""
    found = [counts[key] for key in keys]
    return max(found) - min(found)
