"""Another k, again and again, while people rate in other processes."""

from datetime import timedelta
from threading import Thread

import pytest

from evalsite.fieldwork.live_changes import newest_places
from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.studies.models import Item, Study
from tests.handout.test_changing_k import change
from tests.support.crowds import crowd_workers, make_crowd, make_live_study
from tests.support.factories import add_batch
from tests.support.invariants import check_invariants

__all__ = ["crowd_workers", "make_crowd"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def keep_changing(study: Study, worker: Thread) -> int:
    """k has been changed up and down for as long as people worked; returns how often."""
    changes = 0
    while worker.is_alive() or changes < 4:
        for k in (2, 4, 1, 3):
            change(study, k)
            changes += 1
    return changes


@pytest.mark.torture
def test_k_changed_all_the_time_while_people_work_ends_with_k_and_loses_nothing(make_crowd):
    study = make_live_study(set_size=4, add_items=lambda study: add_batch(study, items=5))
    crowd = make_crowd(study)
    crowd.add(3, tabs=2)
    failed = []

    def work() -> None:
        try:
            crowd.work()
        except AssertionError as error:
            failed.append(error)

    worker = Thread(target=work)
    worker.start()
    changes = keep_changing(study, worker)
    worker.join()
    crowd.come_back(now() + timedelta(hours=2))

    assert failed == []
    assert changes >= 4
    assert newest_places(study).state == "done"
    check_invariants(study)
    items = Item.objects.main().filter(study=study).count()
    assert Annotation.objects.counted().count() == items * 3
    assert not Slot.objects.exclude(state=Slot.State.DONE).exists()
