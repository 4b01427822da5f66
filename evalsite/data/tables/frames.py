"""Data frames as `pandas.DataFrame.to_json` writes them, in the orients that are no list of rows.

split    {"columns": [...], "index": [...], "data": [[...], ...]}, also with other keys
table    {"schema": {"fields": [...]}, "data": [{...}, ...]}
columns  {"column": {"0": ..., "1": ...}, ...}
index    {"0": {"column": ...}, "1": ...}
values   [[...], ...], without the names of the columns

An index that isn't numbers is a column of its own.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evalsite.data.tables.decoding import TextFile
from evalsite.data.tables.json_tables import DECODER, BadObject, write_cell
from evalsite.data.tables.table import Limits, Row, Table, check_cells
from evalsite.lib.limited import TooMuch, read_json

# names of columns, and the rows of values
_Frame = tuple[list[str], list[list[Any]]]

_STARTS = re.compile(
    r"\s*\[\s*\["
    # beside others, such as the name of a table
    r'|\s*\{[^\[\]{}]{0,1000}"columns"\s*:\s*\[\s*"'
    r'|\s*\{\s*"(?:columns"\s*:\s*\[|schema"\s*:\s*\{\s*"fields"|(?:[^"\\]|\\.)*"\s*:\s*\{\s*")'
)


def open_frame(text: TextFile, start: str, limits: Limits) -> Table | None:
    """Read a data frame; None if the file is something else. It is held in memory as a whole."""
    if not _STARTS.match(start):
        return None
    stream = text.open()
    try:
        first = stream.readline(limits.record)
        if first.rstrip().endswith("}") and stream.readline(2):
            return None  # an object in each line
        value = read_json(first + stream.read(), most_values=limits.values, decoder=DECODER)
    except TooMuch:
        limits.check_values(limits.values + 1, 1)
        raise
    except (json.JSONDecodeError, RecursionError, BadObject):
        return None  # the reader of lists of objects says what is wrong
    finally:
        stream.detach()
    frame = next((candidate for read in _ORIENTS if (candidate := read(value))), None)
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


def _read_values(value: Any) -> _Frame | None:
    if not isinstance(value, list) or not value or not all(isinstance(row, list) for row in value):
        return None
    width = len(value[0])
    return ([""] * width, value) if all(len(row) == width for row in value) else None


def _read_split(value: Any) -> _Frame | None:
    if not isinstance(value, dict) or not {"columns", "data"} <= value.keys():
        return None
    columns, data = value["columns"], value["data"]
    if not isinstance(columns, list) or not isinstance(data, list):
        return None
    if not all(isinstance(row, list) and len(row) == len(columns) for row in data):
        return None
    index = value.get("index")
    labels = [str(label) for label in index] if isinstance(index, list) else []
    return _add_index([str(column) for column in columns], data, labels)


def _read_table(value: Any) -> _Frame | None:
    if not _has_keys(value, {"schema", "data"}) or not isinstance(value["data"], list):
        return None
    fields = value["schema"].get("fields") if isinstance(value["schema"], dict) else None
    if not isinstance(fields, list) or not all(isinstance(row, dict) for row in value["data"]):
        return None
    columns = [field.get("name") for field in fields if isinstance(field, dict)]
    # pandas writes an index without a name as "index"; whether it only numbers the rows is read off
    # its values
    named = [column for column in columns if isinstance(column, str) and column != "index"]
    labels = [str(row["index"]) for row in value["data"] if "index" in row]
    return _add_index(
        named, [[row.get(column) for column in named] for row in value["data"]], labels
    )


def _read_columns(value: Any) -> _Frame | None:
    """Columns of rows, or rows of columns: the rows are what is numbered, or the longer side."""
    parts = list(value.values()) if isinstance(value, dict) else []
    if not parts or not all(isinstance(part, dict) for part in parts):
        return None
    inner, outer = list(parts[0]), list(value)
    if not inner or any(part.keys() != parts[0].keys() for part in parts):
        return None
    if _are_numbers(inner) or (len(inner) >= len(outer) > 1 and not _are_numbers(outer)):
        return _add_index(outer, [[part[label] for part in parts] for label in inner], inner)
    if _are_numbers(outer) or len(inner) > 1:
        return _add_index(inner, [[part[label] for label in inner] for part in parts], outer)
    return None


def _has_keys(value: Any, keys: set[str]) -> bool:
    return isinstance(value, dict) and value.keys() == keys


def _are_numbers(labels: Sequence[str]) -> bool:
    return all(label.isascii() and label.isdigit() for label in labels)


def _add_index(columns: list[str], rows: list[list[Any]], labels: Sequence[str]) -> _Frame:
    """Put the index before the other columns, unless it numbers the rows."""
    if len(labels) != len(rows) or _are_numbers(labels) or "index" in columns:
        return columns, rows
    return ["index", *columns], [[label, *row] for label, row in zip(labels, rows, strict=True)]


_ORIENTS: tuple[Callable[[Any], _Frame | None], ...] = (
    _read_values,
    _read_split,
    _read_table,
    _read_columns,
)
