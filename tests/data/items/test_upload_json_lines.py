"""JSON lines: what each kind of value becomes, and what keeps a line out (rows 9 and 32)."""

import codecs
import io
import json
from typing import Any

import pytest
from django.conf import settings

from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import Refused, Row, Table
from tests.support.checking import check_file
from tests.support.uploads import GOOD, Check, check, study, told

__all__ = ["check", "study"]  # fixtures

FIELDS = GOOD.splitlines()[0].split(",")
ROWS = [dict(zip(FIELDS, line.split(","), strict=True)) for line in GOOD.splitlines()[1:]]


def write(*rows: Any) -> str:
    """A line for each row; a text is a line as it stands."""
    return "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)


def read(content: str | bytes) -> Table:
    return open_table(io.BytesIO(content.encode() if isinstance(content, str) else content))


def cells_of(value: str) -> str:
    """The cell that this value, as it is written in JSON, becomes."""
    (row,) = read(f'{{"key": "k", "value": {value}}}\n').rows
    assert row.problems == ()
    return row.cells[1]


def test_objects_give_the_same_items_as_the_table(check: Check) -> None:
    checked = check(write(*ROWS))

    assert told(checked) == []
    assert checked.delimiter == "JSON lines"
    assert [(item.key, item.inputs, item.outputs) for item in checked.items] == [
        (item.key, item.inputs, item.outputs) for item in check(GOOD).items
    ]


@pytest.mark.parametrize("start", ["\n \n", "  ", "\ufeff", "\r\n"])
def test_they_are_told_by_their_content(check: Check, start: str) -> None:
    assert told(check(start + write(*ROWS))) == []


def test_utf16_with_its_mark_is_read(check: Check) -> None:
    checked = check(codecs.BOM_UTF16_LE + write(*ROWS).encode("utf-16-le"))

    assert (told(checked), checked.encoding) == ([], "UTF-16")


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ('"é\\u00e9\\ud83d\\ude00\\n"', "éé😀\n"),
        ('" 007 "', " 007 "),
        ("1.0", "1.0"),
        ("1e5", "1e5"),
        ("-0", "-0"),
        ("12345678901234567890123", "12345678901234567890123"),
        ("1E400", "1E400"),
        ("true", "true"),
        ("false", "false"),
        ("null", ""),
        ("[]", "[]"),
        ('[ "a", 1.0, {"b": null, "c": "\\u00e9\\"" } ]', '["a",1.0,{"b":null,"c":"é\\""}]'),
    ],
)
def test_values_become_text_as_they_are_written(value: str, cell: str) -> None:
    assert cells_of(value) == cell


def test_whole_number_of_ten_thousand_digits_is_kept() -> None:
    assert cells_of("7" * 10_000) == "7" * 10_000


def test_columns_are_all_keys_in_the_order_of_their_first_line() -> None:
    table = read(write({"a": "1"}, {"c": "2", "a": "3"}, {}, {"b": "4"}))

    assert table.header == ["a", "c", "b"]
    assert [(row.line, row.record, row.cells) for row in table.rows] == [
        (1, 1, ["1", "", ""]),
        (2, 2, ["3", "2", ""]),
        (4, 3, ["", "", "4"]),
    ]


def test_dialogue_may_be_a_list(make_study: Any) -> None:
    study = make_study(protocol="fluency", items=0)
    row = {"dialogue": ["Is it open?", "Till six."], "output": "Thanks!", "system": "a1"}

    checked = check_file(io.BytesIO(write(row).encode()), study=study)

    assert told(checked) == []
    assert checked.items[0].inputs == {"dialogue": '["Is it open?","Till six."]'}


def test_every_bad_line_is_told_with_its_place(check: Check) -> None:
    bad = ['{"item": "m2"', '{"item": Infinity}', '{"item": 1, "item": 2}', "[1]", '"text"', "7"]

    checked = check(write(*ROWS, "", *bad))

    assert [(fault.line, fault.record) for fault in checked.faults] == [
        (line, line - 1) for line in range(5, 11)
    ]
    assert not checked.items


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"a": "x', "(character 7): a quote that opens here is never closed"),
        ('{"a": "x"', "(character 10): a comma or the end of the object"),
        ('{"a" "x"}', "(character 6): a colon"),
        ("{'a': 1}", "(character 2): a key in double quotes"),
        ('{"a": x}', "(character 7): a value"),
        ('{"a": 007}', "(character 8): a comma or the end"),
        ('{"a": "x\ty"}', "(character 9): a control character"),
        ('{"a": "\\x"}', "(character 8): a backslash"),
        ('{"a": 1} {"a": 2}', "(character 10): something follows"),
        ('{"a": 1},', "(character 9): something follows"),
        ('{"a": [-Infinity]}', "-Infinity isn't a JSON value"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "The key “c” occurs twice"),
        ('{"a": 1, "\\ud800": 1, "\\ud800": 2}', "The key “\ufffd” occurs twice"),
        ("[1, 2]", "no object"),
    ],
)
def test_bad_32_line_that_is_no_certain_object_is_refused_with_its_sign(
    line: str, words: str
) -> None:
    _, row = read(write({"a": "1"}, line)).rows

    assert (row.line, row.record) == (2, 2)
    assert words in row.problems[0].message


@pytest.mark.parametrize("depth", [51, 10_000, 1_000_000])
@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"a":', "}")])
def test_bad_32_deep_nesting_is_refused_and_never_breaks_the_reader(
    start: str, end: str, depth: int
) -> None:
    most = depth if len(start) * depth < 7_000_000 else 1_000_000
    value = start * most + "1" + end * most

    _, row = read(write({"a": "1"}, f'{{"a": {value}}}')).rows

    assert "nested more than 50 deep" in row.problems[0].message


def test_bad_32_depth_counts_no_signs_inside_texts() -> None:
    assert cells_of(json.dumps("[{" * 1000)) == "[{" * 1000
    assert cells_of(json.dumps('\\"[' * 1000)) == '\\"[' * 1000
    assert cells_of("[" * 49 + "]" * 49) == "[" * 49 + "]" * 49


def test_bad_32_line_of_very_many_values_is_refused() -> None:
    _, row = read(write({"a": "1"}, f'{{"a": [{"0," * 100_001}0]}}')).rows

    assert row.problems[0].code == "too_large"
    assert cells_of(json.dumps("," * 200_000)) == "," * 200_000


@pytest.mark.parametrize("escape", ["\\ud800", "x\\udfff", "\\ude00\\ud83d"])
def test_bad_09_surrogate_that_an_escape_brings_in_is_refused_with_its_place(
    check: Check, escape: str
) -> None:
    checked = check(write(*ROWS).replace("One.", escape))

    (fault,) = checked.faults
    assert fault.place == "line 1 (record 1), output"
    assert fault.code == "surrogate"
    assert f"character {escape.index(chr(92)) + 1})" in fault.message
    assert checked.samples["output"] == ""  # which a page shows


def test_bad_09_surrogate_in_a_key_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        read('{"\\ud800": 1}\n')

    assert refused.value.fault.code == "surrogate"


def test_bad_08_nul_that_an_escape_brings_in_is_refused_with_its_place(check: Check) -> None:
    checked = check(write(*ROWS).replace("Two.", "T\\u0000o."))

    (fault,) = checked.faults
    assert (fault.code, fault.place) == ("control_character", "line 2 (record 2), output")


def test_bad_11_file_without_a_key_is_refused(check: Check) -> None:
    assert [fault.code for fault in check("{}\n{}\n").faults] == ["no_rows"]
    assert "no rows" in told(check(write(dict.fromkeys(FIELDS))))[-1]


def test_one_object_over_several_lines_is_refused_with_advice(check: Check) -> None:
    checked = check(json.dumps(ROWS[0], indent=1))

    assert (checked.faults[0].code, checked.faults[0].line) == ("json_invalid", 1)
    assert "Write one whole object in each line." in told(checked)[0]


def test_mapped_keys_that_differ_in_case_alone_are_refused(check: Check) -> None:
    checked = check(write(*ROWS, {"Item": "m2"}))

    assert (checked.faults[0].code, checked.faults[0].column) == ("column_duplicate", "item")


def test_bad_27_cell_over_the_limit_is_refused_with_its_place(check: Check) -> None:
    long = "x" * (settings.UPLOAD_MAX_CELL + 1)

    (fault,) = check(write(*ROWS[:2], ROWS[2] | {"output": long})).faults
    assert (fault.code, fault.place) == ("cell_too_long", "line 3 (record 3), output")
    assert told(check(write(*ROWS[:2], ROWS[2] | {"output": long[1:]}))) == []


def test_bad_28_too_many_lines_are_refused_with_advice(check: Check, settings: Any) -> None:
    settings.UPLOAD_MAX_ROWS = 2

    assert told(check(write(*ROWS)))[0].startswith("line 3 (record 3): The file has more than 2")


def test_too_many_keys_are_refused(check: Check, settings: Any) -> None:
    settings.UPLOAD_MAX_COLUMNS = 4

    (fault,) = check(write(ROWS[0], {"b": 1})).faults
    assert (fault.code, fault.line) == ("too_many_columns", 2)


def test_rows_give_no_more_than_their_table_says() -> None:
    (row,) = read('{"a": "x"}').rows

    assert row == Row(1, 1, ["x"])
