"""Paths into JSON, and patterns of column names, as columns of a table behind its own.

Those that were discovered are left out unless they are mapped, since the cell itself is kept.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from evalsite.data.tables.faults import Refused
from evalsite.data.tables.json_tables import write_cell
from evalsite.data.tables.paths import (
    MOST_ROWS,
    Branch,
    expand,
    find,
    is_spread,
    open_json,
    parse_path,
    write_step,
)
from evalsite.data.tables.patterns import (
    NUMBER,
    POINT,
    Known,
    Match,
    find_matches,
    is_chosen,
    is_pattern,
    join_matches,
)
from evalsite.data.tables.table import Problem, Row, Table

_MOST_PATHS = 100
_MOST_DEEP = 6
_EMPTY = "Records without anything at the paths that make rows of them, which were left out"
_BOUND = re.compile(r"\{\w+\}")


class PathColumns:
    """The paths of a table, each with the number of its column and the path below that."""

    def __init__(
        self, table: Table, first: Sequence[Row], asked: Collection[str], known: Known
    ) -> None:
        self._width = len(table.header)
        self._header = list(table.header)
        self.paths: dict[str, tuple[int, str]] = {}
        # those that are needed: no other is looked up
        self.used: Collection[str] = ()
        # columns that a pattern reads
        self.consumed: set[str] = set()
        # those that were chosen, as long as no record had anything there
        self._void: set[str] = set()
        self._patterns: list[list[Match]] = []
        self._remarks = table.remarks
        # columns with anything but objects and lists: of the others nobody wants to see the whole
        self._whole: set[int] = set()
        for row in first if not table.is_joined else ():
            if len(row.cells) == self._width:
                self._discover(row.cells)
        for path in asked:
            self._take(path, known)
        self.objects = {
            self._header[number]
            for number, path in self.paths.values()
            if not path.startswith("[") and number not in self._whole
        }
        self._rows = join_matches(self._patterns) if self._patterns else []
        patterns = [matches[0].pattern for matches in self._patterns]
        self.spread = [*patterns, *(path for path in self.paths if is_spread(path))]
        # what names and keys say, by field
        self.bound = list(dict.fromkeys(name for path in self.spread for name in _list_bound(path)))
        self.names = [*self.paths, *patterns, *self.bound]
        if self.names:
            table.header += self.names
            table.rows = self._extend(table.rows)

    def list_opened(self, chosen: Collection[str]) -> list[str]:
        """Return the columns into which these paths go."""
        return [self._header[self.paths[path][0]] for path in chosen if path in self.paths]

    def watch(self, chosen: Iterable[str]) -> None:
        """Say it at the end of the rows if none of them has anything at one of these paths."""
        self._void = {*chosen} & self.paths.keys()

    def _discover(self, cells: Sequence[Any]) -> None:
        for number, cell in enumerate(cells):
            name = write_step(self._header[number])
            opened = open_json(cell)
            if cell and opened is cell:
                self._whole.add(number)
            for path in _list_paths(opened, _MOST_DEEP):
                if len(self.paths) < _MOST_PATHS and f"{name}{path}" not in self._header:
                    self.paths.setdefault(f"{name}{path}", (number, path.removeprefix(".")))

    def _take(self, path: str, known: Known) -> None:
        """Take a path that the first rows don't have, if it begins with a column."""
        if path in self._header or _BOUND.fullmatch(path):
            return
        if is_pattern(path) and (matches := find_matches(path, self._header, known)):
            self._patterns.append(matches)
            self.consumed |= {self._header[match.column] for match in matches}
            return
        # a column with an odd name may be written as it is
        for number, column in sorted(enumerate(self._header), key=lambda pair: -len(pair[1])):
            for start in (write_step(column), column):
                below = path.removeprefix(start)
                if below != path and _is_path(below):
                    self.paths.setdefault(path, (number, below.removeprefix(".")))
                    return

    def _extend(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            width = len(row.cells)
            if width != self._width:
                if not row.problems:
                    message = (
                        f"{width} cell{'' if width == 1 else 's'} instead of {self._width}. Look "
                        "for a missing delimiter, or for one in a text without quotes."
                    )
                    row.problems = (Problem("row_width", message),)
                yield row
            elif row.problems or not any(path in self.used for path in self.spread):
                row.cells = [*row.cells, *self.read(row.cells, self.used)]
                yield row
            else:
                is_empty = True
                for values in self._spread(row.cells):
                    is_empty = False
                    cells = [*row.cells, *(values.get(name, "") for name in self.names)]
                    yield Row(row.line, row.record, cells)
                if is_empty:
                    self._remarks.add("record_empty", _EMPTY, row.line, row.record)
        for path in sorted(self._void):
            self._remarks.tell(
                "path_void", f"No record has anything at {path}. Check how it is written"
            )

    def read(self, cells: Sequence[str], used: Collection[str]) -> Iterator[str]:
        """Yield the value of each path that is used; of others, and of none, an empty cell."""
        opened: dict[int, Any] = {}
        for name in self.names:
            number, path = self.paths.get(name, (0, ""))
            if name not in used or name not in self.paths or is_spread(path):
                yield ""
                continue
            if number not in opened:
                opened[number] = open_json(cells[number])
            cell = write_cell(find(opened[number], path))
            if cell:
                self._void.discard(name)
            yield cell

    def _spread(self, cells: Sequence[str]) -> Iterator[dict[str, str]]:
        """Yield the rows that a record becomes, by the names of the columns."""
        branches: dict[int, Branch] = {}
        for name, (number, path) in self.paths.items():
            if name in self.used:
                branches.setdefault(number, Branch()).add(name, parse_path(path))
        rows: list[dict[str, Any]] = [{}]
        for number, branch in branches.items():
            parts = expand(branch, cells[number])
            if len(rows) * len(parts) > MOST_ROWS:
                message = f"A record becomes more than {MOST_ROWS:,} rows. Choose other paths."
                raise Refused("too_large", message)
            rows = [row | part for row in rows for part in parts]
        for bound, matches in self._rows or [({}, [])]:
            named = {f"{{{field}}}": text for field, text in bound.items()}
            named |= {match.pattern: cells[match.column] for match in matches}
            for row in rows:
                values = {name: write_cell(value) for name, value in (row | named).items()}
                self._void -= {name for name in self._void if values.get(name)}
                if self._settle(values):
                    yield values

    def _settle(self, values: dict[str, str]) -> bool:
        """Return whether something was said here; of one column for each point, which it is."""
        spread = [path for path in self.spread if path in self.used and path in values]
        if point := values.get(f"{{{POINT}}}"):
            for path in [path for path in spread if f"{{{POINT}}}" in path]:
                if not is_chosen(values[path]):
                    return False
                values[path] = point
        return any(path in self.paths or values[path].strip() for path in spread)

    def sample(self, rows: Iterable[Row]) -> dict[str, str]:
        """Return the first value of each path in these rows."""
        samples: dict[str, str] = {}
        for row in rows:
            if len(row.cells) < self._width:
                continue  # it can't be read
            values = zip(self.names, self.read(row.cells, self.names), strict=True)
            samples |= {name: cell for name, cell in values if cell and name not in samples}
        return samples


def _list_bound(path: str) -> list[str]:
    """Return the fields that names and keys say, as names of columns."""
    return [name for name in _BOUND.findall(path) if name not in (f"{{{NUMBER}}}", f"{{{POINT}}}")]


def _is_path(text: str) -> bool:
    """Return whether this leads on from a column."""
    try:
        return text[:1] in (".", "[", "{") and bool(parse_path(text.removeprefix(".")))
    except ValueError:
        return False


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
