"""The overview in a browser: kept up to date in place, with the focus where it is."""

from datetime import timedelta

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from evalsite.studies.models import Study
from tests.results.test_overview import answer_all
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_turn
from tests.support.factories import launch, make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)

TWENTY_SECONDS = 20_500


@pytest.fixture
def study() -> Study:
    return launch(make_study(items=6, pay_per_set="1.80", by=make_user()))


def open_overview(page, live_server, study: Study) -> None:
    sign_in(page, live_server, study.memberships.get().user)
    page.clock.install()
    page.goto(f"{live_server}{reverse('admin:study-overview', args=[study.pk])}")


@pytest.mark.torture
def test_answers_appear_without_a_reload_and_the_focus_stays(page, live_server, study):
    watch = Watch(page)
    open_overview(page, live_server, study)
    page.evaluate("window.isStill = true")
    page.focus("text=All items")
    page.click(".do summary")

    answer_all(study, 5, over=timedelta(minutes=30))
    page.focus("text=All items")
    page.clock.run_for(TWENTY_SECONDS)

    expect(page.locator(".facts dd").first).to_have_text("5")
    expect(page.locator("header > .bar")).to_have_attribute("value", "5")
    expect(page.locator("h1")).to_contain_text("5 of 18 answers")
    assert page.evaluate("window.isStill")
    assert page.evaluate("document.activeElement.textContent") == "All items"
    assert page.locator(".do details").get_attribute("open") is not None
    assert find_faults_in_turn(page) == []
    assert watch.found == []


@pytest.mark.torture
def test_updating_stops_on_demand_and_that_is_remembered(page, live_server, study):
    open_overview(page, live_server, study)
    page.click("text=Stop updating")
    answer_all(study, 5, over=timedelta(minutes=30))
    page.clock.run_for(2 * TWENTY_SECONDS)
    expect(page.locator(".facts dd").first).to_have_text("0")

    page.reload()
    expect(page.locator("[data-live] button")).to_have_text("Update again")
    answer_all(study, 1, over=timedelta(minutes=30))
    page.clock.run_for(2 * TWENTY_SECONDS)
    expect(page.locator(".facts dd").first).to_have_text("5")
    page.click("text=Update again")

    expect(page.locator(".facts dd").first).to_have_text("6")


@pytest.mark.torture
def test_without_scripts_the_overview_is_complete(browser, live_server, study):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    answer_all(study, 12, over=timedelta(minutes=30))
    sign_in(page, live_server, study.memberships.get().user)

    page.goto(f"{live_server}{reverse('admin:study-overview', args=[study.pk])}")

    expect(page.locator(".facts dd").first).to_have_text("12")
    expect(page.locator("text=Stop updating")).to_be_hidden()
    page.click(".do summary")
    page.click("text=Pause")
    expect(page.locator(".study .is")).to_have_text("Paused")
    context.close()
