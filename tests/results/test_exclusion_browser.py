"""Excluding in a browser: ticked, confirmed, taken back; accessible, and no wider than a phone."""

import pytest
from django.urls import reverse

from evalsite.decisions.models import Exclusion
from tests.handout.test_changing_k import answer_all
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_turn, follow, press_tab_to
from tests.support.factories import make_user
from tests.support.reports import keep_report, make_content
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db(transaction=True)


def press_enter(page):
    with page.expect_navigation():
        page.keyboard.press("Enter")


def walk(page, live_server):
    """The pages on the way from the list of people to an exclusion that was taken back.

    People are excluded with the keyboard alone.
    """
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    study = make_live(items=2, k=2, set_size=2, by=user)
    me, _ = answer_all(study, people=2)
    raters = make_content()["raters"]
    raters["rows"][0]["participant"] = me.pseudonym
    keep_report(study, raters=raters, everything=make_content())
    page.goto(f"{live_server}{reverse('admin:study-people', args=[study.pk])}")
    yield "people"
    press_tab_to(page, f"[value='{me.pseudonym}']")
    page.keyboard.press("Space")
    press_tab_to(page, "button[formaction$='exclusions/new/']")
    press_enter(page)
    yield "confirmation"
    follow(page, "button.main")
    page.wait_for_selector(".problem")
    yield "confirmation without a reason"
    press_tab_to(page, "#id_reason")
    page.keyboard.type("Answered while the page was hidden")
    press_enter(page)
    page.wait_for_selector(".messagelist")
    yield "exclusions"
    assert Exclusion.objects.active().get().participant == me
    follow(page, f"text={me.pseudonym}")
    yield "person"
    follow(page, "button:has-text('Reinstate')")
    page.wait_for_selector(".messagelist")
    yield "exclusions with one that was taken back"
    assert not Exclusion.objects.active().exists()
    follow(page, f"text={me.pseudonym}")
    follow(page, "text=Exclude… >> nth=0")
    yield "confirmation of one answer"


@pytest.mark.torture
def test_excluding_by_keyboard_and_taking_back_has_no_fault_of_accessibility(page, live_server):
    watch = Watch(page)

    faults = {step: find_faults_in_turn(page) for step in walk(page, live_server)}

    assert {step: found for step, found in faults.items() if found} == {}
    assert watch.found == []


@pytest.mark.torture
def test_boxes_to_tick_are_large_enough_for_a_thumb(page, live_server):
    page.set_viewport_size({"width": 360, "height": 900})
    next(walk(page, live_server))

    boxes = [one.bounding_box() for one in page.locator(".es-tick").all()]

    assert len(boxes) == 2
    assert all(min(box["width"], box["height"]) >= 44 for box in boxes)
