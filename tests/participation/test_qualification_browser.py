"""The qualification in a browser: by keyboard alone, accessible at both widths, at once in two."""

import pytest
from playwright.sync_api import Page, expect

from evalsite.handout.models import Annotation
from evalsite.people.models import Participant
from evalsite.studies.models import Study
from tests.support.annotators import run_threads
from tests.support.browsing import MAIN, Watch, find_faults, follow, press_tab_to
from tests.support.factories import launch, make_learner, make_study, mint_link
from tests.support.qualifying import RIGHT, WRONG, Candidate, make_live, without_gold
from tests.support.tabs import BOXES

pytestmark = pytest.mark.django_db(transaction=True)

SIZES = ({"width": 1280, "height": 900}, {"width": 360, "height": 740})


def arrive(page: Page, base: str, study: Study) -> None:
    page.goto(f"{base}{mint_link(make_learner(study))}")


def look(page: Page) -> list[str]:
    """What is wrong with this page at both widths."""
    faults = []
    for size in SIZES:
        page.set_viewport_size(size)
        faults += find_faults(page)
        if page.evaluate("document.documentElement.scrollWidth") > size["width"]:
            faults.append(f"{page.url} scrolls sideways at {size['width']}")
    return faults


def choose_first(page: Page) -> None:
    """The first answer to every question of the page."""
    for question in page.locator("fieldset[role=radiogroup]").all():
        question.locator("label").first.click()


@pytest.mark.torture
def test_test_can_be_taken_by_keyboard_alone(page, live_server):
    watch = Watch(page)
    arrive(page, str(live_server), make_live())

    press_tab_to(page, MAIN)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    for number, scores in enumerate(RIGHT, start=1):
        page.wait_for_url(f"**/qualification/{number}/")
        for score in scores:
            page.keyboard.type(score)
            page.keyboard.press("Enter")
    page.wait_for_url("**/suggestions/")
    press_tab_to(page, MAIN)
    with page.expect_navigation():
        page.keyboard.press("Enter")

    page.wait_for_url("**/sets/1/items/1/")
    assert Participant.objects.get().is_qualified
    assert watch.found == []


@pytest.mark.torture
def test_every_page_of_the_test_is_accessible(page, live_server):
    study = launch(make_study(protocol="rrgen", is_qualification_on=True))
    page.goto(f"{live_server}/join/{study.pk}/")
    faults = look(page)
    arrive(page, str(live_server), study)
    faults += look(page)
    follow(page, MAIN)
    follow(page, MAIN)
    expect(page.locator(".problem[role=alert]").first).to_be_focused()
    faults += look(page)
    for attempt in (1, 2):
        while page.locator("#work").count():
            choose_first(page)
            follow(page, MAIN)
        faults += look(page)
        if attempt == 1:
            follow(page, MAIN)
    assert "/not-qualified/" in page.url
    Participant.objects.update(is_qualified=True)
    page.goto(page.url.replace("not-qualified", "qualification/suggestions"))
    faults += look(page)

    assert faults == []


@pytest.mark.torture
def test_questions_on_the_instructions_are_accessible(page, live_server):
    study = launch(make_study(protocol="pairwise", is_qualification_on=True))
    arrive(page, str(live_server), without_gold(study))
    faults = look(page)
    follow(page, MAIN)
    follow(page, MAIN)
    expect(page.locator(".problem[role=alert]")).to_be_focused()
    faults += look(page)
    choose_first(page)
    follow(page, MAIN)
    assert "2 of 5 are right." in page.inner_text("main")
    faults += look(page)

    assert faults == []


@pytest.mark.torture
@pytest.mark.both_databases
def test_last_answer_from_two_tabs_at_once_counts_one_try():
    one = Candidate(make_live())
    one.answer(1, WRONG[0])
    one.answer(2, WRONG[1])
    data = one.fields("qualification/3/") | dict(zip(BOXES, WRONG[2], strict=True))

    def send() -> None:
        assert one.client.post(f"{one.home}qualification/3/", data).status_code == 302

    errors = run_threads([send] * 4)

    one.me.refresh_from_db()
    assert errors == []
    assert (one.me.tries, one.me.is_qualified) == (1, None)
    assert Annotation.objects.filter(place=1).count() == 3
