"""Ignoring in a browser: by one key, on pages that anyone can use, and nothing left over."""

import pytest
from playwright.sync_api import Page, expect

from evalsite.handout.models import Annotation, Draft
from tests.support.browsing import MAIN, Watch, find_faults_in_turn, follow, take_a_set
from tests.support.ignoring import make_reviews

pytestmark = pytest.mark.django_db(transaction=True)

NARROW_AND_WIDE = pytest.mark.parametrize("width", [360, 1280])


def press_to(page: Page, key: str) -> None:
    with page.expect_navigation():
        page.keyboard.press(key)


def walk(page: Page):
    """The pages around ignoring, faults included, from the first item of a set on."""
    yield "item"
    press_to(page, "i")
    yield "ignore"
    follow(page, MAIN)
    yield "ignore with an error"
    page.check("#ignore-review")
    follow(page, MAIN)
    yield "item after an ignored one"
    page.goto(page.url.partition("/items/")[0] + "/items/1/")
    yield "ignored item"


@pytest.mark.torture
def test_pages_of_ignoring_have_no_fault_and_do_not_overflow(page, live_server):
    watch = Watch(page)
    take_a_set(page, str(live_server), make_reviews())

    found = {step: find_faults_in_turn(page) for step in walk(page)}

    assert {step: faults for step, faults in found.items() if faults} == {}
    assert len(found) == 5
    assert watch.found == []


@pytest.mark.torture
def test_key_i_is_listed_and_leads_to_the_page(page, live_server):
    take_a_set(page, str(live_server), make_reviews())

    page.keyboard.press("?")
    expect(page.locator("#keys")).to_contain_text("ignore this example")
    page.keyboard.press("Escape")
    press_to(page, "i")

    expect(page.locator("h1")).to_have_text("Ignore this example?")


@pytest.mark.torture
def test_answers_entered_before_ignoring_come_back_with_undo_and_not_without(page, live_server):
    take_a_set(page, str(live_server), make_reviews(reviews=1, responses=1))
    page.check("#relevance-4")
    expect(page.locator("#status")).to_contain_text("answered, saved")
    item_url = page.url.partition("#")[0]

    press_to(page, "i")
    page.check("#ignore-response")
    follow(page, MAIN)
    page.goto(item_url)
    expect(page.locator(".feedback:visible")).to_contain_text("You ignored this example")
    expect(page.locator("input:checked:not([role])")).to_have_count(0)
    follow(page, "text=Undo")

    expect(page.locator("#relevance-4")).to_be_checked()
    assert not Annotation.objects.exists()
    assert Draft.objects.count() == 1


@pytest.mark.torture
def test_going_back_from_the_page_to_ignore_loses_no_answer(page, live_server):
    take_a_set(page, str(live_server), make_reviews())
    page.check("#fluency-6")

    press_to(page, "i")
    follow(page, "text=Back to the item")

    expect(page.locator("#fluency-6")).to_be_checked()
