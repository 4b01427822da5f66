"""Results in a browser: accessible in all looks, no wider than a phone, opened by keyboard."""

import pytest
from django.urls import reverse
from evalsite.results.report.html_document import write_page

from tests.results.test_results_summary import pair, points
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import find_faults_in_turn
from tests.support.factories import make_study, make_user
from tests.support.reports import keep_report, make_content

pytestmark = pytest.mark.django_db(transaction=True)


def test_summary_and_criterion_are_accessible_and_a_closed_section_opens_by_keyboard(
    page, live_server
):
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    criterion = points(pair("a", "b", "higher"), pair("b", "c", "not_enough"))
    everything = make_content(criteria=[points(pair("a", "b", "not_enough"))])
    study = make_study(items=2, by=user)
    keep_report(study, criteria=[criterion], everything=everything)
    address = str(live_server) + reverse("admin:study-results", args=[study.pk])

    faults = []
    for query in ("", "?part=fluency", "?part=fluency&people=everyone", "?part=raters"):
        page.goto(address + query)
        faults += find_faults_in_turn(page)
        if query == "?part=fluency":
            open_pairs_by_keyboard(page)

    assert faults == []


@pytest.mark.torture
def test_a_phone_folds_t_df_p_and_d(page, live_server, tmp_path):
    sign_in(page, live_server, make_user(is_superuser=True))
    compared = pair("a", "b", "higher")
    compared["effect"]["details"] |= {"t": 2.74, "df": 38.2, "d": 0.31, "d_low": 0.1, "d_high": 0.5}
    study = make_study(items=2)
    report = keep_report(study, criteria=[points(compared)])
    page.set_viewport_size({"width": 360, "height": 800})

    page.goto(str(live_server) + reverse("admin:study-results", args=[study.pk]) + "?part=fluency")
    folded = page.locator("#pairs ~ .scroll .es-more").filter(has_text="0.31")
    assert not folded.is_visible()
    page.get_by_label("Show t, df, p and d").check()
    assert folded.is_visible()
    check_numbers_have_names(page)

    path = tmp_path / "report.html"
    path.write_text(write_page(study, report), encoding="utf-8")
    page.goto(path.as_uri())
    cell = page.locator("td.fold", has_text="0.31")
    assert not cell.is_visible()
    page.get_by_label("Show t (df), p and d").check()
    assert cell.is_visible()
    page.set_viewport_size({"width": 1280, "height": 800})
    assert cell.is_visible()
    assert not page.get_by_label("Show t (df), p and d").is_visible()


def check_numbers_have_names(page):
    """Each number that is shown has its column's name above it, and none is wider than the page."""
    named = page.evaluate(
        """() => [...document.querySelectorAll("#systems ~ .scroll, #pairs ~ .scroll")].flatMap(
          table => [...table.querySelectorAll("tbody .n")].map(cell => {
            const box = cell.getBoundingClientRect();
            const drawn = getComputedStyle(cell, "::before");
            return [cell.textContent.trim() !== "" && box.width > 0,
                    drawn.display === "block" ? drawn.content : "", box.right <= innerWidth];
          }))"""
    )
    shown = [(name, fits) for is_shown, name, fits in named if is_shown]

    assert {'"n"', '"Difference"', '"t, df"', '"Corrected p"', '"d"'} <= {name for name, _ in shown}
    assert all(name not in ("", "none") and fits for name, fits in shown)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def open_pairs_by_keyboard(page):
    page.focus("#fold-pairs summary")
    page.keyboard.press("Enter")

    assert page.locator("#fold-pairs").get_attribute("open") is not None
    assert page.locator("#fold-pairs li").first.inner_text().startswith("a is rated 0.40 points")
