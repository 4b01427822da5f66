"""Marked passages in a browser: whole sets by keyboard, by touch, by mouse, and without scripts."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from evalsite.handout.models import Annotation
from evalsite.studies.models import Study
from tests.participation.test_gallery_browser import WAYS
from tests.participation.test_highlight_browser import PLACE_OF
from tests.support.batches import import_rows
from tests.support.browsing import find_faults, press_tab_to
from tests.support.factories import launch, make_annotator, mint_link
from tests.support.geometry import PHONE, WIDE, find_hidden
from tests.support.instruments import GALLERY, make_built_study

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

MAIN = ".dock .main"
TEXTS = [
    ("The lift is out of order until Friday.", "Der Aufzug ist ist bis Freitag kaputt."),
    ("Take 🚲 paths: the coast road is closed.", "Nehmen Sie 🚲 Wege: die Küste ist zu."),
]
A_DEFINITION = "Translation is missing content from the source."
OUTPUT, SOURCE = "#read-output-1 .text", "#read-source .text"

Marked = list[tuple[str, str, str, float | None]]
# of each item, what is stored of its marks, and the score
EXPECTED: dict[str, list[Marked]] = {
    "mqm": [
        [("grammar", "ist ist", "minor", None), ("omission@source", "until", "major", None),
         ("", "", "", 6)],
        [("none", "", "", 1), ("", "", "", 0)],
    ],
    "esa": [
        [("", "ist ist", "minor", None), ("omission", "", "major", None), ("", "", "", 6)],
        [("none", "", "", 1), ("", "", "", 0)],
    ],
}  # fmt: skip


def make_live(key: str) -> Study:
    content = json.loads((GALLERY / f"{key}.json").read_bytes())
    study = make_built_study(content, k=1, set_size=2, is_practice_on=False, item_order="uploaded")
    rows = [
        {"item": f"i{number}", "source": source, "system": "alpha", "output": text}
        for number, (source, text) in enumerate(TEXTS)
    ]
    import_rows(study, rows)
    return launch(study)


@pytest.fixture
def open_set(browser: Browser, live_server: Any) -> Iterator[Callable[[Study, str], Page]]:
    contexts = []

    def open_first(study: Study, way: str) -> Page:
        contexts.append(browser.new_context(**(WAYS[way] | {"reduced_motion": "reduce"})))
        page = contexts[-1].new_page()
        page.goto(f"{live_server}{mint_link(make_annotator(study))}")
        page.click(".btn.main")
        page.wait_for_url("**/items/1/**")
        page.wait_for_load_state("networkidle")
        return page

    yield open_first
    for context in contexts:
        context.close()


def read_marks() -> list[Marked]:
    answers = Annotation.objects.filter(item__kind="main").order_by("item__key")
    return [
        [
            (row.part, row.text, (row.detail or {}).get("severity", ""), row.value)
            for row in answer.list_rows()
            if row.criterion == "errors"
        ]
        for answer in answers
    ]


def find_place(page: Page, where: str, word: str) -> tuple[float, float]:
    element = page.locator(where).element_handle()
    x, y = page.evaluate(PLACE_OF, [element, word, "middle"])
    return x, y


def expect_sound(page: Page) -> None:
    window = (page.viewport_size["width"], page.viewport_size["height"])
    assert find_hidden(page, window) == []
    assert find_faults(page) == []


# --- keyboard -------------------------------------------------------------------------


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def mark_by_keys(page: Page, key: str) -> None:
    press(page, "m", "ArrowRight", "ArrowRight", "Shift+ArrowRight")
    expect(page.locator("[data-said]")).to_have_text("selected: ist ist")
    press(page, "Enter")
    if key == "mqm":
        page.keyboard.type("Gram")
        press(page, "2", "m", "m")  # on into the source
        for _step in range(6):
            press(page, "ArrowRight")
        press(page, "Enter")
        page.keyboard.type("Omi")
        press(page, "1")
    else:
        press(page, "1", "o", "2")
    expect(page.locator(".marks li")).to_have_count(2)


@pytest.mark.parametrize("key", [pytest.param("esa", marks=pytest.mark.torture), "mqm"])
def test_whole_set_by_keyboard_alone(open_set, key):
    page = open_set(make_live(key), "keyboard")
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})

    mark_by_keys(page, key)
    expect_sound(page)
    finish_by_keys(page, key, "80", 2)
    press(page, "n")
    expect_sound(page)
    finish_by_keys(page, key, "100", None)
    page.wait_for_url("**/review/**")
    press_tab_to(page, ".btn.main")
    press(page, "Enter")
    page.wait_for_url("**/finish/**")

    assert read_marks() == EXPECTED[key]


def finish_by_keys(page: Page, key: str, score: str, following: int | None) -> None:
    if key == "esa":
        press_tab_to(page, "[name=score]")
        page.keyboard.type(score)
    url = f"**/items/{following}/**" if following else "**/review/**"
    press_tab_to(page, MAIN)
    with page.expect_navigation(url=url):
        press(page, "Enter")
    if following:
        page.wait_for_load_state("networkidle")


# --- touch ----------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["esa", pytest.param("mqm", marks=pytest.mark.torture)])
def test_whole_set_by_touch_alone(open_set, key):
    page = open_set(make_live(key), "touch")
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})

    page.locator("[data-start]").scroll_into_view_if_needed()
    page.tap("[data-start]")
    tap_words(page, OUTPUT, "ist", "ist bis")
    row = page.locator(".marks li").first
    if key == "mqm":
        row.locator("select").select_option("grammar")
    row.locator("label", has_text="Minor").tap()
    if key == "mqm":
        tap_words(page, SOURCE, "until", "until")
        row = page.locator(".marks li").nth(1)
        row.locator("select").select_option("omission")
    else:
        page.tap("[data-missing]")
        row = page.locator(".marks li").nth(1)
    row.locator("label", has_text="Major").tap()
    expect_sound(page)
    go_on_by_touch(page, key, "**/items/2/**")
    page.tap(".spans .tick")
    go_on_by_touch(page, key, "**/review/**")
    page.tap(".btn.main")
    page.wait_for_url("**/finish/**")

    assert read_marks() == EXPECTED[key]


def tap_words(page: Page, where: str, first: str, last: str) -> None:
    page.locator(where).scroll_into_view_if_needed()
    page.touchscreen.tap(*find_place(page, where, first))
    page.locator(where).scroll_into_view_if_needed()
    x, y = find_place(page, where, last)
    page.touchscreen.tap(x - (12 if " " in last else 0), y)


def go_on_by_touch(page: Page, key: str, url: str) -> None:
    if key == "esa":
        page.locator("[type=range]").tap(position={"x": 90, "y": 8})
    with page.expect_navigation(url=url):
        page.tap(MAIN)
    page.wait_for_load_state("networkidle")


# --- without scripts ------------------------------------------------------------------


@pytest.mark.parametrize("key", ["mqm", pytest.param("esa", marks=pytest.mark.torture)])
def test_whole_set_without_scripts(open_set, key):
    page = open_set(make_live(key), "no scripts")
    rows = page.locator(".blank")
    if key == "mqm":
        expect(page.get_by_text(A_DEFINITION)).to_be_visible()

    rows.nth(0).get_by_label("Passage, copied exactly").fill("ist  ist")
    rows.nth(0).get_by_label("Severity").select_option("minor")
    if key == "mqm":
        rows.nth(0).get_by_label("Category").select_option("grammar")
        rows.nth(1).get_by_label("Passage, copied exactly").fill("until")
        rows.nth(1).locator("[name$='in-2']").select_option("source")
        rows.nth(1).get_by_label("Category").select_option("omission")
    else:
        rows.nth(1).get_by_label("Missing content").check()
    send(page, key, "**/items/1/")  # the second row lacks a severity
    expect(page.locator(".problem a")).to_have_count(1)
    expect(page.locator(".marks li q").first).to_have_text("1 “ist ist”")
    if page.locator(".blank [name$='severity-1']").count():
        page.locator("[name$='remove-2']").check()
        row = page.locator(".blank").nth(0)
        if key == "mqm":
            row.get_by_label("Passage, copied exactly").fill("until")
            row.get_by_label("Category").select_option("omission")
        else:
            row.get_by_label("Missing content").check()
        row.get_by_label("Severity").select_option("major")
    send(page, key, "**/items/2/**")
    if key == "mqm":
        expect_closed_fold_opens(page)
    page.get_by_label("No errors").check()
    send(page, key, "**/review/**")
    page.click(".btn.main")
    page.wait_for_url("**/finish/**")

    assert read_marks() == EXPECTED[key]


def expect_closed_fold_opens(page: Page) -> None:
    """What categories mean takes one click after the first item, and paper has no fold."""
    definition = page.get_by_text(A_DEFINITION)
    expect(definition).to_be_hidden()
    page.emulate_media(media="print")
    expect(definition).to_be_visible()
    page.emulate_media(media="screen")
    page.get_by_text("What the categories mean").click()
    expect(definition).to_be_visible()


def send(page: Page, key: str, url: str) -> None:
    if key == "esa":
        page.fill("[name=score]", "80")
    page.click(MAIN)
    page.wait_for_url(url)


# --- mouse, and what happens around it ------------------------------------------------


@pytest.mark.torture
def test_mouse_marks_a_selection_several_at_one_place_and_removes_them(open_set):
    page = open_set(make_live("mqm"), "keyboard")

    drag(page, "Aufzug", "bis")
    page.click("#read-output-1 .here")
    row = page.locator(".marks li").first
    row.locator("select").select_option("spelling")
    row.get_by_label("Major").check()
    drag(page, "Aufzug", "Aufzug")
    page.click("#read-output-1 .here")
    second = page.locator(".marks li").first
    second.locator("select").select_option("awkward")
    second.get_by_label("Neutral").check()

    expect(page.locator(f"{OUTPUT} mark[data-n='1']")).to_have_text("Aufzug")
    expect(page.locator(f"{OUTPUT} mark[data-n='2']")).to_have_text("ist ist bis")
    page.get_by_label("No errors").click()
    expect(page.get_by_label("No errors")).not_to_be_checked()
    page.locator("[data-remove]").first.click()
    page.locator("[data-remove]").first.click()
    expect(page.locator(f"{OUTPUT} mark")).to_have_count(0)
    page.get_by_label("No errors").click()
    expect(page.get_by_label("No errors")).to_be_checked()


def drag(page: Page, first: str, last: str) -> None:
    element = page.locator(OUTPUT).element_handle()
    start = page.evaluate(PLACE_OF, [element, first, "start"])
    end = page.evaluate(PLACE_OF, [element, last, "end"])
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=5)
    page.mouse.up()


def test_scripts_of_marks_are_named_by_the_page_and_fetched_once(open_set):
    page = open_set(make_live("esa"), "keyboard")
    names = "list => [...list].map(one => (one.href ?? one.name).split('/').pop())"

    named = page.locator("link[rel=modulepreload]").evaluate_all(names)
    fetched = page.evaluate(f"() => ({names})(performance.getEntriesByType('resource'))")

    assert named == ["spans.js", "marking.js"]
    scripts = [name for name in fetched if name.endswith(".js")]
    assert sorted(scripts) == ["annotate.js", "answers.js", "fit.js", "marking.js", "spans.js"]


def test_a_mended_answer_leaves_the_list_of_problems_and_nothing_moves(open_set):
    page = open_set(make_live("esa"), "keyboard")
    title = page.title()
    press(page, "m", "ArrowRight", "Enter")
    page.click(MAIN)
    problem, problems = page.locator(".problem"), page.locator(".problem a:visible")
    expect(problems).to_have_count(2)
    expect(page).to_have_title(f"Error: {title}")
    minor, box = page.locator(".marks").get_by_label("Minor"), page.locator("[name=score]")
    place = minor.bounding_box()

    minor.check()
    expect(problems).to_have_count(1)
    expect(page.locator(".spans .error")).to_be_hidden()
    box.press_sequentially("80")
    expect(problems).to_have_count(1)  # typing isn't over
    box.press("Tab")

    expect(problem).to_be_hidden()
    expect(page).to_have_title(title)
    assert minor.bounding_box() == place
    with page.expect_navigation(url="**/items/2/**"):
        page.click(MAIN)


@pytest.mark.torture
def test_a_refused_answer_keeps_its_marks_and_can_be_corrected(open_set):
    page = open_set(make_live("mqm"), "keyboard")
    press(page, "m", "ArrowRight", "Enter")
    expect(page.locator(".marks select")).to_be_focused()

    page.click(MAIN)

    problem = page.locator(".problem")
    expect(problem).to_contain_text("choose a category")
    problem.locator("a").click()
    expect(page.locator("[data-start]")).to_be_focused()
    page.locator(".marks select").select_option("spelling")
    page.locator(".marks").get_by_label("Minor").check()
    press(page, "m", "ArrowRight", "Delete")
    expect(page.locator(".marks li")).to_have_count(0)
    press(page, "Enter")
    page.locator(".marks select").select_option("spelling")
    page.locator(".marks").get_by_label("Minor").check()
    with page.expect_navigation(url="**/items/2/**"):
        page.click(MAIN)
    page.go_back()
    expect(page.locator(".marks li q")).to_have_text("1 “Aufzug”")
    expect(page.locator(f"{OUTPUT} mark")).to_have_text("Aufzug")


@pytest.mark.torture
def test_a_draft_comes_back_on_another_page(open_set):
    page = open_set(make_live("mqm"), "keyboard")
    press(page, "m", "ArrowRight", "Enter")
    page.keyboard.type("Spell")
    press(page, "2")
    expect(page.locator("#status")).to_contain_text("saved")

    page.reload()

    expect(page.locator(".marks li q")).to_have_text("1 “Aufzug”")
    expect(page.locator(".marks").get_by_label("Minor")).to_be_checked()
    expect(page.locator(".marks select")).to_have_value("spelling")


@pytest.mark.torture
def test_a_category_for_the_whole_text_covers_it_and_has_its_only_severity(open_set):
    page = open_set(make_live("mqm"), "keyboard")

    press(page, "m", "Enter")
    page.locator(".marks select").select_option("non_translation")

    expect(page.locator(f"{OUTPUT} mark")).to_have_text(TEXTS[0][1])
    expect(page.locator(".marks").get_by_label("Major")).to_be_checked()
    expect(page.locator(".marks").get_by_label("Minor")).to_be_disabled()
    with page.expect_navigation(url="**/items/2/**"):
        page.click(MAIN)
    assert read_marks() == [
        [("non_translation", TEXTS[0][1], "major", None), ("", "", "", 25)],
    ]
