"""Somebody who comes back after a day or over a change of the clocks loses nothing."""

from datetime import UTC, datetime, timedelta

import pytest

from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now, standing_at
from tests.support.factories import answer_item, make_annotator
from tests.support.tabs import BOXES, SCORES, make_live, open_tab, what_became

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("promises")]


def a_day_later():
    return standing_at(now() + timedelta(days=1))


def test_page_left_open_for_a_day_is_saved_and_the_work_goes_on():
    tab = open_tab(set_size=3)
    items = tab.me.item_sets.get().item_ids

    with a_day_later():
        # sending it renews the places of the whole set, as nobody has taken them
        saved = tab.save()
        for place in (2, 3):
            tab.open(place).save()
        done = tab.client.post(f"{tab.home}sets/1/review/", follow=True)

    assert what_became(saved) == "saved"
    assert tab.me.item_sets.get().code in done.text
    assert tab.me.item_sets.get().item_ids == items
    assert Annotation.objects.counted().count() == 3


def test_page_left_open_for_a_day_is_saved_although_others_have_done_its_items():
    study = make_live(k=1, set_size=3)
    tab = open_tab(study)
    with a_day_later():
        other = make_annotator(study)
        item_set = claim_set(other)
        for item in study.items.main():
            answer_item(other, item, item_set=item_set)

        saved = tab.save()

    assert what_became(saved) == "saved"
    mine = Annotation.objects.get(participant=tab.me)
    assert mine.status == "surplus"
    assert sorted(mine.ratings.values_list("text", flat=True)) == sorted(SCORES)
    assert Annotation.objects.counted().count() == 3


def test_draft_of_yesterday_is_back_on_the_page():
    tab = open_tab(set_size=3)
    tab.client.post(f"{tab.home}draft/", tab.fields | {"informativeness-1": "70"})

    with a_day_later():
        tab.start()

        assert tab.open(1).entered == ("70", "", "")


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "night", [datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)]
)
def test_bad_57_place_is_kept_its_full_time_in_a_night_when_clocks_change(night):
    # an item of 30 minutes: one answer earns the rest of the set the whole lease
    study = make_live(k=1, set_size=3, lease_minutes=90, minutes_per_set=90)
    moment = night + timedelta(minutes=30)
    with standing_at(moment):
        tab = open_tab(study)
        tab.save()
    held = Slot.objects.leased().values_list("lease_until", flat=True)
    assert {*held} == {moment + timedelta(minutes=90)}

    with standing_at(moment + timedelta(minutes=89)):
        assert claim_set(make_annotator(study)) is None
        assert what_became(tab.open(2).post(dict.fromkeys(BOXES, "70"), to=tab.address_of(2))) == (
            "saved"
        )
    with standing_at(moment + timedelta(minutes=89 + 91)):
        assert len(claim_set(make_annotator(study)).item_ids) == 1
