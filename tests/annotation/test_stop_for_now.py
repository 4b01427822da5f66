"""Stopping for now: the page says until when the place is kept, and what happens then."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from evalsite.annotation.models import Slot
from evalsite.lib.clock import now
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
    assert page.context["kept_until"] == datetime(2026, 5, 4, 9, 15, tzinfo=UTC)
    html = page.content.decode()
    assert 'data-clock datetime="2026-05-04T09:15:00Z"' in html
    assert "Go on with item 2" in html


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
