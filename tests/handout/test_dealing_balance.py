"""Sets as they are dealt: systems, sides and places balanced, for whoever comes whenever."""

from collections import Counter
from itertools import product

import pytest

from evalsite.handout.claims import claim_set, has_work, items_left
from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet
from evalsite.studies.models import Item
from tests.support.designs import (
    all_pairs,
    deal_to,
    deal_to_newcomers,
    finish,
    make_designed,
    one_each,
    pages_of,
    side_by_side,
    spread,
)
from tests.support.factories import answer_item, make_annotator

pytestmark = pytest.mark.django_db


def places_in(pages: list[tuple[str, ...]]) -> Counter:
    return Counter((system, place) for page in pages for place, system in enumerate(page))


def groups_in(item_set: ItemSet) -> list[str]:
    groups = dict(Item.objects.values_list("pk", "group"))
    return [groups[item_id] for item_id in item_set.item_ids]


# --- sets of newcomers ------------------------------------------------------------------


@pytest.mark.torture
@pytest.mark.slow
def test_three_utterances_side_by_side_are_each_in_each_place_equally_often_in_every_set():
    study = make_designed(side_by_side(100), k=3, set_size=10)

    sets = deal_to_newcomers(study)

    assert [len(item_set.item_ids) for item_set in sets] == [10] * 30
    cells = list(product("abc", range(3)))
    for item_set in sets:
        assert spread(places_in(pages_of(item_set)), cells) <= 2
    pages = [page for item_set in sets for page in pages_of(item_set)]
    assert spread(places_in(pages), cells) == 0


@pytest.mark.one_case
@pytest.mark.parametrize("k", [2, 3, 4])
def test_in_every_set_of_pairs_each_system_is_on_the_left_as_often_as_on_the_right(k):
    study = make_designed(all_pairs(60), protocol="pairwise", groups="once", k=k, set_size=20)

    sets = deal_to_newcomers(study)

    assert [len(item_set.item_ids) for item_set in sets] == [20] * 3 * k
    for item_set in sets:
        lefts = Counter(page[0] for page in pages_of(item_set))
        assert abs(lefts["a"] - lefts["b"]) <= 1


def test_in_every_set_of_contexts_each_system_comes_equally_often():
    study = make_designed(one_each(33), protocol="dialogue", groups="once", k=1, set_size=11)

    sets = deal_to([make_annotator(study) for _ in range(9)])

    assert len(sets) == 9
    for item_set in sets:
        systems = Counter(system for (system,) in pages_of(item_set))
        assert sorted(systems.values()) == [3, 4, 4]


@pytest.mark.torture
@pytest.mark.slow
def test_in_every_set_of_reviews_each_system_is_in_each_place_equally_often():
    study = make_designed(one_each(40), protocol="rrgen", groups="together", k=3, set_size=12)

    sets = deal_to_newcomers(study)

    assert [len(item_set.item_ids) for item_set in sets] == [12] * 30
    systems = {
        item.pk: item.outputs.get().system.name for item in Item.objects.prefetch_related("outputs")
        if item.kind == "main"
    }  # fmt: skip
    cells = list(product("abc", range(3)))
    total: Counter = Counter()
    for item_set in sets:
        places = Counter(
            (systems[item_id], number % 3) for number, item_id in enumerate(item_set.item_ids)
        )
        assert spread(places, cells) <= 2
        total += places
    assert spread(total, cells) == 0


def test_each_response_to_a_review_is_in_each_place_once_over_three_people():
    study = make_designed(one_each(4), protocol="rrgen", groups="together", k=3, set_size=12)

    sets = deal_to_newcomers(study)

    met = Counter(
        (item_id, number % 3)
        for item_set in sets
        for number, item_id in enumerate(item_set.item_ids)
    )
    assert len(met) == 12 * 3
    assert set(met.values()) == {1}


# --- people who come again ----------------------------------------------------------------


@pytest.mark.slow
def test_nobody_meets_a_context_twice_and_all_sets_are_full_with_as_few_people_as_can_be():
    study = make_designed(one_each(33), protocol="dialogue", groups="once", k=3, set_size=11)
    people = [make_annotator(study) for _ in range(9)]

    sets = deal_to(people)

    assert [len(item_set.item_ids) for item_set in sets] == [11] * 27
    for me in people:
        groups = [group for item_set in me.item_sets.all() for group in groups_in(item_set)]
        assert len(set(groups)) == len(groups) == 33
    for number, item_set in enumerate(sets[:18]):  # of the last sets there is nothing to choose
        systems = Counter(system for (system,) in pages_of(item_set))
        # who comes again has met some of what comes next
        assert max(systems.values()) - min(systems.values()) <= (1 if number < 9 else 3)


def test_what_a_set_has_enough_of_is_passed_over_while_it_can_get_something_else():
    study = make_designed(one_each(30), protocol="dialogue", groups="once", k=1, set_size=9)
    others = Slot.objects.filter(item__outputs__system__name="a").order_by("pos")
    # somebody else holds most of what system a wrote at the front of the queue
    gone = others.values_list("pk", flat=True)[:5]
    Slot.objects.filter(pk__in=list(gone)).update(
        state=1, participant=make_annotator(study), lease_until=now()
    )
    Slot.objects.leased().update(lease_until=now().replace(year=now().year + 1))

    item_set = claim_set(make_annotator(study))

    assert Counter(system for (system,) in pages_of(item_set)) == {"a": 3, "b": 3, "c": 3}


def test_what_was_passed_over_fills_a_set_that_can_get_nothing_else():
    study = make_designed(one_each(10), protocol="dialogue", groups="once", k=1, set_size=9)
    other = make_annotator(study)
    Slot.objects.exclude(item__outputs__system__name="a").update(
        state=2, participant=other, lease_until=None
    )

    item_set = claim_set(make_annotator(study))

    assert Counter(system for (system,) in pages_of(item_set)) == {"a": 9}


def test_what_was_passed_over_is_first_in_the_next_set():
    study = make_designed(side_by_side(40, "ab"), k=1, set_size=4)
    me = make_annotator(study)
    # every second place of the front is gone, so what is left shows a on the same side
    front = list(Slot.objects.order_by("pos").values_list("pk", flat=True)[:16:2])
    Slot.objects.filter(pk__in=front).update(state=2, participant=make_annotator(study))

    first = claim_set(me)
    passed = Slot.objects.free().order_by("pos").first()
    finish(me, first)
    second = claim_set(me)

    assert abs(spread(Counter(page[0] for page in pages_of(first)), "ab")) <= 1
    assert passed.pos < max(Slot.objects.done().values_list("pos", flat=True))
    assert passed.item_id in second.item_ids


def test_a_set_is_filled_from_before_where_i_began_rather_than_left_short():
    study = make_designed(side_by_side(12), k=1, set_size=5)
    me, other = make_annotator(study), make_annotator(study)
    first = claim_set(other)
    finish(me, claim_set(me))
    # what the other had comes back, behind where I stand; before me there are two
    Slot.objects.leased().update(state=0, participant=None, lease_until=None)

    second = claim_set(me)

    assert len(second.item_ids) == 5
    assert len(set(first.item_ids) & set(second.item_ids)) == 3


# --- a cap of items -------------------------------------------------------------------------


def test_nobody_is_dealt_more_items_than_the_cap():
    study = make_designed(side_by_side(40), k=1, set_size=10, max_items=25)
    me = make_annotator(study)

    sizes = [len(item_set.item_ids) for item_set in deal_to([me])]

    assert sizes == [10, 10, 5]
    assert not has_work(me, study)
    assert has_work(make_annotator(study), study)


def test_groups_stay_whole_under_a_cap_of_items():
    study = make_designed(one_each(10), groups="together", k=1, set_size=6, max_items=10)
    me = make_annotator(study)

    sizes = [len(item_set.item_ids) for item_set in deal_to([me])]

    assert sizes == [6, 3]
    assert items_left(me, study) == 1
    assert not has_work(me, study)


def test_a_group_that_is_larger_than_the_cap_is_nobodys_work():
    study = make_designed(one_each(2), groups="together", k=1, set_size=2, max_items=2)
    me = make_annotator(study)

    assert not has_work(me, study)
    assert claim_set(me) is None


def test_what_was_reported_or_came_too_late_counts_to_the_cap():
    study = make_designed(side_by_side(9), k=1, set_size=3, max_items=4)
    me = make_annotator(study)
    item_set = claim_set(me)
    first, second, third = Item.objects.filter(pk__in=item_set.item_ids)
    answer_item(me, first, item_set=item_set, outcome=Annotation.Outcome.REPORTED, rows=())
    Slot.objects.filter(item=second).update(participant=make_annotator(study))
    answer_item(me, second, item_set=item_set)
    answer_item(me, third, item_set=item_set)

    assert items_left(me, study) == 1


def test_what_went_to_others_does_not_count_to_the_cap():
    study = make_designed(side_by_side(9), k=1, set_size=3, max_items=3)
    me = make_annotator(study)
    claim_set(me)
    Slot.objects.leased().update(participant=make_annotator(study))

    assert items_left(me, study) == 3


# --- the order within a set -------------------------------------------------------------------


def test_blocked_items_of_a_conversation_follow_one_another_in_their_turns():
    study = make_designed(
        all_pairs(24), cluster_of=4, k=1, set_size=24, item_order="blocked", groups="once"
    )

    item_set = claim_set(make_annotator(study, pseudonym="p-1"))

    clusters = dict(Item.objects.values_list("pk", "cluster"))
    order = [clusters[item_id] for item_id in item_set.item_ids]
    assert order == [cluster for cluster in dict.fromkeys(order) for _ in range(4)]
    assert order != sorted(order)
    for start in range(0, 24, 4):
        block = item_set.item_ids[start : start + 4]
        assert block == sorted(block)


def test_blocked_items_of_a_group_follow_one_another_where_there_are_no_conversations():
    study = make_designed(one_each(6), k=1, set_size=18, item_order="blocked", groups="free")

    first, second = (
        groups_in(claim_set(make_annotator(make, pseudonym="p-1")))
        for make in (
            study,
            make_designed(one_each(6), k=1, set_size=18, item_order="blocked", seed="b"),
        )
    )

    assert first == [group for group in dict.fromkeys(first) for _ in range(3)]
    assert list(dict.fromkeys(first)) != list(dict.fromkeys(second))


def test_whole_groups_of_a_conversation_follow_one_another_in_their_turns():
    study = make_designed(
        one_each(8), cluster_of=2, k=1, set_size=24, item_order="blocked", groups="together"
    )

    groups = list(dict.fromkeys(groups_in(claim_set(make_annotator(study)))))

    numbers = [int(group.removeprefix("group-")) for group in groups]
    assert all(
        second == first + 1 for first, second in zip(numbers[::2], numbers[1::2], strict=True)
    )
    assert sorted(numbers) == list(range(8))


@pytest.mark.slow
def test_later_turns_of_a_conversation_come_in_later_sets():
    pairs = [(number, number + 1) for number in range(60) if number % 5 < 4]
    in_order = 0
    # one study alone may fall short by chance
    seeds = [f"seed {number}" for number in range(5)]
    for seed in seeds:
        study = make_designed(
            all_pairs(60), cluster_of=5, k=1, set_size=10, groups="once", seed=seed
        )
        sets = deal_to([make_annotator(study)])
        met = [
            int(group.removeprefix("group-")) for item_set in sets for group in groups_in(item_set)
        ]
        in_order += sum(met.index(first) < met.index(second) for first, second in pairs)

    assert in_order >= 0.9 * len(pairs) * len(seeds)
