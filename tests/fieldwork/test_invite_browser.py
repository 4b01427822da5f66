"""Invite in a browser: accessible at every width, by keyboard alone and without scripts."""

from datetime import date

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from evalsite.studies.models import Study
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import (
    MAIN,
    Watch,
    find_faults,
    follow,
    press_tab_to,
)
from tests.support.experts import NAMES, invite
from tests.support.factories import launch, make_study, make_user
from tests.support.rounds import make_round, panel_of
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db(transaction=True)


def small() -> Study:
    return make_live(items=2, set_size=2, is_practice_on=False, is_eligibility_on=False)


def list_pages() -> dict[str, str]:
    """A draft without and with people, a study that runs, a person, and each panel."""
    draft, invited = (make_study(items=4, k=2, title=title) for title in ("Empty", "Invited"))
    invite(invited)
    live = launch(make_study(items=4, k=3, pay_per_set="9.00", title="Live"))
    [first, *_] = invite(live, *NAMES[:2], rates="share")
    pages = {
        name: reverse("admin:study-invite", args=[study.pk])
        for name, study in (("draft", draft), ("invited", invited), ("live", live))
    }
    pages["person"] = reverse("admin:invited-change", args=[live.pk, first.pk])
    for key in ("prolific", "connect", "sona", "panel", "mturk"):
        pages[key] = panel_of(make_round(live, key, is_on=key == "prolific"))
    return pages


@pytest.mark.slow
def test_every_page_of_invite_is_accessible_and_fits_every_width(page: Page, live_server):
    sign_in(page, live_server, make_user(is_superuser=True))
    watch = Watch(page)
    faults = {}
    for name, address in list_pages().items():
        for width in (1280, 390, 360):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{live_server}{address}")
            for fold in page.locator("details.fold").all():
                fold.evaluate("fold => { fold.open = true; }")
            faults[name, width] = find_faults(page)

    assert {step: found for step, found in faults.items() if found} == {}
    assert watch.found == []


@pytest.mark.slow
def test_people_are_invited_by_keyboard_and_a_live_line_says_what_comes_of_it(
    page: Page, live_server
):
    study = make_study(items=4, k=1)
    sign_in(page, live_server, make_user(is_superuser=True))
    watch = Watch(page)
    page.goto(f"{live_server}{reverse('admin:study-invite', args=[study.pk])}")
    press_tab_to(page, "#id_names")
    page.keyboard.type("Ana Costa\nBen Okafor")
    page.wait_for_selector("#live-adds b:has-text('8 answers')")

    press_tab_to(page, "button[value=add]")
    with page.expect_navigation():
        page.keyboard.press("Enter")

    assert study.experts.count() == 2
    study.refresh_from_db()
    assert study.k == 2
    assert watch.found == []


@pytest.mark.torture
def test_without_scripts_a_button_says_what_comes_of_it_and_every_step_works(browser, live_server):
    study = make_study(items=4, k=1, has_notice=True)
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 740})
    page = context.new_page()
    sign_in(page, live_server, make_user(is_superuser=True))
    page.goto(f"{live_server}{reverse('admin:study-invite', args=[study.pk])}")

    page.fill("#id_names", "Ana Costa\nBen Okafor")
    page.check("[name=rates][value=share]")
    follow(page, "p button[value=preview]")
    assert "4 answers" in page.locator("#live-adds").inner_text()
    follow(page, "button[value=add]")
    assert page.locator(".invited input").count() == 2
    follow(page, "form[action$='/prolific/'] button")
    page.fill("#id_places", "3")
    follow(page, "button[value=on]")
    # nobody is paid so far
    assert page.locator(".problem").count() == 1
    page.goto(f"{live_server}{reverse('admin:study-invite', args=[study.pk])}")
    follow(page, "#open-link button[value=on]")
    assert study.recruitments.get(number=0).is_on
    study.refresh_from_db()
    assert not study.has_notice
    context.close()


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
