"""From “New study” to launch in a browser, with an instrument that is built by hand."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from evalsite.studies.models import Instrument, Study
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_all_looks, follow
from tests.support.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)

CRITERIA = {
    "Coherence": "Do the sentences work together?",
    "Consistency": "Does the source support everything?",
    "Fluency": "Is each sentence well written?",
    "Relevance": "Is the important content there?",
}
POINTS = "1: worst\n2:\n3:\n4:\n5: best"


def test_summary_quality_is_built_by_hand_and_its_study_is_made(page, live_server):
    jane = make_user()
    sign_in(page, live_server, jane)
    watch = Watch(page)
    page.goto(f"{live_server}{reverse('admin:index')}")
    follow(page, "text=New study")
    follow(page, "text=Build your own instrument")
    page.fill("#title", "Summary quality")
    follow(page, "text=Start building")

    for number, (label, question) in enumerate(CRITERIA.items()):
        if number:
            follow(page, "text=Add a question")
        page.fill(f"#q-{number}-label", label)
        page.fill(f"#q-{number}-key", label.lower())
        page.fill(f"#q-{number}-question", question)
        page.fill(f"#q-{number}-p-points", POINTS)
    expect(page.locator("#kept")).to_contain_text("Draft kept")
    frame = page.frame_locator(".build-frame")
    for label in CRITERIA:
        expect(frame.get_by_text(label, exact=True)).to_be_visible()
    page.click("#q-0 summary")
    page.fill("#q-0-p-points", "worst\n5: best")
    expect(page.locator("#faults")).to_contain_text("Question 1 (Coherence)")
    page.fill("#q-0-p-points", POINTS)
    expect(page.locator("#faults")).not_to_contain_text("Question 1")
    assert find_faults_in_all_looks(page) == []
    follow(page, "text=Save version 1")
    follow(page, "text=Use in a study")
    page.fill("[name=title]", "Spring")
    follow(page, "text=Create study")

    study = Study.objects.get()
    assert [one.label for one in study.config.criteria] == list(CRITERIA)
    assert Instrument.objects.get().newest == study.instrument
    assert watch.found == []


def test_builder_needs_no_script(browser, live_server):
    page = browser.new_context(java_script_enabled=False).new_page()
    sign_in(page, live_server, make_user())
    page.goto(f"{live_server}{reverse('admin:instrument-new')}")
    page.fill("#title", "Replies")
    follow(page, "text=Start building")

    page.check("[name=q-0-kind][value=decision]")
    follow(page, "[data-keep]")
    page.fill("#q-0-p-yes", "Certainly")
    follow(page, "noscript button, button[value=preview]")
    expect(page.frame_locator(".build-frame").get_by_text("Certainly").first).to_be_visible()
    follow(page, "text=Save version 1")

    assert Instrument.objects.get().newest.content["criteria"][0]["scale"]["yes"] == "Certainly"
    page.context.close()
