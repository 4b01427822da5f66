"""Every protocol under circumstances: no scripts, right to left, forced colours, and on paper."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from evalsite.data.demo import import_example
from evalsite.handout.models import Annotation
from evalsite.studies.models import Output, Study
from tests.support.browsing import MAIN, answer_all, follow, take_a_set, walk_to_work
from tests.support.factories import launch, make_study, make_user
from tests.support.protocols import each_protocol
from tests.support.pseudo import RIGHT_TO_LEFT, speaking

pytestmark = pytest.mark.django_db(transaction=True)

SET_SIZE = 3
# elements that hide a part of their text
CLIPPED = """() => [...document.querySelectorAll(
    ".texts, .given, .body, .specimen, .standard, .outs, .beside > .qs")]
  .filter(one => one.scrollHeight > one.clientHeight + 1 && one.clientHeight)
  .filter(one => getComputedStyle(one).overflowY !== "visible")
  .map(one => one.className)"""
OUTLINE = (
    "label => { const s = getComputedStyle(label); return `${s.outlineStyle} ${s.outlineWidth}` }"
)


def of_protocols(*usual: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("protocol", each_protocol(*usual))


def make_live(protocol: str, **fields: object) -> Study:
    draft = make_study(protocol=protocol, items=0, set_size=SET_SIZE, k=1, **fields)
    import_example(draft, by=make_user())
    return launch(draft)


def rate_a_set(page: Page) -> Iterator[str]:
    """The pages from the first item in view to the code, one after another."""
    while "/items/" in page.url:
        yield "item"
        answer_all(page)
        follow(page, MAIN)
    yield "review"
    follow(page, MAIN)
    yield "finish"


@pytest.mark.one_case
@of_protocols("magnitude", "rrgen")
def test_a_whole_set_is_rated_without_scripts(browser, live_server, protocol):
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 740})
    page = context.new_page()
    study = make_live(protocol)
    take_a_set(page, str(live_server), study)

    steps = list(rate_a_set(page))

    assert steps == ["item"] * SET_SIZE + ["review", "finish"]
    expect(page.locator("#code")).to_have_text(study.item_sets.get().code)
    assert Annotation.objects.filter(study=study).counted().count() == SET_SIZE
    context.close()


@pytest.mark.torture
@of_protocols("pairwise")
def test_a_whole_study_from_right_to_left_is_turned_round_and_fits(page, live_server, protocol):
    page.set_viewport_size({"width": 360, "height": 740})
    wide: dict[str, int] = {}
    with speaking(RIGHT_TO_LEFT):
        study = make_live(protocol, language=RIGHT_TO_LEFT)

        for step in walk_and_rate(page, str(live_server), study):
            assert page.evaluate("getComputedStyle(document.body).direction") == "rtl", step
            if (needed := page.evaluate("document.documentElement.scrollWidth")) > 360:
                wide[step] = needed
            if step == "item":
                # Save is at the end of the line
                assert page.locator(".dock .main").bounding_box()["x"] < 180

    assert wide == {}
    assert Annotation.objects.filter(study=study).counted().count() == SET_SIZE


def walk_and_rate(page: Page, base: str, study: Study) -> Iterator[str]:
    yield from walk_to_work(page, base, study, with_errors=False)
    yield from rate_a_set(page)


# boxes, and radio buttons
@pytest.mark.one_case
@of_protocols("magnitude", "pairwise")
def test_focus_and_selection_are_seen_in_forced_colours(page, live_server, protocol):
    page.emulate_media(forced_colors="active")
    take_a_set(page, str(live_server), make_live(protocol))
    question = page.locator("[data-question]").last
    labels = question.locator("label.pt")
    if not labels.count():
        question.locator("input").focus()
        assert question.locator("input").evaluate(OUTLINE) == "solid 3px"
        return

    page.keyboard.press("j")
    focused = page.locator("label.pt:has(:focus)")
    labels.first.locator("input").check()
    labels.first.locator("input").blur()

    assert focused.count() == 0
    assert labels.first.evaluate(OUTLINE) == "solid 3px"
    assert labels.last.evaluate(OUTLINE).startswith("none")
    page.keyboard.press("k")
    expect(focused).to_have_count(1)
    assert focused.evaluate(OUTLINE) == "dashed 3px"


@pytest.mark.torture
@of_protocols("rrgen", "magnitude")
def test_printed_item_has_all_of_its_text_and_nothing_to_press(page, live_server, protocol):
    page.set_viewport_size({"width": 360, "height": 500})
    study = make_live(protocol)
    Output.objects.update(text="one word after another, " * 150)
    take_a_set(page, str(live_server), study)
    assert page.evaluate(CLIPPED) == []

    page.emulate_media(media="print")

    assert page.evaluate(CLIPPED) == []
    expect(page.locator(".dock")).to_be_hidden()
    for text in page.locator("[data-read]").all():
        expect(text).to_be_visible()
