"""How work is handed out: in layers, in sets, under a lease, and never by a GET."""

from collections import Counter
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction

from evalsite.handout.claims import claim_set, has_work, is_lost_race
from evalsite.handout.models import Annotation, Slot, order_of
from evalsite.handout.slots import make_slots
from evalsite.lib.clock import now, standing_at
from evalsite.participation.sets import finish_set
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Item, Study
from tests.support.factories import (
    add_batch,
    answer_item,
    launch,
    make_annotator,
    make_study,
)
from tests.support.invariants import check_invariants

pytestmark = pytest.mark.django_db


def make_live(*, items: int = 10, **fields) -> Study:
    return launch(make_study(items=items, **fields))


def add_grouped_items(study: Study, *, groups: int, size: int) -> Study:
    """The study's items stand in groups of this size, as the responses to one review do."""
    add_batch(study, items=groups * size)
    for number, item in enumerate(Item.objects.main().filter(study=study).order_by("id")):
        group = f"group-{number // size}"
        Item.objects.filter(pk=item.pk).update(group=group, group_shuffle_key=number // size)
    return study


def deal(me: Participant) -> list[int]:
    """The items of the set that this person holds from now on; none when there is nothing."""
    item_set = claim_set(me)
    if item_set is None:
        return []
    return [item_id for item_id in item_set.item_ids if item_id not in item_set.lost_ids]


def deal_all(study: Study, *, most: int = 1000) -> list[list[int]]:
    """The sets of newcomers who take one each, until somebody gets nothing."""
    sets = []
    for _ in range(most):
        item_ids = deal(make_annotator(study))
        if not item_ids:
            return sets
        sets.append(item_ids)
    raise AssertionError("The work never came to an end.")


def finish(me: Participant) -> None:
    """This person answers the whole of the open set and finishes it."""
    item_set = me.item_sets.get(finished_at=None)
    for item in Item.objects.filter(pk__in=item_set.item_ids):
        answer_item(me, item, item_set=item_set)
    finish_set(participant=item_set.participant, item_set=item_set)


def later(study: Study, minutes: int = 1):
    """The clock stands at this many minutes after every lease of this moment has ended."""
    return standing_at(now() + timedelta(minutes=study.lease_minutes + minutes))


def slots_in_order(study: Study) -> list[tuple[str, int]]:
    found = Slot.objects.filter(study=study).order_by("pos", "id")
    return list(found.values_list("item__key", "no"))


# --- making slots -----------------------------------------------------------------


def test_slots_lie_in_layers_so_that_every_item_comes_once_before_any_comes_twice():
    study = make_live(items=7, k=3)

    order = slots_in_order(study)

    assert [no for _, no in order] == [0] * 7 + [1] * 7 + [2] * 7
    layers = [[key for key, _ in order[start : start + 7]] for start in (0, 7, 14)]
    assert all(len(set(layer)) == 7 for layer in layers)
    assert layers[0] != layers[1] != layers[2]


def test_the_same_seed_gives_the_same_order_and_another_seed_another():
    first = make_live(items=12, seed="one")
    second = make_live(items=12, seed="one")
    other = make_live(items=12, seed="two")

    assert slots_in_order(first) == slots_in_order(second) != slots_in_order(other)


def test_every_output_of_an_item_stands_once_in_every_place_over_three_slots():
    study = make_live(items=5, k=3)

    for item in Item.objects.main().filter(study=study):
        arrangements = item.slots.values_list("arrangement", flat=True)
        orders = [order_of(study.seed, item, 3, arrangement) for arrangement in arrangements]
        for place in range(3):
            assert {order[place] for order in orders} == {0, 1, 2}


@pytest.mark.both_databases
def test_slots_made_twice_are_made_once():
    study = make_live(items=5, k=3)
    before = list(Slot.objects.order_by("id").values())

    made = make_slots(study, study.batches.all())

    assert made == 15
    assert list(Slot.objects.order_by("id").values()) == before


@pytest.mark.both_databases
def test_making_slots_goes_on_after_a_stop_in_the_middle_as_if_it_had_not_stopped():
    whole = make_live(items=5, k=3, seed="one")
    broken = make_study(items=5, k=3, seed="one")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_slots(broken, broken.batches.all(), stop)
    assert Slot.objects.filter(study=broken).count() == 5
    make_slots(broken, broken.batches.all())

    assert slots_in_order(broken) == slots_in_order(whole)
    places = Slot.objects.order_by("pos").values_list("pos", "arrangement")
    assert list(places.filter(study=broken)) == list(places.filter(study=whole))


def test_a_later_batch_comes_after_every_layer_of_the_first():
    study = make_live(items=4, k=2)
    first = Slot.objects.order_by("-pos").first()

    make_slots(study, [add_batch(study, items=4, first=5)])

    later_slots = Slot.objects.filter(item__key__gte="item-005").order_by("pos")
    assert [slot.no for slot in later_slots] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert later_slots.first().pos > first.pos


def test_practice_items_have_no_slots():
    study = make_live(items=2, k=2)

    assert Item.objects.practice().filter(study=study).exists()
    assert Slot.objects.filter(study=study).count() == 4


# --- dealing sets -------------------------------------------------------------------


@pytest.mark.both_databases
def test_every_item_is_dealt_once_before_any_is_dealt_twice():
    study = make_live(items=10, k=3, set_size=5)

    dealt = [item_id for item_ids in deal_all(study) for item_id in item_ids]

    assert [len(set(dealt[start : start + 10])) for start in (0, 10, 20)] == [10, 10, 10]
    assert len(dealt) == 30


def test_a_set_has_the_studys_size_and_only_distinct_items():
    study = make_live(items=7, k=3, set_size=4)

    sets = deal_all(study)

    assert sum(map(len, sets)) == 21
    assert len(sets[0]) == 4
    assert all(len(set(item_ids)) == len(item_ids) <= 4 for item_ids in sets)


def test_ten_items_in_sets_of_twelve_fill_three_sets_of_ten():
    study = make_live(items=10, k=3, set_size=12)

    assert [len(set(item_ids)) for item_ids in deal_all(study)] == [10, 10, 10]


def test_a_set_that_is_asked_for_again_is_the_same_set():
    study = make_live(items=6, set_size=3)
    me = make_annotator(study)

    first, again = claim_set(me), claim_set(me)

    assert (again.pk, again.item_ids) == (first.pk, first.item_ids)
    assert Slot.objects.leased().count() == 3


def test_nobody_meets_an_item_twice_over_all_sets():
    study = make_live(items=10, k=3, set_size=4)
    me = make_annotator(study)

    seen = []
    while item_ids := deal(me):
        seen += item_ids
        finish(me)

    assert len(seen) == len(set(seen)) == 10
    assert [item_set.number for item_set in me.item_sets.all()] == [1, 2, 3]
    check_invariants(study)


def test_the_cap_of_sets_ends_the_work_of_one_person_only():
    study = make_live(items=10, k=3, set_size=2, max_sets=2)
    me = make_annotator(study)
    for _ in range(2):
        deal(me)
        finish(me)

    assert not has_work(me, study)
    assert deal(me) == []
    assert len(deal(make_annotator(study))) == 2


def test_the_order_within_a_set_differs_between_people_and_can_be_replayed():
    study = make_live(items=8, k=3, set_size=8)
    people = [make_annotator(study, pseudonym=f"p-{number}") for number in range(3)]
    orders = [deal(me) for me in people]

    assert len({tuple(order) for order in orders}) == 3
    assert len({tuple(sorted(order)) for order in orders}) == 1


def test_items_come_as_uploaded_where_the_study_says_so():
    study = make_live(items=8, set_size=8, item_order="uploaded")

    item_ids = deal(make_annotator(study))

    assert item_ids == sorted(item_ids)


def test_a_held_item_is_not_dealt():
    study = make_live(items=3, k=1, set_size=3)
    held = Item.objects.main().first()
    Item.objects.filter(pk=held.pk).update(held_at=now())

    item_ids = deal(make_annotator(study))

    assert len(item_ids) == 2
    assert held.pk not in item_ids
    assert not has_work(make_annotator(study), study)


@pytest.mark.parametrize(
    "fields", [{"stopped_at": now()}, {"withdrawn_at": now(), "stopped_at": now()}]
)
def test_who_has_stopped_or_withdrawn_gets_nothing(fields):
    study = make_live(items=3)
    me = make_annotator(study, **fields)

    assert deal(me) == []
    assert not has_work(me, study)
    assert not Slot.objects.leased().exists()


@pytest.mark.parametrize("state", ["draft", "paused", "closed", "archived"])
def test_a_study_that_is_not_live_hands_out_nothing(state):
    study = make_live(items=3)
    Study.objects.filter(pk=study.pk).update(state=state)
    study.refresh_from_db()
    me = make_annotator(study)

    assert deal(me) == []
    assert not has_work(me, study)
    assert not Slot.objects.leased().exists()


def test_a_study_past_its_closing_date_hands_out_nothing():
    study = make_live(items=3, closes_at=now() + timedelta(days=1))
    me = make_annotator(study)

    with standing_at(now() + timedelta(days=1, seconds=1)):
        assert deal(me) == []

    assert len(deal(me)) == 3


_REFUSAL = {
    "sqlite": """CREATE TRIGGER refuse BEFORE INSERT ON participants_itemset
        BEGIN SELECT RAISE(ABORT, 'another rule'); END""",
    "postgresql": """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'another rule' USING ERRCODE = 'check_violation'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON participants_itemset EXECUTE FUNCTION refuse()""",
}


@pytest.mark.both_databases
def test_a_row_that_the_database_refuses_is_no_lost_race():
    me = make_annotator(make_live(items=3))
    with connection.cursor() as cursor:
        cursor.execute(_REFUSAL[connection.vendor])

    with pytest.raises(IntegrityError, match="another rule"):
        claim_set(me)


@pytest.mark.both_databases
@pytest.mark.parametrize("model", [Slot, ItemSet])
def test_a_lost_race_for_a_place_or_a_set_is_known_by_its_constraint(model):
    study = make_live(items=2)
    me = make_annotator(study)
    item_set = claim_set(me)
    if model is Slot:
        clash = Slot.objects.free().filter(item=item_set.item_ids[0]).first()
        clash.state, clash.participant, clash.lease_until = 1, me, now()
    else:
        clash = ItemSet(study=study, participant=me, number=2)

    with pytest.raises(IntegrityError) as error, transaction.atomic():
        clash.save()

    assert is_lost_race(error.value)


# --- groups that stay together ----------------------------------------------------------


@pytest.mark.torture
@pytest.mark.slow
def test_sixty_groups_of_three_are_dealt_whole_in_sets_of_ten():
    study = make_study(items=0, k=3, set_size=10, groups="together")
    launch(add_grouped_items(study, groups=60, size=3))
    group_of = dict(Item.objects.main().values_list("pk", "group"))

    sets = deal_all(study)

    assert sum(map(len, sets)) == 60 * 3 * 3
    assert {len(item_ids) for item_ids in sets} == {9}
    for item_ids in sets:
        groups = [group_of[item_id] for item_id in item_ids]
        assert Counter(groups) == dict.fromkeys(groups, 3)
        # the items of a group follow one another
        assert groups == [group for group in dict.fromkeys(groups) for _ in range(3)]


def test_a_group_larger_than_a_set_is_dealt_whole_and_alone():
    study = make_study(items=0, k=1, set_size=2, groups="together")
    launch(add_grouped_items(study, groups=2, size=3))

    assert [len(item_ids) for item_ids in deal_all(study)] == [3, 3]


def test_the_order_within_a_group_differs_between_people():
    study = make_study(items=0, k=3, set_size=5, groups="together")
    launch(add_grouped_items(study, groups=1, size=5))

    orders = {tuple(deal(make_annotator(study, pseudonym=f"p-{n}"))) for n in range(3)}

    assert len(orders) == 3


@pytest.mark.both_databases
def test_a_group_expires_and_returns_as_one():
    study = make_study(items=0, k=1, set_size=3, groups="together")
    launch(add_grouped_items(study, groups=2, size=3))
    first = deal(make_annotator(study))
    deal(make_annotator(study))

    with later(study):
        again = deal(make_annotator(study))

    assert sorted(again) == sorted(first)


# --- leases -----------------------------------------------------------------------------


def test_abandoned_work_returns_when_its_lease_ends_and_not_before():
    study = make_live(items=3, k=1, set_size=3)
    abandoned = deal(make_annotator(study))
    me = make_annotator(study)

    assert deal(me) == []
    assert not has_work(me, study)

    with later(study):
        assert has_work(me, study)
        assert sorted(deal(me)) == sorted(abandoned)
    check_invariants(study)


@pytest.mark.both_databases
def test_abandoned_work_of_other_studies_does_not_stand_in_the_way():
    elsewhere = make_live(items=9, k=1, set_size=9)
    deal(make_annotator(elsewhere))
    study = make_live(items=2, k=1, set_size=2)
    abandoned = deal(make_annotator(study))

    with later(study):
        assert sorted(deal(make_annotator(study))) == sorted(abandoned)


def test_my_own_lapsed_set_comes_back_to_me():
    study = make_live(items=3, k=1, set_size=3)
    me = make_annotator(study)
    before = deal(me)

    with later(study):
        again = deal(me)

        assert again == before
        assert deal(make_annotator(study)) == []
        assert Slot.objects.leased().filter(participant=me, lease_until__gt=now()).count() == 3
    assert me.item_sets.count() == 1


@pytest.mark.both_databases
def test_what_others_took_meanwhile_drops_out_of_my_set():
    study = make_live(items=3, k=1, set_size=3)
    me, other = make_annotator(study), make_annotator(study)
    before = deal(me)
    Study.objects.filter(pk=study.pk).update(set_size=1)

    with later(study):
        (taken,) = deal(other)
        assert deal(me) == [item_id for item_id in before if item_id != taken]
    check_invariants(study)


def test_my_answers_stay_in_my_set_when_the_rest_has_gone():
    study = make_live(items=3, k=1, set_size=3)
    me, other = make_annotator(study), make_annotator(study)
    item_set = claim_set(me)
    answered, *rest = item_set.item_ids
    answer_item(me, Item.objects.get(pk=answered), item_set=item_set)

    with later(study):
        assert sorted(deal(other)) == sorted(rest)
        assert deal(me) == [answered]
    check_invariants(study)


def test_a_set_that_others_have_emptied_is_filled_again():
    study = make_live(items=4, k=1, set_size=2)
    me = make_annotator(study)
    before = claim_set(me)

    with later(study):
        assert sorted(deal(make_annotator(study))) == sorted(before.item_ids)
        again = claim_set(me)

    assert again.pk == before.pk
    assert again.lost_ids == before.item_ids
    # behind the places that were, so that no place ever stands for two items
    assert again.item_ids[:2] == before.item_ids
    assert len(again.item_ids) == 4
    assert me.item_sets.count() == 1


def test_an_item_that_is_held_meanwhile_drops_out_of_a_lapsed_set():
    study = make_live(items=3, k=1, set_size=3)
    me = make_annotator(study)
    held, *rest = deal(me)

    with later(study):
        # a claim of somebody who could take none of them, all the same, has released them
        Slot.objects.update(state=0, participant=None, lease_until=None)
        Item.objects.filter(pk=held).update(held_at=now())

        assert deal(me) == rest


def test_a_reported_items_place_goes_to_somebody_else():
    study = make_live(items=1, k=1, set_size=1)
    me, other = make_annotator(study), make_annotator(study)
    item_set = claim_set(me)
    item = Item.objects.main().get()

    answer_item(me, item, item_set=item_set, outcome=Annotation.Outcome.REPORTED, rows=())

    assert deal(other) == [item.pk]
    check_invariants(study)
