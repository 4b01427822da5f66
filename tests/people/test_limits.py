"""What one personal link may send in a minute, and what becomes of what is too much."""

from datetime import UTC, datetime, timedelta

import pytest

from evalsite.core.rate_limits import RateLimit
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Annotation, Draft
from evalsite.lib.clock import standing_at
from tests.support.factories import launch, make_study
from tests.support.tabs import BOXES, SCORES, make_live, open_tab, snapshot, what_became

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_key_may_use_a_minutes_worth_at_once_and_then_that_pace():
    limit = RateLimit()

    with standing_at(NOON):
        assert [limit.take("a", 3) for _ in range(5)] == [0, 0, 0, 20, 20]
        assert limit.take("b", 3) == 0
    with standing_at(NOON + timedelta(seconds=20)):
        assert [limit.take("a", 3) for _ in range(2)] == [0, 20]


def test_no_limit_counts_nothing():
    limit = RateLimit()

    assert {limit.take("a", 0) for _ in range(100)} == {0}
    assert len(limit) == 0


def test_memory_of_a_limit_is_bounded():
    limit = RateLimit(kept=10)

    for number in range(100):
        limit.take(str(number), 1)

    assert len(limit) == 10


@pytest.mark.django_db
def test_too_many_saves_are_not_stored_and_the_page_keeps_what_was_entered(settings):
    tab = open_tab()
    settings.SAVES_A_MINUTE = 1
    tab.save()
    tab.open(2)
    before = snapshot()

    page = tab.post(dict(zip(BOXES, SCORES, strict=True)), to=tab.address_of(2))

    assert page.status_code == 429
    assert 1 <= int(page.headers["Retry-After"]) <= 60
    assert snapshot() == before
    assert tab.show(page).entered == SCORES
    assert "Wait" in page.context["status"]
    assert page.context["place"] == 2
    settings.SAVES_A_MINUTE = 0
    again = tab.post({}, to=tab.address_of(2))
    assert what_became(again) == "saved"


@pytest.mark.django_db
def test_scripts_hear_how_long_to_wait_without_a_page(settings):
    tab = open_tab()
    settings.SAVES_A_MINUTE = settings.DRAFTS_A_MINUTE = 1
    for address in (tab.address_of(1), f"{tab.home}draft/"):
        data = {**tab.fields, BOXES[0]: "70", "go": "back"}
        tab.client.post(address, data)

        told = tab.client.post(address, data, headers={"accept": "application/json"})

        assert told.status_code == 429
        assert int(told.headers["Retry-After"]) >= 1


@pytest.mark.django_db
def test_drafts_and_saves_are_counted_apart(settings):
    tab = open_tab()
    settings.SAVES_A_MINUTE = settings.DRAFTS_A_MINUTE = 1

    assert tab.post({BOXES[0]: "70"}, to=f"{tab.home}draft/").status_code == 200
    assert what_became(tab.save()) == "saved"


@pytest.mark.django_db
def test_every_other_post_of_a_link_counts_and_is_offered_again_whole(settings):
    tab = open_tab()
    settings.SAVES_A_MINUTE = 1
    tab.save()
    sent = {"state": tab.fields["state"], "reason": "other", "note": 'a "note"'}

    page = tab.client.post(f"{tab.address_of(2)}report/", sent)

    assert page.status_code == 429
    assert tab.show(page).fields == sent
    assert Annotation.objects.count() == 1


@pytest.mark.django_db
def test_one_link_does_not_hold_up_another(settings):
    study = make_live(k=2)
    first, second = open_tab(study), open_tab(study)
    settings.SAVES_A_MINUTE = 1
    first.save()
    assert first.save().status_code == 429

    assert what_became(second.save()) == "saved"


@pytest.mark.django_db
def test_reading_is_never_limited(settings):
    tab = open_tab()
    settings.SAVES_A_MINUTE = settings.DRAFTS_A_MINUTE = 1
    tab.save()
    tab.save()

    assert {tab.client.get(tab.address_of(2)).status_code for _ in range(5)} == {200}
    assert not Draft.objects.exists()


@pytest.mark.django_db
def test_simulated_people_are_not_limited(settings):
    settings.SAVES_A_MINUTE = 1
    study = launch(make_study(items=3, set_size=3, is_demo=True))

    assert len(list(simulate_crowd(study, participants=1, seed="limits"))) == 1
