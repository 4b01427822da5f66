"""Bad input in the files of every protocol: rows 8, 20 to 27, 35, 36 and 74 to 79 of the list."""

from itertools import product

import pytest
from django.conf import settings

from evalsite.data.importing import check_system
from evalsite.data.items.items import name_group
from evalsite.handout.models import Slot
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.schema import Instrument
from evalsite.studies.models import Item, Output, Study
from tests.support.batches import (
    check_rows,
    import_rows,
    line_of,
    make_rows,
    text_columns,
    told,
    wide,
)
from tests.support.factories import launch, make_study
from tests.support.hostile import EXTRA, SYSTEMS, TEXTS, Walker, hostile_rows
from tests.support.protocols import each_protocol

pytestmark = pytest.mark.django_db


# one output for each item, and two
@pytest.fixture(params=each_protocol("pairwise", "rrgen"))
def config(request: pytest.FixtureRequest) -> Instrument:
    return installed_protocols()[request.param]


@pytest.fixture
def study(config: Instrument) -> Study:
    return make_study(protocol=config.key, items=0)


def places(checked) -> list[tuple[int | None, int | None, str]]:
    return [(fault.line, fault.record, fault.column) for fault in checked.faults]


def with_cell(rows, column: str, text: str, record: int = 1):
    """The rows with this text in one cell; a column that is not there is added."""
    changed = [dict(row) for row in rows]
    for row in changed:
        row.setdefault(column, "")
    changed[record - 1][column] = text
    return changed


# --- one file without a fault, for all that follows ---------------------------------------


def test_files_made_for_these_tests_have_no_fault_in_either_form(config, study):
    rows = make_rows(config)

    long, one_a_row = check_rows(study, rows), check_rows(study, wide(config, rows))

    assert told(long) == told(one_a_row) == []
    assert [item.inputs for item in long.items] == [item.inputs for item in one_a_row.items]
    assert [item.outputs for item in long.items] == [item.outputs for item in one_a_row.items]


# --- what a text may be -------------------------------------------------------------------


def test_bad_22_23_24_25_26_every_text_in_every_column_is_stored_as_it_stands(config, study):
    rows = [
        row
        for number, text in enumerate(TEXTS.values())
        for row in hostile_rows(config, key=f"t{number}", text=text, gold_why=text)
    ]
    import_rows(study, rows)

    items = {item.key: item for item in Item.objects.filter(study=study, batch__isnull=False)}
    outputs = {
        (output.item.key, output.system.name): output.text
        for output in Output.objects.filter(item__in=items.values()).select_related()
    }
    assert len(outputs) == len(rows)
    for row in rows:
        item = items[row["item"]]
        assert {name: row[name] for name in item.inputs} == item.inputs
        assert set(text_columns(config)) <= {*item.inputs, "output"}
        assert outputs[row["item"], row["system"]] == row["output"]
        assert item.extra == {EXTRA: row[EXTRA]}
        assert item.gold == {"why": row["gold_why"]}


SIGNS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_bad_24_every_sign_of_direction_is_warned_of_in_every_column(config, study):
    for column, sign in product(text_columns(config), SIGNS):
        checked = check_rows(study, with_cell(make_rows(config), column, f"a{sign}b"))
        if config.item.outputs.least > 1 and column != "output":
            continue  # the inputs of the item's other rows differ now: row 74
        (remark,) = [one for one in checked.remarks if "text direction" in one.message]
        assert (remark.count, told(checked)) == (1, [])
        assert column in remark.places[0]


def test_bad_08_nul_is_refused_in_every_column(config, study):
    for column in (*make_rows(config)[0], "group", "cluster", "kind", "gold_why", "more"):
        rows = with_cell(make_rows(config), column, "a\x00b")
        checked = check_rows(study, rows)
        # an id that is lost leaves its item without an output, which is told as well
        assert places(checked)[0] == (2, 1, column)
        assert len(checked.faults) == 1 or column == "item"
        assert "control character (U+0000, character 2)" in told(checked)[0]
        assert checked.items == []
    named = check_rows(study, with_cell(make_rows(config), "mo\x00re", "text"))
    assert "a control character (U+0000, character" in told(named)[0]


@pytest.mark.one_case
@pytest.mark.parametrize("name", ["item", "group", "cluster"])
def test_bad_21_no_hostile_text_can_be_an_id(config, study, name):
    for text in TEXTS.values():
        rows = make_rows(config, items=1)
        for row in rows:
            row[name] = text
        checked = check_rows(study, rows)
        if text in ("1e5", "NA") or (name == "item" and text.startswith("שלום")):
            assert told(checked) == []
        else:
            assert [fault.column for fault in checked.faults] == [name]


def test_bad_20_blank_texts_are_refused_in_every_column(config, study):
    required = {column.name for column in config.columns if column.required}
    for column in {*required, "output"}:
        rows = make_rows(config, items=1)
        for row in rows:
            row[column] = " \u00a0\n" if column != "output" or row is rows[0] else row[column]
        checked = check_rows(study, rows)
        assert places(checked) == [(2, 1, column)]
        assert "is empty" in told(checked)[0]


@pytest.mark.one_case
def test_bad_27_a_cell_over_the_limit_is_refused_in_every_column(config, study):
    most = settings.UPLOAD_MAX_CELL
    for column in (*make_rows(config)[0], "more"):
        checked = check_rows(study, with_cell(make_rows(config), column, "x" * (most + 1)))
        (message,) = told(checked)
        assert f"more than {most:,} characters" in message
    # every quote before it is closed, so none is suspected
    assert message.endswith("characters.")
    longest = check_rows(study, with_cell(make_rows(config), "output", "x" * most))
    assert told(longest) == []


# --- systems ------------------------------------------------------------------------------


def test_bad_35_equal_texts_of_two_systems_are_taken_with_a_warning(config, study):
    rows = make_rows(config, items=1, outputs=max(2, config.item.outputs.least))
    rows[1]["output"] = rows[0]["output"]

    checked = check_rows(study, rows)

    assert told(checked) == []
    (remark,) = [one for one in checked.remarks if "gave the same text" in one.message]
    assert remark.count == 1
    assert sum(len(item.outputs) for item in checked.items) == len(rows)


def test_bad_76_a_blank_system_is_refused_in_either_form(config, study):
    for blank in ("", " ", "\u00a0"):
        rows = with_cell(make_rows(config), "system", blank)
        checked, one_a_row = check_rows(study, rows), check_rows(study, wide(config, rows))
        assert places(checked) == [(2, 1, "system")]
        assert places(one_a_row) == [(2, 1, "system1")]
        assert "The system is empty. Name what produced this output." in told(checked)[0]


def test_bad_76_a_hostile_name_of_a_system_is_kept_or_refused_but_never_changed(config, study):
    for text in (*TEXTS.values(), *SYSTEMS):
        checked = check_rows(study, with_cell(make_rows(config, items=1), "system", text))
        if check_system(text):
            assert places(checked) == [(2, 1, "system")]
        else:
            assert checked.items[0].outputs[0].system == text


@pytest.mark.one_case
def test_bad_77_ids_that_hold_names_of_systems_are_taken_and_never_shown(config, study):
    rows = make_rows(config, items=3)
    for row in rows:
        row["item"] = f"{row['item']}-by-alpha.beta"
        row["group"] = f"group-of-{row['item']}"
    import_rows(study, rows)
    study.is_practice_on = False
    study.save()
    walker = Walker(launch(study))

    walker.take_part(is_pilot=False)

    assert Slot.objects.done().filter(study=study).exists()
    for address, html in walker.pages:
        assert "alpha" not in html
        assert "alpha" not in address


# --- items --------------------------------------------------------------------------------


def test_bad_36_a_whole_number_of_an_item_is_refused_unless_it_is_one(config, study):
    for column in config.columns:
        if column.kind != "whole number":
            continue
        for text in ("0", "-1", "1.5", "70.0", "007", "+7", "1e3", "1,000", "1000000", "７０", "x"):
            checked = check_rows(study, with_cell(make_rows(config, 1, 1), column.name, text))
            assert (2, 1, column.name) in places(checked), text


def test_bad_36_columns_that_go_together_are_filled_all_of_them_or_none(config, study):
    partners = [column for column in config.columns if column.together]
    for column in partners:
        rows = make_rows(config, items=1)
        for row in rows:
            row[column.name] = ""
        checked = check_rows(study, rows)
        assert places(checked) == [(2, 1, column.name)]
        assert "These columns go together: fill all of them, or none." in told(checked)[0]
    without = [
        {name: text for name, text in row.items() if name not in {one.name for one in partners}}
        for row in make_rows(config)
    ]
    assert told(check_rows(study, without)) == []


def test_bad_74_inputs_that_differ_in_an_item_are_refused_with_both_lines(config, study):
    rows = make_rows(config, items=1, outputs=max(2, config.item.outputs.least))
    for column in config.columns:
        changed = with_cell(rows, column.name, make_rows(config)[-1][column.name], record=2)
        checked = check_rows(study, changed)
        line = line_of(changed, 2)
        assert places(checked) == [(line, 2, column.name)]
        assert f"“item-1” has another input in line {line} (“" in told(checked)[0]
        assert "”) than in line 2 (“" in told(checked)[0]


def test_bad_75_too_few_outputs_are_refused_with_item_found_and_wanted(config, study):
    least, most = config.item.outputs.least, config.item.outputs.most
    if least == 1:
        return  # one output is enough, and each is an item of its own
    rows = make_rows(config)
    few = rows[: least + 1]  # the second item has one output
    wanted = f"{least}" if least == most else f"{least} to {most}"
    line = line_of(few, least + 1)

    checked, one_a_row = check_rows(study, few), check_rows(study, wide(config, few))

    message = f"Item “item-2” has 1 output; the protocol wants {wanted}"
    assert [(fault.line, fault.record) for fault in checked.faults] == [(line, least + 1)]
    assert message in told(checked)[0]
    assert message in told(one_a_row)[0]


def test_bad_78_messages_name_line_and_record_where_cells_have_line_breaks(config, study):
    rows = make_rows(config, items=3)
    for number, row in enumerate(rows):
        row["output"] = f"one\n\ntwo {number}"
        row["more"] = "a\nb"
    last = len(rows)
    rows[last - 1]["system"] = ""

    checked = check_rows(study, rows)

    line = line_of(rows, last)
    assert line > 4 * last - 3
    assert places(checked) == [(line, last, "system")]
    assert told(checked)[0].startswith(f"line {line} (record {last}), system: ")


def test_bad_79_items_without_an_id_are_numbered_where_a_row_is_an_item(config, study):
    single = config.item.outputs.most == 1
    rows = make_rows(config, items=3)
    rows = rows if single else wide(config, rows)
    bare = [{name: text for name, text in row.items() if name != "item"} for row in rows]

    import_rows(study, bare[:2])
    import_rows(study, bare[2:], sha256="2")

    items = Item.objects.filter(study=study, batch__isnull=False).order_by("pk")
    assert [item.key for item in items] == ["row-0001", "row-0002", "row-0003"]
    assert [item.group for item in items] == [name_group(item.inputs) for item in items]
    assert len({item.group for item in items}) == 3


def test_bad_79_outputs_that_belong_together_need_an_id_and_it_is_said_why(config, study):
    if config.item.outputs.most == 1:
        return  # every row is an item of its own
    rows = [
        {name: text for name, text in row.items() if name != "item"} for row in make_rows(config)
    ]

    checked = check_rows(study, rows)

    assert [fault.column for fault in checked.faults] == ["item"]
    assert "it isn't clear which outputs belong to which item" in told(checked)[0]


def test_bad_79_items_with_equal_inputs_share_a_group_unless_the_file_names_one(config, study):
    rows = make_rows(config, items=2)
    same = {column.name: rows[0][column.name] for column in config.columns}
    unnamed = [row | same for row in rows]
    named = [row | {"group": f"g-{row['item']}"} for row in unnamed]

    first, second = check_rows(study, unnamed), check_rows(study, named)

    assert len({item.group for item in first.items}) == 1
    assert [item.group for item in second.items] == ["g-item-1", "g-item-2"]
