"""Pay in a browser: deciding by keyboard, and a person's page without scripts; accessible."""

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from evalsite.decisions.models import Approval
from tests.decisions.test_pay import BAD, LONG, begin, reject_one, work
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_turn, follow, press_tab_to
from tests.support.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.torture
def test_a_researcher_decides_by_keyboard(page: Page, live_server):
    recruitment = begin(set_size=8, items=16)
    work(recruitment, 0)
    work(recruitment, 1, BAD)
    sign_in(page, live_server, make_user(is_superuser=True))
    watch = Watch(page)
    pay = f"{live_server}{reverse('admin:study-pay', args=[recruitment.study_id])}"
    page.goto(pay)
    faults = [find_faults_in_turn(page)]

    for button in ("button[value=approve-passed]", "form .main"):
        press_tab_to(page, button, most=80)
        with page.expect_navigation():
            page.keyboard.press("Enter")
        faults.append(find_faults_in_turn(page))
    page.goto(f"{pay}?state=waiting")
    page.locator("[name=set]").first.check()
    follow(page, "button[value=reject]")
    faults.append(find_faults_in_turn(page))
    page.check("[name=reason][value=checks]")
    page.fill("[name=message]", LONG)
    follow(page, "form .bad")
    follow(page, "button:has-text('Show what to paste')")
    faults.append(find_faults_in_turn(page))

    assert dict(Approval.objects.values_list("state", "reason")) == {
        "approved": "",
        "rejected": "checks",
    }
    assert [one for one in faults if one] == []
    assert watch.found == []


@pytest.mark.torture
def test_a_person_asks_for_a_review_without_scripts(browser, page, live_server):
    recruitment = begin(set_size=8, items=16)
    person = reject_one(recruitment)
    page.goto(f"{live_server}{person.home}work/")
    faults = [find_faults_in_turn(page)]
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 740})
    plain = context.new_page()
    plain.goto(f"{live_server}{person.home}finish/")

    follow(plain, "a[href$='/work/']")
    plain.fill("textarea", "My phone kept reloading the page.")
    follow(plain, "form .btn")

    assert Approval.objects.get().state == "review"
    page.reload()
    faults.append(find_faults_in_turn(page))
    sign_in(page, live_server, make_user(is_superuser=True))
    page.goto(
        f"{live_server}"
        f"{reverse('admin:pay-review', args=[recruitment.study_id, Approval.objects.get().pk])}"
    )
    faults.append(find_faults_in_turn(page))
    assert [one for one in faults if one] == []
    context.close()
