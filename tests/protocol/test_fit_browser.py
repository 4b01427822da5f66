"""The heights of rating pages, and what is in view together: the budget of one screen an item."""

import pytest
from playwright.sync_api import Page, expect

from evalsite.imports.demo import import_example
from evalsite.studies.models import Item, Study
from tests.support.browsing import MAIN, TIGHT, answer_all, take_a_set
from tests.support.factories import launch, make_learner, make_study, make_user, mint_link
from tests.support.protocols import each_protocol

pytestmark = pytest.mark.django_db(transaction=True)

HEIGHTS = {1280: (800, 800), 360: (740, 1480)}  # width: height of the window, most pixels
# the lower edge of Save, from the top of the page, with nothing pinned
LOWER_EDGE = """() => {
  for (const pinned of document.querySelectorAll(".read, .dock, .auto")) {
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

# whether the last line of a text is what one sees there, and nothing on top of it
SHOWS_LAST_LINE = """reel => {
  const text = [...reel.querySelectorAll(".text")].at(-1);
  const range = document.createRange();
  range.selectNodeContents(text);
  const line = [...range.getClientRects()].at(-1);
  const found = document.elementFromPoint(line.left + line.width / 2, line.top + line.height / 2);
  return text.contains(found);
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


def test_item_fits_its_screens_with_what_is_judged_in_view(page, live_server, study):
    """In one walk, as most of its time would go into the way to the item."""
    open_item(page, str(live_server), study, 1280)

    for width in HEIGHTS:
        open_again(page, width, HEIGHTS[width][0])
        check_what_is_judged_is_in_view_beside_every_question(page)
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


def check_what_is_judged_is_in_view_beside_every_question(page: Page) -> None:
    shown = page.locator(".read .specimen, .read .standard").first
    under_each = page.locator(".trio .specimen").count() > 0
    for question in page.locator("[data-question]").all():
        question.locator("input").last.focus()

        assert shown.evaluate(IN_VIEW) > 0.5
        assert question.locator("input").last.evaluate(IN_VIEW) > 0
        if under_each:
            expect(question).to_be_in_viewport()


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


def test_longest_prompts_and_responses_of_dialogue_fit_a_phone(page, live_server):
    draft = make_study(protocol="dialogue", items=0, set_size=6, k=1)
    import_example(draft, by=make_user())
    items = list(draft.items.main())
    longest = [
        *sorted(items, key=lambda item: len(item.outputs.get().text))[-12:],
        *sorted(items, key=lambda item: len(item.inputs["dialogue"]))[-12:],
        *sorted(items, key=count_characters)[-12:],
    ]
    by_prompt = {item.group: item for item in longest}
    kept = sorted(by_prompt.values(), key=count_characters)[-6:]
    draft.items.main().exclude(pk__in=[item.pk for item in kept]).delete()
    open_item(page, str(live_server), launch(draft), 360)

    heights = []
    for number in range(1, 7):
        page.goto(page.url.rsplit("/items/", 1)[0] + f"/items/{number}/")
        heights.append(page.evaluate(LOWER_EDGE))

    assert max(heights) <= HEIGHTS[360][1], heights


@pytest.mark.parametrize("width", sorted(HEIGHTS))
def test_response_to_a_long_review_is_in_view_and_a_cue_says_that_more_follows(
    page, live_server, width
):
    study = make_study(protocol="rrgen", items=0, set_size=1, k=1)
    import_example(study, by=make_user())
    longest = max(study.items.main(), key=count_characters)
    study.items.main().exclude(pk=longest.pk).delete()
    assert len(longest.inputs["review"].split()) > 300

    open_item(page, str(live_server), launch(study), width)

    expect(page.locator(".read .specimen")).to_be_in_viewport(ratio=0.9)
    expect(page.locator(".reel .more")).to_be_in_viewport()
    page.locator(".reel").evaluate("reel => reel.scrollTo(0, reel.scrollHeight)")
    expect(page.locator(".reel .more")).to_be_hidden()
    assert page.locator(".reel").evaluate(SHOWS_LAST_LINE)
    assert width != 360 or page.evaluate(LOWER_EDGE) <= HEIGHTS[width][1]


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
