"""Ratings of a bare file, in any form that people have, as a plain table.

What the analysis reads by itself, CSV in UTF-8, stays as it is. Any other file is read by the code
that imports ratings into a study, and written as CSV.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from evalsite.data.tables.paths import PathColumns
from evalsite.data.tables.rating_forms import derive_known, find_form, find_reviews
from evalsite.data.tables.reader import AS_TABLE, open_table
from evalsite.data.tables.table import Limits, Refused, Row, Table, peek
from evalsite.data.tables.tools import find_ratings
from evalsite.lib.csv_writer import write_csv
from evalsite.lib.rating_columns import MISSING_WORDS
from evalsite.lib.rating_guess import guess_mapping

# how numbers are written, if a person said so
DECIMAL, POINT = "decimal", "point"
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_NUMBER = re.compile(r"[+-]?[0-9]+(,[0-9]+)?")


def open_bare(
    source: BinaryIO, *, file_name: str, limits: Limits, options: Mapping[str, Any] | None = None
) -> Table:
    """Open a file of ratings; what isn't UTF-8 is read as Windows-1252."""
    options = {"encoding": "windows-1252", **(options or {}), AS_TABLE: True}
    return open_table(source, limits=limits, options=options, file_name=file_name)


def is_plain(table: Table, pairs: Sequence[tuple[str, str]]) -> bool:
    """Return whether the file is CSV in UTF-8, whose columns hold all that is asked for."""
    if not table.encoding.startswith("UTF-8") or table.delimiter not in ("comma", "tab"):
        return False
    if table.remarks.listed() or any(path not in table.header for path, _ in pairs):
        return False
    rows = peek(table)
    if not pairs and _find_form(table, rows):
        return False
    return not any(
        len(row.cells) > number and _COMMA.fullmatch(row.cells[number].strip())
        for number in range(len(table.header))
        for row in rows
    )


def _find_form(table: Table, rows: Sequence[Row]) -> dict[str, str]:
    """Return fields by path or pattern if the file has ratings in a form of its own."""
    header = table.header
    if form := find_ratings(header, rows) or find_reviews(header, rows):
        return form
    guess = {*guess_mapping(header).values()}
    if {"value", "preferred"} & guess:
        return {}
    return find_form(header, rows, derive_known(header, rows), guess)


def write_plain(
    table: Table, target: Path, mapping: dict[str, str], sides: Sequence[str], *, decimal: str = ""
) -> list[tuple[str, str]]:
    """Write the rows as CSV; return the fields of their columns, as far as they are known.

    `sides` are the columns of the two systems of each row. Decimal commas are written as points,
    unless a `decimal` point was chosen.
    """
    first = peek(table)
    known = derive_known(table.header, first)
    form = _find_form(table, first)
    chosen = {*mapping.values()}
    mapping = {path: use for path, use in form.items() if use not in chosen} | mapping
    paths = PathColumns(table, first, mapping, known)
    paths.used = {name for name in paths.names if mapping.get(name) or name in paths.bound}
    mapping |= {name: name.strip("{}") for name in paths.bound}
    left_out = {*paths.consumed, *(name for name in paths.paths if name not in paths.used)}
    left_out |= {name for name, use in mapping.items() if not use} & {*table.header}
    # of a battle it is how many turns there were
    left_out |= {"turn"} if sides else set()
    places = {name: number for number, name in enumerate(table.header)}
    items = [places[name] for name, use in mapping.items() if use == "item" and name in places]
    kept = [number for number, name in enumerate(table.header) if name not in left_out]
    rows = [_join_ids(row.cells, items) for row in _read_rows(table)]
    commas = set() if decimal == POINT else _find_commas(rows, kept)
    kept = [number for number in kept if number not in items[1:]]
    names = _name_sides(table.header, rows, sides)
    with target.open("w", encoding="utf-8", newline="") as file:
        write_csv(file, [[names.get(number, table.header[number]) for number in kept]])
        write_csv(file, ([_write_cell(cells[n], n in commas) for n in kept] for cells in rows))
    dropped = {table.header[number] for number in items[1:]}
    return [(name, use) for name, use in mapping.items() if use and name not in dropped]


def _name_sides(
    header: Sequence[str], rows: Sequence[list[str]], sides: Sequence[str]
) -> dict[int, str]:
    """Return what the columns of both systems are called here, by number; items become pairs."""
    numbers = [header.index(side) for side in sides]
    guess = guess_mapping(header)
    item = next((number for number, name in enumerate(header) if guess[name] == "item"), None)
    if numbers and item is not None:
        # an item has one pair
        pairs: dict[str, set[tuple[str, ...]]] = {}
        for cells in rows:
            pairs.setdefault(cells[item], set()).add(_list_pair(cells, numbers))
        for cells in rows:
            if len(pairs[cells[item]]) > 1:
                cells[item] = "-".join([cells[item], *_list_pair(cells, numbers)])
    return {number: f"system_{place}" for place, number in enumerate(numbers, start=1)}


def _list_pair(cells: Sequence[str], numbers: Sequence[int]) -> tuple[str, ...]:
    return tuple(sorted(cells[number].strip() for number in numbers))


def _read_rows(table: Table) -> Iterator[Any]:
    for row in table.rows:
        for problem in row.problems:
            raise Refused(problem.code, problem.message, line=row.line, record=row.record)
        if len(row.cells) == len(table.header):
            yield row


def _join_ids(cells: list[str], items: Sequence[int]) -> list[str]:
    """Put an id together that is in several columns, such as a document and its question."""
    if len(items) > 1:
        cells[items[0]] = "-".join(cells[number] for number in items)
    return cells


def _find_commas(rows: Sequence[Sequence[str]], columns: Sequence[int]) -> set[int]:
    """Return the columns of numbers of which some have a decimal comma."""
    commas = set()
    for number in columns:
        cells = [cell for row in rows if (cell := row[number].strip())]
        filled = [cell for cell in cells if cell.casefold() not in MISSING_WORDS]
        if any(map(_COMMA.fullmatch, filled)) and all(map(_NUMBER.fullmatch, filled)):
            commas.add(number)
    return commas


def _write_cell(cell: str, has_comma: bool) -> str:
    if cell.strip().casefold() in MISSING_WORDS:
        return ""
    return cell.strip().replace(",", ".") if has_comma else cell
