"""Two people who are dealt work at one moment: nobody gets less because another only looks."""

import pytest
from django.db import connection  # noqa: F401 (the mark reads it)

from evalsite.handout.claims import claim_set
from evalsite.handout.models import Slot
from tests.support.designs import make_designed, one_each, side_by_side
from tests.support.factories import make_annotator
from tests.support.races import Held, only_postgresql

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def take_away(*ranks: int) -> None:
    """The places of these ranks in the queue are done, so what is free there is no run."""
    other = make_annotator(Slot.objects.first().study)
    Slot.objects.filter(pos__in=ranks).update(state=2, participant=other)


@only_postgresql
def test_no_set_is_short_because_another_person_looks_at_more_than_they_take():
    study = make_designed(side_by_side(8), k=1, set_size=2)
    take_away(1)
    me, other = make_annotator(study), make_annotator(study)

    # the first looks at six of the seven that are free, and takes two
    first, second = Held(first=lambda: claim_set(me), second=lambda: claim_set(other)).run()

    assert len(first.item_ids) == len(second.item_ids) == 2
    assert not set(first.item_ids) & set(second.item_ids)


@only_postgresql
def test_whole_groups_that_another_person_looks_at_are_waited_for():
    study = make_designed(one_each(4), k=1, set_size=3, groups="together")
    take_away(1)
    me, other = make_annotator(study), make_annotator(study)

    first, second = Held(first=lambda: claim_set(me), second=lambda: claim_set(other)).run()

    assert len(first.item_ids) == len(second.item_ids) == 3
    for person, item_set in ((me, first), (other, second)):
        held = Slot.objects.leased().filter(participant=person)
        assert set(held.values_list("item_id", flat=True)) == set(item_set.item_ids)


def test_the_last_set_may_be_short():
    study = make_designed(side_by_side(5), k=1, set_size=3)

    sets = [claim_set(make_annotator(study)) for _ in range(3)]

    assert [len(one.item_ids) for one in sets if one] == [3, 2]
    assert sets[2] is None
