"""Data frames as `pandas.DataFrame.to_json` writes them, in the orients that are no list of rows.

split    {"columns": [...], "index": [...], "data": [[...], ...]}
table    {"schema": {"fields": [...]}, "data": [{...}, ...]}
columns  {"column": {"0": ..., "1": ...}, ...}
index    {"0": {"column": ...}, "1": ...}
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from evalsite.imports.tables.decoding import TextFile
from evalsite.imports.tables.json_tables import DECODER, BadObject, write_cell
from evalsite.imports.tables.table import Limits, Row, Table, check_cells

# names of columns, and the rows of values
_Frame = tuple[list[str], list[list[Any]]]

_STARTS = re.compile(
    r'\s*\{\s*"(?:columns"\s*:\s*\[|schema"\s*:\s*\{\s*"fields"|(?:[^"\\]|\\.)*"\s*:\s*\{\s*")'
)


def open_frame(text: TextFile, start: str, limits: Limits) -> Table | None:
    """Read a data frame; None if the file is something else. It is held in memory as a whole."""
    if not _STARTS.match(start):
        return None
    stream = text.open()
    try:
        if (first := stream.readline(limits.record)).rstrip().endswith("}") and stream.readline(2):
            return None  # an object in each line
        value = DECODER.decode(first + stream.read())
    except (json.JSONDecodeError, RecursionError, BadObject):
        return None  # the reader of lists of objects says what is wrong
    finally:
        stream.detach()
    frame = next((found for read in _ORIENTS if (found := read(value))), None)
    if frame is None:
        return None
    header, rows = frame
    limits.check_width(len(header), 1)
    return Table(text.encoding, "data frame", header, 1, _read_rows(rows, limits))


def _read_rows(rows: list[list[Any]], limits: Limits) -> Iterator[Row]:
    for number, row in enumerate(rows, start=1):
        limits.check_rows(number, 1)
        cells = [write_cell(value) for value in row]
        yield Row(1, number, cells, tuple(check_cells(cells, limits)))


def _read_split(value: dict[str, Any]) -> _Frame | None:
    if not {"columns", "data"} <= value.keys() <= {"columns", "index", "data"}:
        return None
    columns, data = value["columns"], value["data"]
    if not isinstance(columns, list) or not isinstance(data, list):
        return None
    if not all(isinstance(row, list) and len(row) == len(columns) for row in data):
        return None
    return [str(column) for column in columns], data


def _read_table(value: dict[str, Any]) -> _Frame | None:
    if value.keys() != {"schema", "data"} or not isinstance(value["data"], list):
        return None
    fields = value["schema"].get("fields") if isinstance(value["schema"], dict) else None
    if not isinstance(fields, list) or not all(isinstance(row, dict) for row in value["data"]):
        return None
    columns = [field.get("name") for field in fields if isinstance(field, dict)]
    # the index of a frame numbers its rows
    named = [column for column in columns if isinstance(column, str) and column != "index"]
    return named, [[row.get(column) for column in named] for row in value["data"]]


def _read_columns(value: dict[str, Any]) -> _Frame | None:
    """Columns of rows, or rows of columns: the rows are what is numbered."""
    parts = list(value.values())
    if not parts or not all(isinstance(part, dict) for part in parts):
        return None
    labels = list(parts[0])
    if not labels or any(part.keys() != parts[0].keys() for part in parts):
        return None
    if _are_numbered(labels):
        return list(value), [[part[label] for part in parts] for label in labels]
    if _are_numbered(value):
        return labels, [[part[label] for label in labels] for part in parts]
    return None


def _are_numbered(labels: Any) -> bool:
    return [*labels] == [str(number) for number in range(len(labels))]


_ORIENTS: tuple[Callable[[dict[str, Any]], _Frame | None], ...] = (
    _read_split,
    _read_table,
    _read_columns,
)
