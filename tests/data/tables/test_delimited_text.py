"""Titles above a table, tables in Markdown, and compressed files in an archive."""

import gzip
import io
from zipfile import ZipFile

import pytest

from evalsite.data.tables.reader import open_table
from evalsite.data.tables.table import Limits, Refused, Table

ROWS = "id;prompt;output\n1;Q?;Yes, it is.\n2;R?;No.\n"
LIMITS = Limits(cell=100, columns=20, text=100_000)


def read(content: str | bytes) -> tuple[Table, list[list[str]]]:
    data = content.encode() if isinstance(content, str) else content
    table = open_table(io.BytesIO(data), limits=LIMITS)
    return table, [row.cells for row in table.rows]


def refuse(content: str | bytes) -> str:
    with pytest.raises(Refused) as refused:
        read(content)
    return refused.value.code


@pytest.mark.parametrize(
    "above", ["Results\n", "Results, May\n", "Results;;\nby Ada;;\n", "\nResults\n\n", ";;\n"]
)
def test_titles_above_the_names_of_columns_are_passed_over_and_named(above: str) -> None:
    table, rows = read(above + ROWS)

    assert table.header == ["id", "prompt", "output"]
    assert rows == [["1", "Q?", "Yes, it is."], ["2", "R?", "No."]]
    assert table.header_line == above.count("\n") + 1
    codes = [remark.code for remark in table.remarks.listed()]
    assert codes == (["rows_above"] if "Results" in above else [])


@pytest.mark.parametrize(
    ("content", "header"),
    [
        # fewer names than cells of a row: the names are no title
        ("id;text\n1;Hello, you, there\n2;So, so, so\n", ["id", "text"]),
        (",output\n0,A\n1,B\n", ["column 1", "output"]),
        ("id,text\n1,A; B; C\n2,A; B; C\n", ["id", "text"]),
        ("output\nOne.\nTwo.\n", ["output"]),
        # rows of several widths: nobody knows which is right
        ("Results\nid,prompt,output\n1,Q\n2,R,B\n", ["Results"]),
    ],
)
def test_names_of_columns_are_no_title(content: str, header: list[str]) -> None:
    table, _ = read(content)

    assert table.header == header
    assert table.header_line == 1


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        ("| id | a |\n| :- | -: |\n| 1 | x |\n|2|y|\n", [["1", "x"], ["2", "y"]]),
        ("id | a\n---|---\n1 | x\\|y\n", [["1", "x|y"]]),
        ("## Table, with a comma\n\n|id|a|\r\n|-|-|\r\n|1||\r\n", [["1", ""]]),
        # no line of dashes: pipes separate columns
        ('id|a\n1|"x|y"\n', [["1", "x|y"]]),
        ('id|a\n\n1|"x|y"\n', [["1", "x|y"]]),
    ],
)
def test_a_table_in_markdown_is_a_table(content: str, rows: list[list[str]]) -> None:
    table, cells = read(content)

    assert table.header == ["id", "a"]
    assert table.delimiter == "pipe"
    assert cells == rows


def test_a_table_in_a_cell_is_the_text_of_that_cell() -> None:
    table, rows = read('output\n"\n| a | b |\n|---|---|\n| 1 | 2 |\n"\n')

    assert table.header == ["output"]
    assert rows == [["\n| a | b |\n|---|---|\n| 1 | 2 |\n"]]


def test_text_below_a_table_in_markdown_is_no_cell_and_not_lost() -> None:
    _, rows = read("|id|a|\n|-|-|\n|1|x|\n\nA note.\n")

    assert rows == [["1", "x"], ["A note."]]


def test_limits_hold_for_tables_in_markdown() -> None:
    head = "|id|a|\n|-|-|\n"
    (row,) = open_table(io.BytesIO(f"{head}|1|{'x' * 101}|\n".encode()), limits=LIMITS).rows

    assert [problem.code for problem in row.problems] == ["cell_too_long"]
    assert refuse(f"{'|a' * 21}|\n|{'-|' * 21}\n|1|\n") == "too_many_columns"
    assert refuse(f"{head}{'x' * 900}\n") == "cell_too_long"


def pack(entries: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with ZipFile(target, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, gzip.compress(content))
    return target.getvalue()


def test_compressed_files_in_an_archive_count_with_what_they_hold() -> None:
    table = b"id,prompt,output\n1,Q?,A.\n"
    whole, rows = read(pack({"alpha.csv.gz": table, "beta.csv.gz": table.replace(b"A", b"B")}))

    assert {"alpha", "beta"} <= {cell for row in rows for cell in row}
    assert [use.name for use in whole.files] == ["alpha.csv", "beta.csv"]
    long = b"id,prompt,output\n" + b"1,Q?,A.\n" * 8_000
    assert refuse(pack({"alpha.csv.gz": long, "beta.csv.gz": long})) == "too_large"
