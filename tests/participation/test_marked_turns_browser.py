"""Errors marked in long conversations: by keyboard, by touch, by mouse, and without scripts."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from evalsite.handout.models import Rating
from tests.participation.test_highlight_browser import PLACE_OF
from tests.participation.test_spans_browser import (  # noqa: F401
    MAIN,
    expect_sound,
    open_set,
    press,
    tap_words,
)
from tests.support.browsing import press_tab_to
from tests.support.geometry import PHONE, WIDE
from tests.support.turns import OUTPUT, make_turns_study

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

SAID = "[data-said]"
THURSDAY = (5, "mistranslation", "Thursday evening", "major")
LIFT = (6, "grammar", "המעלית", "minor")
PERSON = (7, "spelling", "🙂", "minor")
UNTIL = (2, "omission@source", "until Friday", "major")


def turn(number: int, column: str = "output-1") -> str:
    return f"#read-{column} [data-turn='{number}']"


def read_marks() -> list[tuple[Any, ...]]:
    marks = Rating.objects.marks().order_by("id")
    return [(row.turn, row.part, row.text, row.detail["severity"]) for row in marks]


def describe(page: Page, number: int, category: str, severity: str) -> None:
    row = page.locator(".marks li").nth(number)
    row.locator("select").select_option(category)
    row.locator("label", has_text=severity).click()


def finish(page: Page) -> None:
    with page.expect_navigation(url="**/review/**"):
        page.click(MAIN)


def test_turns_are_marked_by_keyboard_alone(open_set):  # noqa: F811
    page = open_set(make_turns_study(OUTPUT), "keyboard")
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})

    # on from turn to turn, past what a tool was asked and returned
    press(page, "m", "m", "m")
    expect(page.locator(turn(5))).to_have_attribute("aria-label", "Translation, Turn 5")
    for _word in range(18):
        press(page, "ArrowRight")
    press(page, "Shift+ArrowRight")
    expect(page.locator(SAID)).to_have_text("selected: Thursday evening")
    press(page, "Enter")
    expect(page.locator(".marks select")).to_be_focused()
    page.keyboard.type("Mis")
    press(page, "1")
    # back into the turn where the keys were, then over its end into the next one
    press(page, "m", "End", "ArrowRight")
    expect(page.locator(SAID)).to_contain_text("Turn 6: word: תודה")
    press(page, "ArrowRight")  # to the left nothing follows the first word but the turn before
    expect(page.locator(turn(5))).to_be_focused()
    press(page, "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft", "Enter")
    page.keyboard.type("Gram")
    press(page, "2")
    press(page, "m", "m", "Escape")
    expect(page.locator(".marks li:nth-child(2) input:checked")).to_be_focused()
    expect(page.locator(".marks li")).to_have_count(2)
    expect_sound(page)
    press_tab_to(page, MAIN)
    with page.expect_navigation(url="**/review/**"):
        press(page, "Enter")

    assert read_marks() == [THURSDAY, LIFT]


def test_turns_are_marked_by_touch_alone(open_set):  # noqa: F811
    page = open_set(make_turns_study(OUTPUT), "touch")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})

    page.locator("[data-start]").scroll_into_view_if_needed()
    page.tap("[data-start]")
    tap_words(page, turn(5), "Thursday", "evening")
    describe(page, 0, "mistranslation", "Major")
    tap_words(page, turn(6), "המעלית", "המעלית")
    describe(page, 1, "grammar", "Minor")
    tap_words(page, turn(7), "🙂", "🙂")
    describe(page, 2, "spelling", "Minor")
    tap_words(page, turn(2, "source"), "until", "Friday")
    describe(page, 3, "omission", "Major")

    expect(page.locator(".marks li").nth(3)).to_contain_text("Turn 2")
    expect_sound(page)
    finish(page)
    assert read_marks() == [THURSDAY, LIFT, PERSON, UNTIL]


def test_turns_are_marked_without_scripts(open_set):  # noqa: F811
    page = open_set(make_turns_study(OUTPUT), "no scripts")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})

    fill(page, 0, "Friday", "mistranslation", "major")
    fill(page, 1, "המעלית", "grammar", "minor")
    page.click(MAIN)
    expect(page.locator(".problem")).to_contain_text("3 times")
    row = page.locator(".blank").nth(0)
    expect(row.get_by_label("Passage, copied exactly")).to_have_value("Friday")
    row.get_by_label("Which one").fill("2")
    finish(page)

    assert read_marks() == [(5, "mistranslation", "Friday", "major"), LIFT]


def fill(page: Page, number: int, quote: str, category: str, severity: str) -> None:
    row = page.locator(".blank").nth(number)
    row.get_by_label("Passage, copied exactly").fill(quote)
    row.get_by_label("Category").select_option(category)
    row.get_by_label("Severity").select_option(severity)


def drag(page: Page, start: tuple[str, str], end: tuple[str, str]) -> None:
    ends = []
    for (where, word), side in ((start, "start"), (end, "end")):
        page.locator(where).scroll_into_view_if_needed()
        element = page.locator(where).element_handle()
        ends.append(page.evaluate(PLACE_OF, [element, word, side]))
    page.mouse.move(*ends[0])
    page.mouse.down()
    page.mouse.move(*ends[1], steps=5)
    page.mouse.up()


def test_mouse_marks_a_selection_in_its_turn(open_set):  # noqa: F811
    page = open_set(make_turns_study(OUTPUT), "keyboard")
    page.set_viewport_size({"width": WIDE[0], "height": 1_400})

    drag(page, (turn(5), "Thursday"), (turn(5), "evening"))
    page.click("#read-output-1 .here:visible")
    describe(page, 0, "mistranslation", "Major")
    expect(page.locator(f"{turn(5)} mark")).to_have_text("Thursday evening")
    # over two turns: that of the first is marked
    drag(page, (turn(5), "anything"), (turn(6), "תודה"))
    expect(page.locator("#read-output-1 .here:visible")).to_have_count(1)
    page.click("#read-output-1 .here:visible")
    describe(page, 1, "awkward", "Neutral")

    finish(page)
    assert read_marks() == [
        THURSDAY, (5, "awkward", "anything else that I can do for you?", "neutral"),
    ]  # fmt: skip


@pytest.mark.torture
def test_a_draft_of_marked_turns_comes_back_and_a_whole_turn_is_covered(open_set):  # noqa: F811
    page = open_set(make_turns_study(OUTPUT), "keyboard")
    press(page, "m", "m", "m", "Enter")
    page.keyboard.type("Mis")
    press(page, "1")
    expect(page.locator("#status")).to_contain_text("saved")

    page.reload()

    expect(page.locator(".marks li")).to_contain_text("Turn 5")
    expect(page.locator(f"{turn(5)} mark")).to_have_text("I")
    page.locator(".marks select").select_option("non_translation")
    whole = page.locator(turn(5)).text_content()
    expect(page.locator(f"{turn(5)} mark")).to_have_text(str(whole))
    expect(page.locator("#read-output-1 mark")).to_have_count(1)
    finish(page)
    assert [row[0] for row in read_marks()] == [5]
