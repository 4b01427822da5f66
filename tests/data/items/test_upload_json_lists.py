"""JSON lists and nested outputs: rows 32 and 86 of the list of bad input."""

import io
import json
from typing import Any

import pytest

from evalsite.data.tables import json_tables
from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import Limits, Refused, Table
from tests.data.items.test_upload_json_lines import ROWS
from tests.support.uploads import GOOD, Check, check, study, told

__all__ = ["check", "study"]  # fixtures


def read(content: Any, limits: Limits | None = None) -> Table:
    text = content if isinstance(content, str) else json.dumps(content)
    return open_table(io.BytesIO(text.encode()), limits=limits)


def refuse(content: str, limits: Limits | None = None) -> tuple[str, int | None]:
    with pytest.raises(Refused) as refused:
        list(read(content, limits).rows)
    return refused.value.fault.code, refused.value.fault.line


@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("key", ["", "data", 'a "key" with [{signs}]'])
def test_bad_86_list_gives_the_same_items_as_the_table(
    check: Check, indent: int | None, key: str
) -> None:
    checked = check(json.dumps({key: ROWS} if key else ROWS, indent=indent))

    assert told(checked) == []
    assert checked.delimiter == "JSON list"
    assert [item.outputs for item in checked.items] == [item.outputs for item in check(GOOD).items]


def test_rows_have_the_line_in_which_their_object_begins() -> None:
    table = read('[\n {"a": 1},\n\n {"a": "x\\ny",\n  "b": 2}, {"a": 3}\n]\n')

    assert table.header_line == 2
    assert [(row.line, row.record, row.cells) for row in table.rows] == [
        (2, 1, ["1", ""]),
        (4, 2, ["x\ny", "2"]),
        (5, 3, ["3", ""]),
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 50])
def test_objects_are_found_wherever_blocks_of_the_file_end(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(json_tables, "_CHUNK", size)
    texts = ['a"b', "}],[{", "\\", 'é\\"😀', "\r\n", '\\\\"', "x" * 40]
    content = json.dumps([{"a": {"b": text}, "c": text} for text in texts], indent=1)

    assert [row.cells[1] for row in read(content).rows] == texts


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        ("[]", "no_rows", None),
        ('{"data": []}', "no_rows", None),
        ("[{}]", "no_rows", None),
        ('[{"a": 1}\n', "json_invalid", 2),
        ('[{"a": 1},\n]', "json_shape", 2),
        ('[{"a": 1},\n3]', "json_shape", 2),
        ('[{"a": 1},\n[{"a": 1}]]', "json_shape", 2),
        ('[{"a": 1}\n{"a": 2}]', "json_invalid", 2),
        ('[{"a": 1}]\n[{"a": 2}]', "json_invalid", 2),
        ('[{"a": 1},\n{"a": "x}]', "json_invalid", 2),
        ("[{" * 100_000, "json_invalid", 1),
    ],
)
def test_list_that_is_none_is_refused_with_its_line(
    content: str, code: str, line: int | None
) -> None:
    assert refuse(content) == (code, line)


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("-Infinity", "json_number"),
        ('{"b": 1, "b": 2}', "json_duplicate_key"),
        ("[" * 51 + "]" * 51, "json_depth"),
        ("[" * 100_000 + "]" * 100_000, "json_depth"),
        (f"[{'0,' * 100_001}0]", "too_large"),
        ("x", "json_invalid"),
        ("'x'", "json_invalid"),
        ('"\\ud800"', "surrogate"),
        (f'"{"x" * 1_048_577}"', "cell_too_long"),
    ],
)
def test_bad_32_object_that_is_not_certain_is_refused_with_its_place(value: str, code: str) -> None:
    good, bad, last = read(f'[{{"a": 1}},\n{{"a": {value}}},\n{{"a": 2}}]').rows

    assert (bad.line, [problem.code for problem in bad.problems]) == (2, [code])
    assert (good.cells, last.cells) == (["1"], ["2"])


def test_error_is_placed_in_the_line_where_it_is() -> None:
    row, _ = read('[{"a": 1,\n  "b": x}, {"a": 2}]').rows

    assert "Line 2 isn't valid JSON (character 8)" in row.problems[0].message


@pytest.mark.slow
def test_bad_27_object_without_end_is_refused_while_it_is_read() -> None:
    assert refuse('[{"a": "' + "x" * 9_000_000 + '"}]')[0] == "cell_too_long"


def test_object_with_several_keys_is_a_json_line() -> None:
    table = read('{"turns": [{"role": "user", "content": "Hi"}], "id": 1}\n')

    assert (table.delimiter, table.header) == ("JSON lines", ["turns", "id"])


def test_lines_of_one_list_each_are_json_lines() -> None:
    line = '{"messages": [{"role": "user", "content": "Hi"}]}\n'

    assert len(list(read(line * 2).rows)) == 2


# --- nested outputs -----------------------------------------------------------------------


@pytest.mark.parametrize("system", ["model", "system", "name", "model_name"])
@pytest.mark.parametrize("text", ["text", "output", "response", "content", "completion"])
def test_bad_86_list_of_outputs_becomes_a_column_for_each_system(system: str, text: str) -> None:
    rows = [
        {"id": 1, "responses": [{system: "a", text: "A1"}, {system: "b", text: "B1"}], "x": 1},
        {"id": 2, "responses": [{system: "b", text: "B2"}], "x": 2},
        {"id": 3, "responses": None, "x": 3},
    ]

    table = read(rows)

    assert (table.header, table.systems) == (["id", "a", "b", "x"], {1, 2})
    assert [row.cells for row in table.rows] == [
        ["1", "A1", "B1", "1"], ["2", "", "B2", "2"], ["3", "", "", "3"],
    ]  # fmt: skip


def test_bad_86_nested_outputs_are_mapped_to_their_systems(check: Check) -> None:
    outputs = [{"model": name, "text": f"By {name}."} for name in ("alpha", "beta", "gamma")]
    content = json.dumps([{"item": "m1", "mr": "name[A]", "responses": outputs}])

    checked = check(content)

    assert told(checked) == []
    assert [output.system for output in checked.items[0].outputs] == ["alpha", "beta", "gamma"]


def test_other_keys_of_outputs_are_left_out_and_told() -> None:
    table = read([{"r": [{"model": "a", "text": "A", "latency": 3}]}])

    (remark,) = table.remarks.listed()
    assert remark.code == "outputs_split"
    assert "“latency”" in remark.message


def test_system_with_the_name_of_another_column_gets_a_path() -> None:
    table = read([{"id": "1", "r": [{"model": "id", "text": "A"}, {"model": "b", "text": "B"}]}])

    assert table.header == ["id", "r.id", "b"]


@pytest.mark.parametrize(
    "value",
    [
        [{"role": "user", "name": "a", "content": "Hi"}],
        [{"model": "a", "text": "A"}, {"model": "a", "text": "B"}],
        [{"model": "a", "text": {"x": 1}}],
        [{"model": "a"}],
        [{"model": " ", "text": "A"}],
        ["a"],
        "a",
    ],
)
def test_other_lists_stay_one_column(value: Any) -> None:
    assert read([{"r": value}]).header == ["r"]


def test_column_with_something_else_in_one_row_is_not_split_and_told() -> None:
    table = read([{"r": [{"model": "a", "text": "A"}]}, {"r": "A"}])

    assert table.header == ["r"]
    assert [remark.code for remark in table.remarks.listed()] == ["outputs_not_split"]


def test_names_that_never_come_again_are_no_systems() -> None:
    rows = [{"docs": [{"name": f"{n}", "text": "x"}, {"name": f"-{n}", "text": "x"}]}
            for n in range(9)]  # fmt: skip

    table = read(rows)

    assert (table.header, table.remarks.listed()) == (["docs"], [])


def test_very_many_names_are_no_systems() -> None:
    rows = [{"docs": [{"name": f"{n}", "text": "x"} for n in range(101)]}] * 2

    assert read(rows).header == ["docs"]


def test_too_many_systems_are_refused() -> None:
    outputs = [{"model": f"m{number}", "text": "x"} for number in range(4)]

    assert refuse(json.dumps([{"r": outputs}]), Limits(columns=3))[0] == "too_many_columns"


@pytest.mark.parametrize("value", ["1" * 400, "1" * 5_000, "nope", "-"])
def test_a_document_that_breaks_off_inside_of_its_list_is_refused(value: str) -> None:
    document = f'{{"version": 1,\n"rows": [{{"a": "x"}}, {{"a": {value}}}]}}'

    assert refuse(document)[0] == "json_invalid"
