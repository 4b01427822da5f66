"""Hidden repeats: how many, how far from what they repeat, how they are shown, what they count."""

from random import Random

import pytest
from django.db.models import Count
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.data.items.choices import check_id
from evalsite.data.items.importer import undo_batch
from evalsite.fieldwork.pilot import discard_pilots
from evalsite.handout.claims import claim_set, deal_pilot_set
from evalsite.handout.controls import (
    Past,
    count_repeats,
    key_of_repeat,
    lost_controls,
    place_repeats,
)
from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.instruments.installed import get_protocol
from evalsite.lib.clock import now
from evalsite.participation.screens import load_screen
from evalsite.participation.sets import finish_set
from evalsite.people.models import ItemSet
from evalsite.studies.models import Item, Study
from tests.support.answering import make_live as make_live_of
from tests.support.checks import do_sets, kinds_of, make_checked_reviews, make_repeated, shape_of
from tests.support.factories import answer_item, make_annotator, make_study, make_user
from tests.support.ignoring import Reader, open_reader
from tests.support.tabs import Tab, after_the_lease

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


def repeats_in(item_ids: list[int]) -> list[Item]:
    return [Item.objects.get(pk=pk) for pk in item_ids if kinds_of([pk]) == ["repeat"]]


# --- how many, and where ----------------------------------------------------------------


def test_a_tenth_of_what_a_person_is_dealt_is_shown_again():
    study = make_repeated(items=60, set_size=30)

    sets = do_sets(make_annotator(study))

    assert [len(repeats_in(one.item_ids)) for one in sets] == [3, 3]
    assert [len(one.item_ids) for one in sets] == [33, 33]


def test_without_a_cap_repeats_begin_once_a_person_has_been_dealt_24_items():
    study = make_repeated(items=40, set_size=10)

    sets = do_sets(make_annotator(study))

    assert [len(repeats_in(one.item_ids)) for one in sets] == [0, 0, 1, 1]


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("caps", "found"),
    [
        ({"max_sets": 3}, [1, 1, 1]),
        ({"max_sets": 2}, [0, 0]),
        ({"max_sets": 3, "max_items": 23}, [0, 0]),
    ],
)
def test_under_a_cap_repeats_are_dealt_from_the_start_if_it_leaves_room_for_24_items(caps, found):
    study = make_repeated(items=40, set_size=10, **caps)

    sets = do_sets(make_annotator(study))

    assert [len(repeats_in(one.item_ids)) for one in sets][: len(found)] == found


def test_a_study_that_has_no_24_items_for_a_person_repeats_none():
    study = make_repeated(items=20, set_size=10, max_sets=3)

    assert not any(repeats_in(one.item_ids) for one in do_sets(make_annotator(study)))


def test_where_a_group_is_met_once_24_groups_are_wanted():
    study = make_repeated(items=30, set_size=10, max_sets=3, groups="once")
    Item.objects.filter(key__gte="item-020").update(group="one-group")

    assert not any(repeats_in(one.item_ids) for one in do_sets(make_annotator(study)))


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=40),
    past=st.integers(0, 40),
    count=st.integers(0, 20),
    distance=st.integers(8, 20),
    seed=st.integers(0, 999),
)
def test_repeats_stand_far_enough_from_what_they_repeat(sizes, past, count, distance, seed):
    line = list(range(1, past + sum(sizes) + 1))
    numbers = iter(line[past:])
    units = [[next(numbers) for _ in range(size)] for size in sizes]

    places = place_repeats(units, Past(kept=line[:past]), line, count, distance, Random(seed))

    inserted = dict(places)
    shown = line[:past]
    for number, unit in enumerate([*units, []]):
        if number in inserted:
            assert number > 0
            assert len(shown) - shown.index(inserted[number]) >= distance
            shown.append(-inserted[number])
        shown += unit
    originals = [original for _, original in places]
    assert len(originals) == len(set(originals)) <= count
    room = [n for n in range(1, len(units) + 1) if past + sum(sizes[:n]) >= distance]
    assert len(places) == min(count, len(room))


@pytest.mark.torture
@pytest.mark.slow
def test_distance_holds_across_sets():
    study = make_repeated(items=60, set_size=10, repeat_percent=40)

    sets = do_sets(make_annotator(study))

    line = [pk for one in sets for pk in one.item_ids]
    repeats = repeats_in(line)
    assert len(repeats) > 15
    for repeat in repeats:
        assert line.index(repeat.pk) - line.index(repeat.repeat_of_id) >= 8
    earlier = {pk for one in sets[:-1] for pk in one.item_ids}
    assert {repeat.repeat_of_id for repeat in repeats_in(sets[-1].item_ids)} & earlier
    assert len({repeat.repeat_of_id for repeat in repeats}) == len(repeats)


def test_share_is_of_main_items_rounded():
    study = Study(repeat_percent=10)

    assert [count_repeats(study, Past(), new) for new in (23, 24, 25, 34, 35)] == [0, 2, 3, 3, 4]
    assert count_repeats(study, Past(mains=30, repeats=3), 10) == 1
    assert count_repeats(study, Past(mains=30, repeats=9), 10) == 0


def test_a_set_makes_up_for_no_more_than_its_own_share():
    study = Study(repeat_percent=15)

    assert count_repeats(study, Past(mains=20), 10) == 2
    assert count_repeats(study, Past(mains=100, repeats=2), 10) == 2


def test_no_repeat_comes_between_the_responses_to_one_review():
    study = make_checked_reviews(checks_per_person=0, repeat_percent=20)

    item_ids = claim_set(make_annotator(study)).item_ids

    groups = dict(Item.objects.main().values_list("pk", "group"))
    runs = [groups.get(pk, f"repeat {pk}") for pk in item_ids]
    changes = [run for n, run in enumerate(runs) if n == 0 or runs[n - 1] != run]
    assert len(repeats_in(item_ids)) == 5
    assert changes == list(dict.fromkeys(runs))


@pytest.mark.one_case
@pytest.mark.parametrize("outcome", ["ignored", "reported"])
def test_what_a_person_ignored_or_reported_is_not_shown_to_them_again(outcome):
    study = make_repeated(items=48, set_size=24, repeat_percent=50)
    me = make_annotator(study)
    first = claim_set(me)
    said = {"rows": (), "outcome": outcome, "reason": "other"}
    for pk in first.item_ids:
        answer_item(me, Item.objects.get(pk=pk), item_set=first, **said)
    finish_set(participant=me, item_set=first)

    second = claim_set(me)

    repeats = repeats_in(second.item_ids)
    assert len(repeats) > 5
    assert {one.repeat_of_id for one in repeats} <= set(second.item_ids)


@pytest.mark.slow
def test_what_waits_for_the_researcher_is_not_shown_again():
    study = make_repeated(items=48, set_size=24, repeat_percent=50)
    me = make_annotator(study)
    (first,) = do_sets(me, most=1)
    shown = Item.objects.main().filter(pk__in=first.item_ids)
    shown.update(held_at=now())

    second = claim_set(me)

    assert not {one.repeat_of_id for one in repeats_in(second.item_ids)} & set(first.item_ids)
    # nobody reported them, and nothing else holds an item
    shown.update(held_at=None)


# --- how they are shown -----------------------------------------------------------------


def test_each_output_of_a_repeat_stands_in_another_place():
    study = make_repeated(items=30, k=2)
    for me in (make_annotator(study), make_annotator(study)):
        item_set = claim_set(me)

        for repeat in repeats_in(item_set.item_ids):
            slot = Slot.objects.get(participant=me, item=repeat.repeat_of_id)
            first = [one.text for one in load_screen(me, slot.item, slot).outputs]
            again = [one.text for one in load_screen(me, repeat, None).outputs]

            assert sorted(first) == sorted(again)
            assert all(one != other for one, other in zip(first, again, strict=True))


def test_the_repeat_of_a_pair_swaps_the_sides():
    study = make_live_of(get_protocol("pairwise"), items=30, set_size=30, k=1, repeat_percent=10)
    me = make_annotator(study)

    repeats = repeats_in(claim_set(me).item_ids)

    assert len(repeats) == 3
    for repeat in repeats:
        slot = Slot.objects.get(participant=me, item=repeat.repeat_of_id)
        first = [one.system_id for one in load_screen(me, slot.item, slot).outputs]
        again = [one.system_id for one in load_screen(me, repeat, None).outputs]
        assert again == first[::-1]


def test_a_repeat_of_an_answered_item_turns_the_order_that_was_answered():
    study = make_repeated(items=48, set_size=24, repeat_percent=20)
    me = make_annotator(study)
    (first,) = do_sets(me, most=1)
    Annotation.objects.filter(item__in=first.item_ids).update(order_shown=[2, 0, 1])

    item_ids = claim_set(me).item_ids

    earlier = [one for one in repeats_in(item_ids) if one.repeat_of_id in first.item_ids]
    assert earlier
    assert {one.key for one in earlier} == {
        key_of_repeat(one.repeat_of.key, [0, 1, 2]) for one in earlier
    }


def test_people_share_the_items_that_repeat():
    study = make_repeated(items=30, k=6)

    sets = [claim_set(make_annotator(study)) for _ in range(6)]

    used = [repeat for one in sets for repeat in repeats_in(one.item_ids)]
    assert Item.objects.filter(kind="repeat").count() == len({one.pk for one in used})
    assert not Item.objects.filter(kind="repeat").annotate(n=Count("outputs")).exclude(n=3)


def test_the_id_of_a_repeat_is_none_that_a_file_may_hold_and_never_too_long():
    long = key_of_repeat("x" * 128, [2, 0, 1])

    assert check_id(key_of_repeat("item-001", [0])) != ""
    assert len(long) <= 128
    assert long != key_of_repeat("x" * 127 + "y", [2, 0, 1])


def test_no_page_tells_a_repeat_from_an_item():
    tab = Tab(make_annotator(make_repeated(items=30))).start()
    place = kinds_of(tab.me.item_sets.get().item_ids).index("repeat") + 1

    repeat, main = tab.open(place).page, tab.open(2).page
    tab.open(place).save()
    review = tab.client.get(f"{tab.home}sets/1/review/").text

    assert shape_of(repeat.text) == shape_of(main.text)
    assert repeat.context["lease_until"] == main.context["lease_until"] is not None
    assert "item-0" not in repeat.text
    assert "repeat" not in (repeat.text + review).lower()


def test_a_repeat_stands_under_a_letter_of_its_own():
    study = make_checked_reviews(checks_per_person=0)
    reader = open_reader(study)
    item_ids = reader.me.item_sets.get().item_ids
    kinds = kinds_of(item_ids)

    told = [
        (view.group_letter, view.place_in_group, view.group_size)
        for view in (reader.open(n).page.context["item"] for n in range(1, len(kinds) + 1))
    ]

    letters = list(dict.fromkeys(letter for letter, _, _ in told))
    assert letters == sorted(letters)
    assert [one[1:] for one, kind in zip(told, kinds, strict=True) if kind == "repeat"] == [
        (1, 1)
    ] * kinds.count("repeat")
    assert {one[2] for one, kind in zip(told, kinds, strict=True) if kind == "main"} == {3}


# --- what they count --------------------------------------------------------------------


@pytest.mark.slow
def test_repeats_never_count_and_every_item_gets_its_k():
    study = make_repeated(items=30, k=3)

    for _ in range(3):
        do_sets(make_annotator(study))

    assert Annotation.objects.counted().count() == 90
    assert set(Annotation.objects.filter(item__kind="repeat").values_list("status", flat=True)) == {
        "control"
    }
    assert Annotation.objects.filter(item__kind="repeat").count() == 9
    systems = Rating.objects.filter(annotation__item__kind="repeat").values("output__system")
    assert not systems.filter(output__system=None).exists()


def open_repeated() -> tuple[Reader, int, int]:
    """A reader whose set repeats a response; the places of its first showing and of the repeat."""
    reader = open_reader(make_checked_reviews(checks_per_person=0))
    item_ids = reader.me.item_sets.get().item_ids
    repeat = repeats_in(item_ids)[0]
    return reader, item_ids.index(repeat.repeat_of_id) + 1, item_ids.index(repeat.pk) + 1


def ignored_kinds() -> list[str]:
    ignored = Annotation.objects.filter(outcome="ignored")
    return sorted(ignored.values_list("item__kind", flat=True))


def test_ignoring_a_whole_review_leaves_its_repeat_alone():
    reader, first, again = open_repeated()
    reader.rate(again)

    reader.ignore(first, "review")

    assert ignored_kinds() == ["main"] * 3


def test_ignoring_a_repeat_leaves_the_review_alone():
    reader, first, again = open_repeated()
    reader.rate(first)

    reader.ignore(again, "review")

    assert ignored_kinds() == ["repeat"]


def test_taking_back_a_whole_review_leaves_its_repeat_ignored_and_the_other_way_round():
    reader, first, again = open_repeated()
    reader.ignore(first, "review")
    reader.ignore(again, "review")

    reader.undo(first)
    assert ignored_kinds() == ["repeat"]

    reader.ignore(first, "review")
    reader.undo(again)
    assert ignored_kinds() == ["main"] * 3


def test_a_repeat_is_gone_once_what_it_repeats_went_to_somebody_else():
    study = make_repeated(items=30)
    me, other = make_annotator(study), make_annotator(study)
    mine = claim_set(me)
    repeat = repeats_in(mine.item_ids)[0]
    Slot.objects.filter(item=repeat.repeat_of_id).update(participant=other)

    again = claim_set(me)

    assert {repeat.repeat_of_id, repeat.pk} <= set(again.lost_ids)
    assert again.total > 25


def test_a_repeat_is_gone_once_what_it_repeats_was_lost_and_taken_back():
    study = make_repeated(items=30)
    me = make_annotator(study)
    repeat = repeats_in(claim_set(me).item_ids)[0]
    # perhaps in another place by now, which shows another order
    slot = Slot.objects.filter(item=repeat.repeat_of_id)
    slot.update(state=Slot.State.FREE, participant=None, lease_until=None)

    again = claim_set(me)

    assert slot.get().participant == me
    assert repeat.pk in again.lost_ids
    assert repeat.repeat_of_id not in again.lost_ids


def test_a_repeat_is_gone_if_it_would_follow_too_soon_on_what_it_repeats():
    study = make_repeated(items=30)
    me, other = make_annotator(study), make_annotator(study)
    mine = claim_set(me)
    repeat = repeats_in(mine.item_ids)[0]
    first, second = (mine.item_ids.index(pk) for pk in (repeat.repeat_of_id, repeat.pk))
    between = [pk for pk in mine.item_ids[first + 1 : second] if kinds_of([pk]) == ["main"]]
    Slot.objects.filter(item__in=between).update(participant=other)

    again = claim_set(me)

    assert repeat.pk in again.lost_ids
    assert repeat.repeat_of_id not in again.lost_ids


@pytest.mark.parametrize("is_turned", [False, True])
def test_a_repeat_that_goes_moves_those_behind_it_too_near(is_turned):
    study = make_study()
    me = make_annotator(study)
    line = [1, 2, 3, 4, 5, 6, 7, 8, 71, 9, 72, 10]
    item_set = ItemSet(study=study, participant=me, number=1, item_ids=line)
    repeats = [(71, 1), (72, 2)]

    gone = lost_controls(
        item_set,
        dict(repeats[::-1] if is_turned else repeats),
        lost={3},
        answered={1, 2},
        held_ids={4, 5, 6, 7, 8, 9, 10},
    )

    assert gone == {71, 72}


def test_repeats_come_back_with_their_set():
    study = make_repeated(items=30)
    me = make_annotator(study)
    mine = claim_set(me)

    with after_the_lease(study):
        again = claim_set(me)

    assert again.item_ids == mine.item_ids
    assert again.lost_ids == []


def test_a_pilot_meets_repeats_and_leaves_none_of_their_answers_behind():
    study = make_study(items=30, set_size=30, repeat_percent=10)
    me = make_annotator(study, is_pilot=True)
    item_set = deal_pilot_set(me)
    for repeat in repeats_in(item_set.item_ids):
        answer_item(me, repeat, item_set=item_set)
    assert Annotation.objects.filter(status="pilot").count() == 3

    assert discard_pilots(study) == 3
    undo_batch(batch=study.batches.get(), by=make_user())
    assert not Item.objects.exclude(kind="practice").exists()
