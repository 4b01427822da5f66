"""The review that a response belongs to, and its place among the responses to it."""

from collections import defaultdict
from itertools import groupby

import pytest

from evalsite.participation.sets import group_place
from evalsite.participation.view_models import GroupPlace
from evalsite.people.models import ItemSet
from evalsite.studies.models import Item
from tests.support.factories import make_annotator
from tests.support.ignoring import SCORES, Reader, make_reviews, open_reader
from tests.support.tabs import open_tab

pytestmark = pytest.mark.django_db


def told(page) -> tuple[str, int, int]:
    item = page.context["item"]
    return (item.group_letter, item.place_in_group, item.group_size)


def runs_of(item_set: ItemSet) -> list[tuple[str, list[int]]]:
    """The groups of a set in their order, each with its items in theirs."""
    group_of = dict(Item.objects.values_list("pk", "group"))
    return [(name, list(run)) for name, run in groupby(item_set.item_ids, group_of.get)]


def test_each_page_tells_the_review_by_letter_and_the_place_of_its_response():
    reader = open_reader()

    places = [told(reader.open(place).page) for place in range(1, 7)]

    assert places == [(letter, place, 3) for letter in "AB" for place in (1, 2, 3)]
    assert "REVIEW B" in reader.page.text
    assert "RESPONSE 3 of 3 to this review" in reader.page.text


def test_pages_of_answered_items_and_of_errors_tell_the_same():
    reader = open_reader()
    reader.rate(2)

    assert told(reader.open(2).page) == ("A", 2, 3)
    assert told(reader.send(2, **{**SCORES, "fluency": ""})) == ("A", 2, 3)
    assert told(reader.go_to_ignore(2).page) == ("A", 2, 3)


def test_a_response_that_went_to_others_is_not_counted_and_no_letter_moves():
    reader = open_reader()
    item_set = reader.me.item_sets.get()
    item_set.lost_ids = [*item_set.item_ids[:2], item_set.item_ids[3]]
    item_set.save()

    places = [told(reader.open(place).page) for place in (3, 5, 6)]

    assert places == [("A", 1, 1), ("B", 1, 2), ("B", 2, 2)]


def test_a_response_answered_although_it_went_to_others_is_counted():
    reader = open_reader()
    reader.rate(1)
    item_set = reader.me.item_sets.get()
    item_set.lost_ids = item_set.item_ids[:1]
    item_set.save()

    assert told(reader.open(1).page) == ("A", 1, 3)
    assert told(reader.open(2).page) == ("A", 2, 3)


def test_reviews_after_z_have_two_letters():
    me = open_reader(reviews=28, responses=1, set_size=28).me
    item_set = me.item_sets.get()

    letters = [group_place(me, item_set, pk).letter for pk in item_set.item_ids]

    assert letters[:2] + letters[25:] == ["A", "B", "Z", "AA", "AB"]


def test_pilot_participants_are_told_the_same():
    reader = Reader(make_annotator(make_reviews(), is_pilot=True)).start()

    assert told(reader.open(1).page) == ("A", 1, 3)


def test_where_groups_are_free_nothing_is_told():
    tab = open_tab()

    assert told(tab.page) == ("", 0, 0)
    assert tab.page.context["item"].group == GroupPlace()


# --- the order of the responses to a review -------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize("item_order", ["random", "uploaded"])
def test_responses_to_a_review_follow_one_another_in_an_order_of_each_participant(item_order):
    study = make_reviews(reviews=2, k=8, item_order=item_order)

    orders = defaultdict(set)
    for number in range(8):
        me = open_reader(study).me
        for name, run in runs_of(me.item_sets.get()):
            orders[name].add(tuple(run))
        assert number + 1 == ItemSet.objects.count()

    assert set(orders) == {"review-1", "review-2"}
    assert all(len(found) > 2 for found in orders.values())
    assert {len(run) for found in orders.values() for run in found} == {3}


def test_reviews_come_as_uploaded_where_the_study_says_so():
    study = make_reviews(reviews=4, set_size=12, item_order="uploaded")

    runs = runs_of(open_reader(study).me.item_sets.get())

    assert [name for name, _ in runs] == ["review-1", "review-2", "review-3", "review-4"]


def test_the_order_of_responses_can_be_replayed_from_the_seed():
    orders = []
    for _ in range(2):
        study = make_reviews(seed="same", item_order="uploaded")
        reader = Reader(make_annotator(study, pseudonym="p-same")).start()
        keys = dict(Item.objects.filter(study=study).values_list("pk", "key"))
        orders.append([keys[pk] for pk in reader.me.item_sets.get().item_ids])

    assert orders[0] == orders[1]
