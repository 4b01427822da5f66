"""Turns of one conversation that meet in a set come in the order in which they were spoken."""

import pytest

from evalsite.handout.claims import claim_set, deal_pilot_set
from evalsite.people.models import ItemSet
from evalsite.studies.models import Item, Study
from tests.support.factories import launch, make_annotator, make_study

pytestmark = pytest.mark.django_db


def make_conversations(*, items: int, turns: int, **fields: object) -> Study:
    """Items of which so many at a time are the turns of one conversation, then one without."""
    study = make_study(items=items, set_size=items, **fields)
    for number, item in enumerate(Item.objects.main().filter(study=study).order_by("id")):
        cluster = f"talk-{number // (turns + 1)}" if number % (turns + 1) < turns else ""
        Item.objects.filter(pk=item.pk).update(cluster=cluster)
    return study


def clusters_in(item_set: ItemSet | None) -> dict[str, list[int]]:
    """The items of the set by cluster, in the order in which they come."""
    assert item_set is not None
    clusters = dict(Item.objects.values_list("pk", "cluster"))
    found: dict[str, list[int]] = {}
    for item_id in item_set.item_ids:
        found.setdefault(clusters[item_id], []).append(item_id)
    return found


def test_turns_of_a_conversation_keep_their_order_in_every_set():
    study = launch(make_conversations(items=20, turns=4, groups="once", k=5))

    for _ in range(5):
        found = clusters_in(claim_set(make_annotator(study)))
        alone = found.pop("")
        assert all(turns == sorted(turns) for turns in found.values())
        assert sorted(len(turns) for turns in found.values()) == [4] * 4
        assert len(alone) == 4


def test_conversations_are_still_shuffled_among_one_another():
    study = launch(make_conversations(items=20, turns=4, groups="once", k=3))

    sets = [claim_set(make_annotator(study)) for _ in range(3)]

    orders = [one.item_ids for one in sets if one]
    assert len({tuple(order) for order in orders}) == 3
    assert not any(order == sorted(order) for order in orders)
    assert {tuple(sorted(order)) for order in orders} == {tuple(sorted(orders[0]))}


def test_pilot_meets_turns_in_their_order_too():
    study = make_conversations(items=10, turns=4, groups="once")

    found = clusters_in(deal_pilot_set(make_annotator(study, is_pilot=True)))

    assert all(turns == sorted(turns) for name, turns in found.items() if name)


def test_responses_to_one_input_are_shuffled_whatever_hangs_together():
    study = make_conversations(items=12, turns=12, groups="together", k=6)
    Item.objects.main().filter(study=study).update(group="one", group_shuffle_key=1)
    launch(study)

    orders = [claim_set(make_annotator(study)).item_ids for _ in range(4)]

    assert len({tuple(order) for order in orders}) == 4
