"""Values inside JSON, in a cell of any table, as columns of their own: `doc.question`.

They are left out unless they are mapped, since the cell itself is kept. Paths are written as
`evalsite.data.tables.paths` reads them, and begin with the name of the column.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from evalsite.data.tables.json_tables import Literal, write_cell
from evalsite.data.tables.paths import find, read_path
from evalsite.data.tables.table import Problem, Row, Table
from evalsite.lib.limited import make_decoder, read_json

_MOST_PATHS = 100
_MOST_DEEP = 6
_LONGEST = 1_000_000  # characters of a cell
_PLAIN = re.compile(r"[^.\[\]\"\\]+")
_DECODER = make_decoder(parse_float=Literal, parse_int=Literal, parse_constant=Literal)


class Nested:
    """The paths of a table, each with the number of its column and the path below that."""

    def __init__(self, table: Table, first: Sequence[Row], asked: Collection[str]) -> None:
        self._width = len(table.header)
        self._header = list(table.header)
        self.paths: dict[str, tuple[int, str]] = {}
        # those that are needed: none other is looked up
        self.used: Collection[str] = ()
        for row in first:
            if len(row.cells) == self._width:
                self._find(row.cells)
        for path in asked:
            self._take(path)
        # of these nobody wants to see the whole
        self.objects = {
            self._header[number] for number, path in self.paths.values() if not path.startswith("[")
        }
        if self.paths:
            table.header += self.paths
            table.rows = self._extend(table.rows)

    def _find(self, cells: Sequence[str]) -> None:
        for number, cell in enumerate(cells):
            name = write_step(self._header[number])
            for path in _list_paths(_read(cell), _MOST_DEEP):
                if len(self.paths) < _MOST_PATHS and f"{name}{path}" not in self._header:
                    self.paths.setdefault(f"{name}{path}", (number, path.removeprefix(".")))

    def _take(self, path: str) -> None:
        """Take a path that the first rows don't have, if it begins with a column."""
        for number, column in enumerate(self._header):
            below = path.removeprefix(write_step(column))
            if path not in self._header and below != path and _is_path(below):
                self.paths.setdefault(path, (number, below.removeprefix(".")))

    def _extend(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            width = len(row.cells)
            if width != self._width and not row.problems:
                message = (
                    f"{width} cell{'' if width == 1 else 's'} instead of {self._width}. Look for a "
                    "missing delimiter, or for one in a text without quotes."
                )
                row.problems = (Problem("row_width", message),)
            elif width == self._width:
                row.cells = [*row.cells, *self.read(row.cells, self.used)]
            yield row

    def read(self, cells: Sequence[str], used: Collection[str]) -> Iterator[str]:
        """Yield the value of each path that is used; of others, and of none, an empty cell."""
        known: dict[int, Any] = {}
        for name, (number, path) in self.paths.items():
            if name not in used:
                yield ""
                continue
            if number not in known:
                known[number] = _read(cells[number])
            yield write_cell(find(known[number], path))

    def sample(self, rows: Iterable[Row]) -> dict[str, str]:
        """Return the first value of each path in these rows."""
        found: dict[str, str] = {}
        for row in rows:
            if len(row.cells) < self._width:
                continue  # it can't be read
            values = zip(self.paths, self.read(row.cells, self.paths), strict=True)
            found |= {name: cell for name, cell in values if cell and name not in found}
        return found


def write_step(name: str) -> str:
    """Write the name of a column or key as the beginning of a path."""
    return name if _PLAIN.fullmatch(name) else f"[{json.dumps(name, ensure_ascii=False)}]"


def _is_path(text: str) -> bool:
    """Return whether this leads on from a column."""
    try:
        return text[:1] in (".", "[") and bool(read_path(text.removeprefix(".")))
    except ValueError:
        return False


def _read(cell: str) -> Any:
    """Return the object or list in a cell; None if it is something else."""
    if cell[:1] not in ("{", "[") or len(cell) > _LONGEST:
        return None
    try:
        return read_json(cell, decoder=_DECODER)
    except (ValueError, RecursionError):
        return None


def _list_paths(value: Any, left: int) -> Iterator[str]:
    """Yield the paths below a value that lead to something to show."""
    if isinstance(value, dict):
        for key, part in value.items():
            step = write_step(key)
            yield from _list_part(f".{step}" if step == key else step, part, left)
    elif isinstance(value, list) and _is_descended(value):
        yield from _list_part("[0]", value[0], left)


def _is_descended(values: list[Any]) -> bool:
    """Return whether the first of these is what counts; turns and records are shown whole."""
    first = values[0] if values else None
    if not isinstance(first, dict) or "role" in first:
        return False
    return len(values) == 1 or any(isinstance(part, dict) for part in first.values())


def _list_part(step: str, part: Any, left: int) -> Iterator[str]:
    below = [f"{step}{path}" for path in _list_paths(part, left - 1)] if left else []
    yield from below or [step]
