"""A place earns its renewal: reserved until something is answered, renewed once by a draft."""

from datetime import datetime, timedelta

import pytest

from evalsite.annotation.dealing import claim_set, has_work
from evalsite.annotation.models import Draft, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.participants.models import Participant
from tests.factories import make_annotator
from tests.tabs import BOXES, Tab, make_live, open_tab

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]

MINUTE = timedelta(minutes=1)


@pytest.fixture
def start():
    """A moment at which the clock stands."""
    moment = now()
    with standing_at(moment):
        yield moment


def lease_of(me: Participant) -> datetime:
    (until,) = set(Slot.objects.leased().filter(participant=me).values_list("lease_until"))
    return until[0]


def send_draft(tab: Tab):
    data = {**tab.fields, BOXES[0]: "70"}
    return tab.client.post(f"{tab.home}draft/", data)


# --- reserved -------------------------------------------------------------------------


def test_a_set_without_an_answer_is_reserved_for_a_quarter_of_an_hour(start):
    tab = open_tab()

    assert lease_of(tab.me) == start + 15 * MINUTE


@pytest.mark.parametrize("renew", ["draft", "continue"])
def test_a_reservation_is_extended_to_half_an_hour_and_no_longer(start, renew):
    tab = open_tab()

    for minutes in (10, 12, 20, 29):
        with standing_at(start + minutes * MINUTE):
            if renew == "draft":
                send_draft(tab)
            else:
                claim_set(tab.me)
        assert lease_of(tab.me) == start + 30 * MINUTE


def test_places_of_somebody_who_answers_nothing_go_to_others_after_half_an_hour(start):
    study = make_live(k=1)
    tab = open_tab(study)
    other = make_annotator(study)
    with standing_at(start + 14 * MINUTE):
        send_draft(tab)
        assert not has_work(other, study)

    with standing_at(start + 31 * MINUTE):
        send_draft(tab)
        assert claim_set(other).total == 3


def test_the_first_saved_answer_earns_the_whole_lease(start):
    tab = open_tab()
    with standing_at(start + 5 * MINUTE):
        tab.save()

    assert lease_of(tab.me) == start + 65 * MINUTE
    assert tab.me.item_sets.get().reserved_until is None


def test_a_later_set_is_leased_at_once(start):
    study = make_live(items=6)
    tab = open_tab(study)
    tab.finish()
    tab.start()

    assert lease_of(tab.me) == start + 60 * MINUTE


def test_a_lease_shorter_than_a_reservation_still_holds(start):
    tab = open_tab(make_live(lease_minutes=10))
    assert lease_of(tab.me) == start + 10 * MINUTE

    with standing_at(start + 9 * MINUTE):
        send_draft(tab)
    assert lease_of(tab.me) == start + 19 * MINUTE


def test_who_comes_back_after_their_reservation_gets_a_new_one_of_what_is_free(start):
    study = make_live(k=1)
    tab = open_tab(study)

    with standing_at(start + 50 * MINUTE):
        assert claim_set(tab.me) == tab.me.item_sets.get()
        assert lease_of(tab.me) == start + 65 * MINUTE


# --- renewed by drafts --------------------------------------------------------------------


def test_a_draft_renews_a_place_once_for_its_item(start):
    tab = open_tab()
    tab.save()
    tab.open(2)

    with standing_at(start + 50 * MINUTE):
        send_draft(tab)
    assert lease_of(tab.me) == start + 110 * MINUTE
    with standing_at(start + 100 * MINUTE):
        told = send_draft(tab)

    assert lease_of(tab.me) == start + 110 * MINUTE
    assert told.json()["is_final"]
    assert Draft.objects.get().renewed_at == start + 50 * MINUTE


def test_a_draft_that_has_nothing_to_renew_leaves_its_renewal_for_later(start):
    tab = open_tab()
    tab.save()
    tab.open(2)

    assert not send_draft(tab).json()["is_final"]
    with standing_at(start + 50 * MINUTE):
        send_draft(tab)

    assert lease_of(tab.me) == start + 110 * MINUTE


def test_a_saved_answer_renews_whatever_drafts_did(start):
    tab = open_tab()
    tab.save()
    tab.open(2)
    with standing_at(start + 30 * MINUTE):
        send_draft(tab)
    with standing_at(start + 60 * MINUTE):
        tab.save()

    assert lease_of(tab.me) == start + 120 * MINUTE
