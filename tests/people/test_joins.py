"""The limits on joining: new people are counted, for a day, without keeping their address."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice

import pytest
from django.urls import reverse

from evalsite.core.jobs.schedule import run_schedule
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.lib.clock import now, standing_at
from evalsite.people.joins import RETURNS_AN_HOUR
from evalsite.people.models import JoinCount, Participant, ParticipantIdentity
from evalsite.studies.models import Study
from tests.support.arriving import (
    NOTHING,
    P,
    Q,
    count_made,
    join,
    make_rounds,
    press_start,
    prolific,
    send_form,
)
from tests.support.races import at_once
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db

PER_ADDRESS, PER_STUDY = 3, 5
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _limits(settings) -> None:
    settings.JOINS_PER_ADDRESS, settings.JOINS_PER_STUDY = PER_ADDRESS, PER_STUDY


@pytest.fixture(name="noon")
def _noon() -> Iterator[None]:
    with standing_at(NOON):
        yield


def make_open():
    return make_rounds(make_live())


def start_from(study, address: str, query=""):
    return press_start(study, query, REMOTE_ADDR=address)


def fill(study, address: str = "192.0.2.1") -> None:
    """As many people have joined from this address as may."""
    for _ in range(PER_ADDRESS):
        assert start_from(study, address).status_code == 302


def test_one_more_than_may_join_from_an_address_is_asked_to_come_back(noon):
    study = make_open()
    fill(study)
    before = count_made()

    page = start_from(study, "192.0.2.1")

    assert page.status_code == 429
    assert page.headers["Retry-After"] == "3600"
    assert "no-store" in page.headers["Cache-Control"]
    assert count_made() == before
    assert start_from(study, "192.0.2.2").status_code == 302
    assert start_from(make_open(), "192.0.2.1").status_code == 302


def test_a_study_that_many_join_takes_one_more_an_hour_from_each_further_network(noon):
    study = make_open()
    crowd = [start_from(study, f"192.0.2.{number}").status_code for number in range(PER_STUDY)]

    answers = [start_from(study, f"192.0.2.{number}") for number in (0, 7, 7, 8)]

    assert crowd == [302] * PER_STUDY
    assert [answer.status_code for answer in answers] == [429, 302, 429, 302]
    assert answers[2].headers["Retry-After"] == "3600"


def test_a_site_counts_as_four_networks_in_a_study_that_many_join():
    study = make_open()
    for number in range(PER_STUDY):
        start_from(study, f"192.0.2.{number}")

    answers = [start_from(study, f"2001:db8:1:{number}::1").status_code for number in range(6)]

    assert answers == [302] * 4 + [429] * 2


def test_people_of_one_place_join_without_a_limit_for_their_network():
    study = make_open()
    Study.objects.filter(pk=study.pk).update(is_from_one_place=True)

    answers = [start_from(study, "192.0.2.1").status_code for _ in range(PER_STUDY + 1)]

    assert answers == [302] * PER_STUDY + [429]


def test_the_page_over_the_limit_keeps_the_ids_for_the_next_start():
    study = make_open()
    fill(study, "192.0.2.1")

    page = start_from(study, "192.0.2.1", prolific())
    later = send_form(study, page, REMOTE_ADDR="192.0.2.9")

    assert page.status_code == 429
    assert later.status_code == 302
    assert ParticipantIdentity.objects.get().outside_id == P


def test_whoever_returns_is_neither_counted_nor_refused():
    study = make_open()
    join(study, prolific())
    for number in range(PER_STUDY - 1):
        start_from(study, f"192.0.2.{number}")

    answers = [start_from(study, "127.0.0.1", prolific()).status_code for _ in range(9)]

    assert answers == [302] * 9
    assert JoinCount.objects.count() == PER_STUDY
    assert start_from(study, "192.0.2.1", prolific(person=Q)).status_code == 429


@pytest.mark.both_databases
def test_after_an_hour_there_is_room_again_also_over_midnight():
    study = make_open()
    late = NOON.replace(hour=23, minute=30)
    with standing_at(late):
        fill(study)

    answers = []
    for minutes in (40, 59, 61):
        with standing_at(late + timedelta(minutes=minutes)):
            answers.append(start_from(study, "192.0.2.1"))

    assert [answer.status_code for answer in answers] == [429, 429, 302]
    assert [answer.headers.get("Retry-After") for answer in answers] == ["1200", "60", None]


def test_no_address_is_kept_and_no_digest_is_the_same_in_another_study_or_on_another_day():
    study, other = make_open(), make_open()
    with standing_at(NOON):
        start_from(study, "192.0.2.1")
        start_from(study, "192.0.2.1")
        start_from(other, "192.0.2.1")
    with standing_at(NOON + timedelta(hours=23)):
        start_from(study, "192.0.2.1")

    digests = [*JoinCount.objects.order_by("pk").values_list("digest", flat=True)]
    assert digests[0] == digests[1]
    assert len({*digests}) == 3
    assert {len(digest) for digest in digests} == {64}


def test_counts_are_gone_after_a_day():
    with standing_at(NOON):
        join(make_open())
    with standing_at(NOON + timedelta(hours=23)):
        join(make_open())

    with standing_at(NOON + timedelta(hours=24, seconds=1)):
        run_schedule()

    assert JoinCount.objects.count() == 1


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
    ],
)
def test_addresses_of_one_network_of_ipv6_count_as_one(one, other, is_same):
    study = make_open()
    start_from(study, one)
    start_from(study, other)

    digests = {*JoinCount.objects.values_list("digest", flat=True)}
    assert (len(digests) == 1) == is_same


@pytest.mark.torture
def test_a_site_of_ipv6_takes_no_more_than_a_few_networks_may(noon, settings):
    settings.JOINS_PER_STUDY = 100
    study = make_open()
    networks = (f"2001:db8:0:{number:x}::1" for number in range(100))

    answers = [start_from(study, one).status_code for one in islice(networks, 4 * PER_ADDRESS + 1)]

    assert answers == [302] * 4 * PER_ADDRESS + [429]
    # another site, and any address of IPv4
    assert start_from(study, "2001:db8:1::1").status_code == 302
    assert start_from(study, "192.0.2.1").status_code == 302


def test_a_site_of_ipv6_is_known_again_after_midnight(settings):
    settings.JOINS_PER_STUDY = 100
    study = make_open()
    with standing_at(NOON.replace(hour=23, minute=30)):
        for number in range(4 * PER_ADDRESS):
            start_from(study, f"2001:db8:0:{number:x}::1")

    with standing_at(NOON + timedelta(hours=12, minutes=10)):
        assert start_from(study, "2001:db8:0:ffff::1").status_code == 429


@pytest.mark.one_case
@pytest.mark.parametrize("address", ["", "unknown"])
def test_without_an_address_only_the_study_has_a_limit(address):
    study = make_open()

    answers = [start_from(study, address).status_code for _ in range(PER_STUDY + 1)]

    assert answers == [302] * PER_STUDY + [429]


def test_zero_sets_no_limit_and_counts_nobody(settings):
    settings.JOINS_PER_ADDRESS = settings.JOINS_PER_STUDY = 0
    study = make_open()

    for _ in range(PER_STUDY + 1):
        join(study)

    assert count_made() == NOTHING | {
        "Participant": PER_STUDY + 1, "ParticipantLink": PER_STUDY + 1, "Visit": PER_STUDY + 1,
    }  # fmt: skip


@pytest.mark.slow
def test_simulated_people_are_not_counted():
    study = make_live(is_demo=True, items=PER_STUDY + 1, set_size=1)

    people = list(simulate_crowd(study, participants=PER_STUDY + 1, seed="joins"))

    assert len(people) == PER_STUDY + 1
    assert not JoinCount.objects.exists()


@pytest.mark.torture
@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_twenty_people_at_once_are_let_in_up_to_the_limit():
    study = make_open()

    answers = at_once([partial(start_from, study, "192.0.2.1")] * 20)

    codes = sorted(answer.status_code for answer in answers)
    assert codes == [302] * PER_ADDRESS + [429] * (20 - PER_ADDRESS)
    assert Participant.objects.count() == JoinCount.objects.count() == PER_ADDRESS


def test_a_burst_is_shown_where_joining_can_be_paused(staff_client, settings):
    settings.JOINS_PER_ADDRESS = settings.JOINS_PER_STUDY = 1000
    study = make_open()
    page = reverse("admin:study-overview", args=[study.pk])
    JoinCount.objects.bulk_create(
        JoinCount(study=study, joined_at=now() - timedelta(minutes=minutes))
        for minutes in [*range(1, 10)] * 3 + [11] * 20
    )
    quiet = staff_client.get(page)
    JoinCount.objects.bulk_create(JoinCount(study=study) for _ in range(3))

    busy = staff_client.get(page)

    assert "burst" not in [task.key for task in quiet.context["tasks"]]
    assert ("burst", 30) in [(task.key, task.count) for task in busy.context["tasks"]]


@pytest.mark.slow
def test_whoever_returns_again_and_again_is_asked_to_wait():
    study = make_open()
    answers = [press_start(study, prolific()).status_code for _ in range(RETURNS_AN_HOUR + 1)]

    assert answers == [302] * RETURNS_AN_HOUR + [429]
    assert Participant.objects.filter(study=study).count() == 1
