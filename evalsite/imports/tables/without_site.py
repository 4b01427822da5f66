"""One table as CSV, without a site: as the site reads it, with values inside JSON as columns."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

from evalsite.batches.faults import Unusable, name_some, quote
from evalsite.imports.tables.faults import UnreadableFile, name_place
from evalsite.imports.tables.nested import Nested
from evalsite.imports.tables.reader import open_table
from evalsite.imports.tables.table import Limits, Row, Table, peek
from evalsite.lib.csv_writer import write_csv

_MOST_IN_CELL, _MOST_COLUMNS = 10 * 1024**2, 1_000


def write_table(path: Path, names: Mapping[str, str], target: TextIO) -> int:
    """Write the table and return the number of rows; Unusable says what is wrong.

    `names` calls columns otherwise, and makes columns of paths into JSON.
    """
    limits = Limits(sys.maxsize, sys.maxsize, _MOST_IN_CELL, _MOST_COLUMNS, sys.maxsize)
    try:
        with path.open("rb") as source:
            table = open_table(source, limits=limits)
            nested = Nested(table, peek(table), names)
            nested.used = names
            kept = _choose_columns(table, nested, names)
            header = [names.get(table.header[number], table.header[number]) for number in kept]
            write_csv(target, [header], line_end="\n")
            chosen = ([cells[number] for number in kept] for cells in _read_rows(table.rows))
            rows = write_csv(target, chosen, line_end="\n")
    except UnreadableFile as error:
        raise Unusable(error.fault.code, str(error.fault), file=path.name) from None
    return rows


def _choose_columns(table: Table, nested: Nested, names: Mapping[str, str]) -> list[int]:
    """Return the numbers of the columns to write: no index, and no paths but those named."""
    if unknown := [path for path in names if path not in table.header]:
        there = name_some([column for column in table.header if column not in names], 20)
        message = f"It has no column {quote(unknown[0])}. It has: {there}."
        raise Unusable("column_missing", message)
    # a table without any names, such as pandas writes its values, has nothing else
    index = table.unnamed if len(table.unnamed) < len(table.header) else ()
    kept = [
        number
        for number, column in enumerate(table.header)
        if column in names or (number not in index and column not in nested.paths)
    ]
    called = [names.get(table.header[number], table.header[number]) for number in kept]
    if twice := [name for name in called if called.count(name) > 1]:
        message = f"Two columns would be called {quote(twice[0])}. Choose another name."
        raise Unusable("column_duplicate", message)
    return kept


def _read_rows(rows: Iterator[Row]) -> Iterator[list[str]]:
    for row in rows:
        for problem in row.problems:
            place = name_place(row.line, row.record, "")
            raise Unusable(problem.code, f"{place}: {problem.message}")
        yield row.cells
