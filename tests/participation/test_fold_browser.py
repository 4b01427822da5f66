"""The fold of a long input: the reader's own, open at first, and kept while its group lasts."""

import pytest
from playwright.sync_api import Page, expect

from tests.support.browsing import MAIN, Watch, answer_all, find_faults, follow, take_a_set
from tests.support.ignoring import make_reviews
from tests.support.long_texts import read_texts

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

FOLD = ".less input"
BODY = ".given .body"


def open_long_review(page: Page, base: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    study = make_reviews(reviews=2, responses=2, set_size=4)
    for number, item in enumerate(study.items.main().order_by("group")):
        item.inputs = {"review": f"{number // 2}. {read_texts()['words_300']}"}
        item.save()
    take_a_set(page, base, study)


def height(page: Page) -> float:
    return page.locator(BODY).bounding_box()["height"]


def test_fold_says_how_much_it_holds_and_stays_for_the_responses_to_one_review(page, live_server):
    watch = Watch(page)
    open_long_review(page, str(live_server))
    assert height(page) > 300
    expect(page.locator(".given .count")).to_have_text("301 words")

    page.check(FOLD)
    assert height(page) < 100
    assert find_faults(page) == []
    answer_all(page)
    follow(page, MAIN)
    expect(page.locator(FOLD)).to_be_checked()
    answer_all(page)
    follow(page, MAIN)

    # another review is read first
    expect(page.locator(FOLD)).not_to_be_checked()
    assert height(page) > 300
    assert watch.found == []


@pytest.mark.torture
def test_fold_works_without_scripts(browser, live_server):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    open_long_review(page, str(live_server))

    page.check(FOLD)

    assert height(page) < 100
    context.close()


@pytest.mark.torture
def test_key_v_leads_to_the_text_and_back_to_the_question(page, live_server):
    page.set_viewport_size({"width": 360, "height": 740})
    open_long_review(page, str(live_server))
    page.locator("#fluency-1").focus()
    expect(page.locator(".given h2")).not_to_be_in_viewport()

    page.keyboard.press("v")
    expect(page.locator(".given h2")).to_be_in_viewport()
    page.keyboard.press("v")

    expect(page.locator("#fluency-1")).to_be_in_viewport()
    expect(page.locator("#fluency-1")).to_be_focused()
