"""The heights of rating pages: a short item fits one screen, a longer one scrolls."""

import pytest
from playwright.sync_api import Page, expect

from evalsite.data.demo import import_example
from evalsite.studies.models import Item, Study
from tests.support.browsing import MAIN, TIGHT, answer_all, take_a_set
from tests.support.factories import launch, make_learner, make_study, make_user, mint_link
from tests.support.protocols import each_protocol

pytestmark = pytest.mark.django_db(transaction=True)

HEIGHTS = {1280: (800, 800), 360: (740, 1600)}  # width: height of the window, most pixels
# the lower edge of Save, from the top of the page, with nothing pinned
LOWER_EDGE = """() => {
  for (const pinned of document.querySelectorAll(".pins, .to, .dock, .auto")) {
    pinned.style.position = "static";
    pinned.style.margin = "0";
  }
  document.body.style.minHeight = "0";
  return document.querySelector(".dock .main").getBoundingClientRect().bottom + scrollY;
}"""
# how much of an element nothing covers, from 0 to 1
IN_VIEW = """element => {
  const box = element.getBoundingClientRect();
  const rows = 8;
  let seen = 0;
  for (let row = 0; row < rows; row += 1) {
    const y = box.top + ((row + 0.5) * box.height) / rows;
    const found = document.elementFromPoint(box.left + box.width / 2, y);
    if (found && (element.contains(found) || found.contains(element))) seen += 1;
  }
  return seen / rows;
}"""


@pytest.fixture(params=each_protocol("dialogue", "pairwise", "rrgen"))
def study(request: pytest.FixtureRequest, transactional_db: None) -> Study:
    draft = make_study(protocol=request.param, items=0, set_size=2, k=1)
    import_example(draft, by=make_user())
    keep_usual_items(draft)
    return launch(draft)


def keep_usual_items(study: Study) -> None:
    """Of all items two are left, in the middle by the length of their texts."""
    items = sorted(study.items.main(), key=count_characters)
    middle = len(items) // 2
    for item in (*items[: middle - 1], *items[middle + 1 :]):
        item.delete()


def count_characters(item: Item) -> int:
    texts = (*item.inputs.values(), *item.outputs.values_list("text", flat=True))
    return sum(len(str(text)) for text in texts)


def open_item(page: Page, base: str, study: Study, width: int) -> None:
    page.set_viewport_size({"width": width, "height": HEIGHTS[width][0]})
    page.emulate_media(reduced_motion="reduce")
    take_a_set(page, base, study)


def open_again(page: Page, width: int, height: int) -> None:
    """Show the same page, untouched, in a window of this size."""
    page.set_viewport_size({"width": width, "height": height})
    page.goto(page.url.partition("#")[0])


@pytest.mark.one_case
def test_usual_item_fits_its_screens(page, live_server, study):
    """In one walk, as most of its time would go into the way to the item."""
    open_item(page, str(live_server), study, 1280)

    for width in HEIGHTS:
        open_again(page, width, HEIGHTS[width][0])
        check_item_fits(page, width)
    for width, height in TIGHT:
        open_again(page, width, height)
        check_save_is_in_one_line_and_nothing_is_wider(page, width)
    open_again(page, 360, HEIGHTS[360][0])
    check_next_item_opens_at_its_top_with_its_heading_in_view(page)


def check_item_fits(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") == width
    if width == 1280:
        assert page.evaluate("document.documentElement.scrollHeight") <= HEIGHTS[width][1]
    assert page.evaluate(LOWER_EDGE) <= HEIGHTS[width][1]


def check_save_is_in_one_line_and_nothing_is_wider(page: Page, width: int) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".dock .main").bounding_box()["height"] < 50


def check_next_item_opens_at_its_top_with_its_heading_in_view(page: Page) -> None:
    answer_all(page)

    with page.expect_navigation():
        page.click(".dock .main")

    assert page.evaluate("scrollY") == 0
    expect(page.locator("h1")).to_be_in_viewport()
    expect(page.locator("h1")).to_be_focused()


@pytest.mark.torture
@pytest.mark.parametrize("protocol", each_protocol("rrgen"))
def test_reason_of_a_practice_item_is_in_view_with_the_first_verdict(page, live_server, protocol):
    study = make_study(protocol=protocol, items=0, set_size=2, k=1)
    import_example(study, by=make_user())
    page.set_viewport_size({"width": 1280, "height": HEIGHTS[1280][0]})
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{live_server}{mint_link(make_learner(launch(study)))}")
    answer_all(page)

    page.click(MAIN)

    verdicts = page.locator(".feedback")
    expect(verdicts.first).to_be_in_viewport(ratio=1)
    shown = [verdicts.nth(place).evaluate(IN_VIEW) for place in range(verdicts.count())]
    reason = 0 if protocol == "rrgen" else -1
    assert shown[reason] == 1, shown
    # a practice item of pairwise has one question
    assert len(shown) > 2 or protocol == "pairwise"
    assert 1 in shown[1:-1] or protocol == "pairwise", shown
