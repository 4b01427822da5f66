"""Places by network: nobody holds all places of a study from a few addresses."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evalsite.core.jobs.schedule import run_schedule
from evalsite.handout.claims import claim_set
from evalsite.lib.clock import now, standing_at
from evalsite.people.models import ItemSet, Participant
from evalsite.people.networks import find_network
from evalsite.studies.models import Study
from tests.support.experts import invite
from tests.support.networks import (
    HONEST,
    Visitor,
    count_held_places,
    gets_a_set,
    make_crowded,
    squat,
)
from tests.support.races import at_once
from tests.support.soak import serve_ordinary_requests

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
ORIGIN = "192.0.2.1"


@pytest.fixture(autouse=True)
def _limits(settings) -> None:
    settings.JOINS_PER_ADDRESS, settings.JOINS_PER_STUDY = 60, 1_000


def fill(study: Study, people: int, origin: str = ORIGIN) -> list[Visitor]:
    """So many people of one network hold a set each."""
    visitors = [Visitor(study, origin) for _ in range(people)]
    for visitor in visitors:
        visitor.take_place()
        assert visitor.item_set is not None
    return visitors


# --- the attack -------------------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.slow
@pytest.mark.both_databases
@pytest.mark.parametrize(("answers", "most"), [(0, 50), (3, 90)])
def test_bad_98_people_of_one_address_never_hold_all_places(answers, most):
    serve_ordinary_requests()
    study = make_crowded()

    squat(study, [ORIGIN], answers=answers)

    assert 0 < count_held_places(study) <= most
    assert gets_a_set(study)


@pytest.mark.torture
@pytest.mark.slow
@pytest.mark.parametrize("answers", [1, 3])
def test_people_of_three_networks_never_hold_all_places(answers):
    serve_ordinary_requests()
    study = make_crowded()

    squat(study, ["192.0.2.1", "198.51.100.1", "2001:db8::1"], answers=answers, people=14)

    assert gets_a_set(study)


@pytest.mark.torture
@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_people_of_one_network_who_claim_at_once_hold_no_more_than_their_share():
    study = make_crowded()
    people = [Visitor(study, ORIGIN) for _ in range(8)]
    for visitor in people:
        visitor.press_start()

    answers = at_once([visitor.agree for visitor in people])

    assert sorted(answer.status_code for answer in answers) == [302] * 5 + [429] * 3
    assert ItemSet.objects.filter(study=study).count() == 5


# --- people who share an address --------------------------------------------------------


def test_five_people_behind_one_address_each_get_a_set():
    fill(make_crowded(), 5)


@pytest.mark.torture
def test_forty_people_of_one_place_each_get_a_set_with_the_setting():
    study = make_crowded(items=150)
    Study.objects.filter(pk=study.pk).update(is_from_one_place=True)

    fill(study, 40)


def test_one_more_than_the_share_is_refused_at_start_and_nothing_is_created():
    study = make_crowded()
    fill(study, 5)
    before = Participant.objects.count()

    page = Visitor(study, ORIGIN).press_start()

    assert page.status_code == 429
    assert 0 < int(page.headers["Retry-After"]) <= 900
    assert "No places are free for this network right now" in page.text
    assert "no-store" in page.headers["Cache-Control"]
    assert Participant.objects.count() == before
    assert Visitor(study, HONEST).take_place().status_code == 302


def test_people_who_joined_before_are_refused_when_they_ask_for_a_place():
    study = make_crowded()
    late = Visitor(study, ORIGIN)
    late.press_start()
    fill(study, 5)

    refused = late.agree()

    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 900
    assert late.item_set is None
    # their visit isn't over: once a place is free for them, they get it
    with standing_at(now() + 16 * MINUTE):
        assert late.post(f"{late.home}start/").status_code == 302
        assert late.item_set.total == 10


def test_entry_answers_of_people_who_are_refused_are_not_recorded():
    study = make_crowded(is_eligibility_on=True)
    late = Visitor(study, ORIGIN)
    late.press_start()
    late.agree()
    people = [Visitor(study, ORIGIN) for _ in range(5)]
    entry = {"first_language": "English", "variety": "british"}
    for visitor in people:
        visitor.press_start()
        visitor.agree()
        visitor.post(f"{visitor.home}questions/", entry)
        assert visitor.item_set is not None

    refused = late.post(f"{late.home}questions/", entry)

    assert refused.status_code == 429
    assert late.me.is_eligible is None
    assert not late.me.answers.exists()
    assert 'value="british"' in refused.text


# --- what counts --------------------------------------------------------------------------


def test_people_with_three_answers_leave_room_for_newcomers_up_to_the_larger_share():
    study = make_crowded()
    for visitor in fill(study, 5):
        visitor.read_instructions()
        visitor.answer((1, 2, 3))
    # 35 places are held and 285 open: 30% of them are 85
    fill(study, 5)

    assert count_held_places(study) == 85
    assert not gets_a_set(study, ORIGIN)
    assert gets_a_set(study)


def test_in_a_large_study_a_share_of_its_places_is_more_than_five_sets():
    study = make_crowded(items=40, k=5, set_size=2)
    # a tenth of 200 places are 10 sets
    fill(study, 10)

    assert not gets_a_set(study, ORIGIN)


def test_the_networks_of_a_site_count_together_four_times():
    study = make_crowded()
    for number in range(4):
        fill(study, 5, f"2001:db8:1:{number}::1")

    assert not gets_a_set(study, "2001:db8:1:9::1")
    assert not gets_a_set(study, "2001:db8:1:0:ffff::1")
    assert gets_a_set(study, "2001:db8:2::1")


@pytest.mark.torture
def test_places_that_lapsed_count_no_more_and_come_back_only_within_the_share():
    study = make_crowded()
    first = fill(study, 5)
    for visitor in first:
        visitor.read_instructions()
    with standing_at(now() + 31 * MINUTE):
        fill(study, 5)
        for visitor in first:
            visitor.post(f"{visitor.home}start/")

        assert count_held_places(study) <= 50


def test_a_late_answer_is_kept_but_brings_back_no_places_that_the_network_has_used_up():
    study = make_crowded()
    first = fill(study, 5)[0]
    first.read_instructions()
    address = f"{first.home}sets/1/items/1/"
    fields = first.fill_in(address)
    with standing_at(now() + 31 * MINUTE):
        fill(study, 5)
        response = first.post(address, fields)

        assert response.status_code == 302
        assert first.me.annotations.get().status == "counted"
        assert count_held_places(study) == 50


@pytest.mark.one_case
@pytest.mark.parametrize("minutes", [0, 120])
def test_who_has_answered_everything_may_continue_while_their_network_is_full(minutes):
    study = make_crowded(set_size=4)
    ready = Visitor(study, ORIGIN)
    ready.take_place()
    ready.read_instructions()
    ready.answer((1, 2, 3, 4))
    with standing_at(now() + minutes * MINUTE):
        fill(study, 7)
        assert Visitor(study, ORIGIN).press_start().status_code == 429

        assert ready.post(f"{ready.home}start/").status_code == 302


def test_people_who_were_invited_personally_are_not_limited_and_do_not_count():
    study = make_crowded()
    names = [f"Person {number}" for number in range(7)]
    for expert in invite(study, *names, rates="numbers", selection="1-10"):
        visitor = Visitor(study, ORIGIN)
        visitor.home = f"/p/{expert.link.token}/"
        visitor.post(visitor.home)
        assert visitor.agree().status_code == 302
        visitor.post(f"{visitor.home}instructions/")
        visitor.post(f"{visitor.home}start/")
        assert visitor.item_set is not None

    assert {*Participant.objects.values_list("network", flat=True)} == {""}
    fill(study, 5)


def test_without_limits_for_addresses_networks_have_none(settings):
    settings.JOINS_PER_ADDRESS = 0

    fill(make_crowded(), 6)


# --- what is kept -------------------------------------------------------------------------


def test_a_network_is_kept_as_a_digest_for_a_day():
    study = make_crowded()
    (visitor,) = fill(study, 1)

    network = visitor.me.network
    assert network == find_network(study, ORIGIN).today
    assert len(network) == 64
    assert ORIGIN not in str(Participant.objects.values().get())
    with standing_at(now() + timedelta(hours=23)):
        run_schedule()
        assert visitor.me.network == network
    with standing_at(now() + timedelta(hours=25)):
        run_schedule()
        assert (visitor.me.network, visitor.me.network_at) == ("", None)


@pytest.mark.torture
def test_the_same_network_is_known_over_midnight_and_by_no_other_study():
    study, other = make_crowded(), make_crowded()
    late = now().replace(hour=23, minute=55)
    with standing_at(late):
        fill(study, 5)
    with standing_at(late + 10 * MINUTE):
        assert not gets_a_set(study, ORIGIN)
        assert gets_a_set(other, ORIGIN)


def test_a_claim_asks_three_queries_more_about_its_network():
    study = make_crowded()
    fill(study, 4)
    counts = []
    for network in (None, find_network(study, ORIGIN)):
        me = Visitor(study, HONEST)
        me.press_start()
        with CaptureQueriesContext(connection) as queries:
            claim_set(me.me, network=network)
        counts.append(len(queries))

    assert counts[1] - counts[0] <= 3
