"""In what form a file holds ratings, as far as its columns and its first rows tell it.

Raters, items, or the points of a scale may be columns; reviews may be lists inside of records. Each
form is a mapping from paths and patterns to fields.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsite.data.tables.paths import Known, Match, find_matches, is_chosen, open_json, write_step
from evalsite.data.tables.table import Row, Table, peek
from evalsite.lib.rating_columns import FIELDS, fold
from evalsite.lib.rating_guess import QUALITIES, match_quality

_SEPARATORS = ("_", ".", "-", " ")
_PREFIXES = ("", "Answer.")
_FORMS = (
    "{{item}}{0}{{system}}{0}{{criterion}}",
    "{{criterion}}{0}{{participant}}",
    "{{participant}}{0}{{criterion}}",
)
_RATER = re.compile(
    r"(rater|annotator|judge|coder|evaluator|reviewer|assessor|worker|participant|subject|expert|"
    r"bewerter|bewerterin|prüfer|prüferin|juge|évaluateur|anotador)[\s_.-]*|[rapwj][\s_.-]*(?=[0-9])",
    re.IGNORECASE,
)
_POINT = re.compile(r"(.+?)[\s_.-]+([0-9]{1,3})")
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")
_WHOLE = re.compile(r"[.,]0+$")
_FLAGS = {"", "0", "1", "0.0", "1.0", "true", "false", "on", "off", "yes", "no", "x"}
_MISSING = {"", "na", "n/a", "nan", "none", "null", "\\n"}
_SIDE = re.compile(
    r"(model|system|llm|assistant|agent|player)[\s_.-]*(name[\s_.-]*)?[ab12]", re.IGNORECASE
)
_TIES = {"both", "bothbad", "both_bad", "neither", "draw", "equal"}
_ID = re.compile(r"(.*[\s_-])?(id|key|no|nr)", re.IGNORECASE)


def find_form(
    header: Sequence[str], rows: Sequence[Any], known: Known, guessed: Collection[str]
) -> dict[str, str]:
    """Return fields by pattern if all that it reads are points of a scale; or nothing.

    `known` are the names that may occur, `guessed` the fields that columns have already.
    """
    points = {name.casefold() for name in known.get("point", ())}
    for pattern in _list_patterns(header):
        matches = find_matches(pattern, header, known)
        bound = {name for match in matches for name in match.bound} - {"point"}
        if len(matches) < 2 or not bound.isdisjoint(guessed):
            continue
        cells = [_list_column(rows, match.column, len(header)) for match in matches]
        if "{point}" in pattern:
            is_form = _are_choices(matches, rows, len(header))
        else:
            filled = {_WHOLE.sub("", cell) for column in cells for cell in column} - _MISSING
            is_form = bool(filled) and filled <= points
        if is_form:
            return {pattern: "value"}
    return {}


def _list_patterns(header: Sequence[str]) -> Iterator[str]:
    for separator in _SEPARATORS:
        for prefix in _PREFIXES:
            if prefix and not any(name.startswith(prefix) for name in header):
                continue
            yield f"{prefix}{{criterion}}{separator}{{point}}"
            yield from (f"{prefix}{form.format(separator)}" for form in _FORMS)
    prefixes = [match[0] for name in header if (match := _RATER.match(name)) and match[0] != name]
    yield from (
        f"{prefix}{{participant}}"
        for prefix in dict.fromkeys(prefixes)
        if prefixes.count(prefix) > 1
    )


def _list_column(rows: Sequence[Any], number: int, width: int) -> list[str]:
    whole = (row.cells for row in rows if len(row.cells) == width)
    return [str(cells[number]).strip().casefold() for cells in whole]


def _are_choices(matches: Sequence[Match], rows: Sequence[Any], width: int) -> bool:
    """Return whether columns are the points of a scale, of which each row has one at most."""
    by_criterion: dict[str, list[list[str]]] = {}
    for match in matches:
        cells = _list_column(rows, match.column, width)
        if not _FLAGS.issuperset(cells):
            return False
        by_criterion.setdefault(match.bound.get("criterion", ""), []).append(cells)
    return all(
        sum(map(is_chosen, choices)) <= 1
        for columns in by_criterion.values()
        for choices in zip(*columns, strict=True)
    ) and all(len(columns) > 1 for columns in by_criterion.values())


def derive_known(header: Sequence[str], rows: Sequence[Any]) -> Known:
    """Return the names that the columns of a file without a study seem to hold.

    Criteria are known qualities, or else what comes before the points of one column for each.
    """
    criteria = dict.fromkeys(name for column in header for name in _list_qualities(column))
    points: dict[str, None] = {}
    columns = [match for name in header if (match := _POINT.fullmatch(name))]
    width = len(header)
    for match in columns:
        number = header.index(match[0])
        cells = _list_column(rows, number, width)
        if cells and _FLAGS.issuperset(cells):
            criteria[match[1].removeprefix("Answer.")] = None
            points[match[2]] = None
    numbers = {
        cell
        for number in range(width)
        for cell in _list_column(rows, number, width)
        if _NUMBER.fullmatch(cell)
    }
    return {"criterion": [*criteria], "point": points.keys() | numbers}


def _list_qualities(column: str) -> Iterator[str]:
    """Yield the parts of a column's name that are qualities, as they are written there."""
    for separator in _SEPARATORS:
        parts = column.split(separator)
        yield from (part for part in (parts[0], parts[-1]) if fold(part) in QUALITIES)


# --- people or items as columns -----------------------------------------------------------

# what has a column for each, and the field that their names then are
TURNS = {"people": "participant", "items": "item"}


def list_rated(table: Table, known: Known, fields: Mapping[str, str], use: str) -> list[int]:
    """Return the columns whose names are people or items, as `use` says, and hold ratings.

    `fields` are those of other columns; of items only those that are `known` are taken, if any is.
    """
    points = {name.casefold() for name in known.get("point", ())}
    items = {*known.get("item", ())} & {*table.header} if use == "items" else set()
    rows, rated = peek(table), []
    for number, name in enumerate(table.header):
        if fields.get(name) or number in table.unnamed or (items and name not in items):
            continue
        cells = _list_column(rows, number, len(table.header))
        filled = [_WHOLE.sub("", cell) for cell in cells if cell not in _MISSING]
        # a point that isn't on the scale is a fault of its row, not of the column
        fitting = [
            cell for cell in filled if (cell in points if points else _NUMBER.fullmatch(cell))
        ]
        if len(fitting) > len(filled) / 2:
            rated.append(number)
    return rated


def turn_table(table: Table, columns: Sequence[int], name: str) -> None:
    """Make a row of each of these cells that isn't empty; what names their columns has this name.

    The fields of both new columns are known.
    """
    names = [table.header[number] for number in columns]
    kept = [number for number in range(len(table.header)) if number not in columns]
    width = len(table.header)
    added = {}
    for use in (name, "value"):
        column = use
        while column in table.header:
            column += "_"
        added[column] = use
    table.unnamed = {at for at, number in enumerate(kept) if number in table.unnamed}
    table.repeated = {
        at: table.repeated[number] for at, number in enumerate(kept) if number in table.repeated
    }
    table.header = [*(table.header[number] for number in kept), *added]
    table.fields = {**table.fields, **added}
    table.rows = _turn_rows(table.rows, width, kept, dict(zip(columns, names, strict=True)))


def _turn_rows(
    rows: Iterator[Row], width: int, kept: Sequence[int], names: Mapping[int, str]
) -> Iterator[Row]:
    for row in rows:
        if len(row.cells) != width or row.problems:
            yield row
            continue
        shared = [row.cells[number] for number in kept]
        for number, name in names.items():
            if row.cells[number].strip():
                yield Row(row.line, row.record, [*shared, name, row.cells[number]])


# --- inside of records --------------------------------------------------------------------


@dataclass
class _Place:
    """A path into a record, and the keys of the objects on it that are names rather than fields."""

    path: str
    levels: list[list[str]] = field(default_factory=list)


def find_reviews(header: Sequence[str], rows: Sequence[Any]) -> dict[str, str]:
    """Return fields by path of reviews in lists inside of records; or nothing."""
    cells = rows[0].cells if rows else []
    for name, cell in zip(header, cells, strict=False):
        opened = open_json(cell)
        paths = _find_below(opened, _Place(write_step(name))) if opened is not cell else {}
        if paths:
            ids = [column for column in header if column != name and _ID.fullmatch(column)]
            return dict.fromkeys(ids[:1], "item") | paths
    return {}


def _find_below(value: Any, place: _Place) -> dict[str, str]:
    if isinstance(value, list):
        are_objects = all(isinstance(entry, dict) for entry in value)
        return _read_entries(value, place) if value and are_objects else {}
    if not isinstance(value, dict):
        return {}
    if _are_alike(value):
        below = _Place(f"{place.path}.{{{len(place.levels)}}}", [*place.levels, [*value]])
        return _find_below(next(iter(value.values())), below)
    parts = (
        _find_below(part, _Place(f"{place.path}.{write_step(key)}", place.levels))
        for key, part in value.items()
    )
    return next(filter(None, parts), {})


def _are_alike(value: Mapping[str, Any]) -> bool:
    """Return whether the keys of an object are names: all of its values have the same form."""
    parts = [*value.values()]
    if len(parts) < 2 or not all(isinstance(part, dict) for part in parts):
        return False
    return all(part.keys() == parts[0].keys() for part in parts)


def _read_entries(entries: Sequence[Mapping[str, Any]], place: _Place) -> dict[str, str]:
    """Return fields by path of a list of reviews, each by one person."""
    people = {*FIELDS["participant"], "participant"}
    named = next((key for key in entries[0] if fold(key) in people), None)
    paths = {
        f"[*].{write_step(key)}": f"value:{quality}"
        for key in entries[0]
        if (quality := match_quality(key)) and all(_is_number(entry.get(key)) for entry in entries)
    }
    if not paths or (named is None and len(paths) < 2):
        return {}
    paths["[*]#" if named is None else f"[*].{write_step(named)}"] = "participant"
    path = place.path
    for number, name in enumerate(_name_levels(place.levels)):
        path = path.replace(f"{{{number}}}", f"{{{name}}}")
    return {f"{path}{step}": use for step, use in paths.items()}


def _is_number(value: Any) -> bool:
    return value is None or _NUMBER.fullmatch(str(value)) is not None


def _name_levels(levels: Sequence[Sequence[str]]) -> list[str]:
    """Return what the keys of each level are: numbers are items, the innermost names systems."""
    return [
        "item" if number < len(levels) or all(map(str.isdecimal, keys)) else "system"
        for number, keys in enumerate(levels, start=1)
    ]


# --- battles ------------------------------------------------------------------------------


def name_winners(table: Table) -> list[str]:
    """Write the system where a winner is the name of the column with it; return both columns."""
    sides = {
        fold(name): number for number, name in enumerate(table.header) if _SIDE.fullmatch(name)
    }
    winners = [
        number
        for number, name in enumerate(table.header)
        if fold(name) in ("preferred", *FIELDS["preferred"])
    ]
    if len(sides) != 2 or not winners:
        return []
    cells = {cell for cell in _list_column(peek(table), winners[0], len(table.header)) if cell}
    # by what a cell may say: model_a, a
    places = sides | {name.rsplit("_", 1)[-1][-1:]: number for name, number in sides.items()}
    if not any(fold(cell) in places for cell in cells):
        return []
    table.rows = _write_winners(table.rows, winners[0], places)
    return [table.header[number] for number in sides.values()]


def _write_winners(rows: Iterator[Row], winner: int, places: Mapping[str, int]) -> Iterator[Row]:
    for row in rows:
        cell = fold(row.cells[winner]) if winner < len(row.cells) else ""
        place = places.get(cell)
        if place is not None and place < len(row.cells):
            row.cells[winner] = row.cells[place]
        elif cell.startswith("tie") or cell in _TIES:
            row.cells[winner] = "tie"
        yield row
