"""Stopping for now: the page says until when the place is kept, and what happens then."""

import re
from datetime import UTC, datetime, timedelta

import pytest
import segno
import time_machine

from evalsite.handout.models import Slot
from evalsite.lib.clock import now
from tests.support.ignoring import GROUP, open_reader
from tests.support.tabs import make_live, open_tab

pytestmark = pytest.mark.django_db


def stop_page(tab):
    return tab.client.get(f"{tab.home}stop/")


def test_page_tells_the_end_of_the_lease_and_what_is_left():
    with time_machine.travel(datetime(2026, 5, 4, 9, 0, tzinfo=UTC), tick=False):
        tab = open_tab(make_live(items=3, lease_minutes=60))
        tab.open(1).save()

        page = stop_page(tab)

    assert (page.context["answered"], page.context["left"]) == (1, 2)
    # each answer keeps the places of its set for 15 minutes
    assert page.context["kept_until"] == datetime(2026, 5, 4, 9, 15, tzinfo=UTC)
    html = page.content.decode()
    assert 'data-clock datetime="2026-05-04T09:15:00Z"' in html
    assert "Go on with item 2" in html


def test_page_counts_what_was_rated_and_not_what_was_ignored():
    reader = open_reader()
    reader.ignore(1, GROUP)
    ignored = stop_page(reader).context
    reader.rate(4)
    rated = stop_page(reader).context

    assert (ignored["answered"], ignored["left"]) == (0, 3)
    assert (rated["answered"], rated["left"]) == (1, 2)


@pytest.mark.parametrize(("items", "words"), [(1, "the item may go"), (3, "the 3 items may go")])
def test_page_speaks_of_no_other_items_before_the_first_answer(items, words):
    html = stop_page(open_tab(make_live(items=items, set_size=items))).content.decode()

    assert words in html
    assert "the other" not in html


def test_page_promises_no_place_that_is_not_kept():
    tab = open_tab(make_live(items=3))
    Slot.objects.leased().update(lease_until=now() - timedelta(minutes=1))

    page = stop_page(tab)

    assert page.context["kept_until"] is None
    assert "data-clock" not in page.content.decode()


def test_page_after_a_finished_set_asks_to_come_back_for_nothing_in_particular():
    tab = open_tab(make_live(items=3))
    tab.finish()

    page = stop_page(tab)

    assert "kept_until" not in page.context
    assert page.context["code"]


def test_link_comes_as_a_qr_code_that_needs_no_style_and_no_script():
    tab = open_tab(make_live(items=3))

    html = stop_page(tab).content.decode()

    [svg] = re.findall(r'<svg class="qr".*?</svg>', html)
    assert "style" not in svg
    dark = {(int(x), int(y)) for x, y in re.findall(r"M(\d+) (\d+)h1v1h-1z", svg)}
    rows = segno.make_qr(f"http://testserver{tab.home}", error="m").matrix_iter(border=4)
    assert dark == {(x, y) for y, row in enumerate(rows) for x, bit in enumerate(row) if bit}
    # a finder pattern of 7 by 7 in three corners, behind 4 empty modules
    size = int(re.search(r'viewBox="0 0 (\d+)', svg)[1])
    for left, top in ((4, 4), (size - 11, 4), (4, size - 11)):
        assert {(left + step, top) for step in range(7)} <= dark
        assert (left + 1, top + 1) not in dark
    assert min(min(point) for point in dark) == 4
