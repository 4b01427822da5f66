"""A place earns its renewal: reserved until something is answered, renewed once by a draft."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evalsite.handout.claims import claim_set, has_work
from evalsite.handout.models import Draft, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.people.models import Participant
from evalsite.studies.models import Study
from tests.support.factories import make_annotator
from tests.support.tabs import BOXES, Tab, make_live, open_tab

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("promises"),
]

MINUTE = timedelta(minutes=1)
# a reserved place is held for a little less than a full lease
MARGIN = timedelta(seconds=61)


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


@pytest.mark.both_databases
def test_drafts_extend_a_reservation_to_half_an_hour_and_no_longer(start):
    tab = open_tab()

    for minutes in (10, 12, 20, 29):
        with standing_at(start + minutes * MINUTE):
            send_draft(tab)
        assert lease_of(tab.me) == start + 30 * MINUTE


def test_continue_retakes_what_lapsed_until_the_end_of_the_reservation(start):
    tab = open_tab()

    for minutes, until in ((14, 15), (16, 30), (29, 30)):
        with standing_at(start + minutes * MINUTE):
            assert claim_set(tab.me)
        assert lease_of(tab.me) == start + until * MINUTE


@pytest.mark.one_case
@pytest.mark.parametrize("is_first", [True, False])
def test_pressing_start_again_holds_nothing_for_longer(start, is_first):
    study = make_live(items=6)
    tab = open_tab(study)
    if not is_first:
        tab.finish()
        tab.start()
    before = lease_of(tab.me)

    with standing_at(start + 10 * MINUTE):
        tab.start()

    assert lease_of(tab.me) == before


def test_pressing_start_again_leaves_the_lease_that_an_answer_earned(start):
    tab = open_tab()
    tab.save()

    with standing_at(start + 10 * MINUTE):
        tab.start()

    assert lease_of(tab.me) == start + 15 * MINUTE


@pytest.mark.both_databases
def test_what_is_retaken_beside_places_still_held_is_held_as_long_as_they_are(start):
    tab = open_tab()
    tab.save()
    one = Slot.objects.leased().filter(participant=tab.me).first()
    Slot.objects.filter(pk=one.pk).update(state=0, participant=None, lease_until=None)

    with standing_at(start + 10 * MINUTE):
        tab.start()

    assert Slot.objects.leased().filter(participant=tab.me).count() == 2
    assert lease_of(tab.me) == start + 15 * MINUTE


# --- without an answer, others come first -----------------------------------------------


def press_start_every_minute(me: Participant, start: datetime, minutes: range) -> None:
    for minute in minutes:
        with standing_at(start + minute * MINUTE):
            claim_set(me)


@pytest.mark.both_databases
def test_nobody_keeps_places_from_others_by_pressing_start(start):
    study = make_live(k=1)
    tab = open_tab(study)
    press_start_every_minute(tab.me, start, range(30))
    other = make_annotator(study)
    with standing_at(start + 29 * MINUTE):
        assert claim_set(other) is None
    with standing_at(start + 30 * MINUTE):
        assert claim_set(tab.me) is None
        assert Slot.objects.free().count() == 3
    press_start_every_minute(tab.me, start, range(30, 35))

    with standing_at(start + 34 * MINUTE):
        assert claim_set(other).total == 3


def test_nobody_keeps_places_of_a_later_set_from_others_by_pressing_continue(start):
    study = make_live(items=6, k=1)
    tab = open_tab(study)
    tab.finish()
    tab.start()
    others = make_annotator(study)
    with standing_at(start + 61 * MINUTE):
        assert claim_set(tab.me).number == 2
        assert lease_of(tab.me) == start + 76 * MINUTE
    press_start_every_minute(tab.me, start, range(62, 95))

    with standing_at(start + 95 * MINUTE):
        assert claim_set(others).total == 3


def test_two_people_do_not_keep_places_from_others_by_exchanging_them(start):
    study = make_live(items=6, k=1)
    first, second = open_tab(study), open_tab(study)
    for minute in range(31):
        with standing_at(start + minute * MINUTE):
            for one in (first, second, first):
                claim_set(one.me)

    with standing_at(start + 31 * MINUTE):
        assert claim_set(make_annotator(study)).total == 3


def test_who_comes_back_a_moment_late_gets_their_set_while_there_is_enough_for_others(start):
    study = make_live(items=6, k=1)
    tab = open_tab(study)
    before = tab.me.item_sets.get().item_ids

    with standing_at(start + 31 * MINUTE):
        again = claim_set(tab.me)
        assert lease_of(tab.me) == start + 46 * MINUTE

    assert (again.item_ids, again.total) == (before, 3)


def test_who_waited_for_others_gets_their_set_again_and_it_is_no_second_one(start):
    study = make_live(k=1, max_sets=1, max_items=3, groups="once")
    tab = open_tab(study)
    with standing_at(start + 31 * MINUTE):
        assert claim_set(tab.me) is None

    with standing_at(start + 36 * MINUTE):
        assert claim_set(tab.me).total == 3
        assert lease_of(tab.me) == start + 51 * MINUTE

    assert tab.me.item_sets.get().reserved_until == start + 66 * MINUTE


def test_whose_places_went_to_others_is_dealt_what_is_free_as_the_same_set(start):
    study = make_live(items=9, k=1, max_sets=1, max_items=3)
    tab = open_tab(study)
    lost = tab.me.item_sets.get().item_ids
    with standing_at(start + 31 * MINUTE):
        Slot.objects.filter(item__in=lost).update(
            participant=make_annotator(study), lease_until=start + 91 * MINUTE
        )

        again = claim_set(tab.me)

        assert (again.number, again.total, again.lost_ids) == (1, 3, lost)
        assert lease_of(tab.me) == start + 46 * MINUTE
    assert again.reserved_until == start + 61 * MINUTE


def test_places_of_a_study_that_has_ended_are_kept_for_those_who_hold_them(start):
    tab = open_tab(make_live(k=1))
    Study.objects.update(state="paused")

    with standing_at(start + 31 * MINUTE):
        assert claim_set(tab.me).total == 3


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


def test_each_saved_answer_of_a_set_earns_a_quarter_of_an_hour_up_to_the_lease(start):
    tab = open_tab(items=7, set_size=7)
    ends = []
    for place in range(1, 7):
        with standing_at(start + 2 * place * MINUTE):
            tab.open(place).save()
            ends.append((lease_of(tab.me) - now()) / MINUTE)

    assert ends == [15, 30, 45, 60, 60, 60]
    assert tab.me.item_sets.get().reserved_until is None


@pytest.mark.parametrize(("minutes", "ends"), [(35, [15, 30, 45]), (70, [30, 60, 60])])
def test_where_an_item_takes_long_an_answer_earns_three_times_its_announced_minutes(
    start, minutes, ends
):
    tab = open_tab(items=7, set_size=7, minutes_per_set=minutes)
    earned = []
    for place in (1, 2, 3):
        tab.open(place).save()
        earned.append((lease_of(tab.me) - start) / MINUTE)

    assert earned == ends


@pytest.mark.both_databases
def test_an_answer_sent_twice_earns_once(start):
    tab = open_tab()
    tab.save()
    tab.save()

    assert lease_of(tab.me) == start + 15 * MINUTE


def test_reports_earn_no_lease(start):
    tab = open_tab(items=7, set_size=7)
    for place in (2, 3, 4, 5):
        page = tab.open(place)
        page.client.post(f"{tab.address_of(place)}report/", {"reason": "missing", "note": ""})
    tab.open(1).save()

    assert lease_of(tab.me) == start + 15 * MINUTE


def test_a_later_set_is_leased_at_once(start):
    study = make_live(items=6)
    tab = open_tab(study)
    tab.finish()
    tab.start()

    assert lease_of(tab.me) == start + 15 * MINUTE


def test_a_lease_shorter_than_a_reservation_still_holds(start):
    tab = open_tab(make_live(lease_minutes=10))
    assert lease_of(tab.me) == start + 10 * MINUTE - MARGIN

    with standing_at(start + 8 * MINUTE):
        send_draft(tab)
    assert lease_of(tab.me) == start + 18 * MINUTE - MARGIN


@pytest.mark.one_case
@pytest.mark.parametrize("drafts", [0, 1])
@pytest.mark.parametrize("lease", [10, 15, 60])
def test_an_answer_within_a_minute_earns_its_lease_however_short(start, lease, drafts):
    tab = open_tab(make_live(lease_minutes=lease))
    for _ in range(drafts):
        send_draft(tab)

    with standing_at(start + timedelta(seconds=30)):
        tab.save()

    assert tab.me.item_sets.get().reserved_until is None
    assert lease_of(tab.me) == start + timedelta(seconds=30) + min(lease, 15) * MINUTE


@pytest.mark.both_databases
def test_a_save_right_after_another_writes_no_lease(start):
    tab = open_tab(items=7, set_size=7)
    for place in (1, 2, 3, 4):
        tab.open(place).save()
    tab.open(5)

    with CaptureQueriesContext(connection) as queries:
        tab.save()

    written = [query["sql"] for query in queries if query["sql"].startswith("UPDATE")]
    # the place that is done, and nothing else
    assert len(written) == 1


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

    with standing_at(start + 10 * MINUTE):
        send_draft(tab)
    assert lease_of(tab.me) == start + 25 * MINUTE
    with standing_at(start + 20 * MINUTE):
        told = send_draft(tab)

    assert lease_of(tab.me) == start + 25 * MINUTE
    assert told.json()["is_final"]
    assert Draft.objects.get().renewed_at == start + 10 * MINUTE


def test_a_draft_that_has_nothing_to_renew_leaves_its_renewal_for_later(start):
    tab = open_tab()
    tab.save()
    tab.open(2)

    assert not send_draft(tab).json()["is_final"]
    with standing_at(start + 10 * MINUTE):
        send_draft(tab)

    assert lease_of(tab.me) == start + 25 * MINUTE


def test_a_saved_answer_renews_whatever_drafts_did(start):
    tab = open_tab()
    tab.save()
    tab.open(2)
    with standing_at(start + 10 * MINUTE):
        send_draft(tab)
    with standing_at(start + 20 * MINUTE):
        tab.save()

    assert lease_of(tab.me) == start + 50 * MINUTE
