"""Excel files: what each kind of cell becomes, and which sheet is read."""

import datetime
import io
from typing import Any

import pytest
from xlsxwriter import Workbook
from xlsxwriter.worksheet import Worksheet

from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import Row, Table
from tests.support.sheets import (
    make_ods,
    make_ods_cell,
    make_ods_row,
    make_package,
    make_rows,
    make_styles,
    share,
    write_ods,
    write_table,
    write_workbook,
)
from tests.support.uploads import GOOD, Check, check, study, told

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
    rows: list[list[str]] = [[] for _ in range(20)]
    lines = GOOD.replace("Three.", "").splitlines()
    for number, line in zip([3, 4, 9, 20], lines, strict=True):
        rows[number - 1] = line.split(",")

    checked = check(write_workbook(rows))

    assert [(fault.line, fault.record, fault.column) for fault in checked.faults] == [
        (20, 3, "output")
    ]


def test_table_may_begin_in_any_row_and_column() -> None:
    table = read(write_workbook([[], [], [None, None, "a", "b"], [None, None, "1", "2"]]))

    assert (table.header_line, table.header) == (3, ["column 1", "column 2", "a", "b"])
    assert table.unnamed == {0, 1}
    assert [(row.line, row.cells) for row in table.rows] == [(4, ["", "", "1", "2"])]


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
        "row 3: The cell F3 holds a text, but row 1 gives its column no name. "
        "Name the column, or clear the cell."
    ]


def test_bad_13_column_without_a_name_is_numbered() -> None:
    table = read(write_workbook([["item", None, "mr"], ["1", "2", "3"]]))

    assert (table.header, table.unnamed) == (["item", "column 2", "mr"], {1})


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
        ("123456789012345", "123456789012345"),
        ("12345678901234567890", "12345678901234567000"),  # more digits than Excel keeps
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
    assert "hold numbers: if an id such as 007 was typed, its zeros were lost" in str(remark)
    assert (remark.count, remark.places[0]) == (3, "row 2, item")


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
    ],
)
def test_dates_and_times_become_iso_8601(value: Any, text: str) -> None:
    table = read(write_workbook([["a"], [value]]))

    assert [row.cells for row in table.rows] == [[text]]
    assert "hold dates" in table.remarks.listed()[0].message


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
    data = write_workbook([["a"], [datetime.date(2026, 11, 21)]], options={"date_1904": True})

    assert [row.cells for row in read(data).rows] == [["2026-11-21"]]


def test_truth_is_read_as_excel_shows_it() -> None:
    row, remarks = read_cell('<c t="b"><v>1</v></c>')

    assert row.cells[1] == "TRUE"
    assert "true or false" in remarks[0]
    assert text_of('<c t="b"><v>0</v></c>') == "FALSE"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ('<c t="inlineStr"><is><t xml:space="preserve"> a </t></is></c>', " a "),
        ('<c t="inlineStr"><is><r><t>a </t></r><r><t>b</t></r></is></c>', "ab"),
        (
            '<c t="inlineStr"><is><r><t xml:space="preserve">a </t></r><r><t>b</t></r></is></c>',
            "a b",
        ),
        ('<c t="inlineStr"><is><t>a</t><rPh sb="0" eb="1"><t>x</t></rPh></is></c>', "a"),
        ('<c t="inlineStr"><is><t>a_x000D_\nb</t></is></c>', "a\r\nb"),
        ('<c t="inlineStr"><is><t>_x005F_x000D_</t></is></c>', "_x000D_"),
        ('<c t="inlineStr"><is><t>_xD800_</t></is></c>', "_xD800_"),
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


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ('<c r="B2" t="str"><f>A2&amp;"x"</f><v>1x</v></c>', "1x"),
        ('<c r="B2"><f t="shared" si="0"/><v>3</v></c>', "3"),
        ('<c r="B2"><f>A2</f></c>', ""),
    ],
)
def test_formula_is_read_as_its_last_result_and_remarked_on(cell: str, text: str) -> None:
    table = read(make_package(f'<row><c t="str"><v>a</v></c><c t="str"><v>b</v></c></row>'
                              f'<row><c t="str"><v>1</v></c>{cell}</row>'))  # fmt: skip

    (row,) = table.rows
    remark = next(one for one in table.remarks.listed() if one.code == "formulas")
    assert (row.cells[1], remark.count, remark.places) == (text, 1, ["B2"])


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ('<c t="e"><v>#N/A</v></c>', "The cell B2 holds the error #N/A."),
        ('<c t="e"><f>VLOOKUP(1,A1,1)</f><v>#N/A</v></c>', "The cell B2 holds the error #N/A."),
        (
            f'<c t="str"><v>{"x" * (1024 * 1024 + 1)}</v></c>',
            "The cell has more than 1,048,576 characters",
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

    (fault,) = checked.faults
    assert (fault.code, fault.place) == ("control_character", "row 3, output")


# --- sheets -------------------------------------------------------------------------------


def test_first_sheet_that_is_not_hidden_is_read_and_the_others_are_told(check: Check) -> None:
    def add_sheets(book: Workbook, first: Worksheet) -> None:
        items = book.add_worksheet("Items")
        items.activate()
        first.hide()
        for number, line in enumerate(GOOD.splitlines()):
            items.write_row(number, 0, line.split(","))
        book.add_worksheet("Old")
        chart = book.add_chart({"type": "line"})
        chart.add_series({"values": "=Items!$A$1:$A$2"})
        book.add_chartsheet("Chart").set_chart(chart)
        book.add_worksheet("Last")

    checked = check(write_workbook([["Notes"]], "Notes", change=add_sheets))

    assert told(checked) == []
    assert checked.delimiter == "sheet “Items”"
    (remark,) = checked.remarks
    assert remark.code == "sheets_not_read"
    assert "Not read: “Old”, “Last”. Choose" in remark.message


def test_workbook_of_hidden_sheets_is_refused(check: Check) -> None:
    styles = (
        '<style:style style:name="ta1" style:family="table">'
        '<style:table-properties table:display="false"/></style:style>'
    )
    data = make_ods(make_ods_row(make_ods_cell("item")), styles=styles)

    assert [fault.code for fault in check(data).faults] == ["empty_file"]


def test_merged_cells_and_hidden_rows_are_told(check: Check) -> None:
    def change(_: Workbook, sheet: Worksheet) -> None:
        sheet.merge_range("A2:A4", "m1")
        sheet.set_row(2, None, None, {"hidden": True})

    rows = [line.split(",") for line in GOOD.splitlines()]
    rows = [*rows[:2], *(["", *row[1:]] for row in rows[2:])]
    checked = check(write_workbook(rows, change=change))

    assert "row 3, item: The id is empty. Give one in every row." in told(checked)
    assert [str(remark) for remark in checked.remarks] == [
        "Rows that are hidden in the sheet are read like the others: 1, the first is row 3.",
        "Merged cells: 1, the first A2:A4. Only the upper left cell of each holds a text, the "
        "others are read as empty.",
    ]


def test_macros_are_told_and_never_looked_at(check: Check) -> None:
    parts = {"xl/vbaProject.bin": b"Sub Auto_Open()"}

    checked = check(make_package(make_rows(GOOD), parts=parts))

    assert told(checked) == []
    assert [remark.code for remark in checked.remarks] == ["macros"]


def test_bad_28_too_many_rows_are_refused_with_advice(check: Check, settings: Any) -> None:
    settings.UPLOAD_MAX_ROWS = 2

    assert told(check(write_table(GOOD)))[0].startswith("row 4: The file has more than")


def test_too_many_columns_are_refused(check: Check, settings: Any) -> None:
    settings.UPLOAD_MAX_COLUMNS = 3

    assert [fault.code for fault in check(write_table(GOOD)).faults] == ["too_many_columns"]


def test_cell_far_outside_the_table_is_refused_before_memory_is_taken_for_it(
    check: Check,
) -> None:
    names = '<row r="1"><c r="A1" t="str"><v>a</v></c></row>'
    far = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'

    assert [fault.code for fault in check(make_package(f"{names}{far}")).faults] == ["too_large"]


def test_text_that_very_many_cells_share_counts_for_each_of_them(check: Check) -> None:
    cells = "".join('<row><c t="s"><v>0</v></c></row>' for _ in range(300))
    data = make_package(cells, parts={"xl/sharedStrings.xml": share(["x" * 1_000_000])})

    assert [fault.code for fault in check(data).faults] == ["too_large"]


# --- OpenDocument -------------------------------------------------------------------------


def ods_text_of(cell: str) -> str:
    (row,) = read(make_ods(NAMES + make_ods_row(make_ods_cell("1"), cell))).rows
    assert row.problems == ()
    return row.cells[1]


NAMES = make_ods_row(make_ods_cell("a"), make_ods_cell("b"))
CELL = "<table:table-cell office:value-type="


def test_ods_gives_the_same_items_as_the_table(check: Check) -> None:
    checked = check(write_ods(line.split(",") for line in GOOD.splitlines()))

    assert told(checked) == []
    assert (checked.encoding, checked.delimiter) == ("OpenDocument", "sheet “Data”")
    assert [(item.key, item.inputs, item.outputs) for item in checked.items] == [
        (item.key, item.inputs, item.outputs) for item in check(GOOD).items
    ]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (CELL + '"float" office:value="7"><text:p>7,00</text:p></table:table-cell>', "7"),
        (CELL + '"float" office:value="1.5"><text:p>1,5</text:p></table:table-cell>', "1.5"),
        (CELL + '"percentage" office:value="0.2"><text:p>20%</text:p></table:table-cell>', "0.2"),
        (CELL + '"boolean" office:boolean-value="true"/>', "TRUE"),
        (CELL + '"date" office:date-value="2026-11-21"/>', "2026-11-21"),
        (CELL + '"date" office:date-value="2026-11-21T10:05:00"/>', "2026-11-21T10:05:00"),
        (CELL + '"time" office:time-value="PT09H05M00S"/>', "09:05:00"),
        (CELL + '"string"><text:p>a<text:s text:c="2"/>b</text:p></table:table-cell>', "a  b"),
        (CELL + '"string"><text:p>a</text:p><text:p>b</text:p></table:table-cell>', "a\nb"),
        (
            CELL + '"string"><office:annotation><text:p>note</text:p></office:annotation>'
            "<text:p>text</text:p></table:table-cell>",
            "text",
        ),
    ],
)
def test_ods_cells_are_read_like_those_of_excel(cell: str, text: str) -> None:
    assert ods_text_of(cell) == text


def test_ods_formula_is_read_as_its_last_result_and_its_error_refused() -> None:
    good = '<table:table-cell table:formula="=1+1" office:value-type="float" office:value="2"/>'
    bad = good.replace("=1+1", "=NA()").replace("float", "string") + ""
    bad = bad.replace("/>", ' calcext:value-type="error"><text:p>#N/A</text:p></table:table-cell>')

    table = read(make_ods(NAMES + make_ods_row(good, bad)))

    (row,) = table.rows
    assert row.cells[0] == "2"
    assert [(problem.code, problem.column) for problem in row.problems] == [("cell_error", 1)]
    remark = next(iter(table.remarks.listed()))
    assert (remark.code, remark.count) == ("formulas", 2)


def test_ods_rows_repeated_to_the_end_of_the_sheet_cost_nothing() -> None:
    empty = '<table:table-cell table:number-columns-repeated="16384"/>'
    rest = make_ods_row(empty, attributes='table:number-rows-repeated="1048574"')

    table = read(make_ods(NAMES + make_ods_row(make_ods_cell("1")) + rest))

    assert [row.cells for row in table.rows] == [["1", ""]]


def test_ods_cell_repeated_very_often_is_refused_before_it_is(check: Check) -> None:
    cell = make_ods_cell("x").replace("-cell", '-cell table:number-columns-repeated="16384"', 1)
    bomb = make_ods_row(cell, attributes='table:number-rows-repeated="1048574"')

    assert [fault.code for fault in check(make_ods(NAMES + bomb)).faults] == ["too_large"]


def test_ods_with_a_password_is_refused(check: Check) -> None:
    parts = {"META-INF/manifest.xml": "<manifest><encryption-data/></manifest>"}

    assert [fault.code for fault in check(make_ods(NAMES, parts=parts)).faults] == [
        "spreadsheet_locked"
    ]


def test_ods_tabs_that_are_lost_are_told() -> None:
    cell = CELL + '"string"><text:p>a<text:tab/>b</text:p></table:table-cell>'

    table = read(make_ods(NAMES + make_ods_row(cell)))

    assert [remark.code for remark in table.remarks.listed()] == ["tabs_lost"]


TOPICS = ["The pool on Mill Lane closes.", "Bees remember colours.", "The ferry was cancelled."]


def add_grouped_names(rows: list[list[str]]) -> bytes:
    def change(_: Workbook, sheet: Worksheet) -> None:
        sheet.merge_range("A2:A3", "Nr.")
        sheet.merge_range("B2:B3", "Source article\n(shortened)")
        sheet.merge_range("C2:D2", "Model answers")

    return write_workbook(rows, change=change)


def test_names_below_a_merged_name_name_the_columns() -> None:
    """As people lay out a table of models: one heading over all of them, their names below it."""
    table = read(
        add_grouped_names([
            ["Collected in March"], [], ["", "", " GPT-x ", "BART-large"],
            *([str(n), text, f"G {n}", f"B {n}"] for n, text in enumerate(TOPICS, 1)),
        ])
    )  # fmt: skip
    rows = [*table.rows]

    assert table.header == ["Nr.", "Source article\n(shortened)", "GPT-x", "BART-large"]
    assert (table.header_line, rows[0].line) == (3, 4)
    assert [row.cells[2:] for row in rows] == [[f"G {n}", f"B {n}"] for n in (1, 2, 3)]
    assert "names_in_two_rows" in [remark.code for remark in table.remarks.listed()]


def test_names_that_repeat_below_two_merged_names_keep_both() -> None:
    rows = [["Nr.", "alpha", "", "beta", ""], ["", "text", "score", "text", "score"]]
    rows += [[str(n), f"A {n}", "1", f"B {n}", "2"] for n in (1, 2, 3)]

    table = read(write_workbook(rows))

    assert table.header == ["Nr.", "alpha text", "alpha score", "beta text", "beta score"]


@pytest.mark.parametrize(
    "first", [["1", "", "x", "y"], ["", "", "", "y"], ["1", "b", "x", "y"], ["1", "b", "", ""]]
)
def test_row_that_does_not_fill_a_merged_name_alone_is_no_name(first: list[str]) -> None:
    table = read(write_workbook([["item", "src", "out", ""], first, ["2", "b", "x", "y"]]))

    assert table.header[:3] == ["item", "src", "out"]
    assert next(table.rows).cells[0] == first[0]
