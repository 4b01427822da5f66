"""Ignoring an item on a page of its own: what it covers, what becomes of scores, what is refused."""

from datetime import timedelta

import pytest

from evalsite.annotation.models import Annotation, Draft, Rating, Revision, Slot
from evalsite.exchange.exporting import Choice, stream_file
from evalsite.lib.clock import now, standing_at
from evalsite.participants.models import Participant
from evalsite.studies.models import Study
from tests.factories import make_annotator
from tests.ignoring import GROUP, ITEM, SCORES, Reader, make_reviews, open_reader
from tests.invariants import check_invariants

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


def outcomes() -> list[tuple[int, str, str, str]]:
    return list(
        Annotation.objects.order_by("place").values_list("place", "outcome", "reason", "status")
    )


# --- the way there ------------------------------------------------------------------------


def test_rating_page_offers_to_ignore_and_shows_the_note_in_full():
    html = open_reader().page.text

    assert 'id="ignore"' in html
    assert "Ignore this example…" in html
    assert "the example should be ignored completely." in html
    assert "<dt><kbd>i</kbd></dt>" in html


def test_page_to_ignore_shows_note_texts_and_reasons_with_what_they_cover():
    reader = open_reader()
    item = reader.page.context["item"]

    html = reader.go_to_ignore().page.text

    assert "the example should be ignored completely." in html
    assert item.inputs[0].value in html
    assert item.outputs[0].text in html
    assert "no semantically important information in the review" in html
    assert "covers all its responses (3)" in html
    assert "unsuitable given the review" in html
    assert " checked" not in html
    assert 'id="work"' not in html


def test_protocol_without_ignoring_has_no_such_page(make_study):
    from tests.tabs import open_tab

    tab = open_tab()

    assert tab.client.get(f"{tab.address_of(1)}ignore/").status_code == 404
    assert 'id="ignore"' not in tab.page.text
