"""Moving on automatically, which annotators switch on, and what comes into view after a tap."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from evalsite.handout.models import Annotation
from evalsite.instruments.installed import get_protocol
from tests.support.answering import make_live
from tests.support.browsing import MAIN, follow, take_a_set

pytestmark = pytest.mark.django_db(transaction=True)

MOMENT = 700  # ms, a little more than the page waits


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True)
    yield context.new_page()
    context.close()


def choose(page: Page, way: str) -> None:
    """Answer both questions of the page."""
    if way == "keys":
        page.keyboard.press("5")
        page.keyboard.press("4")
        return
    for name in ("fluency", "coherence"):
        point = page.locator(f"#{name} label").first
        point.tap() if way == "touch" else point.click()


def test_complete_item_moves_on_by_itself_only_if_asked_to_and_comes_back_with_undo(
    phone, live_server
):
    take_a_set(phone, str(live_server), make_live(get_protocol("fluency"), 5))
    phone.clock.install()
    first = phone.url
    choose(phone, "keys")
    phone.clock.fast_forward(10 * MOMENT)
    assert phone.url == first
    phone.get_by_role("switch", name="Move on automatically").check()
    follow(phone, MAIN)

    for place, way in enumerate(("keys", "mouse", "touch"), start=2):
        phone.wait_for_url(f"**/items/{place}/**")
        choose(phone, way)
        phone.clock.fast_forward(MOMENT)
        phone.wait_for_url(f"**/items/{place + 1}/**")
        expect(phone.locator("#status")).to_have_text(f"Item {place} saved. Undo")

    follow(phone, "#undo")
    assert "/items/4/" in phone.url
    # what was chosen is there, and another choice waits for the button
    phone.locator("#fluency label").last.click()
    phone.clock.fast_forward(10 * MOMENT)
    assert "/items/4/" in phone.url
    follow(phone, MAIN)
    assert Annotation.objects.counted().count() == 4
    assert Annotation.objects.get(revisions__isnull=False).revisions.count() == 1


@pytest.mark.torture
def test_nothing_moves_on_while_something_else_is_entered(phone, live_server):
    take_a_set(phone, str(live_server), make_live(get_protocol("fluency"), 2))
    phone.clock.install()
    phone.get_by_role("switch", name="Move on automatically").check()
    first = phone.url

    choose(phone, "mouse")
    phone.keyboard.press("Tab")
    phone.clock.fast_forward(10 * MOMENT)
    assert phone.url == first
    phone.reload()
    phone.fill("#note", "Which person speaks next?")
    phone.locator("#coherence label").last.click()
    phone.clock.fast_forward(10 * MOMENT)

    assert phone.url == first
    assert not Annotation.objects.exists()


@pytest.mark.torture
def test_next_question_comes_into_view_after_a_tap(phone, live_server):
    take_a_set(phone, str(live_server), make_live(get_protocol("dialogue"), 2))
    last_of_second = phone.locator("#information_content label").last
    expect(last_of_second).not_to_be_in_viewport()

    phone.locator("#appropriateness label").first.tap()

    expect(last_of_second).to_be_in_viewport()
