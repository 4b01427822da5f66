"""The column by which several tables are joined, if no name says which it is.

In each table its values are all there and all different, and most of them are in every table.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO, cast

from evalsite.data.tables.files import open_any
from evalsite.data.tables.paths import last_name, write_step
from evalsite.data.tables.table import Refused
from evalsite.data.tables.table_roles import TABLE
from evalsite.data.tables.tools import Recognised

_LEAST = 2  # values in common
_MOST_OTHERS = 0.5


def add_shared_ids(files: Sequence[Recognised]) -> dict[str, Recognised]:
    """Return the tables with the column of their ids, by file; nothing if there is none."""
    rows = [known.format.row for known in files]
    are_tables = all(known.format.key == TABLE for known in files)
    if len(files) < 2 or not are_tables or any(row.id or row.system for row in rows):
        return {}
    try:
        columns = _find_columns([_read_columns(known) for known in files])
    except Refused:
        # said when the rows are read
        return {}
    return {
        known.file.name: replace(
            known,
            format=replace(known.format, row=replace(known.format.row, id=[write_step(column)])),
        )
        for known, column in zip(files, columns, strict=False)
    }


def _find_columns(tables: Sequence[dict[str, set[str]]]) -> list[str]:
    """Return a column of each table, of those that share most; none if they share too little."""
    first, *later = tables
    best, most = list[str](), _MOST_OTHERS
    for name, values in first.items():
        columns, share = [name], 1.0
        for table in later:
            shares = {
                column: len(values & ids) / min(len(values), len(ids))
                for column, ids in table.items()
                if len(values & ids) >= _LEAST
            }
            if not shares:
                break
            nearest = max(shares, key=lambda column: (shares[column], column == name))
            columns.append(nearest)
            share = min(share, shares[nearest])
        if len(columns) == len(tables) and share > most:
            best, most = columns, share
    return best


def _read_columns(known: Recognised) -> dict[str, set[str]]:
    """Return the values of each column that nothing else is known of, if no two are equal."""
    row = known.format.row
    shown = [path for paths in row.inputs.values() for path in paths]
    taken = {last_name(path) for path in [*shown, *row.output, *row.reference]} | {*row.left_out}
    with known.file.open() as source:
        table = open_any(cast(BinaryIO, source), known.limits, known.options)
        places = {
            name: (number, set[str]())
            for number, name in enumerate(table.header)
            if name not in taken and number not in table.unnamed
        }
        for record in table.rows:
            for name, (number, values) in [*places.items()]:
                value = str(record.cells[number]).strip() if number < len(record.cells) else ""
                if not value or value in values or _is_decimal(value):
                    del places[name]
                else:
                    values.add(value)
            if not places:
                break
    return {name: values for name, (_, values) in places.items()}


def _is_decimal(text: str) -> bool:
    """Return whether a text is a number with decimals, such as a score, which is no id."""
    whole, point, decimals = text.replace(",", ".").partition(".")
    return bool(point) and whole.lstrip("+-").isdigit() and decimals.isdigit()
