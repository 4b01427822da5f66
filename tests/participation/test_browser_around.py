"""The pages around the rating page in a browser: without a mouse, and without scripts."""

import pytest
from playwright.sync_api import expect

from evalsite.handout.models import Annotation
from evalsite.instruments.installed import get_protocol
from evalsite.people.models import ItemSet
from tests.support.answering import make_live
from tests.support.browsing import (
    MAIN,
    Watch,
    answer_all,
    fill_scores,
    find_faults_in_turn,
    follow,
    open_menu,
    press_tab_to,
    take_a_set,
)
from tests.support.factories import (
    launch,
    make_learner,
    make_study,
    mint_link,
    practise_every_gold,
)
from tests.support.ignoring import open_reader
from tests.support.qualifying import without_gold

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.torture
def test_result_of_the_check_has_the_focus_and_wrong_answers_are_open(page, live_server):
    study = launch(make_study(protocol="pairwise", is_qualification_on=True))
    me = make_learner(without_gold(study))
    page.goto(f"{live_server}{mint_link(me)}")
    faults = find_faults_in_turn(page)
    for question in page.locator("fieldset[role=radiogroup]").all():
        question.locator("label").first.click()

    press_tab_to(page, MAIN)
    with page.expect_navigation():
        page.keyboard.press("Enter")

    expect(page.locator("#result")).to_be_focused()
    right = page.locator("fieldset:has(input:checked)").count()
    assert page.locator("fieldset .feedback").count() == 5 - right
    faults += find_faults_in_turn(page)
    follow(page, MAIN)
    expect(page.locator(".problem[role=alert]")).to_be_focused()
    faults += find_faults_in_turn(page)
    assert faults == []


@pytest.mark.torture
def test_set_is_reviewed_and_finished_by_keyboard(page, live_server):
    reader = open_reader(reviews=1)
    for place in (1, 2, 3):
        reader.rate(place)
    page.goto(f"{live_server}{reader.home}sets/1/review/")

    press_tab_to(page, "td.end a")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url.endswith("/items/1/")
    page.goto(f"{live_server}{reader.home}sets/1/review/")
    press_tab_to(page, MAIN)
    with page.expect_navigation():
        page.keyboard.press("Enter")

    assert ItemSet.objects.get().code in page.inner_text("main")
    press_tab_to(page, "#feedback summary")
    page.keyboard.press("Enter")
    expect(page.locator("#clear-1")).to_be_visible()


@pytest.mark.torture
def test_problem_is_reported_without_leaving_the_text(page, live_server):
    study = launch(make_study(items=2, set_size=2))
    take_a_set(page, str(live_server), study)
    item = page.url
    fill_scores(page, 90)

    page.locator("h1").click()
    page.keyboard.press("x")
    page.fill("#report-note", "x" * 6000)
    page.click("text=Send report")
    expect(page.locator("#report-reason-error")).to_be_visible()
    expect(page.locator("#report-note-error")).to_contain_text("6000")
    assert len(page.input_value("#report-note")) == 6000
    page.check("#report-reason-missing")
    page.fill("#report-note", "No price.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator("#reported")).to_be_in_viewport()
    expect(page.locator("#reported a")).to_be_focused()
    assert page.url == item
    assert page.input_value("#informativeness-1") == "90"
    page.reload()
    assert page.input_value("#informativeness-1") == "90"
    follow(page, "#reported a")
    assert page.url.endswith("/items/2/")
    annotation = Annotation.objects.get()
    assert (annotation.outcome, annotation.reason) == ("reported", "missing")
    assert annotation.note == "No price."


@pytest.mark.torture
def test_verdicts_of_practice_come_in_place_and_wait_for_the_network(page, live_server):
    study = launch(practise_every_gold(make_study(protocol="pairwise")))
    page.goto(f"{live_server}{mint_link(make_learner(study))}")
    loads = []
    page.on("framenavigated", lambda frame: loads.append(frame.url))
    page.locator("h1").click()
    page.keyboard.press("Enter")
    expect(page.locator(".problem")).to_be_focused()
    page.context.set_offline(True)
    page.keyboard.press("1")
    page.keyboard.press("t")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("no connection")

    page.context.set_offline(False)
    watch = Watch(page)
    page.keyboard.press("Enter")

    expect(page.locator("#completion .feedback")).to_contain_text(
        "You chose sys1. The guidelines say tie."
    )
    expect(page.locator(".problem")).to_have_count(0)
    assert page.locator("#work input:enabled:not([type=hidden])").count() == 0
    assert not page.title().startswith("Error")
    assert loads == []
    expect(page.locator(MAIN)).to_be_focused()
    # no key of a question does anything any more
    for key in ("j", "k", "2"):
        page.keyboard.press(key)
    assert watch.found == []
    follow(page, "text=Try again")
    page.keyboard.press("t")
    page.keyboard.press("t")
    page.keyboard.press("Enter")
    expect(page.locator("#completion .feedback.met")).to_be_visible()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url.endswith("/practice/2/")


@pytest.mark.torture
def test_notes_of_points_are_folded_by_choice_and_never_on_the_first_item(page, live_server):
    study = make_live(get_protocol("dialogue"), 3, set_size=3, k=1)
    take_a_set(page, str(live_server), study)
    first, switch = page.url, page.get_by_role("switch", name="notes")
    expect(page.locator(".pt small").first).to_be_visible()
    assert switch.count() == 0
    answer_all(page)
    follow(page, MAIN)
    expect(page.locator(".pt small").first).to_be_visible()
    expect(switch).to_be_checked()

    switch.uncheck()
    answer_all(page)
    follow(page, MAIN)

    expect(page.locator(".pt small").first).to_be_hidden()
    assert page.locator(".pt em").first.is_visible()
    page.emulate_media(media="print")
    assert page.locator(".pt small").first.is_visible()
    page.emulate_media(media="screen")
    page.goto(first)
    expect(page.locator(".pt small").first).to_be_visible()


@pytest.mark.torture
def test_report_waits_for_the_network(page, live_server):
    take_a_set(page, str(live_server), launch(make_study(items=2, set_size=2)))
    # the form comes when it is first asked for, if it can
    page.context.set_offline(True)
    page.click("#report")
    expect(page.locator("#status")).to_contain_text("no connection")
    page.context.set_offline(False)
    page.click("#report")
    page.check("#report-reason-other")
    page.context.set_offline(True)
    page.click("text=Send report")
    expect(page.locator("[data-unsent]")).to_be_visible()

    page.context.set_offline(False)
    page.click("text=Send report")

    expect(page.locator("#reported")).to_be_visible()
    assert Annotation.objects.get().outcome == "reported"


@pytest.mark.torture
def test_problem_is_reported_without_scripts_and_with_the_item_in_view(browser, live_server):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    take_a_set(page, str(live_server), launch(make_study(items=2, set_size=2)))
    open_menu(page)

    follow(page, "#report")
    assert page.locator(".texts .specimen .text").count() == 3
    page.check("#report-reason-missing")
    follow(page, MAIN)

    assert page.url.endswith("/items/2/")
    context.close()


def test_verdict_of_practice_is_above_the_bar_on_a_phone(page, live_server):
    study = launch(practise_every_gold(make_study(protocol="pairwise")))
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{live_server}{mint_link(make_learner(study))}")
    for key in ("completion", "readability"):
        page.locator(f"#{key} label").first.click()

    page.locator(MAIN).click()
    expect(page.locator(".feedback")).to_have_count(1)
    in_place = measure_gap(page)
    page.reload()
    after_reload = measure_gap(page)

    assert min(in_place, after_reload) >= 8


def measure_gap(page) -> float:
    """Return how far the last verdict ends above the bar, in pixels."""
    verdict, bar = (page.locator(name).last.bounding_box() for name in (".feedback", ".dock"))
    return float(bar["y"] - verdict["y"] - verdict["height"])
