"""items.csv: every output with its text, and a batch file once more."""

import io
from typing import Any

import pytest

from evalsite.data.items.importer import import_batch
from evalsite.instruments.installed import find_folder, installed_protocols
from evalsite.instruments.schema import Instrument
from evalsite.studies.models import Item, Study
from tests.support.batches import check_rows, import_rows, make_rows, told
from tests.support.checking import check_file
from tests.support.exports import export, read
from tests.support.factories import make_study
from tests.support.hostile import make_hostile
from tests.support.protocols import each_protocol

pytestmark = pytest.mark.django_db


# one output for each item, and two
@pytest.fixture(params=each_protocol("pairwise", "rrgen"))
def config(request: pytest.FixtureRequest) -> Instrument:
    return installed_protocols()[request.param]


def describe_items(study: Study) -> list[Any]:
    """All that makes an item what it is, of the items that came in batches."""
    items = Item.objects.filter(study=study, batch__isnull=False).order_by("id")
    return [
        (
            item.key, item.group, item.cluster, item.kind, item.inputs, item.gold,
            list(item.outputs.order_by("position").values_list("system__name", "text")),
        )
        for item in items
    ]  # fmt: skip


def import_again(study: Study) -> Study:
    """A new study whose batch is the exported items.csv, exactly as it was downloaded."""
    other = make_study(items=0, protocol=study.protocol)
    checked = check_file(io.BytesIO(export(study, "items")), study=other)
    assert checked.faults == []
    import_batch(study=other, checked=checked, file_name="items.csv", sha256="0" * 64, by=None)
    return other


def test_items_file_imported_into_a_new_study_gives_the_same_items(config: Instrument) -> None:
    study = make_hostile(config)

    other = import_again(study)

    assert len(describe_items(study)) > 20
    assert describe_items(other) == describe_items(study)


def test_example_batch_comes_back_the_same(config: Instrument) -> None:
    study = make_study(items=0, protocol=config.key)
    with find_folder(config.key).example_batch.open("rb") as source:
        checked = check_file(source, study=study)
        import_batch(study=study, checked=checked, file_name="e.csv", sha256="1" * 64, by=None)

    other = import_again(study)

    assert describe_items(other) == describe_items(study)


def test_empty_outputs_groups_and_clusters_come_back_the_same(config: Instrument) -> None:
    study = make_study(items=0, protocol=config.key)
    rows = make_rows(config, items=3)
    for row in rows:
        row |= {"output_is_empty": "", "cluster": "c/1", "group": f"g.{row['item'][-1]}"}
    rows[0] |= {"output": "", "output_is_empty": "yes"}
    import_rows(study, rows)

    other = import_again(study)

    assert describe_items(other) == describe_items(study)
    first = read(export(study, "items"))
    empty = [row["output_is_empty"] for row in first if row["batch"] and not row["output"]]
    assert empty == ["yes"]


def test_it_is_said_how_many_rows_of_the_protocols_practice_were_left_out(
    config: Instrument,
) -> None:
    study = make_study(items=0, protocol=config.key)
    import_rows(study, make_rows(config))
    rows = read(export(study, "items"))
    ours = [row for row in rows if not row["batch"]]

    checked = check_rows(make_study(items=0, protocol=config.key), rows)

    assert told(checked) == []
    assert len(ours) >= len(config.practice)
    remarks = [one for one in checked.remarks if "practice items that came" in one.message]
    assert [one.count for one in remarks] == [len(ours)] * bool(ours)


def test_rows_of_repeats_are_left_out(config: Instrument) -> None:
    study = make_study(items=0, protocol=config.key)
    rows = [row | {"kind": "main", "repeat_of": ""} for row in make_rows(config, items=1)]
    again = [
        row | {"item": "item-1 (repeat 2-1)", "kind": "repeat", "repeat_of": "item-1"}
        for row in rows
    ]

    checked = check_rows(study, rows + again)

    assert told(checked) == []
    assert [item.key for item in checked.items] == ["item-1"]
    assert any("repeats" in one.message and one.count == len(rows) for one in checked.remarks)


def test_rows_of_withdrawn_items_are_left_out(config: Instrument) -> None:
    study = make_study(items=0, protocol=config.key)
    import_rows(study, make_rows(config, items=2))
    Item.objects.filter(study=study, key="item-2").update(kind="withdrawn")
    rows = read(export(study, "items"))
    assert {row["kind"] for row in rows if row["item"] == "item-2"} == {"withdrawn"}

    checked = check_rows(make_study(items=0, protocol=config.key), rows)

    assert told(checked) == []
    assert [item.key for item in checked.items] == ["item-1"]
    assert any("withdrawn" in one.message for one in checked.remarks)


@pytest.mark.parametrize(
    "changes",
    [{"batch": "7"}, {"kind": "main"}, {"kind": "gold"}, {"batch": None}],
    ids=["it has a batch", "it is of kind main", "it is of kind gold", "no column batch"],
)
def test_other_rows_with_the_id_of_a_practice_item_are_refused(
    config: Instrument, changes: dict[str, str | None]
) -> None:
    study = make_study(items=0, protocol=config.key)
    ours = {"item": "practice-1", "kind": "practice", "batch": "", **changes}
    rows = [
        {name: text for name, text in (row | ours).items() if text is not None}
        for row in make_rows(config, items=1)
    ]

    checked = check_rows(study, rows)

    assert "kept for practice items" in " ".join(told(checked))


def test_file_of_nothing_but_the_protocols_practice_is_refused(config: Instrument) -> None:
    ours = {"item": "practice-1", "kind": "practice", "batch": ""}
    study = make_study(items=0, protocol=config.key)

    checked = check_rows(study, [row | ours for row in make_rows(config, items=1)])

    assert "nothing to import" in " ".join(told(checked))
