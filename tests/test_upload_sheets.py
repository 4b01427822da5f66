"""Excel files: what each kind of cell becomes, and which sheet is read."""

import datetime
import io
from typing import Any

import pytest
from openpyxl import Workbook

from evalsite.imports.tables.reader import open_table
from evalsite.imports.tables.table import Row, Table
from tests.sheets import (
    make_package,
    make_rows,
    make_styles,
    save,
    share,
    write_table,
    write_workbook,
)
from tests.uploads import GOOD, Check, check, study, told

pytestmark = pytest.mark.one_database

__all__ = ["check", "study"]  # fixtures


def read(data: bytes) -> Table:
    return open_table(io.BytesIO(data))


def read_cell(cell: str, **parts: str) -> tuple[Row, list[str]]:
    """The row that holds this cell as B2, and what was remarked on."""
    names = '<row r="1"><c t="inlineStr"><is><t>a</t></is></c><c t="str"><v>b</v></c></row>'
    table = read(make_package(f'{names}<row r="2"><c r="A2"><v>1</v></c>{cell}</row>', **parts))
    (row,) = table.rows
    return row, [remark.message for remark in table.remarks.listed()][1:]


def text_of(cell: str, **parts: Any) -> str:
    row, _ = read_cell(cell, **parts)
    assert row.problems == ()
    return row.cells[1]


# --- tables -------------------------------------------------------------------------------


def test_sheet_gives_the_same_items_as_the_table(check: Check) -> None:
    checked = check(write_table(GOOD))

    assert told(checked) == []
    assert (checked.encoding, checked.delimiter) == ("Excel", "sheet “Data”")
    assert [(item.key, item.inputs, item.outputs) for item in checked.items] == [
        (item.key, item.inputs, item.outputs) for item in check(GOOD).items
    ]


def test_sheet_with_shared_texts_gives_the_same_items(check: Check) -> None:
    checked = check(write_workbook(line.split(",") for line in GOOD.splitlines()))

    assert told(checked) == []
    assert checked.remarks == []
    assert [item.outputs for item in checked.items] == [item.outputs for item in check(GOOD).items]


def test_line_of_a_row_is_its_number_in_the_sheet(check: Check) -> None:
    book = Workbook()
    rows = [line.split(",") for line in GOOD.replace("Three.", "").splitlines()]
    for number, row in zip([3, 4, 9, 20], rows, strict=True):
        for column, cell in enumerate(row, start=1):
            book.active.cell(number, column, cell)

    checked = check(save(book))

    assert [(fault.line, fault.record, fault.column) for fault in checked.faults] == [
        (20, 3, "output")
    ]


def test_parts_may_have_prefixes_other_letters_and_rows_without_numbers() -> None:
    rows = "".join(
        f'<x:row><x:c t="inlineStr"><x:is><x:t>{text}</x:t></x:is></x:c></x:row>'
        for text in ("name", "one", "two")
    )
    data = make_package(rows, prefix="x:").replace(b"sheet1.xml", b"Sheet1.xml")

    assert [(row.line, row.cells) for row in read(data).rows] == [(2, ["one"]), (3, ["two"])]


def test_short_rows_are_filled_and_empty_rows_passed_over() -> None:
    table = read(write_workbook([["a", "b", None, "  "], [], ["1"], [" ", None], [None, "2"]]))

    assert (table.header, table.header_line) == (["a", "b"], 1)
    assert [(row.line, row.record, row.cells) for row in table.rows] == [
        (3, 1, ["1", ""]),
        (5, 2, ["", "2"]),
    ]


def test_bad_15_text_beside_the_table_is_refused_with_its_cell(check: Check) -> None:
    rows = [line.split(",") for line in GOOD.splitlines()]
    rows[2] += ["", "a note"]

    assert told(check(write_workbook(rows))) == [
        "line 3 (record 2): The cell F3 holds a text, but row 1 gives its column no name. "
        "Name the column, or clear the cell."
    ]


def test_bad_13_column_without_a_name_is_refused(check: Check) -> None:
    assert "Column 2 has no name" in told(check(write_workbook([["item", None, "mr"], ["1"]])))[0]


def test_bad_11_sheet_without_rows_is_refused(check: Check) -> None:
    assert told(check(write_workbook([]))) == ["The sheet “Data” has no rows: it is empty."]
    assert (
        "no rows under its header"
        in told(check(write_workbook([GOOD.split("\n")[0].split(",")])))[-1]
    )


# --- cells --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("7", "7"),
        ("-7", "-7"),
        ("12345678901234567890", "12345678901234567890"),
        ("7.0", "7"),
        ("1.1000000000000001", "1.1"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("1E5", "100000"),
        ("1e-7", "0.0000001"),
        ("1E+20", "100000000000000000000"),
        (".5", "0.5"),
        ("-0.25", "-0.25"),
    ],
)
def test_numbers_have_the_fewest_digits_that_mean_them(literal: str, text: str) -> None:
    row, remarks = read_cell(f"<c><v>{literal}</v></c>")

    assert (row.cells[1], remarks) == (text, [])


def test_cells_that_are_numbers_are_remarked_on(check: Check) -> None:
    rows: list[list[Any]] = [line.split(",") for line in GOOD.splitlines()]
    for row in rows[1:]:
        row[0] = 7

    checked = check(write_workbook(rows))

    (remark,) = checked.remarks
    assert checked.items[0].key == "7"
    assert "holds as numbers: if an id such as 007 was typed, its zeros were lost" in str(remark)
    assert (remark.count, remark.places[0]) == (3, "line 2 (record 1), item")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime.date(2026, 11, 21), "2026-11-21"),
        (datetime.datetime(2026, 11, 21, 9, 5, 7), "2026-11-21T09:05:07"),  # noqa: DTZ001
        (datetime.datetime(2026, 11, 21, 9, 5, 7, 250_000), "2026-11-21T09:05:07.250"),  # noqa: DTZ001
        (datetime.date(1900, 1, 1), "1900-01-01"),
        (datetime.date(1900, 3, 1), "1900-03-01"),
        (datetime.date(9999, 12, 31), "9999-12-31"),
        (datetime.time(9, 5), "09:05:00"),
        (datetime.timedelta(hours=30, seconds=5), "30:00:05"),
    ],
)
def test_dates_and_times_become_iso_8601(value: Any, text: str) -> None:
    table = read(write_workbook([["a"], [value]]))

    assert [row.cells for row in table.rows] == [[text]]
    assert "holds as dates" in table.remarks.listed()[0].message


@pytest.mark.parametrize(
    ("style", "text"),
    [
        (0, "46347.5"),
        (10, "46347.5"),
        (14, "2026-11-21T12:00:00"),
        (46, "1112340:00:00"),
        ("dd.mm.yyyy", "2026-11-21T12:00:00"),
        ("[$-407]d. mmmm yyyy;@", "2026-11-21T12:00:00"),
        ("[hh]:mm", "1112340:00:00"),
        ('0.0" days"', "46347.5"),
        ("[Red]0.00", "46347.5"),
        ("#,##0\\d", "46347.5"),
        ("General", "46347.5"),
        ("0;yyyy", "46347.5"),
    ],
)
def test_dates_are_told_by_their_format(style: int | str, text: str) -> None:
    styles = {"xl/styles.xml": make_styles(0, style)}

    assert text_of('<c s="1"><v>46347.5</v></c>', parts=styles) == text


def test_dates_that_count_from_1904_are_told_from_others() -> None:
    data = make_package(
        '<row><c t="str"><v>a</v></c></row><row><c s="0"><v>44885</v></c></row>',
        parts={"xl/styles.xml": make_styles(14)},
    )
    assert [row.cells for row in read(data).rows] == [["2022-11-20"]]

    book = Workbook()
    book.epoch = datetime.datetime(1904, 1, 1)  # noqa: DTZ001
    book.active.append(["a"])
    book.active.append([datetime.date(2026, 11, 21)])

    assert [row.cells for row in read(save(book)).rows] == [["2026-11-21"]]


@pytest.mark.parametrize("literal", ["60", "-1", "2958466", "1e300"])
def test_date_that_no_calendar_has_is_refused_with_its_cell(literal: str) -> None:
    styles = {"xl/styles.xml": make_styles(0, 14)}

    row, _ = read_cell(f'<c s="1"><v>{literal}</v></c>', parts=styles)

    assert row.problems[0].message.startswith("The cell B2 holds a date that no calendar has")


def test_truth_is_read_as_excel_shows_it() -> None:
    row, remarks = read_cell('<c t="b"><v>1</v></c>')

    assert row.cells[1] == "TRUE"
    assert "true or false" in remarks[0]
    assert text_of('<c t="b"><v>0</v></c>') == "FALSE"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ('<c t="inlineStr"><is><t> a </t></is></c>', " a "),
        ('<c t="inlineStr"><is><r><t>a</t></r><r><t> b</t></r></is></c>', "a b"),
        ('<c t="inlineStr"><is><t>a</t><rPh sb="0" eb="1"><t>x</t></rPh></is></c>', "a"),
        ('<c t="inlineStr"><is><t>a_x000D_\nb</t></is></c>', "a\r\nb"),
        ('<c t="inlineStr"><is><t>_x005F_x000D_</t></is></c>', "_x000D_"),
        ('<c t="inlineStr"><is><t>_xD83D__xDE00_</t></is></c>', "😀"),
        ('<c t="inlineStr"><is><t>_x00_ _xzzzz_</t></is></c>', "_x00_ _xzzzz_"),
        ('<c t="inlineStr"><is><t>&lt;b&gt; &amp;amp; &#x1F600;</t></is></c>', "<b> &amp; 😀"),
        ('<c t="str"><v>NA</v></c>', "NA"),
        ('<c t="d"><v>2026-11-21</v></c>', "2026-11-21"),
        ("<c><v></v></c>", ""),
        ("<c/>", ""),
    ],
)
def test_texts_are_exact(cell: str, text: str) -> None:
    assert text_of(cell) == text


def test_shared_texts_are_found_by_their_number_however_many_there_are() -> None:
    texts = [f"text {number}\n" * (number % 40) for number in range(3000)]
    order = [*range(3000), *range(2999, -1, -7)]
    rows = "".join(f'<row><c t="s"><v>{number}</v></c></row>' for number in order)
    data = make_package(
        f'<row><c t="str"><v>a</v></c><c t="str"><v>b</v></c></row>{rows}',
        parts={"xl/sharedStrings.xml": share(texts)},
    )

    found = [row.cells[0] for row in read(data).rows]

    assert found == [texts[number] for number in order if texts[number].strip()]


def test_formula_is_read_as_its_text_and_remarked_on() -> None:
    row, remarks = read_cell('<c t="str"><f>A2&amp;"x"</f><v>1x</v></c>')

    assert row.cells[1] == '=A2&"x"'
    assert "a formula, which is read as its text" in remarks[0]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ('<c t="e"><v>#N/A</v></c>', "The cell B2 holds the error #N/A."),
        ('<c t="e"><f>VLOOKUP(1,A1,1)</f><v>#N/A</v></c>', "The cell B2 holds the error #N/A."),
        ('<c><f t="shared" si="0"/><v>3</v></c>', "The cell B2 holds a formula that it shares"),
        ('<c t="inlineStr"><is><t>a_xD800_</t></is></c>', "U+D800, as sign 2."),
        (
            f'<c t="str"><v>{"x" * (1024 * 1024 + 1)}</v></c>',
            "The cell B2 is longer than 1,048,576",
        ),
    ],
)
def test_bad_31_cell_that_can_not_be_read_is_refused_with_its_place(cell: str, words: str) -> None:
    row, _ = read_cell(cell)

    (problem,) = row.problems
    assert words in problem.message
    assert problem.column == 1


def test_bad_08_nul_that_excel_escaped_is_refused(check: Check) -> None:
    checked = check(write_table(GOOD.replace("Two.", "T\0o.")))

    assert told(checked) == [
        "line 3 (record 2), output: The cell holds the control character U+0000 as sign 2. "
        "Remove it."
    ]


# --- sheets -------------------------------------------------------------------------------


def test_first_sheet_that_is_not_hidden_is_read_and_the_others_are_told(check: Check) -> None:
    book = Workbook()
    book.active.title, book.active.sheet_state = "Notes", "hidden"
    for title in ("Items", "Old", "Chart"):
        book.create_sheet(title)
    for line in GOOD.splitlines():
        book["Items"].append(line.split(","))

    checked = check(save(book))

    assert told(checked) == []
    assert checked.delimiter == "sheet “Items”"
    assert [str(remark) for remark in checked.remarks] == [
        "The sheet “Items” was read, the first that is not hidden. Not read: “Old”, “Chart”."
    ]


def test_workbook_of_hidden_sheets_is_refused(check: Check) -> None:
    data = make_package(parts={"xl/workbook.xml": "<workbook><sheets/></workbook>"})

    assert "no sheet with a table that is not hidden" in told(check(data))[0]


def test_merged_cells_and_hidden_rows_are_told(check: Check) -> None:
    book = Workbook()
    for line in GOOD.splitlines():
        book.active.append(line.split(","))
    book.active.merge_cells("A2:A4")
    book.active.row_dimensions[3].hidden = True

    checked = check(save(book))

    assert "line 3 (record 2), item: The id is empty. Give one in every row." in told(checked)
    assert [str(remark) for remark in checked.remarks] == [
        "Rows that are hidden in the sheet are read like the others: 1, the first is row 3.",
        "Merged cells: 1, the first A2:A4. Only the upper left cell of each holds a text, the "
        "others are read as empty.",
    ]


def test_macros_are_told_and_never_looked_at(check: Check) -> None:
    parts = {"xl/vbaProject.bin": b"Sub Auto_Open()"}

    checked = check(make_package(make_rows(GOOD), parts=parts))

    assert told(checked) == []
    assert [str(remark) for remark in checked.remarks] == [
        "The file holds macros. They were neither looked at nor run."
    ]


def test_bad_28_too_many_rows_are_refused_with_advice(check: Check, settings: Any) -> None:
    settings.UPLOAD_MAX_ROWS = 2

    assert told(check(write_table(GOOD)))[0].startswith("line 4 (record 3): The file has more than")


def test_too_many_columns_are_refused(check: Check, settings: Any) -> None:
    settings.UPLOAD_MAX_COLUMNS = 3

    assert "The file has 4 columns; at most 3" in told(check(write_table(GOOD)))[0]
