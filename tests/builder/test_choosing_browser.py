"""The choice of an instrument in a browser: drawn at two widths, by keyboard, without scripts."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from evalsite.studies.models import Study
from tests.builder.test_choosing import CHATS, TRANSLATIONS, keep, page_of
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import (
    Watch,
    find_faults_in_all_looks,
    follow,
    press_tab_to,
)
from tests.support.factories import make_user
from tests.support.instruments import make_built_study, read_instrument

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def data_dir(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def jane(page: Page, live_server):
    jane = make_user()
    sign_in(page, live_server, jane)
    return jane


def read_boxes(page: Page) -> dict[str, float]:
    """Return heights of what is drawn in the first card, in px, and what is chosen."""
    return page.evaluate(
        """() => {
          const card = document.querySelector(".pick");
          const frame = card.querySelector("iframe");
          const inside = frame.contentDocument;
          const first = inside.querySelector(".q").getBoundingClientRect();
          return {
            preview: card.querySelector(".preview").getBoundingClientRect().height,
            cards: new Set([...document.querySelectorAll(".pick")].map(
              (pick) => Math.round(pick.getBoundingClientRect().top))).size,
            question: first.top,
            wide: inside.documentElement.scrollWidth - frame.clientWidth,
            boxes: [...document.querySelectorAll(".of-pick")].filter(
              (part) => part.checkVisibility()).length,
          };
        }"""
    )


@pytest.mark.parametrize("text", [TRANSLATIONS, CHATS], ids=["translations", "chats"])
def test_first_item_and_the_first_question_are_in_sight_at_both_widths(
    page, live_server, jane, text
):
    watch = Watch(page)
    name = "news.csv" if text == TRANSLATIONS else "chats.jsonl"
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{live_server}{page_of(keep(text, jane, name))}")

    wide = read_boxes(page)
    page.set_viewport_size({"width": 390, "height": 800})
    narrow = read_boxes(page)

    # side by side, all of one height; on a phone one below another, cut at 19 rem
    assert (wide["cards"], narrow["cards"]) == (1, 3)
    assert narrow["preview"] == 19 * 16
    assert wide["question"] < wide["preview"]
    assert wide["wide"] <= 0
    assert narrow["wide"] <= 0
    # what is added is asked of the chosen instrument alone
    assert (wide["boxes"], narrow["boxes"]) == (1, 1)
    assert watch.found == []


def test_pages_have_no_fault_in_any_look(page, live_server, jane):
    study = make_built_study(read_instrument("da_sqm"), by=jane)
    addresses = [
        page_of(keep(TRANSLATIONS, jane)),
        reverse("admin:new-all"),
        f"{reverse('admin:new-all')}?q=A/B",
        f"{reverse('admin:new-from')}?instrument=gallery:quality",
        reverse("admin:study-instrument", args=[study.pk]),
        reverse("admin:batch-list", args=[study.pk]),
    ]
    for address in addresses:
        page.goto(f"{live_server}{address}")
        assert find_faults_in_all_looks(page) == [], address


def test_study_is_made_by_keyboard_alone(page, live_server, jane):
    page.goto(f"{live_server}{page_of(keep(TRANSLATIONS, jane))}")

    press_tab_to(page, "#pick-1")
    page.keyboard.press("ArrowRight")
    assert page.locator("#pick-2").is_checked()
    press_tab_to(page, "#id_title")
    with page.expect_navigation():
        page.keyboard.press("Enter")

    assert Study.objects.get().protocol == "da_sqm"


def test_study_is_made_without_scripts(browser, live_server):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    jane = make_user()
    sign_in(page, live_server, jane)
    page.goto(f"{live_server}{page_of(keep(TRANSLATIONS, jane))}")

    # anywhere on the card, and its boxes follow
    page.locator(".pick").nth(2).click(position={"x": 200, "y": 300})
    assert page.locator(".of-3").is_visible()
    assert not page.locator(".of-1").is_visible()
    follow(page, "button.main")

    assert Study.objects.get().protocol == "arena_preference"
    context.close()
