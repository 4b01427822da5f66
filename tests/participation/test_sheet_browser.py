"""The sheet in a browser: by keyboard, by touch, without scripts, in two tabs, and in trouble."""

import pytest
from playwright.sync_api import Page, expect

from evalsite.handout.models import Annotation, Draft
from evalsite.people.models import ItemSet
from evalsite.studies.models import Output
from tests.instruments.test_circumstances_browser import CLIPPED, OUTLINE
from tests.support.browsing import (
    MAIN,
    Line,
    Watch,
    find_faults,
    find_faults_in_turn,
    find_overflow,
    follow,
    take_a_set,
)
from tests.support.factories import make_annotator, mint_link
from tests.support.invariants import check_invariants
from tests.support.pseudo import RIGHT_TO_LEFT, speaking
from tests.support.sheet_pages import NAMES, given, make_sheet

pytestmark = pytest.mark.django_db(transaction=True)

STATUS = "#status"


def open_sheet(page: Page, base: str, items: int = 3):
    study = make_sheet(items)
    take_a_set(page, base, study)
    expect(page.locator("[data-part]")).to_have_count(items)
    return study


def choose(page: Page, place: int, *scores: int) -> None:
    for name, score in zip(NAMES, scores, strict=False):
        page.check(f"#q{place}-{name}-{score}")


def heading(page: Page, place: int):
    return page.locator(f"#q{place}-title")


def expect_done(page: Page, count: int) -> None:
    expect(page.locator(".jump .done")).to_have_count(count)


# --- each way through a set ---------------------------------------------------------------


def test_a_whole_sheet_is_rated_by_keyboard_alone(page, live_server):
    watch = Watch(page)
    open_sheet(page, str(live_server))

    page.keyboard.press("3")  # nobody answers a question that is not in view
    expect(page.locator("#q1-appropriateness")).to_be_in_viewport()
    assert page.locator("input:checked[type=radio]").count() == 0
    for place in (1, 2, 3):
        for score in "412":
            page.keyboard.press(score)
        if place < 3:
            page.keyboard.press("Enter")
            expect(heading(page, place + 1)).to_be_focused()
            expect(heading(page, place + 1)).to_be_in_viewport()
            expect_done(page, place)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "/review/" in page.url
    follow(page, MAIN)

    assert given() == {place: [4, 1, 2] for place in (1, 2, 3)}
    assert ItemSet.objects.get().finished_at is not None
    assert watch.found == []


@pytest.mark.torture
def test_a_whole_sheet_is_rated_without_scripts(browser, live_server):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    open_sheet(page, str(live_server))

    choose(page, 1, 3, 3)
    page.click(".jump > summary")
    follow(page, ".jump [value='2']")
    expect(heading(page, 2)).to_be_in_viewport()
    expect(page.locator("#q1-information_content-3")).to_be_checked()
    choose(page, 2, 1, 2, 3)
    choose(page, 3, 5)
    follow(page, MAIN)
    assert page.title().startswith("Error: ")
    expect(page.locator("#q3 .problem")).to_be_in_viewport()
    expect(page.locator("#q3-appropriateness-5")).to_be_checked()
    choose(page, 3, 5, 5, 5)
    follow(page, MAIN)
    assert page.url.endswith("?was=saved#q1")
    choose(page, 1, 3, 3, 3)
    follow(page, MAIN)
    assert "/review/" in page.url
    follow(page, MAIN)

    assert given() == {1: [3, 3, 3], 2: [1, 2, 3], 3: [5, 5, 5]}
    assert page.inner_text("#code") == ItemSet.objects.get().code
    context.close()


def tap_where_it_is(page, selector: str) -> None:
    """A finger doesn't scroll what it taps into view first, as `tap` may."""
    box = page.locator(selector).bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


@pytest.mark.torture
def test_a_whole_sheet_is_rated_by_touch_alone(browser, live_server):
    context = browser.new_context(
        viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    open_sheet(page, str(live_server))

    page.locator(".jump > summary").tap()
    page.locator(".jump [value='1']").tap()
    expect(page.locator(".jump > div")).to_be_hidden()
    for place in (1, 2, 3):
        expect(heading(page, place)).to_be_in_viewport()
        for name in NAMES:
            label = page.locator(f"label:has(#q{place}-{name}-4)")
            label.tap()
            expect(label.locator("input")).to_be_checked()
            # the text is one link away from what is answered
            expect(page.locator(f"#q{place} .part-head a:has-text('Response')")).to_be_in_viewport()
        if place < 3:
            tap_where_it_is(page, MAIN)
            expect(heading(page, place + 1)).to_be_focused()
    with page.expect_navigation():
        page.locator(MAIN).tap()
    with page.expect_navigation():
        page.locator(MAIN).tap()

    assert given() == {place: [4, 4, 4] for place in (1, 2, 3)}
    context.close()


# --- saved, refused, moved on -------------------------------------------------------------


@pytest.mark.torture
def test_whole_answer_is_saved_by_itself_and_ticked(page, live_server):
    open_sheet(page, str(live_server))

    choose(page, 2, 1, 2, 3)

    expect_done(page, 1)
    expect(page.locator(STATUS)).to_contain_text("Saved")
    expect(page.locator("h1")).to_contain_text("1 of 3 answered")
    expect(page.locator("#q2 .ticked")).to_be_visible()
    assert page.locator(".bar").get_attribute("aria-label") == "1 of 3 done"
    assert given() == {2: [1, 2, 3]}
    annotation = Annotation.objects.get()
    assert annotation.active_ms is not None
    assert annotation.device == "wide-landscape"


@pytest.mark.torture
def test_refused_question_says_so_in_place_and_what_else_is_entered_stays(page, live_server):
    open_sheet(page, str(live_server))
    choose(page, 2, 5)
    page.click(MAIN)

    problem = page.locator("#q2 .problem[role=alert]")
    expect(problem).to_be_focused()
    expect(problem.locator("a").first).to_have_text(
        "Question 2: Choose a score for information content of outputs"
    )
    assert page.title().startswith("Error: ")
    problem.locator("a").first.click()
    expect(page.locator("#q2-information_content-1")).to_be_focused()
    assert find_faults_in_turn(page) == []
    choose(page, 2, 5, 5, 5)
    expect_done(page, 1)
    page.click(MAIN)
    expect(heading(page, 3)).to_be_focused()
    expect(page.locator(".problem, .bad, [aria-invalid]")).to_have_count(0)
    assert not page.title().startswith("Error: ")


@pytest.mark.torture
def test_save_pressed_again_while_the_first_is_under_way_is_not_lost(page, live_server):
    open_sheet(page, str(live_server))
    held = []

    def hold(route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/sets/1/", hold)
    choose(page, 1, 1, 1, 1)
    page.click(MAIN)
    page.click(MAIN)
    choose(page, 2, 2, 2, 2)
    page.click(MAIN)

    held[0].continue_()

    expect(heading(page, 3)).to_be_focused()
    assert given() == {1: [1, 1, 1], 2: [2, 2, 2]}


@pytest.mark.torture
def test_moving_on_automatically_goes_to_the_next_question_and_can_be_undone(page, live_server):
    open_sheet(page, str(live_server))
    page.check("[data-switch=advance]")

    choose(page, 1, 1, 1, 1)
    expect(heading(page, 2)).to_be_focused()
    expect(page.locator(STATUS)).to_have_text("Question 1 saved. Undo")
    page.keyboard.press("u")
    expect(heading(page, 1)).to_be_focused()
    choose(page, 1, 2)
    expect(page.locator(STATUS)).to_contain_text("Saved")
    expect(heading(page, 1)).to_be_in_viewport()

    assert given() == {1: [2, 1, 1]}
    assert Annotation.objects.get().revisions.count() == 1


@pytest.mark.torture
def test_menu_marks_where_one_is_and_what_is_done(page, live_server):
    open_sheet(page, str(live_server))
    page.click(".jump > summary")
    page.click(".jump [value='3']")

    expect(page.locator(".jump [aria-current]")).to_have_text("Question 3, not answered")
    choose(page, 3, 1, 1, 1)
    page.click(".jump > summary")
    expect(page.locator(".jump .done")).to_contain_text("Question 3, answered")
    page.click(".jump .word a >> nth=1")
    expect(page.get_by_role("heading", name="Specific Definitions")).to_be_in_viewport()
    expect(page.locator(".jump > div")).to_be_hidden()


@pytest.mark.torture
def test_notes_are_folded_by_choice_and_never_those_of_the_first_question(page, live_server):
    open_sheet(page, str(live_server))
    note = "#q{} .pt small >> nth=0"

    expect(page.locator(note.format(2))).to_be_visible()
    page.uncheck("[data-switch=notes]")
    expect(page.locator(note.format(2))).to_be_hidden()
    expect(page.locator(note.format(1))).to_be_visible()
    expect(page.locator("#q2 .pt em >> nth=0")).to_be_visible()
    page.reload()
    expect(page.locator(note.format(2))).to_be_hidden()


# --- when something fails -----------------------------------------------------------------


@pytest.mark.torture
def test_what_was_entered_comes_back_after_a_reload(page, live_server):
    open_sheet(page, str(live_server))
    choose(page, 1, 1, 1, 1)
    choose(page, 3, 2)
    expect(page.locator(STATUS)).to_contain_text("Saved")
    expect_done(page, 1)

    page.reload()

    expect(page.locator("#q3-appropriateness-2")).to_be_checked()
    expect(page.locator("#q1-human_likeness-1")).to_be_checked()
    expect_done(page, 1)
    assert Draft.objects.get().values == {"appropriateness": "2"}


@pytest.mark.torture
def test_what_never_reached_the_server_comes_back_from_the_browser(page, live_server):
    open_sheet(page, str(live_server))
    page.route("**/draft/", lambda route: route.abort())
    choose(page, 2, 4, 4, 4)
    expect(page.locator(STATUS)).to_contain_text("Not saved yet")
    assert not Annotation.objects.exists()

    page.unroute("**/draft/")
    page.reload()

    expect_done(page, 1)
    assert given() == {2: [4, 4, 4]}


@pytest.mark.torture
def test_answers_given_while_the_server_is_down_arrive_by_themselves(page, live_server):
    study = open_sheet(page, str(live_server))
    line = Line(page, str(live_server))
    line.cut()

    choose(page, 1, 1, 2, 3)
    choose(page, 2, 5, 5, 5)
    expect(page.locator(STATUS)).to_contain_text("Not saved yet")
    page.click(MAIN)
    expect(page.locator("#unsaved")).to_be_visible()
    line.mend()

    expect_done(page, 2)
    assert given() == {1: [1, 2, 3], 2: [5, 5, 5]}
    check_invariants(study)


@pytest.mark.torture
def test_second_tab_says_in_view_that_the_answer_was_changed_elsewhere(page, live_server):
    open_sheet(page, str(live_server))
    other = page.context.new_page()
    other.goto(page.url)
    choose(page, 1, 1, 1, 1)
    expect_done(page, 1)

    choose(other, 2, 2, 2, 2)
    expect_done(other, 2)
    assert given() == {1: [1, 1, 1], 2: [2, 2, 2]}
    choose(other, 1, 5, 5, 5)

    expect(other.locator(STATUS)).to_contain_text("This replaces the answer")
    assert other.locator(STATUS).is_visible()
    assert given()[1] == [5, 5, 5]


# --- how it looks -------------------------------------------------------------------------


@pytest.mark.torture
def test_sheet_has_no_fault_in_any_look(page, live_server):
    open_sheet(page, str(live_server), items=11)

    assert find_faults_in_turn(page) == []
    page.click(".jump > summary")
    assert find_faults(page) == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert find_overflow(page, 360) == []
    for link in page.locator(".jump :is(a, button)").all():
        box = link.bounding_box()
        assert min(box["width"], box["height"]) >= 44


@pytest.mark.torture
def test_sheet_is_one_page_and_three_files(page, live_server):
    study = make_sheet()
    page.goto(f"{live_server}{mint_link(make_annotator(study))}")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    follow(page, MAIN)

    files = [url.rpartition("/")[2] for url in asked if "/static/" in url]
    assert sorted(files) == ["annotate.js", "evalsite.css", "sheet.js"]


@pytest.mark.torture
@pytest.mark.parametrize("width", [640, 320])
def test_save_keeps_one_line_and_the_text_is_a_click_away_at_400_percent(page, live_server, width):
    page.set_viewport_size({"width": width, "height": 400})
    open_sheet(page, str(live_server))

    assert find_overflow(page, width) == []
    assert page.locator(MAIN).bounding_box()["height"] < 60
    page.locator("#q2-human_likeness-1").scroll_into_view_if_needed()
    page.click(".jump > summary")
    page.click(".jump [value='2']")
    expect(page.locator("#q2 .specimen")).to_be_in_viewport()


@pytest.mark.torture
def test_a_whole_sheet_from_right_to_left_is_turned_round_and_fits(page, live_server):
    page.set_viewport_size({"width": 360, "height": 740})
    with speaking(RIGHT_TO_LEFT):
        study = make_sheet(3, language=RIGHT_TO_LEFT)
        take_a_set(page, str(live_server), study)

        assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"
        assert find_overflow(page, 360) == []
        assert page.locator(MAIN).bounding_box()["x"] < 180  # at the end of the line
        for place in (1, 2, 3):
            choose(page, place, 3, 3, 3)
            expect_done(page, place)
        with page.expect_navigation():
            page.click(MAIN)
        assert find_overflow(page, 360) == []
        follow(page, MAIN)

    assert page.inner_text("#code") == study.item_sets.get().code


@pytest.mark.torture
def test_focus_and_selection_on_a_sheet_are_seen_in_forced_colours(page, live_server):
    page.emulate_media(forced_colors="active")
    open_sheet(page, str(live_server))
    page.click(".jump > summary")
    page.click(".jump [value='2']")
    labels = page.locator("#q2 label.pt")
    page.check("#q2-appropriateness-1")
    page.locator("#q2-appropriateness-1").blur()

    assert labels.first.evaluate(OUTLINE) == "solid 3px"
    assert labels.last.evaluate(OUTLINE).startswith("none")
    page.keyboard.press("j")
    assert page.locator("#q2 label.pt:has(:focus)").evaluate(OUTLINE) == "dashed 3px"


@pytest.mark.torture
def test_printed_sheet_has_all_of_its_text_and_nothing_to_press(page, live_server):
    page.set_viewport_size({"width": 360, "height": 500})
    study = make_sheet(3)
    Output.objects.update(text="one word after another, " * 150)
    take_a_set(page, str(live_server), study)
    assert page.evaluate(CLIPPED) == []

    page.emulate_media(media="print")

    assert page.evaluate(CLIPPED) == []
    for hidden in page.locator(".dock, .auto, .report, .menu").all():
        expect(hidden).to_be_hidden()
    expect(page.locator(".part .text")).not_to_have_count(0)
    for text in page.locator(".part .text, .guidance").all():
        expect(text).to_be_visible()


@pytest.mark.torture
@pytest.mark.parametrize("width", [1280, 360])
def test_long_prompt_and_its_response_are_one_link_away_from_each_question(
    page, live_server, width
):
    page.set_viewport_size({"width": width, "height": 740})
    page.emulate_media(reduced_motion="reduce")
    study = make_sheet(3)
    turns = [f"{'AB'[turn % 2]}: {'one word after another ' * 5}." for turn in range(30)]
    study.items.main().update(inputs={"dialogue": "\n".join(turns)})
    take_a_set(page, str(live_server), study)
    part = page.locator("#q2")

    for name in NAMES:
        part.locator(f"#q2-{name}-5").focus()
        expect(part.locator(f"#q2-{name}-5")).to_be_in_viewport()

        for link, text in (("Prompt", ".dialogue li"), ("Response", ".specimen")):
            part.locator(f".part-head a:has-text('{link}')").click()
            expect(part.locator(text).first).to_be_in_viewport()
            expect(part.locator(".part-head")).to_be_in_viewport()
    assert find_overflow(page, width) == []
