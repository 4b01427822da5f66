"""Many people at once, with checks and repeats: still exactly k, and everyone finishes."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet
from evalsite.studies.models import Item, Study
from evalsite.studies.set_size import LEAST_DISTANCE
from tests.support.checks import add_checks
from tests.support.crowds import (
    Crowd,
    check_exactly_k,
    crowd_workers,
    make_crowd,
    make_live_study,
)
from tests.support.factories import add_batch

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["crowd_workers", "make_crowd"]


def add_items(study: Study) -> None:
    add_batch(study, items=24)
    add_checks(study, 6)


@pytest.fixture
def study(transactional_db: None) -> Study:
    return make_live_study(
        add_items=add_items, k=3, set_size=8, max_sets=4, checks_per_person=2, repeat_percent=20
    )


def check_controls(study: Study) -> None:
    """Who finished a set has answered its checks and repeats, and none of them counts."""
    controls = Annotation.objects.filter(study=study, item__kind__in=("gold", "repeat"))
    assert set(controls.values_list("status", flat=True)) == {"control"}
    kinds = dict(Item.objects.filter(study=study).values_list("pk", "kind"))
    line: dict[int, list[int]] = {}
    for one in ItemSet.objects.filter(study=study).order_by("number"):
        kept = [pk for pk in one.item_ids if pk not in one.lost_ids]
        mine = Annotation.objects.filter(participant=one.participant_id)
        if one.finished_at:
            assert set(kept) <= set(mine.values_list("item_id", flat=True))
        line.setdefault(one.participant_id, []).extend(kept)
    repeated = dict(Item.objects.filter(repeat_of__isnull=False).values_list("pk", "repeat_of"))
    for shown in line.values():
        for pk in shown:
            if kinds[pk] == "repeat":
                assert shown.index(pk) - shown.index(repeated[pk]) >= LEAST_DISTANCE


@pytest.mark.torture
@pytest.mark.both_databases
def test_a_crowd_with_checks_and_repeats_answers_every_item_exactly_k_times(
    study: Study, make_crowd: Callable[[Study], Crowd]
):
    crowd = make_crowd(study)
    crowd.add(4)
    crowd.add(2, tabs=2)

    crowd.work()

    check_exactly_k(study)
    check_controls(study)
    assert not Annotation.objects.filter(status="surplus").exists()
    assert Annotation.objects.filter(item__kind="gold").exists()
    assert Annotation.objects.filter(item__kind="repeat").exists()


@pytest.mark.torture
def test_what_some_walk_away_from_is_done_by_others_whose_checks_stay_in_order(
    study: Study, make_crowd: Callable[[Study], Crowd]
):
    crowd = make_crowd(study)
    crowd.add(3, leaves_after=5)
    crowd.add(5)

    crowd.work()
    crowd.come_back(now() + timedelta(minutes=study.lease_minutes + 1))
    crowd.come_back(now() + timedelta(days=1))

    check_exactly_k(study)
    check_controls(study)
