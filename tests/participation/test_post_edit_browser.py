"""Correcting texts in a browser: whole sets by keyboard, by touch, and without scripts."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from evalsite.handout.models import Rating
from evalsite.studies.models import Study
from tests.participation.test_gallery_browser import WAYS
from tests.support.batches import import_rows
from tests.support.browsing import find_faults, press_tab_to
from tests.support.factories import launch, make_annotator, mint_link
from tests.support.geometry import PHONE, WIDE, find_hidden
from tests.support.instruments import GALLERY, make_built_study

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

MAIN = ".dock .main"
BOX = "[name=corrected]"
TEXTS = [
    ("Bitte melden Sie sich bis zum 3. Mai an.", "Please log in until the 3rd of May."),
    ("Der Kurs ist voll.", "The course is full."),
]
BETTER = "Please register by the 3rd of May."
# of each item: the edit rate (log, in, until -> register, by: 3 edits, 7 words), and the text
EXPECTED = [(42.857, BETTER), (0, TEXTS[1][1])]


def make_live(layout: dict[str, Any] | None = None) -> Study:
    content = json.loads((GALLERY / "post_edit.json").read_bytes())
    content["layout"] |= layout or {}
    study = make_built_study(content, k=1, set_size=2, is_practice_on=False, item_order="uploaded")
    rows = [
        {"item": f"i{number}", "source": source, "system": "alpha", "output": text}
        for number, (source, text) in enumerate(TEXTS)
    ]
    import_rows(study, rows)
    return launch(study)


@pytest.fixture
def open_set(browser: Browser, live_server: Any) -> Iterator[Callable[..., Page]]:
    contexts = []

    def open_first(way: str, study: Study | None = None) -> Page:
        contexts.append(browser.new_context(**{"reduced_motion": "reduce"} | WAYS[way]))
        page = contexts[-1].new_page()
        page.goto(f"{live_server}{mint_link(make_annotator(study or make_live()))}")
        page.click(".btn.main")
        page.wait_for_load_state("networkidle")
        return page

    yield open_first
    for context in contexts:
        context.close()


def list_stored() -> list[tuple[float | None, str]]:
    rows = Rating.objects.filter(criterion="corrected").order_by("annotation__item__key")
    return list(rows.values_list("value", "text"))


def expect_sound(page: Page) -> None:
    window = (page.viewport_size["width"], page.viewport_size["height"])
    assert find_hidden(page, window) == []
    assert find_faults(page) == []
    # all of the text is in view
    assert page.locator(BOX).evaluate("box => box.scrollHeight <= box.clientHeight + 1")


def test_the_box_is_as_wide_as_the_texts_above_it(open_set):
    page = open_set("keyboard")
    box, source, output = (
        page.locator(where).bounding_box() for where in (BOX, "#read-source", "#read-output-1")
    )

    assert box["x"] == source["x"]
    assert box["x"] + box["width"] == pytest.approx(output["x"] + output["width"], abs=1)


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_whole_set_by_keyboard_alone(open_set):
    page = open_set("keyboard")
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    reasons = page.locator("[data-ask-if]")
    expect(reasons).to_be_hidden()

    press_tab_to(page, BOX)
    press(page, "Control+Home", *["Control+ArrowRight"], *["Control+Shift+ArrowRight"] * 3)
    page.keyboard.type(" register by")
    expect(page.locator(BOX)).to_have_value(BETTER)
    expect(reasons).to_be_visible()
    expect(page.locator("#status")).to_contain_text("saved")
    press_tab_to(page, "#corrected-all summary")
    press(page, "Enter")
    expect(page.locator("#corrected-all ins")).to_have_text("inserted: register by")
    press_tab_to(page, "[name='reasons.wrong']")
    press(page, " ")
    press(page, "j", "2")
    expect_sound(page)
    press_tab_to(page, BOX)
    with page.expect_navigation(url="**/items/2/**"):
        press(page, "Control+Enter")
    page.wait_for_load_state("networkidle")
    press(page, "n")
    expect(reasons).to_be_hidden()
    press(page, "j", "1")
    expect_sound(page)
    with page.expect_navigation(url="**/review/**"):
        press(page, "Enter")
    press_tab_to(page, ".btn.main")
    press(page, "Enter")
    page.wait_for_url("**/finish/**")

    assert list_stored() == EXPECTED


@pytest.mark.torture
def test_whole_set_by_touch_alone(open_set):
    page = open_set("touch")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})

    page.tap(BOX)
    page.locator(BOX).fill(BETTER)
    page.locator("[data-ask-if] label", has_text="Something was wrong").tap()
    page.locator("label", has_text="Little").tap()
    expect_sound(page)
    with page.expect_navigation(url="**/items/2/**"):
        page.tap(MAIN)
    page.wait_for_load_state("networkidle")
    page.locator(".post-edit .tick", has_text="Nothing needs changing").tap()
    page.locator("label", has_text="None").tap()
    expect_sound(page)
    with page.expect_navigation(url="**/review/**"):
        page.tap(MAIN)
    page.tap(".btn.main")
    page.wait_for_url("**/finish/**")

    assert list_stored() == EXPECTED


@pytest.mark.torture
def test_whole_set_without_scripts(open_set):
    page = open_set("no scripts")

    page.fill(BOX, "Something else.")
    page.click(MAIN)  # the reasons are missing
    expect(page.locator(".problem a").first).to_be_visible()
    expect(page.locator("#corrected-all del")).to_contain_text("Please log in until")
    page.get_by_label("Undo all changes").check()
    page.click(MAIN)
    expect(page.locator(BOX)).to_have_value(TEXTS[0][1])
    page.fill(BOX, BETTER)
    page.get_by_label("Something was wrong").check()
    page.get_by_label("Little").check()
    page.click(MAIN)
    page.wait_for_url("**/items/2/**")
    page.get_by_label("Nothing needs changing").check()
    page.locator("[name=effort][value='1']").check()
    page.click(MAIN)
    page.wait_for_url("**/review/**")
    page.click(".btn.main")
    page.wait_for_url("**/finish/**")

    assert list_stored() == EXPECTED


@pytest.mark.torture
def test_changes_are_undone_and_brought_back_by_one_button(open_set):
    page = open_set("keyboard")
    undo = page.locator("[data-back]")
    expect(undo).to_be_hidden()

    page.fill(BOX, BETTER)
    undo.click()
    expect(page.locator(BOX)).to_have_value(TEXTS[0][1])
    expect(page.locator(BOX)).to_be_focused()
    expect(undo).to_have_text("Bring my changes back")
    undo.click()
    expect(page.locator(BOX)).to_have_value(BETTER)
    expect(undo).to_have_text("Undo all changes")
    undo.click()
    page.get_by_label("Nothing needs changing").check()
    page.fill(BOX, BETTER)
    expect(page.get_by_label("Nothing needs changing")).not_to_be_checked()
    page.get_by_label("Nothing needs changing").check()
    expect(page.locator(BOX)).to_have_value(TEXTS[0][1])
    undo.click()
    expect(page.get_by_label("Nothing needs changing")).not_to_be_checked()
    expect(page.locator(BOX)).to_have_value(BETTER)
    expect(page.locator("#corrected-all ins")).to_have_count(1)


@pytest.mark.torture
def test_on_a_sheet_only_what_was_looked_at_is_sent(open_set):
    page = open_set("keyboard", make_live({"screen": "sheet"}))

    first, second = page.locator(".post-edit").nth(0), page.locator(".post-edit").nth(1)
    first.locator("textarea").fill(BETTER)
    page.locator("#q1 .tick", has_text="Something was wrong").click()
    page.locator("[name=q1-effort][value='2']").check()
    expect(page.locator("#status")).to_contain_text("Saved")
    expect(first.locator("ins")).to_have_count(1)
    assert list_stored() == EXPECTED[:1]
    second.get_by_label("Nothing needs changing").check()
    page.locator("[name=q2-effort][value='1']").check()
    page.click(MAIN)
    page.wait_for_url("**/review/**")

    assert list_stored() == EXPECTED
