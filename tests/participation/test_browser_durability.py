"""What a person typed outlives a dead server, a closed browser, a long night and a wrong clock."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from evalsite.handout.models import Annotation, Draft, Slot
from evalsite.lib.clock import now
from evalsite.studies.models import Study
from tests.support.browsing import MAIN, Line, fill_scores, follow, take_a_set
from tests.support.factories import launch, make_study
from tests.support.invariants import check_invariants
from tests.support.webserver import WebServer

pytestmark = pytest.mark.django_db(transaction=True)

NOT_YET = "Not saved yet"


@pytest.fixture
def study(transactional_db: None) -> Study:
    return launch(make_study(items=3, set_size=3))


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[WebServer]:
    with WebServer(database_url, tmp_path) as server:
        yield server


@pytest.fixture
def line(page: Page, live_server: Any) -> Line:
    """A server that starts in no time, and which the browser can't reach while that is cut."""
    return Line(page, str(live_server))


def values(page: Page) -> list[str]:
    return [page.input_value(f"#informativeness-{number}") for number in (1, 2, 3)]


def texts(page: Page) -> list[str]:
    return page.locator(".trio .text").all_inner_texts()


def stored_scores() -> list[list[int]]:
    answers = Annotation.objects.counted().order_by("place")
    return [list(one.ratings.order_by("id").values_list("value", flat=True)) for one in answers]


@pytest.mark.torture
def test_bad_58_scores_typed_while_the_server_is_down_arrive_by_themselves(page, server, study):
    take_a_set(page, server.url, study)
    server.kill()

    fill_scores(page, 70, 80)
    expect(page.locator("#status")).to_have_text(NOT_YET)
    server.start()

    expect(page.locator("#status")).to_contain_text("answered, saved")
    assert list(Draft.objects.get().values.values())[:2] == ["70", "80"]


def test_bad_58_an_answer_sent_while_the_server_is_down_stays_and_is_saved_once(
    page, server, study
):
    take_a_set(page, server.url, study)
    fill_scores(page, 70, 80, 90)
    expect(page.locator("#status")).to_contain_text("answered, saved")
    server.kill()

    page.click(MAIN)
    expect(page.locator("#status")).to_have_text(NOT_YET)
    expect(page.locator("#unsaved")).to_be_visible()
    assert values(page) == ["70", "80", "90"]
    server.start()
    page.wait_for_url("**/items/2/**")

    assert Annotation.objects.counted().count() == 1
    assert sorted(stored_scores()[0]) == [70, 80, 90]
    check_invariants(study)


@pytest.mark.torture
def test_what_is_changed_while_a_save_waits_is_not_sent_before_the_button_is_pressed(
    page, line, study
):
    take_a_set(page, line.url, study)
    line.cut()
    fill_scores(page, 70, 80, 90)
    page.click(MAIN)
    expect(page.locator("#unsaved")).to_be_visible()

    fill_scores(page, 7)
    line.mend()
    expect(page.locator("#status")).to_contain_text("answered, saved")
    expect(page.locator("#unsaved")).to_be_hidden()

    assert "/items/1/" in page.url
    assert not Annotation.objects.exists()
    follow(page, MAIN)
    assert sorted(stored_scores()[0]) == [7, 80, 90]


@pytest.mark.torture
def test_bad_58_a_browser_closed_in_the_middle_of_a_set_goes_on_elsewhere_by_the_link(
    browser: Browser, line, study
):
    first = browser.new_context()
    page = first.new_page()
    take_a_set(page, line.url, study)
    home = page.url.split("sets/")[0]
    seen = texts(page)
    fill_scores(page, 70, 80, 90)
    follow(page, MAIN)
    # The page says "Saved" of the first item, so the draft itself is waited for.
    with page.expect_response(lambda sent: "1e3" in (sent.request.post_data or "")):
        fill_scores(page, 5, "1e3")
    second_item = texts(page)
    item_ids = study.item_sets.get().item_ids
    first.close()

    elsewhere = browser.new_context()
    page = elsewhere.new_page()
    page.goto(home)

    assert "/items/2/" in page.url
    assert values(page) == ["5", "1e3", ""]
    assert texts(page) == second_item
    follow(page, "button[value=back]")
    assert texts(page) == seen
    assert values(page) == ["70", "80", "90"]
    assert study.item_sets.get().item_ids == item_ids
    elsewhere.close()


def test_bad_56_two_tabs_on_one_item_leave_one_answer(page, line, study):
    take_a_set(page, line.url, study)
    other = page.context.new_page()
    other.goto(page.url)
    fill_scores(page, 70, 80, 90)
    fill_scores(other, 70, 80, 90)

    follow(page, MAIN)
    follow(other, MAIN)

    expect(page.locator("#status")).to_contain_text("Item 1 saved.")
    expect(other.locator("#status")).to_contain_text("Item 1 saved.")
    assert Annotation.objects.count() == 1
    check_invariants(study)


@pytest.mark.torture
def test_bad_58_a_laptop_that_slept_past_its_place_still_saves(page, line, study):
    take_a_set(page, line.url, study)
    line.cut()
    fill_scores(page, 70, 80, 90)
    page.click(MAIN)
    expect(page.locator("#unsaved")).to_be_visible()
    Slot.objects.leased().update(lease_until=now() - timedelta(days=1))
    page.evaluate("localStorage.clear(); sessionStorage.clear()")

    line.mend()
    page.wait_for_url("**/sets/1/**was=saved**")

    assert Annotation.objects.get().status == "counted"
    check_invariants(study)


@pytest.mark.torture
@pytest.mark.parametrize("year", [1999, pytest.param(2060, marks=pytest.mark.torture)])
def test_bad_57_a_browser_clock_that_is_wrong_by_years_changes_nothing(page, line, study, year):
    page.clock.set_fixed_time(datetime(year, 10, 31, 1, 59, tzinfo=UTC))
    before = now()
    take_a_set(page, line.url, study)

    fill_scores(page, 70, 80, 90)
    expect(page.locator("#still")).to_be_hidden()
    follow(page, MAIN)

    annotation = Annotation.objects.get()
    assert before <= annotation.started_at <= annotation.submitted_at <= now()
    assert "/items/2/" in page.url


@pytest.mark.torture
def test_what_never_arrived_comes_back_only_onto_outputs_in_the_same_places(page, server, study):
    take_a_set(page, server.url, study)
    # a page that is left sends its draft once more, past any line that is cut
    server.kill()
    fill_scores(page, 70, 80, 90)
    expect(page.locator("#status")).to_have_text(NOT_YET)
    rating_page = page.url
    page.goto("about:blank")

    # the place has gone to somebody else, and another place of the item is this person's
    turn_outputs(1)
    server.start()
    page.goto(rating_page)
    assert values(page) == ["", "", ""]

    turn_outputs(-1)
    page.goto(rating_page)
    assert values(page) == ["70", "80", "90"]


def turn_outputs(by: int) -> None:
    for slot in Slot.objects.leased():
        slot.arrangement = (slot.arrangement + by) % 6  # all orders of three outputs
        slot.save()
