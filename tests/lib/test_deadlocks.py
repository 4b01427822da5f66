"""Who is dealt a group and who changes k may wait for one another: then one begins again."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from evalsite.handout.change_k import remove_places
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Slot
from evalsite.studies.models import Study
from tests.support.designs import make_designed, one_each
from tests.support.factories import make_annotator
from tests.support.races import Held, only_postgresql

pytestmark = [only_postgresql, pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


class Crossed(Held):
    """As `Held`; while the second waits, the first locks one more place, so each waits.

    PostgreSQL ends the transaction whose `deadlock_timeout` is over first: that of the second,
    however slow the machine is.
    """

    def __init__(self, *, first: Slot, then: Slot, second: Callable[[], Any]) -> None:
        super().__init__(lambda: lock(first), second)
        self.then = then

    def _is_second_waiting(self) -> bool:
        is_waiting = super()._is_second_waiting()
        if is_waiting:
            set_deadlock_timeout(60)
            lock(self.then)
        return is_waiting

    def _run_second(self) -> Any:
        set_deadlock_timeout(3)
        return super()._run_second()


def set_deadlock_timeout(seconds: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('deadlock_timeout', %s, false)", [f"{seconds}s"])


def lock(slot: Slot) -> None:
    Slot.objects.select_for_update().get(pk=slot.pk)


def find_item_that_is_no_head_at_first() -> tuple[Slot, Slot]:
    """Two places of an item: in its group's first it comes later, in the second it comes first."""
    heads = {pos: Slot.objects.filter(pos=pos).earliest("id") for pos in (0, 1)}
    assert heads[0].item_id != heads[1].item_id
    return Slot.objects.get(pos=0, item=heads[1].item_id), heads[1]


@pytest.fixture
def study():
    return make_designed(one_each(1), k=2, set_size=6, groups="together")


def test_who_is_dealt_a_group_while_its_places_are_being_fitted_gets_it(study):
    mate, head = find_item_that_is_no_head_at_first()
    me = make_annotator(study)

    crossed = Crossed(first=mate, then=head, second=lambda: claim_set(me))
    _, item_set = crossed.run()

    assert crossed.has_waited
    assert len(item_set.item_ids) == 3
    assert Slot.objects.leased().filter(participant=me).count() == 3


def test_places_are_fitted_though_somebody_is_being_dealt_their_group(study):
    mate, head = find_item_that_is_no_head_at_first()
    Study.objects.update(k=1)
    study.refresh_from_db()
    told = []

    crossed = Crossed(first=head, then=mate, second=lambda: remove_places(study, told.append))
    crossed.run()

    assert crossed.has_waited
    assert {item.slots.count() for item in study.items.main()} == {1}
    assert sum(fit.free_gone for fit in told) == 3
