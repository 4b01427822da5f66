"""Instruments of the gallery that need care: rated by keyboard alone, by touch, without scripts."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from evalsite.core.jobs.services import run_job
from evalsite.data.items.importer import import_file
from evalsite.fieldwork.launch import launch_study
from evalsite.handout.models import Annotation, Rating
from evalsite.studies.models import Study
from tests.support.batches import import_rows, make_rows
from tests.support.browsing import find_faults_in_turn, press_tab_to, walk_to_work
from tests.support.factories import (
    launch,
    make_annotator,
    make_user,
    mint_link,
    open_to_everyone,
)
from tests.support.geometry import PHONE, WIDE, find_hidden
from tests.support.instruments import GALLERY, make_built_study

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

MAIN = ".dock .main"
WAYS: dict[str, dict[str, Any]] = {
    "keyboard": {},
    "touch": {
        "viewport": {"width": 360, "height": 740},
        "has_touch": True,
        "is_mobile": True,
        "reduced_motion": "reduce",
    },
    "no scripts": {"java_script_enabled": False},
}


def make_live(key: str, batch: str, *, is_practice_on: bool = False) -> Study:
    content = json.loads((GALLERY / f"{key}.json").read_bytes())
    study = make_built_study(content, k=1, set_size=4, is_practice_on=is_practice_on)
    import_file(study=study, path=GALLERY / "batches" / batch, by=None)
    run_job(launch_study(study=study, by=make_user()))
    study.refresh_from_db()
    return study


@pytest.fixture
def open_item(browser: Browser, live_server: Any) -> Iterator[Callable[[Study, str], Page]]:
    contexts = []

    def open_first(study: Study, way: str) -> Page:
        contexts.append(browser.new_context(**WAYS[way]))
        page = contexts[-1].new_page()
        page.goto(f"{live_server}{mint_link(make_annotator(study))}")
        page.click(".btn.main")
        page.wait_for_url("**/items/1/**")
        return page

    yield open_first
    for context in contexts:
        context.close()


def leave(page: Page, act: Callable[[], None]) -> None:
    with page.expect_navigation(url="**/items/2/**"):
        act()


def press_main(page: Page) -> None:
    press_tab_to(page, MAIN)
    leave(page, lambda: page.keyboard.press("Enter"))


@pytest.mark.torture
def test_direct_assessment_is_rated_by_keyboard_by_touch_and_without_scripts(open_item):
    study = make_live("da_sqm", "esa.csv")

    page = open_item(study, "keyboard")
    assert find_faults_in_turn(page) == []
    press_tab_to(page, "[name^=quality]")
    page.keyboard.type("63")
    press_main(page)

    page = open_item(study, "touch")
    line = page.locator("[type=range]")
    line.wait_for()  # a script of its own shows it
    width = line.bounding_box()["width"]
    line.tap(position={"x": width / 2, "y": 8})
    leave(page, lambda: page.tap(MAIN))

    page = open_item(study, "no scripts")
    page.fill("[name^=quality]", "20")
    leave(page, lambda: page.click(MAIN))

    by_hand, by_touch, plain = Rating.objects.order_by("id").values_list("value", flat=True)
    assert (by_hand, plain) == (63, 20)
    assert 45 <= by_touch <= 55


@pytest.mark.torture
def test_arena_preference_is_rated_by_keyboard_by_touch_and_without_scripts(open_item):
    study = make_live("arena_preference", "arena_preference.jsonl")

    page = open_item(study, "keyboard")
    assert find_faults_in_turn(page) == []
    page.keyboard.press(page.get_by_label("B is much better").get_attribute("data-key"))
    press_tab_to(page, "[name='preference.2-useful']")
    page.keyboard.press("Space")
    press_main(page)

    page = open_item(study, "touch")
    page.get_by_text("Both are bad", exact=True).tap()
    page.locator("label:has([name='preference.1-incorrect'])").tap()
    page.fill("[name=what_is_bad]", "Answer the question.")
    leave(page, lambda: page.tap(MAIN))

    page = open_item(study, "no scripts")
    page.get_by_role("radio", name="A is better", exact=True).check()
    page.check("[name='preference.1-complete']")
    leave(page, lambda: page.click(MAIN))

    given = Rating.objects.filter(criterion="preference", part="").order_by("id")
    assert [abs(value) for value in given.values_list("value", flat=True)] == [2, 0, 1]
    reasons = [next(iter(one.detail["reasons"].values())) for one in given]
    assert reasons == [["useful"], ["incorrect"], ["complete"]]
    assert Rating.objects.get(criterion="what_is_bad").text == "Answer the question."


@pytest.mark.torture
@pytest.mark.parametrize(("answer", "is_asked"), [("Both are bad", True), ("A is better", False)])
def test_verdicts_show_a_conditional_question_only_if_it_was_asked(
    page, live_server, answer, is_asked
):
    study = make_live("arena_preference", "arena_preference.jsonl", is_practice_on=True)
    open_to_everyone(study)
    walk = walk_to_work(page, str(live_server), study, with_errors=False)
    next(name for name in walk if name == "practice")
    page.get_by_text(answer, exact=True).click()
    if is_asked:
        page.fill("[name=what_is_bad]", "Answer the question.")

    page.click(MAIN)

    expect(page.locator(".feedback")).not_to_have_count(0)
    expect(page.locator("[data-ask-if]")).to_be_visible(visible=is_asked)


def test_a_hint_has_its_place_so_that_no_box_moves_away(open_item):
    content = json.loads((GALLERY / "quality.json").read_bytes())
    options = [{"key": f"o{number}", "label": f"Reason {number}"} for number in range(8)]
    content["practice"] = []
    content["criteria"] = [
        {
            "key": f"reasons_{name}", "label": f"What is wrong with {name}", "per": "output",
            "question": "Choose all that apply to this text.", "required": False,
            "scale": {"kind": "choices", "options": options},
        }
        for name in ("facts", "style", "names")
    ]  # fmt: skip
    study = make_built_study(content, k=1, set_size=1, is_practice_on=False)
    import_rows(study, make_rows(study.config, items=1))
    page = open_item(launch(study), "keyboard")
    boxes = page.locator(".qs [type=checkbox]")
    places = [box.bounding_box() for box in boxes.all()]
    hints = page.locator(".press:visible")
    assert places[0]["y"] == places[8]["y"] == places[16]["y"]

    for number in (0, 8, 16):
        boxes.nth(number).focus()
        assert [box.bounding_box() for box in boxes.all()] == places
        expect(hints).to_have_count(1)
        assert hints.evaluate("hint => getComputedStyle(hint).visibility") == "visible"


# --- an order, and the best and the worst ------------------------------------------------------


def read_order(criterion: str) -> list[dict[int, float]]:
    """Return the values of each person's answer by the place of its output on the page."""
    answers = []
    for annotation in Annotation.objects.filter(outcome="rated").order_by("pk"):
        rows = annotation.ratings.filter(criterion=criterion, part="")
        values = dict(rows.values_list("output__position", "value"))
        places = enumerate(annotation.order_shown, start=1)
        answers.append({place: values[at] for place, at in places if at in values})
    return answers


def press_each(page: Page, keys: str) -> None:
    for key in keys.split():
        page.keyboard.press(key)


def find_row(page: Page, label: str) -> Any:
    return page.locator(f".rank > li:has(.label:text-is('{label}'))")


def test_order_is_given_by_keyboard_by_touch_and_without_scripts(open_item):
    study = make_live("ranking", "ranking.jsonl")

    page = open_item(study, "keyboard")
    assert find_faults_in_turn(page) == []
    assert find_hidden(page, WIDE) == []
    page.reload()
    # the second and the fourth text, then the second text again: 2, 1 and out
    press_each(page, "j j 1 j j 1 k Backspace")
    expect(page.locator("[data-placed]:not(ol)")).to_have_text("1 of 4 placed.")
    labels = page.locator(".rank .label").all_text_contents()
    press_each(page, "j 2")
    for _ in labels:
        page.keyboard.press("k")
    places = [page.locator(f"[name='rank.{number}']").input_value() for number in range(1, 5)]
    assert sorted(place for place in places if place) == ["1", "2"]
    # all of them by digits, the last one moved up by one
    for number in range(1, 5):
        page.locator(f"[name='rank.{number}']").focus()
        page.keyboard.press(str(number))
    page.keyboard.press("Alt+ArrowUp")
    for number in range(1, 5):
        page.locator(f"[name='usable-{number}']").first.focus()
        page.keyboard.press("y")
    page.locator("[name='rank.4']").focus()
    leave(page, lambda: page.keyboard.press("Enter"))

    page = open_item(study, "touch")
    assert find_hidden(page, PHONE) == []
    for label in ("Output 3", "Output 1", "Output 4", "Output 2"):
        find_row(page, label).locator(".listed").tap()
    find_row(page, "Output 2").get_by_label("Move Output 2 up").tap()
    page.get_by_text("Two or more are equally good").tap()
    find_row(page, "Output 1").get_by_label("Move Output 1 up").tap()
    for number in range(1, 5):
        page.locator(f"label:has([name='usable-{number}'][value='0'])").tap()
    leave(page, lambda: page.tap(MAIN))

    page = open_item(study, "no scripts")
    for number, place in enumerate((2, 1, 4, 3), start=1):
        page.select_option(f"[name='rank.{number}']", str(place))
        page.check(f"[name='usable-{number}'][value='1']")
    leave(page, lambda: page.click(MAIN))

    assert read_order("rank") == [
        {1: 1, 2: 2, 3: 4, 4: 3}, {1: 1, 2: 2, 3: 1, 4: 3}, {1: 2, 2: 1, 3: 4, 4: 3},
    ]  # fmt: skip


@pytest.mark.torture
def test_texts_are_dragged_to_their_places_and_an_order_is_started_over(open_item):
    study = make_live("ranking", "ranking.jsonl")
    page = open_item(study, "keyboard")
    texts = page.locator(".rank > li")
    for _ in range(4):
        page.locator(".rank > li.open .listed").first.click()
    first = texts.nth(0).get_attribute("data-number")

    texts.nth(0).drag_to(texts.nth(3))

    assert texts.nth(3).get_attribute("data-number") == first
    assert texts.nth(3).locator("select").input_value() == "4"
    page.get_by_text("Start over").click()
    expect(page.locator("[data-placed]:not(ol)")).to_have_text("0 of 4 placed.")
    assert [box.input_value() for box in page.locator(".rank select").all()] == [""] * 4


@pytest.mark.torture
def test_order_that_was_refused_is_mended_on_the_same_page(open_item):
    study = make_live("ranking", "ranking.jsonl")
    page = open_item(study, "keyboard")
    page.locator(".rank > li .listed").nth(2).click()

    page.click(MAIN)

    expect(page.locator(".problem")).to_be_visible()
    expect(page.locator(".rank > li").first.locator("select")).to_have_value("1")
    for _ in range(3):
        page.locator(".rank > li.open .listed").first.click()
    for number in range(1, 5):
        page.check(f"[name='usable-{number}'][value='1']")
    leave(page, lambda: page.click(MAIN))
    assert sorted(read_order("rank")[0].values()) == [1, 2, 3, 4]


def test_best_and_worst_are_chosen_by_keyboard_by_touch_and_without_scripts(open_item):
    study = make_live("best_worst_four", "best_worst_four.jsonl")

    page = open_item(study, "keyboard")
    assert find_faults_in_turn(page) == []
    assert find_hidden(page, WIDE) == []
    page.reload()
    # the worst is moved to another text, where it takes the best away
    press_each(page, "j j b j w k w")
    expect(page.locator("[name='overall.best']:checked")).to_have_count(0)
    press_each(page, "j j b")
    leave(page, lambda: page.keyboard.press("Enter"))

    page = open_item(study, "touch")
    assert find_hidden(page, PHONE) == []
    page.locator("label:has([id='overall.best-4'])").tap()
    page.locator("label:has([id='overall.worst-1'])").tap()
    leave(page, lambda: page.tap(MAIN))

    page = open_item(study, "no scripts")
    page.check("[id='overall.best-1']")
    page.check("[id='overall.worst-3']")
    leave(page, lambda: page.click(MAIN))

    assert read_order("overall") == [{2: -1, 4: 1}, {4: 1, 1: -1}, {1: 1, 3: -1}]
