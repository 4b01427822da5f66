"""Whole ways from the link through the questions and the check, by keyboard and without scripts."""

import os
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from evalsite.people.models import Answer, Participant, Quota
from evalsite.studies.models import Study
from tests.people.test_background import finish
from tests.people.test_own_questions import ENTRY
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import (
    MAIN,
    Watch,
    answer_all,
    find_faults_in_turn,
    press_tab_to,
    take_a_set,
)
from tests.support.factories import launch, make_study, make_user
from tests.support.ignoring import make_reviews

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(name="study")
def _study() -> Study:
    study = launch(
        make_study(
            protocol="fluency", set_size=1, minimum_age=18, is_check_on=True,
            questions={"entry": ENTRY}, by=make_user("owner"),
        )
    )  # fmt: skip
    Quota.objects.create(study=study, question="gender", value="woman", people=5)
    return study


def fill_in(page: Page, age: str) -> None:
    page.fill("#age", age)
    page.check("#tools-1")
    page.check("#tools-2")
    page.check("#gender-2")
    page.fill("#job", "Gärtner")


def shoot(page: Page, name: str) -> None:
    if folder := os.environ.get("SHOTS"):
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 900})
            page.screenshot(path=Path(folder) / f"{name}-{width}.png", full_page=True)


@pytest.mark.torture
def test_covered_items_are_accessible_and_shown_or_skipped_by_keyboard(page: Page, live_server):
    study = make_reviews(reviews=1, content_warning="Some reviews swear.")
    study.refresh_from_db()
    watch = Watch(page)
    take_a_set(page, str(live_server), study)
    faults = {"covered": find_faults_in_turn(page)}

    press_tab_to(page, ".actions .main")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    answer_all(page)
    with page.expect_navigation():
        page.click(MAIN)
    status = page.text_content("[role=status]")
    press_tab_to(page, ".actions button")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.goto(f"{page.url.partition('/items/')[0]}/items/3/skip/")
    faults["skip"] = find_faults_in_turn(page)

    assert status == "Item 1 saved."
    assert [one.status for one in study.annotations.order_by("pk")] == ["counted", "skipped"]
    assert not any(faults.values()), faults
    assert not watch.found


@pytest.mark.torture
def test_way_to_the_check_is_accessible_at_every_width(page: Page, live_server, study):
    watch = Watch(page)
    faults = {}

    def look(name: str) -> None:
        faults[name] = find_faults_in_turn(page)
        shoot(page, name)

    page.goto(f"{live_server}/join/{study.pk}/")
    page.click(MAIN)
    look("consent")
    page.check("#age")
    page.click(MAIN)
    look("questions")
    page.fill("#age", "abc")
    page.click(MAIN)
    page.wait_for_selector(".problem")
    look("faults")
    fill_in(page, "30")
    page.click(MAIN)
    page.click(MAIN)
    look("check")
    for number in range(1, 6):
        page.check(f"#question-{number}-1")
    page.click(MAIN)
    page.wait_for_selector(".feedback")
    look("again")
    for number in range(1, 6):
        page.check(f"#question-{number}-1")
    page.click(MAIN)
    page.wait_for_url("**/check/missed/")
    look("missed")

    assert {name: found for name, found in faults.items() if found} == {}
    assert watch.found == []
    assert page.context.cookies() == []


@pytest.mark.torture
def test_questions_are_answered_by_keyboard_and_a_refused_browser_offers_no_new_start(
    page: Page, live_server, study
):
    page.goto(f"{live_server}/join/{study.pk}/")
    page.click(MAIN)
    page.check("#age")
    page.click(MAIN)

    page.focus("#age")
    page.keyboard.type("12")
    for key in ("Tab", "Space", "Tab", "Tab", "Tab", "ArrowDown", "Tab"):
        page.keyboard.press(key)
    page.keyboard.type("Gärtner")
    page.keyboard.press("Enter")
    page.wait_for_url("**/not-eligible/")
    shoot(page, "refused")

    assert Answer.objects.get(question="tools").value == "Chat"
    assert Participant.objects.get().is_eligible is False
    page.goto(f"{live_server}/join/{study.pk}/")
    shoot(page, "landing-again")
    assert not page.get_by_role("button", name="Start").is_visible()
    assert not page.get_by_role("link", name="Continue where you left off").is_visible()
    assert page.locator("[data-refusal]").is_visible()


@pytest.mark.torture
def test_questions_after_the_work_are_accessible(page: Page, live_server):
    study = launch(make_study(protocol="fluency", questions={"background": ENTRY["questions"]}))
    home = finish(study)
    faults = {}
    for path in ("finish/", "about-you/"):
        page.goto(f"{live_server}{home}{path}")
        faults[path] = find_faults_in_turn(page)
        shoot(page, f"after-{path[:-1]}")

    page.check("#gender-4")
    page.click(MAIN)
    page.wait_for_url("**/finish/?background=saved")

    assert {path: found for path, found in faults.items() if found} == {}
    assert Answer.objects.get().value == "prefer not to say"


@pytest.mark.torture
def test_without_scripts_the_questions_and_the_check_work(browser, live_server, study):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{live_server}/join/{study.pk}/")
    page.click(MAIN)
    page.check("#age")
    page.click(MAIN)
    fill_in(page, "30")
    page.click(MAIN)
    page.click(MAIN)

    for number, question in enumerate(study.config.comprehension, start=1):
        page.check(f"#question-{number}-{1 + question.choices.index(question.right)}")
    page.click(MAIN)
    page.wait_for_url("**/practice/1/")

    assert Participant.objects.get().is_checked
    context.close()


@pytest.mark.torture
def test_researchers_pages_are_accessible(page: Page, live_server):
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    study = make_study(by=user)
    make_study(by=user, title="Another study")
    addresses = {
        name: reverse(f"admin:{name}", args=[study.pk])
        for name in ("study-questions", "study-quotas", "study-earlier")
    } | {"study-question": reverse("admin:study-question", args=[study.pk, "variety"])}
    addresses["check-question"] = reverse("admin:check-question", args=[study.pk, 1])
    addresses["background-question"] = reverse(
        "admin:background-question", args=[study.pk, "question_1"]
    )
    watch = Watch(page)
    faults = {}

    for name, path in addresses.items():
        page.goto(f"{live_server}{path}")
        faults[name] = find_faults_in_turn(page)
        shoot(page, name)

    assert {name: found for name, found in faults.items() if found} == {}
    assert watch.found == []
