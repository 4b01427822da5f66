"""The end of a set: the code, the link that carries it, and leaving."""

import pytest

from evalsite.participants.models import ItemSet
from evalsite.studies.models import Study
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


def test_next_set_is_named_by_its_size_and_pay():
    tab = open_tab(make_live(items=2, set_size=1, pay_per_set="2.10"))
    tab.finish()

    page = tab.client.get(tab.home, follow=True)

    assert page.context["another_label"] == "Do another set of 1 (£2.10)"


def test_everything_but_the_code_and_the_way_back_is_folded_away():
    _, page = finished_page(link="https://example.org/done?cc={code}")

    html = page.content.decode()
    assert html.count('class="fold"') >= 2
    assert "open>" not in html
    assert html.index(ItemSet.objects.get().code) < html.index('class="fold"')
    assert html.count('class="code') == 1


# --- the next set without the page between ------------------------------------------------


def answer_all(tab, number: int = 1) -> None:
    for place in range(1, len(tab.me.item_sets.get(number=number).item_ids) + 1):
        tab.open(place, number=number).post(ENTERED, to=tab.address_of(place, number))


def review(tab, go: str | None = None, number: int = 1):
    address = f"{tab.home}sets/{number}/review/"
    return tab.client.get(address) if go is None else tab.client.post(address, {"go": go})


def test_finish_and_do_another_leads_to_the_first_item_of_the_next_set():
    tab = open_tab(make_live(items=2, set_size=1))
    answer_all(tab)
    assert review(tab).context["may_do_another"]

    for _ in range(2):
        response = review(tab, "another")
        assert response.headers["Location"] == tab.address_of(1, number=2)

    first, second = ItemSet.objects.order_by("number")
    assert first.finished_at
    assert first.code
    assert second.finished_at is None


def test_finish_alone_deals_nothing():
    tab = open_tab(make_live(items=2, set_size=1))
    answer_all(tab)

    assert review(tab, "").headers["Location"] == f"{tab.home}finish/"
    assert ItemSet.objects.count() == 1


def test_where_nothing_is_left_another_set_leads_to_the_last_page():
    tab = open_tab(make_live(items=1))
    answer_all(tab)

    assert review(tab, "another").headers["Location"] == f"{tab.home}finish/"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"max_sets": 1},
        {"max_items": 1},
        {"state": "paused"},
    ],
)
def test_nobody_who_must_go_back_or_is_done_is_offered_another_set(fields):
    tab = open_tab(make_live(items=2, set_size=1))
    answer_all(tab)
    if fields:
        Study.objects.update(**fields)
    else:
        set_completion(Study.objects.get(), link="https://example.org/done")

    assert not review(tab).context["may_do_another"]
    if fields:
        review(tab, "another")
        assert ItemSet.objects.count() == 1


def test_an_incomplete_set_is_neither_finished_nor_followed_by_another():
    tab = open_tab(make_live(items=3, set_size=2))

    assert review(tab, "another").status_code == 200
    assert not ItemSet.objects.get().finished_at


def test_the_code_of_a_finished_set_is_on_the_page_for_stopping():
    tab = open_tab(make_live(items=2, set_size=1))
    answer_all(tab)
    review(tab, "another")

    page = tab.client.get(f"{tab.home}stop/")

    assert page.context["code"] == ItemSet.objects.get(number=1).code
    assert page.context["code"] in page.content.decode()
