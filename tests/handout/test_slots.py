"""Slots stand as the seed gives them: after a stop, after another batch, after a change of k."""

from collections import Counter

import pytest

from evalsite.handout import slots
from evalsite.handout.change_k import list_lacking
from evalsite.handout.models import Slot
from evalsite.handout.slot_plan import place_in_group
from evalsite.handout.slots import count_strays, make_slots, planned_slots
from evalsite.lib.clock import now
from evalsite.studies.models import Study
from tests.support.designs import add_design, all_pairs, make_designed, one_each, side_by_side
from tests.support.factories import launch, make_study

pytestmark = pytest.mark.django_db


def open_batches(study: Study) -> Study:
    """All batches that are not open yet are, since one moment."""
    study.batches.filter(opened_at=None).update(opened_at=now())
    return study


def rows_of(study: Study) -> list[tuple]:
    found = Slot.objects.filter(study=study).order_by("no", "pos", "item__key")
    return list(found.values_list("no", "pos", "item__key", "arrangement"))


def planned_rows(study: Study) -> list[tuple]:
    keys = dict(study.items.values_list("pk", "key"))
    return [(one.no, one.rank, keys[one.item_id], one.arrangement) for one in planned_slots(study)]


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("design", "groups"),
    [(one_each(5), "once"), (one_each(5), "together"), (side_by_side(7), "free")],
)
def test_the_plan_can_be_made_again_and_is_what_stands(design, groups):
    study = open_batches(make_designed(design, groups=groups))

    assert count_strays(study) == 0
    first = [row for row in planned_rows(study) if row[0] == 0]
    assert sorted(first) == sorted(rows_of(study)[: len(first)])
    assert len(planned_rows(study)) == len(rows_of(study))


def test_the_same_file_and_seed_give_the_same_slots_in_another_study():
    first, second = (make_designed(all_pairs(9, "abc"), seed="one") for _ in range(2))

    assert rows_of(first) == rows_of(second)


def test_a_slot_that_was_changed_is_found():
    study = open_batches(make_designed(side_by_side(6), k=2))
    slot = Slot.objects.order_by("pos").last()
    Slot.objects.filter(pk=slot.pk).update(arrangement=(slot.arrangement + 1) % 3)

    assert count_strays(study) == 1

    Slot.objects.filter(pk=slot.pk).update(arrangement=slot.arrangement, pos=slot.pos + 1)

    assert count_strays(study) == 1


def test_items_of_a_group_that_stays_together_share_a_pos_and_have_each_place_once():
    make_designed(one_each(4), groups="together", k=3)

    shared = Counter(Slot.objects.values_list("pos", flat=True))
    assert set(shared.values()) == {3}
    for no in range(3):
        slots_of = Slot.objects.filter(no=no).order_by("pos", "arrangement")
        places = [
            place_in_group(1, number) for number in slots_of.values_list("arrangement", flat=True)
        ]
        assert places == [0, 1, 2] * 4


def test_a_later_batch_is_planned_on_its_own_and_comes_last():
    study = open_batches(make_designed(side_by_side(5), k=2))
    before = rows_of(study)

    batch = add_design(study, side_by_side(3), first=5)
    make_slots(study, [batch])
    open_batches(study)

    assert count_strays(study) == 0
    assert [row for row in rows_of(study) if row[1] < 10] == before
    later = Slot.objects.filter(item__batch=batch).order_by("pos").values_list("no", "pos")
    assert list(later) == [(0, 10), (0, 11), (0, 12), (1, 13), (1, 14), (1, 15)]


def test_a_greater_k_adds_layers_in_which_each_order_stays_exact():
    study = open_batches(make_designed(side_by_side(5), k=2))
    make_slots(study, [add_design(study, side_by_side(3), first=5)])
    open_batches(study)
    before = rows_of(study)

    Study.objects.filter(pk=study.pk).update(k=3)
    study.refresh_from_db()
    make_slots(study, study.batches.all())

    assert [row for row in rows_of(study) if row[0] < 2] == before
    assert count_strays(study) == 0
    added = Slot.objects.filter(no=2).order_by("pos").values_list("pos", flat=True)
    assert list(added) == list(range(16, 24))
    for item in study.items.main():
        turns = item.slots.values_list("arrangement", flat=True)
        assert sorted(turn % 3 for turn in turns) == [0, 1, 2]


def test_slots_that_were_taken_away_come_back_where_they_were():
    study = open_batches(make_designed(side_by_side(5), k=3))
    before = rows_of(study)
    Slot.objects.filter(no=1, arrangement=2).delete()
    Slot.objects.filter(no=2).first().delete()

    make_slots(study, study.batches.all())

    assert rows_of(study) == before


@pytest.mark.both_databases
def test_a_stop_in_the_middle_of_a_layer_changes_nothing(monkeypatch):
    whole = make_designed(one_each(7), groups="together", seed="one", k=2)
    broken = make_study(items=0, groups="together", seed="one", k=2)
    add_design(broken, one_each(7))
    monkeypatch.setattr(slots, "CHUNK", 4)

    def stop(done: int, total: int) -> None:
        if done > 21 + 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_slots(broken, broken.batches.all(), stop)
    assert Slot.objects.filter(study=broken).count() < 42
    make_slots(broken, broken.batches.all())

    assert rows_of(broken) == rows_of(whole)


def test_a_batch_that_came_after_a_stop_is_planned_with_the_others():
    broken = make_study(items=0, seed="one", k=2)
    add_design(broken, side_by_side(6))

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_slots(broken, broken.batches.all(), stop)
    add_design(broken, side_by_side(3), first=6)
    launch(broken)

    whole = make_study(items=0, seed="one", k=2)
    add_design(whole, side_by_side(6))
    add_design(whole, side_by_side(3), first=6)
    assert rows_of(broken) == rows_of(launch(whole))


def test_progress_counts_every_slot(monkeypatch):
    study = make_study(items=0, k=2)
    add_design(study, side_by_side(5))
    monkeypatch.setattr(slots, "CHUNK", 2)
    told = []

    make_slots(study, study.batches.all(), lambda done, total: told.append((done, total)))

    assert told == [(2, 10), (4, 10), (5, 10), (7, 10), (9, 10), (10, 10)]


@pytest.mark.both_databases
def test_no_group_stands_in_part_while_places_are_being_made(monkeypatch):
    monkeypatch.setattr(slots, "CHUNK", 4)
    study = make_designed(one_each(4), k=1, set_size=3, groups="together")
    study.k = 2
    seen = []

    def look(done, total) -> None:
        seen.append(Counter(Slot.objects.filter(no=1).values_list("pos", flat=True)))

    make_slots(study, study.batches.all(), look)

    # six slots, and the last place; then the rest
    assert [len(one) for one in seen] == [3, 4]
    assert {count for one in seen for count in one.values()} == {3}


def test_what_was_opened_together_is_planned_together_after_a_stop():
    study = make_study(items=0, k=2)
    add_design(study, side_by_side(8))
    small = add_design(study, side_by_side(1), first=100)
    launch(study)
    # a job was stopped: one batch has all of its places, the other has not
    Slot.objects.filter(no=1).exclude(item__batch=small).delete()

    make_slots(study, list_lacking(study))

    assert Slot.objects.count() == 18
    assert count_strays(study) == 0
