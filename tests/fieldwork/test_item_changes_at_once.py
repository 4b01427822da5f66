"""Items withdrawn and outputs corrected at the moment when people take or answer them."""

from collections.abc import Callable
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from django.db import connection

from evalsite.fieldwork.item_changes import (
    correct_output,
    put_item_back,
    withdraw_item,
)
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet
from evalsite.studies.models import Change, Item, Study
from tests.support.crowds import crowd_workers, make_crowd, make_live_study
from tests.support.factories import add_batch, answer_item, make_annotator, make_user
from tests.support.invariants import check_invariants
from tests.support.queues import run_waiting_jobs
from tests.support.races import Held, at_once, only_postgresql
from tests.support.tabs import make_live

# the connection is for the condition of `only_postgresql`
__all__ = ["connection", "crowd_workers", "make_crowd"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def withdraw(item: Item) -> Change | None:
    return withdraw_item(item=item, reason="Cut off.", by=make_user())


def correct(item: Item) -> Change | None:
    output = item.outputs.first()
    return correct_output(output=output, text="Right.", reason="A slip.", by=make_user())


@pytest.mark.parametrize("act", [withdraw, correct])
def test_the_same_change_made_twice_at_once_is_one(act: Callable[[Item], Any]):
    item = make_live(items=3).items.main().first()

    made = at_once([lambda: act(item), lambda: act(Item.objects.get(pk=item.pk))])

    assert [change is None for change in made].count(True) == 1
    assert Change.objects.count() == 1


@only_postgresql
@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("act", [withdraw, correct])
def test_an_answer_in_flight_counts_for_no_item_that_goes(act: Callable[[Item], Any], is_first):
    study = make_live(items=2, k=1)
    me = make_annotator(study)
    item_set = claim_set(me)
    item = Item.objects.get(pk=item_set.item_ids[0])
    # as shown a moment ago
    shown = now() - timedelta(seconds=5)
    slot = item.slots.get()

    def save() -> Any:
        return answer_item(me, item, item_set=item_set, slot_id=slot.pk, started_at=shown)

    first, second = (save, lambda: act(item)) if is_first else (lambda: act(item), save)
    race = Held(first, second)
    race.run()

    assert race.has_waited
    answer = Annotation.objects.get(item=item)
    assert (answer.status, answer.slot) == ("withdrawn", None)
    run_waiting_jobs()
    check_invariants(study)


@only_postgresql
@pytest.mark.parametrize("is_first", [True, False])
def test_an_item_that_is_taken_as_it_is_withdrawn_is_in_nobodys_set(is_first):
    study = make_live(items=2, k=1)
    me = make_annotator(study)
    item = study.items.main().first()

    def take() -> Any:
        return claim_set(me)

    first, second = (take, lambda: withdraw(item)) if is_first else (lambda: withdraw(item), take)
    Held(first, second).run()

    item_set = ItemSet.objects.get()
    assert item_set.total == 1
    assert not Slot.objects.filter(item=item).exists()
    check_invariants(study)


@pytest.mark.torture
def test_a_crowd_finishes_while_items_are_withdrawn_corrected_and_put_back(make_crowd):
    study = make_live_study(set_size=4, add_items=lambda study: add_batch(study, items=12), k=3)
    crowd = make_crowd(study)
    crowd.add(5, tabs=2)
    failed: list[AssertionError] = []

    def work() -> None:
        try:
            crowd.work()
        except AssertionError as error:
            failed.append(error)

    worker = Thread(target=work)
    worker.start()
    change_all_the_time(study, worker)
    worker.join()
    run_waiting_jobs()
    crowd.come_back(now() + timedelta(hours=2))

    assert failed == []
    check_invariants(study)
    items = Item.objects.main().filter(study=study).count()
    assert Annotation.objects.counted().filter(study=study).count() == items * 3
    assert not Slot.objects.exclude(state=Slot.State.DONE).exists()


def change_all_the_time(study: Study, worker: Thread) -> None:
    """One item is withdrawn and put back, again and again; others are withdrawn or corrected."""
    first, second, third, fourth, *_ = study.items.main().order_by("pk")
    withdraw(second)
    correct(third)
    run_waiting_jobs()
    correct(fourth)
    rounds = 0
    while worker.is_alive() or rounds < 3:
        run_waiting_jobs()
        withdraw(first)
        run_waiting_jobs()
        put_item_back(item=first, reason="It was right.", by=make_user())
        rounds += 1
