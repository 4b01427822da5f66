"""Marking passages in a browser: by mouse, by touch, by keyboard alone, and without scripts."""

import pytest
from playwright.sync_api import Page, expect

from evalsite.handout.models import Annotation, Draft
from tests.support.browsing import MAIN, Watch, find_faults, follow, take_a_set
from tests.support.marking import CONFIG, HEBREW, SIGNS, TEXT, make_marking_study, marked_in

pytestmark = pytest.mark.django_db(transaction=True)

BUTTON = "#highlights"
RESPONSE = ".specimen .text"
SAID = "[data-said]"

# where a word stands: the middle of its rectangle, of its first sign, or of its last
PLACE_OF = """
([element, word, where]) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const at = walker.currentNode.data.indexOf(word);
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(walker.currentNode, at);
    range.setEnd(walker.currentNode, at + word.length);
    const { left, right, top, bottom } = range.getBoundingClientRect();
    const x = { start: left, end: right, middle: (left + right) / 2 }[where];
    return [x, (top + bottom) / 2];
  }
  throw new Error(`${word} is not there`);
}
"""


def place_of(page: Page, word: str, where: str = "middle") -> tuple[float, float]:
    element = page.locator(RESPONSE).element_handle()
    x, y = page.evaluate(PLACE_OF, [element, word, where])
    return x, y


def drag(page: Page, first: str, last: str) -> None:
    page.mouse.move(*place_of(page, first, "start"))
    page.mouse.down()
    page.mouse.move(*place_of(page, last, "end"), steps=5)
    page.mouse.up()


def answer(page: Page) -> None:
    """Every question of the page by its key; what is marked is saved with the answer."""
    for criterion in CONFIG.criteria:
        page.locator(f"#{criterion.key} label").first.click()
    follow(page, MAIN)


def expect_marked(page: Page, texts: list[str]) -> None:
    """Wait for these marks: the script for them may still be on its way."""
    expect(page.locator(f"{RESPONSE} mark")).to_have_text(texts)


def saved_marks() -> list[str]:
    return marked_in(Annotation.objects.get(item__kind="main"))


@pytest.mark.torture
def test_mouse_selects_text_and_marks_it_with_the_button_beside(page, live_server):
    watch = Watch(page)
    take_a_set(page, live_server.url, make_marking_study(TEXT))

    drag(page, "kind", "about")
    page.click(".here")

    expect_marked(page, ["kind words about"])
    expect(page.locator(SAID)).to_have_text("Marked: kind words about")
    expect(page.locator(".marks li")).to_have_text("kind words about Remove “kind words about”")
    assert page.evaluate("getSelection().isCollapsed")
    expect(page.locator(".here")).to_be_hidden()
    answer(page)
    assert saved_marks() == ["kind words about"]
    assert watch.found == []


@pytest.mark.torture
def test_pressed_button_marks_each_selection_that_is_let_go_and_overlaps_become_one(
    page, live_server
):
    take_a_set(page, live_server.url, make_marking_study(TEXT))

    drag(page, "kind", "about")
    page.click(BUTTON)
    expect(page.locator(BUTTON)).to_have_attribute("aria-pressed", "true")
    drag(page, "thank", "words")
    drag(page, "soon", "soon")

    expect_marked(page, ["thank you for your kind words about", "soon"])
    page.click(".marking summary")
    page.get_by_role("button", name="Remove “soon”").click()
    expect_marked(page, ["thank you for your kind words about"])
    expect(page.get_by_role("button", name="Remove “thank")).to_be_focused()
    answer(page)
    assert saved_marks() == ["thank you for your kind words about"]


def test_touch_marks_from_the_first_word_tapped_to_the_last(browser, live_server):
    context = browser.new_context(
        has_touch=True, is_mobile=True, viewport={"width": 360, "height": 740}
    )
    page = context.new_page()
    take_a_set(page, live_server.url, make_marking_study(SIGNS))

    page.tap(BUTTON)
    expect(page.locator(SAID)).to_contain_text("choose its first word")
    page.touchscreen.tap(*place_of(page, "and"))
    expect(page.locator(SAID)).to_have_text("First word: and. Now choose the last word.")
    expect(page.locator(f"{RESPONSE} .chosen")).to_have_text("and")
    page.touchscreen.tap(*place_of(page, "cafe\u0301"))

    # and back to front: the last word first
    page.touchscreen.tap(*place_of(page, "👩‍👩‍👧"))
    page.touchscreen.tap(*place_of(page, "Hello"))
    expect_marked(page, ["Hello 👩‍👩‍👧", "and 🙂 in the cafe\u0301"])
    answer(page)
    assert saved_marks() == ["Hello 👩‍👩‍👧", "and 🙂 in the cafe\u0301"]
    context.close()


@pytest.mark.torture
def test_button_stays_pressed_and_where_it_is_over_the_items_of_a_set(page, live_server):
    watch = Watch(page)
    page.set_viewport_size({"width": 1280, "height": 800})
    take_a_set(page, live_server.url, make_marking_study(TEXT, TEXT, k=1))
    page.click(BUTTON)
    before = page.locator(BUTTON).bounding_box()
    drag(page, "kind", "about")
    expect_marked(page, ["kind words about"])
    assert page.locator(BUTTON).bounding_box() == before

    answer(page)

    expect(page.locator(BUTTON)).to_have_attribute("aria-pressed", "true")
    drag(page, "thank", "you")
    expect_marked(page, ["thank you"])
    page.click(BUTTON)
    drag(page, "soon", "soon")
    expect_marked(page, ["thank you"])
    expect(page.locator(".here")).to_be_visible()
    page.reload()
    expect(page.locator(".marks li")).to_have_count(1)
    expect(page.locator(BUTTON)).to_have_attribute("aria-pressed", "false")
    assert watch.found == []


@pytest.mark.torture
@pytest.mark.parametrize("way", ["the button", "Escape"])
def test_marking_by_two_taps_can_be_given_up(page, live_server, way):
    take_a_set(page, live_server.url, make_marking_study(TEXT))
    page.click(BUTTON)
    expect(page.locator(BUTTON)).to_have_attribute("aria-pressed", "true")
    page.mouse.click(*place_of(page, "kind"))

    page.click(BUTTON) if way == "the button" else page.keyboard.press("Escape")
    page.mouse.click(*place_of(page, "staff"))

    expect(page.locator(BUTTON)).to_have_attribute("aria-pressed", "false")
    expect_marked(page, [])
    expect(page.locator(f"{RESPONSE} .chosen")).to_have_count(0)


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_keyboard_alone_marks_and_removes_and_each_step_is_spoken(page, live_server):
    watch = Watch(page)
    take_a_set(page, live_server.url, make_marking_study(TEXT))
    said = page.locator(SAID)

    press(page, "h")
    expect(page.locator(RESPONSE)).to_be_focused()
    expect(said).to_contain_text("Use the arrow keys to go from word to word")
    expect(said).to_contain_text("word: Dear")
    press(page, *["ArrowRight"] * 6)
    expect(said).to_have_text("word: kind")
    press(page, "Shift+ArrowRight", "Shift+ArrowRight")
    expect(said).to_have_text("selected: kind words about")
    press(page, "Enter")
    expect(said).to_have_text("Marked: kind words about")
    press(page, "ArrowLeft")
    expect(said).to_have_text("word: words (marked)")
    press(page, "Delete")
    expect(said).to_have_text("Mark removed: kind words about")
    press(page, "Backspace")
    expect(said).to_have_text("There is no mark here.")
    press(page, "End", "Enter", "Home", "Shift+ArrowRight", "Enter")
    # no key of a question does anything meanwhile
    press(page, "1", "a", "j", "x", "?")
    expect(page.locator("#work input:checked")).to_have_count(0)
    press(page, "Escape")
    expect(page.locator(RESPONSE)).not_to_be_focused()
    press(page, "1", "2", "3", "4", "a")
    with page.expect_navigation():
        press(page, "Enter")

    assert saved_marks() == ["Dear guest", "guest"]
    assert watch.found == []


@pytest.mark.torture
def test_a_text_without_words_is_marked_sign_by_sign(page, live_server):
    watch = Watch(page)
    take_a_set(page, live_server.url, make_marking_study("?! ..."))

    press(page, "h", "ArrowDown", "ArrowDown", "Enter", "ArrowUp", "Escape")

    expect(page.locator(f"{RESPONSE} mark")).to_have_text("...")
    assert watch.found == []


@pytest.mark.torture
def test_words_are_found_by_a_browser_that_has_no_segmenter_too(page, live_server):
    page.add_init_script("delete Intl.Segmenter")
    take_a_set(page, live_server.url, make_marking_study(TEXT))

    press(page, "h", *["ArrowRight"] * 6, "Shift+ArrowRight", "Enter", "Escape")
    drag(page, "thank", "you")
    page.click(".here")

    expect_marked(page, ["thank you", "kind words"])


@pytest.mark.torture
def test_left_is_forwards_in_a_text_from_right_to_left(page, live_server):
    take_a_set(page, live_server.url, make_marking_study(HEBREW))

    press(page, "h", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowRight")
    press(page, *["Shift+ArrowLeft"] * 5, "Enter", "Escape")

    expect_marked(page, ["תודה על המילים החמות 🙂 על"])
    answer(page)
    assert saved_marks() == ["תודה על המילים החמות 🙂 על"]


@pytest.mark.torture
def test_the_button_leads_into_the_text_by_keyboard_with_shortcuts_off(page, live_server):
    take_a_set(page, live_server.url, make_marking_study(TEXT))
    press(page, "?")
    page.locator("[data-switch=keys]").uncheck()
    press(page, "Escape", "h")
    expect(page.locator(RESPONSE)).not_to_be_focused()

    page.focus(BUTTON)
    press(page, "Enter", "Enter", "h")

    expect_marked(page, ["Dear"])
    expect(page.locator(BUTTON)).to_be_focused()


@pytest.mark.torture
def test_marking_waits_for_the_network_and_costs_nothing_before(page, live_server):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    take_a_set(page, live_server.url, make_marking_study(TEXT))
    assert not [address for address in asked if "highlight" in address]
    page.context.set_offline(True)
    press(page, "h", "ArrowRight")
    expect(page.locator("#status")).to_contain_text("no connection")

    page.context.set_offline(False)
    press(page, "h", "ArrowRight", "Enter", "Escape")

    expect(page.locator(f"{RESPONSE} mark")).to_have_text("guest")
    expect(page.locator("#work input:checked")).to_have_count(0)


@pytest.mark.torture
def test_marks_are_a_draft_and_come_back_with_the_page(page, live_server):
    take_a_set(page, live_server.url, make_marking_study(SIGNS))

    with page.expect_response("**/draft/"):
        press(page, "h", "ArrowRight", "Enter", "Escape")
    page.reload()

    assert Draft.objects.get().values["highlights"]
    expect_marked(page, ["👩‍👩‍👧"])
    expect(page.locator(".marks li")).to_have_count(1)


@pytest.mark.torture
def test_marks_that_never_reached_the_server_come_back_from_the_browser(page, live_server):
    # also what is sent while a page is left
    page.add_init_script("window.fetch = () => Promise.reject(new TypeError('offline'))")
    take_a_set(page, live_server.url, make_marking_study(SIGNS))
    press(page, "h", "Enter", "Escape")
    expect(page.locator("#status")).to_contain_text("Not saved yet")

    page.reload()

    assert Draft.objects.count() == 0
    expect_marked(page, ["Hello"])


@pytest.mark.torture
def test_passages_are_copied_into_a_box_without_scripts(browser, live_server):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    take_a_set(page, live_server.url, make_marking_study(SIGNS, k=1))

    page.fill(BUTTON, "in the cafe\u0301\nnot there\n")
    answer(page)
    expect(page.locator(".problem").first).to_contain_text("“not there” isn’t in the text")
    expect_marked(page, ["in the cafe\u0301"])
    page.click(".problem a")
    expect(page.locator(BUTTON)).to_be_focused()
    page.fill(BUTTON, "in the cafe\u0301\n🙂")
    follow(page, MAIN)

    assert saved_marks() == ["🙂", "in the cafe\u0301"]
    context.close()


@pytest.mark.torture
def test_text_with_other_line_breaks_keeps_its_places(page, live_server):
    take_a_set(page, live_server.url, make_marking_study("One\r\ntwo 🙂\rthree\nfour"))

    press(page, "h", "ArrowRight", *["Shift+ArrowRight"] * 2, "Enter", "Escape")
    answer(page)

    assert saved_marks() == ["two 🙂\rthree"]


@pytest.mark.torture
@pytest.mark.parametrize("width", [360, pytest.param(1280, marks=pytest.mark.torture)])
def test_nothing_of_it_is_in_anybodys_way(page, live_server, width):
    page.set_viewport_size({"width": width, "height": 800})
    take_a_set(page, live_server.url, make_marking_study(TEXT))
    assert find_faults(page) == []
    drag(page, "kind", "about")
    expect(page.locator(".here")).to_be_visible()
    assert find_faults(page) == []
    page.click(".here")
    page.click(BUTTON)
    assert find_faults(page) == []
    press(page, "Escape", "h")

    assert find_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
