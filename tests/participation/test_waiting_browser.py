"""Waiting for a place in a browser: the page asks again by itself, and takes nothing."""

import re

import pytest
from playwright.sync_api import Page, expect

from evalsite.handout.claims import claim_set
from evalsite.handout.models import Slot
from evalsite.lib.clock import now
from evalsite.studies.models import Study
from tests.handout.test_place_before_work import make_live, settle_in
from tests.support.browsing import LOOKS, MAIN, Watch, find_faults, find_faults_in_turn, follow
from tests.support.factories import (
    answer_item,
    launch,
    make_annotator,
    make_participant,
    make_study,
    mint_link,
)

pytestmark = pytest.mark.django_db(transaction=True)

MINUTE = 60_000


def wait_for_place(page: Page, base: str, study: Study) -> None:
    """Somebody has agreed a moment after the last place went."""
    page.goto(f"{base}{mint_link(make_participant(study))}")
    follow(page, MAIN)
    page.wait_for_url("**/no-work/?taken")


def free_all() -> None:
    Slot.objects.update(state=Slot.State.FREE, participant=None, lease_until=None)


def test_page_opens_the_place_once_one_is_free_and_only_the_button_takes_it(page, live_server):
    watch = Watch(page)
    study = make_live(is_eligibility_on=False)
    settle_in(study)
    page.clock.install(time=now())
    wait_for_place(page, str(live_server), study)

    last_check = page.locator("[data-wait] time")
    last_check.evaluate("time => time.removeAttribute('datetime')")
    page.clock.fast_forward(MINUTE + 1)
    # the page tells when it checked, and waits for the next time in the same moment
    expect(last_check).to_have_attribute("datetime", re.compile("T"))
    expect(page.get_by_text("Leave this page open.")).to_be_visible()
    free_all()
    page.clock.fast_forward(MINUTE + 1)

    page.wait_for_url("**/start/")
    assert not Slot.objects.leased().exists()
    follow(page, MAIN)
    page.wait_for_url("**/instructions/")
    assert Slot.objects.leased().count() == 1
    expect(page.get_by_text("holding a place for you until")).to_be_visible()
    follow(page, MAIN)
    page.wait_for_url("**/practice/1/")
    # the reader's own time, as on the page before
    expect(page.locator("time[data-clock]:visible")).not_to_contain_text("UTC")
    assert watch.found == []


@pytest.mark.torture
def test_first_page_offers_start_again_once_a_place_is_free(page, live_server):
    study = make_live(is_eligibility_on=False)
    settle_in(study)
    page.clock.install(time=now())
    page.goto(f"{live_server}/join/{study.pk}/")
    expect(page.get_by_role("button", name="Start")).to_have_count(0)

    free_all()
    page.clock.fast_forward(MINUTE + 1)

    expect(page.get_by_role("button", name="Start")).to_be_visible()


@pytest.mark.torture
@pytest.mark.parametrize(
    ("width", "scheme"), [pytest.param(*LOOKS[0], marks=pytest.mark.torture), LOOKS[1]]
)
def test_pages_about_places_are_accessible(page, live_server, width, scheme):
    page.set_viewport_size({"width": width, "height": 740})
    page.emulate_media(color_scheme=scheme)
    study = make_live(is_eligibility_on=False)
    settle_in(study)
    page.goto(f"{live_server}/join/{study.pk}/")
    faults = find_faults(page)
    wait_for_place(page, str(live_server), study)
    faults += find_faults(page)
    free_all()
    follow(page, "[data-wait] a")
    faults += find_faults(page)
    follow(page, MAIN)
    faults += find_faults(page)

    assert faults == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.torture
def test_page_of_a_full_demonstration_has_no_faults(page, live_server):
    full, other = (launch(make_study(items=2, k=1, set_size=2, is_demo=True)) for _ in range(2))
    me = make_annotator(full)
    claim_set(me)
    for item in full.items.main():
        answer_item(me, item)
    watch = Watch(page)
    page.goto(f"{live_server}/join/{full.pk}/")

    expect(page.locator(".contents a")).to_have_count(1)
    assert find_faults_in_turn(page) == []
    page.locator(".contents a").click()
    page.wait_for_url(f"**/join/{other.pk}/")
    assert watch.found == []


@pytest.mark.torture
def test_strip_says_by_itself_that_the_time_is_up_and_one_click_keeps_the_place(page, live_server):
    study = make_live(is_eligibility_on=False)
    reader = settle_in(study)
    reader.post("instructions/")
    page.clock.install(time=now())
    page.goto(f"{live_server}{reader.home}practice/1/")
    page.locator("main textarea, main input:not([type=hidden])").first.fill("70")
    strip = page.locator(".strip")
    expect(strip.get_by_role("button")).to_have_count(0)

    # the reservation of the server ends with the clock of the page
    page.clock.fast_forward(31 * MINUTE)

    expect(strip.get_by_role("button")).to_be_visible()
    assert find_faults(page) == []
    strip.get_by_role("button").click()
    expect(strip.get_by_role("button")).to_have_count(0)
    expect(strip.locator("time:visible")).not_to_contain_text("UTC")
    assert page.locator("main textarea, main input:not([type=hidden])").first.input_value() == "70"
    assert page.url.endswith("/practice/1/")
