"""Limits on joins, saves and places, on a server that ran for long and whose clock was wrong."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import Q
from django.test import override_settings

from evalsite.core.jobs.schedule import run_schedule
from evalsite.lib.clock import standing_at
from evalsite.people.models import JoinCount, Participant
from tests.support.networks import HONEST, Visitor, gets_a_set, make_crowded
from tests.support.soak import serve_ordinary_requests

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.usefixtures("promises")]

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
YEAR = timedelta(days=365)
ORIGIN, OTHER = "192.0.2.1", "192.0.2.2"


@pytest.fixture(autouse=True)
def _limits(settings) -> None:
    settings.JOINS_PER_ADDRESS, settings.JOINS_PER_STUDY = 6, 12


def check_joins() -> None:
    """Six people join from an address and not one more; others still can, one by one."""
    study = make_crowded()
    answers = [Visitor(study, ORIGIN).press_start().status_code for _ in range(7)]
    assert answers == [302] * 6 + [429]
    answers = [Visitor(study, f"198.51.100.{n}").press_start().status_code for n in range(6)]
    assert answers == [302] * 6
    answers = [Visitor(study, HONEST).press_start().status_code for _ in range(2)]
    assert answers == [302, 429]


def check_saves() -> None:
    """A person posts as often as a minute allows and no more; another isn't slowed by that."""
    study = make_crowded()
    visitor, other = Visitor(study, ORIGIN), Visitor(study, ORIGIN)
    for one in (visitor, other):
        one.take_place()
    address = f"{visitor.home}finish/"
    with override_settings(SAVES_A_MINUTE=5):
        answers = [visitor.post(address).status_code for _ in range(7)]
        assert answers == [302] * 5 + [429] * 2
        assert other.post(f"{other.home}finish/").status_code == 302


def check_places() -> None:
    """Five people of a network hold a set each, and not one more."""
    study = make_crowded()
    answers = [Visitor(study, OTHER).take_place().status_code for _ in range(6)]
    assert answers == [302] * 5 + [429]
    assert gets_a_set(study)


CHECKS = (check_joins, check_saves, check_places)


def check_over_a_clock_jump(requests: int) -> None:
    for moment in (NOON, NOON + YEAR, NOON + timedelta(minutes=2)):
        with standing_at(moment):
            serve_ordinary_requests(requests)
            for check in CHECKS:
                check()


@pytest.mark.torture
def test_limits_hold_after_a_thousand_requests_and_a_clock_that_was_a_year_ahead():
    check_over_a_clock_jump(400)


@pytest.mark.torture
@pytest.mark.both_databases
def test_limits_hold_after_ten_thousand_requests_and_a_clock_that_was_a_year_ahead():
    check_over_a_clock_jump(4_000)


def test_counts_from_a_clock_that_was_ahead_shut_nobody_out_and_are_forgotten():
    study = make_crowded()
    with standing_at(NOON + YEAR):
        for _ in range(6):
            Visitor(study, ORIGIN).take_place()
    ahead = JoinCount.objects.filter(study=study)
    assert ahead.count() == 5

    with standing_at(NOON):
        assert Visitor(study, ORIGIN).press_start().status_code in (302, 429)
        run_schedule()
        assert ahead.filter(~Q(joined_at=NOON)).count() == 0
        assert not Participant.objects.exclude(network="").filter(network_at__gt=NOON).exists()
        answers = [Visitor(study, OTHER).press_start().status_code for _ in range(7)]

    assert answers == [302] * 6 + [429]
