"""`manage.py design`: the balance of a study, checked against counts made by hand."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Slot, order_of
from evalsite.lib.clock import now
from evalsite.lib.seeds import find_arrangement
from evalsite.participation.sets import finish_set
from evalsite.people.models import ItemSet, Participant
from evalsite.results.design.report import promise_design, report_design
from evalsite.studies.items import item_keys
from evalsite.studies.models import Batch, Item, Output, Study, System
from tests.support.factories import (
    answer_item,
    launch,
    make_annotator,
    make_participant,
    make_study,
)

pytestmark = pytest.mark.django_db

ORDERS = {"ab": (0, 1), "ba": (1, 0)}


def make_pairs(*systems: str, k: int = 2, **fields) -> Study:
    """A study with one item for each of these, such as "ab": an output of a, then one of b."""
    study = make_study(protocol="pairwise", items=0, k=k, **fields)
    return add_items(study, *((shown, f"group-{n}") for n, shown in enumerate(systems)))


def add_items(study: Study, *items: tuple[str, str]) -> Study:
    """One item for each of these: a letter for the system of each output, and its group."""
    batch = Batch.objects.create(study=study, file_name="b.csv", sha256="0" * 64, rows=len(items))
    for number, (systems, group) in enumerate(items):
        keys = item_keys(study, key=f"item-{number}", group=group)
        item = Item.objects.create(study=study, batch=batch, inputs={}, **keys)
        for position, name in enumerate(systems):
            system, _ = System.objects.get_or_create(study=study, name=name)
            Output.objects.create(
                study=study, item=item, system=system, position=position, text="Yes."
            )
    return study


def add_slot(item: Item, order: tuple[int, ...], *, place: int = 0) -> Slot:
    """A place of the item that shows its outputs in this order."""
    no = item.slots.count()
    arrangement = find_arrangement(order) if len(order) > 1 else place
    return Slot.objects.create(
        study=item.study, item=item, no=no, pos=item.pk * 10 + no, arrangement=arrangement
    )


def add_set(study: Study, me: Participant, *, number: int = 1) -> ItemSet:
    """A finished set of this person."""
    return ItemSet.objects.create(
        study=study, participant=me, number=number, item_ids=[], finished_at=now()
    )


def add_answer(
    slot: Slot, item_set: ItemSet, order: tuple[int, ...], *, place: int = 1, is_counted=True
) -> Annotation:
    """What this set's participant answered in this place, as it was shown."""
    if is_counted:
        slot.state, slot.participant = Slot.State.DONE, item_set.participant
        slot.save()
    return Annotation.objects.create(
        study=item_set.study,
        item=slot.item,
        participant=item_set.participant,
        slot=slot if is_counted else None,
        item_set=item_set,
        place=place,
        key=f"00000000-0000-4000-8000-{slot.pk:012}",
        status="counted" if is_counted else "surplus",
        order_shown=list(order),
        started_at=now(),
        submitted_at=now(),
    )


def make_counted() -> Study:
    """A pair of a and b answered twice, once on either side, and one of b and c answered once."""
    study = make_pairs("ab", "bc", k=2)
    first, second = study.items.main().order_by("id")
    slots = [add_slot(item, order) for item in (first, second) for order in ORDERS.values()]
    one, two = (add_set(study, make_participant(study)) for _ in range(2))
    add_answer(slots[0], one, (0, 1))  # a left, b right
    add_answer(slots[2], one, (0, 1), place=2)  # b left, c right
    add_answer(slots[1], two, (1, 0))  # b left, a right
    return study


def table(report, caption: str):
    [found] = [table for table in report.tables if table.caption == caption]
    return {row.name: (row.planned, row.achieved) for row in found.rows}


def measures(report) -> dict[str, tuple[int | None, int | None]]:
    return {one.name: (one.planned, one.achieved) for one in report.measures}


def printed(*args: str) -> str:
    out = StringIO()
    call_command("design", *args, stdout=out)
    return out.getvalue()


# --- the figures --------------------------------------------------------------------------------


def test_systems_are_counted_on_each_side_as_planned_and_as_answered():
    report = report_design(make_counted())

    assert table(report, "System by side") == {
        "a": ([1, 1], [1, 1]),
        "b": ([2, 2], [2, 1]),
        "c": ([1, 1], [0, 1]),
    }
    assert measures(report)["the two sides, for one system"] == (0, 1)
    assert measures(report)["the two sides, for one system in one set"] == (None, 1)


def test_items_are_counted_by_their_places_and_answers():
    report = report_design(make_counted())

    assert report.answers == 3
    assert table(report, "Items by their answers") == {"Items": ([0, 2], [1, 1])}
    assert measures(report)["the answers of two items"] == (0, 1)


def test_an_item_without_an_answer_is_counted_as_one_with_none():
    study = make_counted()
    study.items.main().order_by("id").last().annotations.all().delete()

    report = report_design(study)

    assert table(report, "Items by their answers") == {"Items": ([0, 2], [1, 1])}
    [words] = [one.words for one in report.tables if one.caption == "Items by their answers"]
    assert words == "Planned: every item has 2 answers. Achieved: items have 0 to 2 answers."


def test_participants_are_counted_by_their_answers_and_by_the_systems_they_met():
    report = report_design(make_counted())

    assert table(report, "Answers per person") == {"Answers": (None, [1, 2, 2])}
    # the first met a, b, b, c; the second b, a
    assert table(report, "How often a person met each system") == {
        "a": (None, [1, 1, 1]),
        "b": (None, [1, 2, 2]),
        "c": (None, [0, 0, 1]),
    }
    assert measures(report)["systems met by one person"] == (None, 1)
    assert measures(report)["systems in one set"] == (None, 1)


def test_what_does_not_count_is_not_counted():
    study = make_counted()
    before = report_design(study)
    free = Slot.objects.free().get()
    add_answer(free, add_set(study, make_participant(study)), (1, 0), is_counted=False)
    make_participant(study, is_pilot=True)

    assert report_design(study) == before


def test_an_open_set_says_nothing_yet_about_its_balance():
    study = make_counted()
    ItemSet.objects.update(finished_at=None)

    found = measures(report_design(study))

    assert found["the two sides, for one system in one set"] == (None, None)
    assert found["systems in one set"] == (None, None)
    assert found["the two sides, for one system"] == (0, 1)


def test_items_of_different_sizes_are_counted_apart():
    study = make_study(items=0, k=1)
    add_items(study, ("ab", "g1"), ("abc", "g2"))
    two, three = study.items.main().order_by("id")
    slots = [add_slot(two, (1, 0)), add_slot(three, (2, 0, 1))]
    mine = add_set(study, make_participant(study))
    add_answer(slots[1], mine, (2, 0, 1))

    report = report_design(study)

    assert table(report, "System by side, of items with 2 outputs") == {
        "a": ([0, 1], [0, 0]),
        "b": ([1, 0], [0, 0]),
    }
    assert table(report, "System by place on the page, of items with 3 outputs") == {
        "a": ([0, 1, 0], [0, 1, 0]),
        "b": ([0, 0, 1], [0, 0, 1]),
        "c": ([1, 0, 0], [1, 0, 0]),
    }


def test_more_outputs_than_have_an_order_of_their_own_are_counted_item_by_item():
    study = make_study(items=0, k=6)
    add_items(study, ("abcdef", "g1"), ("abcdef", "g2"))
    for item in study.items.main():
        for arrangement in range(6):
            Slot.objects.create(
                study=study, item=item, no=arrangement, pos=arrangement, arrangement=arrangement
            )

    counts = table(report_design(study), "System by place on the page")

    assert all(planned == [2] * 6 for planned, _ in counts.values())


def make_reviews(**fields) -> Study:
    """Two reviews, each with a response of a and of b; what shows one output stays together."""
    study = make_study(protocol="rrgen", items=0, k=2, groups="together", **fields)
    return add_items(study, ("a", "g1"), ("b", "g1"), ("a", "g2"), ("b", "g2"))


def test_systems_are_counted_in_each_place_of_their_group():
    study = make_reviews()
    first, second, third, fourth = study.items.main().order_by("id")
    slots = [
        add_slot(item, (0,), place=place)
        for item, place in [(first, 0), (second, 1), (third, 0), (fourth, 1), (first, 1)]
    ]
    mine = add_set(study, make_participant(study))
    for slot, place in zip(slots[:4], (1, 2, 4, 3), strict=True):
        add_answer(slot, mine, (0,), place=place)

    report = report_design(study)

    # a was first in the first group and second in the second
    assert table(report, "System by place in the group") == {
        "a": ([2, 1], [1, 1]),
        "b": ([0, 2], [1, 1]),
    }
    assert measures(report)["two places in the group, for one system"] == (2, 0)
    assert "System by place on the page: one output is shown at a time." in report.left_out


def test_a_response_that_does_not_count_had_its_place_in_the_group_all_the_same():
    study = make_reviews()
    first, second, *_ = study.items.main().order_by("id")
    mine = add_set(study, make_participant(study))
    add_answer(add_slot(first, (0,)), mine, (0,), place=1, is_counted=False)
    add_answer(add_slot(second, (0,)), mine, (0,), place=2)

    counts = table(report_design(study), "System by place in the group")

    assert (counts["a"][1], counts["b"][1]) == ([0, 0], [0, 1])


def test_what_makes_no_sense_is_left_out_and_said():
    every = report_design(launch(make_study(items=2)))
    alone = report_design(launch(add_items(make_study(protocol="fluency", items=0), ("a", "g"))))

    assert any("every item shows every system" in reason for reason in every.left_out)
    assert any("one output is shown at a time" in reason for reason in alone.left_out)
    assert any("the study has one system" in reason for reason in alone.left_out)


def test_what_is_really_dealt_is_counted():
    study = launch(make_study(items=6, k=3, set_size=3))
    for _ in range(6):
        me = make_annotator(study)
        mine = claim_set(me)
        for item in Item.objects.filter(pk__in=mine.item_ids):
            shown = Slot.objects.get(item=item, participant=me)
            answer_item(
                me,
                item,
                item_set=mine,
                order_shown=tuple(order_of(study.seed, item, 3, shown.arrangement)),
            )
        finish_set(participant=me, item_set=mine)

    report = report_design(study)

    assert report.answers == 18
    for planned, achieved in table(report, "System by place on the page").values():
        assert planned == achieved
        assert sum(achieved) == 18
    assert measures(report)["the answers of two items"] == (0, 0)


def test_the_report_takes_as_many_queries_for_2_items_as_for_40():
    counts = []
    for items in (2, 40):
        study = launch(make_study(items=items, k=2))
        for item in study.items.main():
            mine = add_set(study, make_participant(study))
            add_answer(item.slots.first(), mine, (0, 1, 2))
        with CaptureQueriesContext(
            connection,
        ) as queries:
            report_design(study)
        counts.append(len(queries))

    assert counts[0] == counts[1] <= 10


def test_groups_of_several_sizes_take_no_more_queries_than_groups_of_one_size():
    counts, tables = [], []
    for sizes in ([2, 2], [2, 3, 4, 5]):
        study = make_study(items=0, groups="together", protocol="rrgen")
        groups = [f"g{number}" for number, size in enumerate(sizes) for _ in range(size)]
        add_items(study, *(("a", group) for group in groups))
        launch(study)
        with CaptureQueriesContext(connection) as queries:
            report = report_design(study)
        counts.append(len(queries))
        tables.append([one for one in report.tables if "place in the group" in one.caption])

    assert counts[0] == counts[1] <= 10
    assert [len(some) for some in tables] == [1, 4]
    # every item of a group has each of its places once
    for size, table in zip([2, 3, 4, 5], tables[1], strict=True):
        assert sum(sum(row.planned) for row in table.rows) == size * study.k


def test_no_text_of_an_item_is_read():
    study = make_counted()

    with CaptureQueriesContext(connection) as queries:
        report_design(study)

    read = " ".join(query["sql"] for query in queries)
    assert '"text"' not in read
    assert '"inputs"' not in read


# --- before the launch --------------------------------------------------------------------------


def test_before_the_launch_the_design_says_what_will_be():
    study = make_pairs("ab", k=2)

    report = report_design(study)

    assert not report.has_places
    assert report.tables == report.measures == []
    assert any("on each side equally often" in words for words in promise_design(study))
    # a person who meets a pair meets two systems
    assert not any("one of its systems" in words for words in promise_design(study))


def test_the_design_counts_items_and_the_inputs_that_they_are_of():
    study = make_study(protocol="pairwise", items=0, k=2)
    add_items(study, ("ab", "one"), ("bc", "one"), ("ac", "two"))

    facts = dict(report_design(study).facts)

    assert facts["Items"] == "3 pairs of 2 inputs, 3 systems"


def test_the_design_names_caps_checks_repeats_and_the_seed():
    study = make_study(max_sets=2, max_items=15, checks_per_person=1, repeat_percent=5, seed="s33d")

    facts = dict(report_design(study).facts)

    assert facts["A person gives"] == "at most 2 sets and 15 items"
    assert facts["Checks"] == "1 gold or attention item per person"
    assert facts["Hidden repeats"] == "5% of the items, at least 8 items later"
    assert facts["Seed"] == "s33d"


# --- the command --------------------------------------------------------------------------------


def test_the_command_prints_aligned_tables_and_the_largest_differences():
    study = make_counted()

    text = printed(str(study.pk))

    assert (
        "System by side\n"
        "  System            left  right\n"
        "  a       planned      1      1\n"
        "          achieved     1      1\n"
        "  b       planned      2      2\n"
        "          achieved     2      1\n"
        "  c       planned      1      1\n"
        "          achieved     0      1\n"
        "  Largest difference of one system: planned 0, achieved 1.\n"
    ) in text
    lines = text.splitlines()
    assert "the answers of two items                        0         1" in lines
    assert "the two sides, for one system in one set        -         1" in lines


def test_the_command_gives_the_same_figures_to_a_program():
    study = make_counted()

    given = json.loads(printed(str(study.pk), "--json"))

    assert given["study"] == str(study.pk)
    assert given["measures"][0] == {
        "name": "the answers of two items",
        "planned": 0,
        "achieved": 1,
    }
    [sides] = [table for table in given["tables"] if table["caption"] == "System by side"]
    assert sides["columns"] == ["left", "right"]
    assert sides["rows"][1] == {"name": "b", "planned": [2, 2], "achieved": [2, 1]}


def test_a_study_is_named_by_its_id_the_beginning_of_it_or_its_title():
    study = make_study(title="Restaurants")
    make_study(title="Hotels", items=0)

    texts = {printed(name) for name in (str(study.pk), study.pk.hex[:12], "Restaurants")}

    assert len(texts) == 1
    assert "Nothing is planned yet: places are made at the launch." in texts.pop()


@pytest.mark.parametrize("name", ["nothing", "", "00000000-0000-4000-8000-000000000000"])
def test_an_unknown_study_is_refused_with_the_list_of_those_there_are(name):
    study = make_study(title="Restaurants")

    with pytest.raises(CommandError, match=rf"There are:\n  {study.pk}  Restaurants"):
        printed(name)


def test_two_studies_of_one_title_are_told_apart_by_their_ids():
    ids = [make_study(title="Same", items=0).pk for _ in range(2)]

    with pytest.raises(CommandError, match="“Same” could be any") as refusal:
        printed("Same")

    assert all(str(pk) in str(refusal.value) for pk in ids)
