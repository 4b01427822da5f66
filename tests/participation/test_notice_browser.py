"""The first page with a notice, in a browser: accessible, by keyboard, without scripts."""

import pytest
from playwright.sync_api import expect

from tests.participation.test_notice import make_link, make_live
from tests.support.browsing import Watch, find_faults, find_overflow, press_tab_to

pytestmark = pytest.mark.django_db(transaction=True)


def test_notice_is_agreed_to_by_keyboard_and_is_accessible_wide_and_narrow(page, live_server):
    watch = Watch(page)
    address = make_link(make_live(minimum_age=18, asks_to_share=True))
    page.goto(f"{live_server}{address}")

    faults = []
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 900})
        faults += find_faults(page) + find_overflow(page, width)
    press_tab_to(page, "#age")
    page.keyboard.press("Space")
    press_tab_to(page, "button.main")
    page.keyboard.press("Enter")

    expect(page.locator("h1")).not_to_have_text("Restaurant descriptions")
    assert "/consent/" not in page.url
    assert faults == []
    assert watch.found == []


def test_without_scripts_a_missing_box_is_said_and_start_then_leads_on(browser, live_server):
    address = make_link(make_live(minimum_age=18))
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{live_server}{address}")

    expect(page.get_by_text("We keep your name")).to_be_visible()
    page.evaluate("() => document.getElementById('age').removeAttribute('required')")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("alert")).to_contain_text("Confirm that you are 18 or older.")
    page.get_by_label("I’m 18 or older.").check()
    page.get_by_role("button", name="Start").click()

    assert page.url.startswith(f"{live_server}{address}")
    expect(page.locator("#age")).to_have_count(0)
    assert not context.cookies()
    context.close()
