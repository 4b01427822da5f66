"""Experts in a browser: inviting them, their pages, and their work, accessible at both widths."""

from datetime import date

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from evalsite.studies.models import Study
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import (
    MAIN,
    Watch,
    find_faults_in_turn,
    follow,
    press_tab_to,
)
from tests.support.experts import invite
from tests.support.factories import make_user
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db(transaction=True)


def small() -> Study:
    return make_live(items=2, set_size=2, is_practice_on=False, is_eligibility_on=False)


@pytest.mark.torture
def test_inviting_and_reassigning_works_by_keyboard(page: Page, live_server):
    study = small()
    sign_in(page, live_server, make_user(is_superuser=True))
    watch = Watch(page)
    page.goto(f"{live_server}{reverse('admin:study-experts', args=[study.pk])}")
    faults = [find_faults_in_turn(page)]
    page.fill("#id_people", "Ana Costa\nBen Okafor, ben@example.org")

    for do in ("check", "invite"):
        press_tab_to(page, f"button[value={do}]", most=80)
        with page.expect_navigation():
            page.keyboard.press("Enter")
        faults.append(find_faults_in_turn(page))

    assert study.experts.count() == 2
    # a third person, so that somebody has none of the items
    invite(study, "Chen Li")
    follow(page, "a:has-text('Reassign 2 items')")
    faults.append(find_faults_in_turn(page))
    page.check("[name=to][value=anyone]")
    follow(page, "button:has-text('Reassign 2 items')")
    assert [one for one in faults if one] == []
    assert watch.found == []


@pytest.mark.torture
def test_without_scripts_an_expert_gets_from_the_link_to_the_end(browser, live_server):
    [expert] = invite(small(), "Ana Costa", due_on=date(2126, 11, 30))
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 740})
    page = context.new_page()
    page.goto(f"{live_server}/p/{expert.link.token}/")

    follow(page, MAIN)
    follow(page, "button[value=agree]")
    for _ in range(8):
        if "/items/" in page.url:
            for box in page.locator("[data-question] input").all():
                box.fill("90")
        if page.url.endswith("/finish/"):
            break
        follow(page, MAIN)

    assert page.url.endswith("/finish/")
    assert expert.link.participant.annotations.counted().count() == 2
    assert page.locator("#code").count() == 0
    context.close()
