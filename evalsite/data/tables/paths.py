"""Paths into values: the one small language of mappings, recognisers and `--map`.

a.b, ["odd.name"]     keys
a[0], a[-1]           an entry of a list
a[role=user]          the entries with this value, of which the first is taken
a[*]                  a row for each entry; paths that begin alike step together
a[*]#                 the number of the entry, from 1
a.{criterion}         a row for each key, which becomes this field

JSON in a text opens when a path goes into it.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from evalsite.data.tables.table import Problem, Refused, Row, Table
from evalsite.lib.limited import make_decoder, read_json

KEY, INDEX, WHERE, EACH, PLACE, KEYS = "key", "index", "where", "each", "place", "keys"
# of a text that may be JSON; of the rows that one record may become
_LONGEST = 1_000_000
MOST_ROWS = 100_000
_PLAIN = re.compile(r"[^.\[\]{}#\"\\]+")
_STEP = re.compile(
    r"\[(?P<index>-?\d+)\]"
    r"|\[(?P<each>\*)\]"
    r"|(?P<place>#)"
    r"|\[\"(?P<quoted>(?:[^\"\\]|\\.)*)\"\]"
    r"|\[(?P<key>[^\[\]=*\"]+)=(?P<value>[^\]]*)\]"
    r"|(?:^|\.|(?<=\]))\{(?P<keys>\w+)\}"
    r"|(?:^|\.)(?P<name>[^.\[\]{}#]+)"
)


class Literal(str):
    """A number as it is written."""

    __slots__ = ()


class Missing(str):
    """Nothing: what programs write as NaN into JSON."""

    __slots__ = ()


MISSING = Missing()


def read_constant(name: str) -> str:
    """Read NaN as nothing; infinite numbers as they are written."""
    return MISSING if name == "NaN" else Literal(name)


_DECODER = make_decoder(parse_float=Literal, parse_int=Literal, parse_constant=read_constant)


class Step(NamedTuple):
    """One step of a path: its kind, and the key, number, or field that it names."""

    kind: str
    name: str = ""
    value: str = ""


@cache
def parse_path(path: str) -> tuple[Step, ...]:
    """Return the steps of a path; ValueError if it is none. "" is the value itself."""
    steps: list[Step] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            raise ValueError(f"“{path}” can't be read as a path from character {at + 1}.")
        steps.append(_read_step(match.groupdict()))
        at = match.end()
    return tuple(steps)


def _read_step(parts: dict[str, str | None]) -> Step:
    if parts["index"] is not None:
        return Step(INDEX, parts["index"])
    if parts["each"] or parts["place"]:
        return Step(EACH if parts["each"] else PLACE)
    if parts["key"] is not None:
        return Step(WHERE, parts["key"], parts["value"] or "")
    if parts["keys"]:
        return Step(KEYS, parts["keys"])
    if parts["quoted"] is not None:
        return Step(KEY, re.sub(r"\\(.)", r"\1", parts["quoted"]))
    return Step(KEY, parts["name"] or "")


def write_step(name: str) -> str:
    """Write the name of a column or key as the beginning of a path."""
    return name if _PLAIN.fullmatch(name) else f"[{json.dumps(name, ensure_ascii=False)}]"


def last_name(path: str) -> str:
    """Return the last key of a path, which names a column."""
    return next((step.name for step in reversed(parse_path(path)) if step.kind == KEY), path)


def is_spread(path: str) -> bool:
    """Return whether a path makes several rows of one record."""
    return any(step.kind in (EACH, KEYS, PLACE) for step in parse_path(path))


# --- one value --------------------------------------------------------------------------


def open_json(value: Any) -> Any:
    """Return the object or list that a text holds; any other value as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "[") or len(value) > _LONGEST:
        return value
    try:
        return read_json(value, decoder=_DECODER)
    except ValueError:
        return value


_NOTHING: Any = object()


def _walk(value: Any, steps: Iterable[Step]) -> Any:
    for step in steps:
        value = next((part for _, part in _list_parts(value, step)), _NOTHING)
        if value is _NOTHING:
            break
    return value


def find(value: Any, path: str) -> Any:
    """Return what is at this path, of several the first; None if there is nothing."""
    part = _walk(value, parse_path(path))
    return None if part is _NOTHING else part


def has(value: Any, path: str) -> bool:
    """Return whether there is something at this path, which may be null."""
    return _walk(value, parse_path(path)) is not _NOTHING


def find_first(value: Any, paths: Iterable[str]) -> Any:
    """Return what is at the first of these paths that leads to something; an empty text doesn't.

    Where every path that is there leads to an empty text, that is what is returned.
    """
    values = [part for path in paths if (part := find(value, path)) is not None]
    return next((part for part in values if part != ""), values[0] if values else None)


def _list_parts(value: Any, step: Step) -> Iterator[tuple[str, Any]]:
    """Yield what one step leads to, each behind its key or number."""
    value = open_json(value)
    if isinstance(value, dict):
        if step.kind == KEY and step.name in value:
            yield step.name, value[step.name]
        elif step.kind == KEYS:
            yield from ((str(key), part) for key, part in value.items())
    elif isinstance(value, list):
        if step.kind == INDEX and -len(value) <= int(step.name) < len(value):
            yield step.name, value[int(step.name)]
        elif step.kind in (EACH, WHERE):
            for number, part in enumerate(value, start=1):
                if step.kind == EACH or (
                    isinstance(part, dict) and str(part.get(step.name)) == step.value
                ):
                    yield str(number), part


# --- several rows -----------------------------------------------------------------------


@dataclass
class Branch:
    """Paths that have begun alike: those that end here, and the next steps of the others."""

    ends: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    steps: dict[Step, "Branch"] = field(default_factory=dict)

    def add(self, path: str, steps: Iterable[Step]) -> None:
        branch = self
        for step in steps:
            if step.kind == PLACE:
                branch.places.append(path)
                return
            branch = branch.steps.setdefault(step, Branch())
        branch.ends.append(path)


def expand(branch: Branch, value: Any) -> list[dict[str, Any]]:
    """Return the rows of a record: values by path, and by {field} the keys that are fields."""
    rows = [dict.fromkeys(branch.ends, value)]
    for step, below in branch.steps.items():
        parts: list[dict[str, Any]] = []
        for key, part in _list_parts(value, step):
            bound = dict.fromkeys(below.places, key)
            if step.kind == KEYS:
                bound[f"{{{step.name}}}"] = key
            parts += [bound | row for row in expand(below, part)]
            if step.kind not in (EACH, KEYS):
                break
        if len(rows) * len(parts) > MOST_ROWS:
            message = f"A record becomes more than {MOST_ROWS:,} rows. Choose other paths."
            raise Refused("too_large", message)
        rows = [row | part for row in rows for part in parts] if parts else rows
    return rows


def write_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value if value is MISSING else str(value)
    return _write_json(value)


def _write_json(value: Any) -> str:
    """Write the value as compact JSON, its numbers as they were written."""
    if isinstance(value, dict):
        pairs = (f"{_write_json(key)}:{_write_json(part)}" for key, part in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_write_json, value))}]"
    if isinstance(value, Literal):
        return str(value)
    if value is MISSING:
        return "null"
    return json.dumps(value, ensure_ascii=False)


# --- patterns of column names -----------------------------------------------------------


Known = Mapping[str, Collection[str]]

_FIELD = re.compile(r"\{(\w+)\}")
NUMBER, POINT = "n", "point"


@dataclass(frozen=True, slots=True)
class Match:
    """A column whose name fits a pattern, and what the name says by field."""

    pattern: str
    column: int
    bound: Mapping[str, str]


def is_pattern(path: str) -> bool:
    return _FIELD.search(path) is not None


def find_matches(pattern: str, header: Sequence[str], known: Known) -> list[Match]:
    """Return the columns whose names fit this pattern."""
    # at even places the texts between the fields, at odd ones the fields
    parts = _FIELD.split(pattern)
    names = {
        field: {name.casefold(): name for name in names}
        for field, names in known.items()
        if field in parts[1::2]
    }
    matches = []
    for number, column in enumerate(header):
        if (bound := next(_fit(parts, column, names), None)) is not None:
            matches.append(Match(pattern, number, bound))
    return matches


def _fit(
    parts: Sequence[str], name: str, known: Mapping[str, Mapping[str, str]]
) -> Iterator[dict[str, str]]:
    """Yield each way to read a name, the longest known names first."""
    text, *rest = parts
    if not name.casefold().startswith(text.casefold()):
        return
    name = name[len(text) :]
    if not rest:
        if not name:
            yield {}
        return
    field, *below = rest
    for length in range(len(name), 0, -1):
        value = name[:length]
        if field in known:
            if value.casefold() not in known[field]:
                continue
            value = known[field][value.casefold()]
        elif field == NUMBER and not value.isdecimal():
            continue
        for bound in _fit(below, name[length:], known):
            if bound.get(field, value) == value:
                yield {field: value} | bound


def join_matches(patterns: Sequence[Sequence[Match]]) -> list[tuple[dict[str, str], list[Match]]]:
    """Return the rows that a record becomes: what names say, and the columns that go together."""
    rows: list[tuple[dict[str, str], list[Match]]] = [({}, [])]
    for matches in sorted(patterns, key=lambda group: -max(len(fit.bound) for fit in group)):
        joined = []
        for bound, columns in rows:
            fits = [
                match
                for match in matches
                if all(bound.get(field, value) == value for field, value in match.bound.items())
            ]
            joined += [({**bound, **match.bound}, [*columns, match]) for match in fits]
            if not fits:
                joined.append((bound, columns))
        rows = joined
    return rows


def is_chosen(cell: str) -> bool:
    """Return whether the cell of one point says that it was chosen."""
    return cell.strip().casefold() not in ("", "false", "0", "0.0", "no", "off", "null", "none")


# --- columns of a table -----------------------------------------------------------------


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
        bound = dict.fromkeys(name for path in self.spread for name in _BOUND.findall(path))
        self.bound = [name for name in bound if name not in (f"{{{NUMBER}}}", f"{{{POINT}}}")]
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
            values = dict(zip(self.names, self.read(row.cells, self.names), strict=True))
            values |= {path: values.get(path.replace("[*]", "[0]"), "") for path in self.spread}
            samples |= {name: cell for name, cell in values.items() if cell and name not in samples}
        return samples


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
        if len(value) > 1:
            yield from _list_part("[*]", value[0], left)


def _is_descended(values: list[Any]) -> bool:
    """Return whether the first of these is what counts; turns and records are shown whole."""
    first = values[0] if values else None
    if not isinstance(first, dict) or "role" in first:
        return False
    return len(values) == 1 or any(isinstance(part, dict) for part in first.values())


def _list_part(step: str, part: Any, left: int) -> Iterator[str]:
    below = [f"{step}{path}" for path in _list_paths(part, left - 1)] if left else []
    yield from below or [step]
