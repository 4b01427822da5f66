"""What people read, in a browser: its fields in sight, its boxes, by keyboard, without scripts."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from evalsite.core.accounts.models import Profile
from evalsite.studies.models import Study
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import find_faults, find_overflow, press_tab_to
from tests.support.factories import make_study, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# of the fields in sight: no more than the page was drawn with, and one
MOST_IN_SIGHT = {True: 5, False: 7}


def make_draft(**fields) -> Study:
    user = make_user(first_name="Jane Mori", email="jane.mori@example.org")
    Profile.objects.get_or_create(
        user=user, defaults={"organisation": "Language Lab, Example University"}
    )
    return make_study(
        protocol="fluency", title="Station announcements", by=user,
        **{
            "organisation": "Language Lab, Example University",
            "contact_email": "jane.mori@example.org", "consent": "", **fields,
        },
    )  # fmt: skip


def open_page(page, live_server, study: Study) -> None:
    sign_in(page, live_server, make_user())
    page.goto(f"{live_server}{reverse('admin:setup-read', args=[study.pk])}")


def count_in_sight(page) -> int:
    boxes = page.locator("form[data-live] :is(input:not([type=hidden]), textarea, select)")
    visible = [box for box in boxes.all() if box.is_visible()]
    return len([box for box in visible if box.get_attribute("name") != "as"])


@pytest.mark.parametrize(("has_notice", "kept_for"), [(True, ""), (False, "")])
def test_page_has_few_fields_in_sight_and_is_accessible_wide_and_narrow(
    page, live_server, has_notice, kept_for
):
    study = make_draft(has_notice=has_notice, answers_kept_for=kept_for)
    open_page(page, live_server, study)

    headline = page.locator("h1").inner_text()
    in_sight = count_in_sight(page)
    faults = []
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 1000})
        faults += find_faults(page) + find_overflow(page, width)
    for fold in page.locator("details.fold").all():
        fold.evaluate("fold => { fold.open = true; }")
    faults += find_faults(page) + find_overflow(page, 390)

    assert faults == []
    assert in_sight <= MOST_IN_SIGHT[has_notice]
    if has_notice:
        assert headline.startswith("People read ")
    else:
        assert headline == "One thing is missing: how long you keep the answers"


def test_choice_decides_what_is_asked_and_which_button_comes_first(page, live_server):
    open_page(page, live_server, make_draft(has_notice=False))
    kept_for, invite = page.locator("#id_answers_kept_for"), page.get_by_text("Save and invite")

    expect(kept_for).to_be_visible()
    expect(invite).to_be_hidden()
    page.get_by_label("A short notice on the first page").check()

    expect(kept_for).to_be_hidden()
    expect(invite).to_be_visible()
    # the preview follows what is chosen
    frame = page.frame_locator('iframe[data-live-frame="landing"]')
    expect(frame.get_by_text("We keep your name")).to_be_attached()


def test_what_is_missing_is_filled_in_by_keyboard_alone(page, live_server):
    study = make_draft(answers_kept_for="")
    open_page(page, live_server, study)

    press_tab_to(page, "#id_answers_kept_for", most=80)
    page.keyboard.type("10 years")
    press_tab_to(page, 'button[value="save"]', most=80)
    page.keyboard.press("Enter")

    expect(page.locator("h1")).to_contain_text("People read ")
    study.refresh_from_db()
    assert study.answers_kept_for == "10 years"


def test_enter_in_a_field_shows_it_and_saves_nothing(page, live_server):
    study = make_draft(answers_kept_for="")
    open_page(page, live_server, study)

    page.fill("#id_answers_kept_for", "3 years")
    page.press("#id_answers_kept_for", "Enter")

    expect(page.locator("h1")).to_contain_text("People read ")
    study.refresh_from_db()
    assert study.answers_kept_for == ""


def test_without_scripts_a_draft_gets_its_notice_and_leads_to_the_invitations(browser, live_server):
    study = make_draft(answers_kept_for="")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    open_page(page, live_server, study)

    page.get_by_label("A short notice on the first page").check()
    page.get_by_text("Save and invite people").click()

    assert page.url.endswith(reverse("admin:study-invite", args=[study.pk]))
    study.refresh_from_db()
    assert study.has_notice
    context.close()
