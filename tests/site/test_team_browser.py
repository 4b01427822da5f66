"""An administrator and two researchers in a browser, from the invitation to the closed study."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from evalsite.studies.models import Membership, Study
from tests.results.test_overview import answer_all
from tests.site.test_staff_browser import PASSWORD, sign_in
from tests.support.browsing import Watch, choose_files, follow
from tests.support.factories import make_user
from tests.support.queues import run_waiting_jobs

pytestmark = pytest.mark.django_db(transaction=True)

FILE = Path(__file__).resolve().parents[2] / "fixtures" / "batches" / "rankme_wide.csv"
TEXTS = {"organisation": "Institute of Language", "contact_email": "jane@example.org"}
TWENTY_SECONDS = 20_500


def accept(page: Page, link: str, name: str) -> None:
    page.goto(link)
    page.fill("#id_email", f"{name}@example.org")
    page.fill("#id_username", name)
    page.fill("#id_password1", PASSWORD)
    page.fill("#id_password2", PASSWORD)
    follow(page, "text=Accept and create account")


def set_up_and_launch(page: Page) -> int:
    """Go from the Studies page to a launched study with a known file; return the clicks."""
    clicks = 0

    def press(selector: str) -> None:
        nonlocal clicks
        clicks += 1
        follow(page, selector)

    choose_files(page, FILE)
    press("main .btn.main:has-text('Continue')")
    page.fill("[name=title]", "Descriptions of restaurants")
    press("text=Create the study")
    for name, text in TEXTS.items():
        page.fill(f"#id_{name}", text)
    page.check("[name=has_notice][value=True]")
    clicks += 1
    press("text=Save and invite people")
    press(".study a:has-text('Launch')")
    press("button:text-is('Launch')")
    return clicks


@pytest.mark.torture
@pytest.mark.slow
def test_two_researchers_are_invited_launch_a_study_watch_it_and_close_it(
    browser, page, live_server
):
    # the administrator invites the first researcher
    sign_in(page, live_server, make_user("root", is_superuser=True))
    page.goto(f"{live_server}{reverse('admin:site-invitations')}")
    page.fill("#id_label", "Jane Mori")
    follow(page, "text=Create invitation")
    link = page.input_value("input[readonly]")
    jane, priya = (browser.new_context().new_page() for _ in range(2))
    watches = [Watch(one) for one in (page, jane, priya)]
    accept(jane, link, "jane")

    # who signs in, launches, and invites the second
    jane.goto(f"{live_server}{reverse('admin:index')}")
    clicks = set_up_and_launch(jane)
    run_waiting_jobs()
    study = Study.objects.get()
    jane.goto(f"{live_server}{reverse('admin:study-team', args=[study.pk])}")
    jane.fill("#id_label", "Priya Nair")
    jane.check("[name=role][value=editor]")
    follow(jane, "button:text-is('Create invitation')")
    accept(priya, jane.input_value("input[readonly]"), "priya")

    # who watches people answer
    priya.clock.install()
    priya.goto(f"{live_server}{reverse('admin:study-overview', args=[study.pk])}")
    priya.focus("text=All items")
    answer_all(study, 5, over=timedelta(minutes=30))
    priya.clock.run_for(TWENTY_SECONDS)
    expect(priya.locator(".facts dd").first).to_have_text("5")
    focused = priya.evaluate("document.activeElement.textContent")

    # the first closes it
    jane.goto(f"{live_server}{reverse('admin:study-overview', args=[study.pk])}")
    jane.click(".do summary")
    follow(jane, ".do a:has-text('Close…')")
    follow(jane, "button:text-is('Close the study')")
    study.refresh_from_db()

    assert clicks == 6
    assert focused == "All items"
    assert study.state == "closed"
    expect(jane.locator("h1")).to_contain_text("Closed")
    members = Membership.objects.filter(study=study).values_list("user__username", flat=True)
    assert sorted(members) == ["jane", "priya"]
    assert [watch.found for watch in watches] == [[], [], []]
    for one in (jane, priya):
        one.context.close()
