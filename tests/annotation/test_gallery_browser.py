"""Instruments of the gallery that need care: rated by keyboard alone, by touch, without scripts."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from evalsite.annotation.models import Rating
from evalsite.annotation.running.launch import launch_study
from evalsite.imports.batches.importer import import_file
from evalsite.jobs.services import run_job
from evalsite.studies.models import Study
from tests.support.browsing import find_faults_in_turn, press_tab_to, walk_to_work
from tests.support.factories import make_annotator, make_user, mint_link
from tests.support.instruments import GALLERY, make_built_study

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

MAIN = ".dock .main"
WAYS: dict[str, dict[str, Any]] = {
    "keyboard": {},
    "touch": {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True},
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
    walk = walk_to_work(page, str(live_server), study, with_errors=False)
    next(name for name in walk if name == "practice")
    page.get_by_text(answer, exact=True).click()
    if is_asked:
        page.fill("[name=what_is_bad]", "Answer the question.")

    page.click(MAIN)

    expect(page.locator(".feedback")).not_to_have_count(0)
    expect(page.locator("[data-ask-if]")).to_be_visible(visible=is_asked)
