"""The end of a set: the code, the link that carries it, and leaving."""

import pytest

from evalsite.people.models import ItemSet
from tests.support.factories import set_completion
from tests.support.tabs import BOXES, SCORES, make_live, open_tab

pytestmark = pytest.mark.django_db

ENTERED = dict(zip(BOXES, SCORES, strict=True))


def finished_page(**completion):
    study = make_live(items=1)
    set_completion(study, **completion)
    tab = open_tab(study)
    tab.finish()
    return tab, tab.client.get(tab.home, follow=True)


def test_the_completion_link_carries_the_code():
    _, page = finished_page(link="https://example.org/done?cc={code}")

    code = ItemSet.objects.get().code
    assert page.context["way_out"].link == f"https://example.org/done?cc={code}"
    assert page.context["way_out"].hands_over


def test_a_link_without_the_code_does_not_promise_to_hand_it_over():
    _, page = finished_page(link="https://example.org/done")

    assert not page.context["way_out"].hands_over
    assert ItemSet.objects.get().code in page.content.decode()


def finish_second_set(tab) -> None:
    tab.start().post(ENTERED, to=tab.address_of(1, 2))
    tab.client.post(f"{tab.home}sets/2/review/")


def test_codes_of_earlier_sets_stay_on_the_last_page():
    tab = open_tab(make_live(items=2, set_size=1))
    tab.finish()
    first = ItemSet.objects.get().code
    assert "earlier sets" not in tab.client.get(tab.home, follow=True).content.decode()

    finish_second_set(tab)

    page = tab.client.get(tab.home, follow=True)
    assert page.context["code"] == ItemSet.objects.get(number=2).code != first
    assert "Codes of your earlier sets" in page.content.decode()
    assert f'Set 1: <b class="mr">{first}</b>' in page.content.decode()


def test_code_of_the_study_stands_once_however_many_sets_are_finished():
    study = make_live(items=2, set_size=1)
    set_completion(study, code="SAME-4-ALL")
    tab = open_tab(study)
    tab.finish()
    finish_second_set(tab)

    page = tab.client.get(tab.home, follow=True).content.decode()

    assert page.count("SAME-4-ALL") == 1
    assert "earlier sets" not in page


@pytest.mark.parametrize(("keep", "words"), [("delete", "have been deleted"), ("keep", "stay in")])
def test_who_withdraws_hears_what_became_of_the_answers_and_keeps_the_code(keep, words):
    tab, _ = finished_page()

    page = tab.client.post(f"{tab.home}withdraw/", {"keep": keep}, follow=True)

    assert words in page.content.decode()
    assert ItemSet.objects.get().code in page.content.decode()


def test_next_set_is_named_by_its_size_time_and_pay():
    tab = open_tab(make_live(items=4, set_size=2, pay_per_set="2.10", minutes_per_set=7))
    tab.finish()

    page = tab.client.get(tab.home, follow=True)

    shown = page.context
    assert (shown["next_number"], shown["next_minutes"], shown["next_pay"]) == (2, 7, "£2.10")


def test_everything_but_the_code_and_the_way_back_is_folded_away():
    _, page = finished_page(link="https://example.org/done?cc={code}")

    html = page.content.decode()
    assert html.count('class="fold"') >= 2
    assert "open>" not in html
    assert html.index(ItemSet.objects.get().code) < html.index('class="fold"')
    assert html.count('class="code') == 1


# --- the next set ---------------------------------------------------------------------------


def answer_all(tab, number: int = 1) -> None:
    for place in range(1, len(tab.me.item_sets.get(number=number).item_ids) + 1):
        tab.open(place, number=number).post(ENTERED, to=tab.address_of(place, number))


def review(tab, go: str | None = None, number: int = 1):
    address = f"{tab.home}sets/{number}/review/"
    return tab.client.get(address) if go is None else tab.client.post(address, {"go": go})


def test_review_has_one_button_and_deals_nothing():
    tab = open_tab(make_live(items=2, set_size=1))
    answer_all(tab)

    assert review(tab).content.decode().count("<button") == 1
    # as an earlier version of the page sent it
    assert review(tab, "another").headers["Location"] == f"{tab.home}finish/"
    assert ItemSet.objects.count() == 1


@pytest.mark.parametrize(("items", "is_offered"), [(2, True), (1, False)])
def test_last_page_offers_another_set_only_if_there_is_one(items, is_offered):
    tab = open_tab(make_live(items=items, set_size=1))
    answer_all(tab)
    review(tab, "finish")

    page = tab.client.get(f"{tab.home}finish/")

    assert ("Start another set" in page.content.decode()) is is_offered


def test_an_incomplete_set_is_not_finished():
    tab = open_tab(make_live(items=3, set_size=2))

    assert review(tab, "finish").status_code == 200
    assert not ItemSet.objects.get().finished_at


def test_the_code_of_a_finished_set_is_on_the_page_for_stopping():
    tab = open_tab(make_live(items=2, set_size=1))
    answer_all(tab)
    review(tab, "finish")
    tab.client.post(f"{tab.home}start/")

    page = tab.client.get(f"{tab.home}stop/")

    assert page.context["code"] == ItemSet.objects.get(number=1).code
    assert page.context["code"] in page.content.decode()
