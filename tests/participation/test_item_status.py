"""The lower bar says how far this item is, and on arrival what became of the one before."""

import pytest

from evalsite.instruments.installed import get_protocol
from evalsite.participation.item_status import name_places
from tests.support.tabs import BOXES, make_live, open_tab

pytestmark = pytest.mark.django_db


def test_untouched_item_has_no_scores_yet_whatever_became_of_others():
    tab = open_tab(make_live(items=2))
    tab.open(1).save()

    assert tab.open(2).page.context["status"] == "No scores yet"


def test_item_after_a_saved_one_says_so_and_leads_back_to_it():
    tab = open_tab(make_live(items=2))
    response = tab.open(1).save()

    page = tab.client.get(response.headers["Location"])

    assert page.context["status"] == "Item 1 saved."
    assert 'id="undo" href="../1/?undo"' in page.content.decode()
    assert tab.client.get(f"{tab.address_of(1)}?undo").context["status"] == "All answered, saved"


@pytest.mark.one_case
@pytest.mark.parametrize("after", ["", "0", "9", "x", "-1", "1" * 40])
def test_address_that_names_no_place_offers_no_undo(after):
    tab = open_tab(make_live(items=2))

    page = tab.client.get(f"{tab.address_of(2)}?was=saved&after={after}")

    assert 'id="undo"' not in page.content.decode()


def test_answers_that_were_entered_and_not_sent_are_counted():
    tab = open_tab(make_live(items=1))
    tab.open(1).post({BOXES[0]: "70"}, to=f"{tab.home}draft/")

    assert tab.open(1).page.context["status"] == "1 of 3 answered, saved"


@pytest.mark.parametrize(
    ("places", "name"),
    [
        ([2], "Item 2"), ([1, 2], "Items 1 and 2"), ([1, 2, 3], "Items 1 to 3"),
        ([1, 3, 5], "Items 1, 3 and 5"),
    ],
)  # fmt: skip
def test_places_are_named_as_people_say_them(places, name):
    assert name_places(get_protocol("magnitude"), places) == name
