"""A table is declared once, by its columns; its cells, its file and its words come from them."""

from typing import Any

from evalsite.results.report.latex import write_table
from evalsite.results.report.table import (
    Column,
    Table,
    figure_columns,
    fill_table,
    interval_column,
    name_column,
    value_column,
)

from tests.support.reports import make_figure


def find_mean(row: dict[str, Any]) -> dict[str, Any]:
    return dict(row["mean"])


def make_table(**options: Any) -> Table:
    rows = [
        {"system": name, "mean": make_figure("mean", value, low=value - 1, high=value + 1)}
        for name, value in (("A", 4.0), ("B_1", 3.5))
    ]
    columns = [
        name_column("System", lambda row: row["system"]),
        value_column("Mean", find_mean, names={"study": "first"}, meaning="Of all ratings."),
        interval_column(find_mean),
    ]
    return fill_table(
        "Systems", columns, rows, row_names=lambda row: {"system": row["system"]}, **options
    )


def test_a_column_writes_a_cell_of_each_row() -> None:
    table = make_table()

    assert table.columns[:2] == ("System", "Mean")
    assert table.rows == [("A", "4.00", "3.00 to 5.00"), ("B_1", "3.50", "2.50 to 4.50")]


def test_the_file_has_the_figures_of_columns_under_the_names_of_their_row() -> None:
    head, *rows = make_table().list_cells()

    assert head[:4] == ["system", "study", "figure", "value"]
    assert [row[:4] for row in rows] == [
        ["A", "first", "mean", 4.0], ["B_1", "first", "mean", 3.5],
    ]  # fmt: skip


def test_what_columns_mean_stands_after_the_words_of_the_table() -> None:
    assert make_table(words="Best first.").words == "Best first. Of all ratings."


def test_rows_that_a_page_does_not_show_are_in_the_file() -> None:
    table = make_table(shown=1)

    assert len(table.rows) == 1
    assert [row[0] for row in table.list_cells()] == ["system", "A", "B_1"]


def test_a_table_without_figures_has_its_texts_as_file() -> None:
    columns = [name_column("Reason", lambda row: row), name_column("Length", lambda row: "9")]

    table = fill_table("Reasons", columns, ["Too fast", "Too slow"], shown=1)

    assert table.list_cells() == [("Reason", "Length"), ("Too fast", "9"), ("Too slow", "9")]


def test_a_row_with_fewer_figures_has_empty_cells() -> None:
    columns = figure_columns(["d", "g"], lambda row: row)

    table = fill_table("Sizes", columns, [[make_figure("dz", 0.5)] * 2, [make_figure("dz", 0.5)]])

    assert table.rows[1] == ("0.50", "")
    assert len(table.list_cells()) == 4


def test_the_column_of_sentences_is_known_to_the_page() -> None:
    columns = [name_column("Flag", str), Column(heading="Why", write=str, is_prose=True)]

    assert fill_table("Flags", columns, ["fast"]).prose == 1


def test_latex_renders_the_same_cells() -> None:
    table = make_table()

    written = write_table(table.columns, table.rows, caption=table.caption, label="tab:systems")

    assert r"A & 4.00 & 3.00 to 5.00 \\" in written
    assert r"B\_1 & 3.50 & 2.50 to 4.50 \\" in written
