"""What a plain table holds that belongs with others: inputs, outputs of a system, a reference.

Its columns are known by their names (`columns.toml`); what a person chose wins.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, cast

from evalsite.data.tables.files import SourceFile, open_any
from evalsite.data.tables.paths import has, last_name, write_step
from evalsite.data.tables.table import Limits, Refused, load_names, peek
from evalsite.data.tables.tools import Format, Recognised, RowPaths, Shape, get_chosen

TITLE = "One table for each system"
TABLE = "table"
# fields of a row as a whole, of which none is a text that the systems got
_ROLES = ("item", "system", "output", "output_of_this_system", "output_is_empty", "pair", "")
_KEPT = ("group", "cluster", "kind", "-")
_SAMPLE = 200


@dataclass
class TableColumns:
    """The columns of a table with their first values, and what it is, as far as that is known."""

    samples: dict[str, str] = field(default_factory=dict)
    format: Format | None = None


def describe_table(
    file: SourceFile, limits: Limits, options: Mapping[str, Any], chosen: Mapping[str, str]
) -> TableColumns:
    """Return the columns of a file that is a table, with what they hold; none if it is no table."""
    try:
        with file.open() as source:
            table = open_any(cast(BinaryIO, source), limits, options)
            rows = peek(table)
    except Refused:
        return TableColumns()
    header = [name for number, name in enumerate(table.header) if number not in table.unnamed]
    first = rows[0].cells if rows else []
    data = dict(zip(table.header, first, strict=False))
    samples = {name: str(data.get(name, ""))[:_SAMPLE] for name in header}
    paths = _find_paths(header, data, get_chosen(file, chosen))
    for path in {*paths.id, *paths.inputs, *paths.system, *paths.output} - {*header}:
        samples[path] = ""
    return TableColumns(samples, _describe(paths))


def _find_paths(
    header: Sequence[str], data: Mapping[str, Any], chosen: Mapping[str, str]
) -> RowPaths:
    known = {path: use for path, use in chosen.items() if path in header or has_path(data, path)}
    free = {name.strip().casefold(): name for name in reversed(header) if name not in known}
    names = load_names()

    def find(use: str, key: str) -> list[str]:
        if paths := [_quote(path, header) for path, name in known.items() if name == use]:
            return paths
        return [_quote(free[name], header) for name in names[key] if name in free]

    inputs = {
        path: [_quote(path, header)]
        for path, use in known.items()
        if use not in _ROLES and use not in _KEPT and not use.startswith("gold_")
    }
    if not inputs:
        inputs = {
            free[name]: [_quote(free[name], header)] for name in names["input"] if name in free
        }
    return RowPaths(
        id=find("item", "id"),
        inputs=inputs,
        system=find("system", "system"),
        output=find("output", "output"),
        reference=[_quote(free[name], header) for name in names["reference"] if name in free],
        left_out=[path for path, use in known.items() if use == "-"],
        keeps_rest=True,
    )


def has_path(data: Mapping[str, Any], path: str) -> bool:
    """Return whether a path that a person wrote leads into a row."""
    try:
        return has(data, path)
    except ValueError:
        return False


def _quote(name: str, header: Sequence[str]) -> str:
    """Write the name of a column, or a path that begins with one, as a path."""
    return write_step(name) if name in header else name


def _describe(paths: RowPaths) -> Format | None:
    if paths.output:
        role = "outputs"
    elif paths.inputs:
        role = "inputs"
    elif paths.reference:
        role = "reference"
    elif paths.id:
        role = ""
    else:
        return None
    by_file = "" if paths.system else "file"
    shape = Shape(container=TABLE, role=role, system_from=by_file)
    return Format(key=TABLE, title=TITLE, row=paths, shapes=(shape,))


def choose_paths(row: RowPaths, first: Mapping[str, Any], chosen: Mapping[str, str]) -> RowPaths:
    """Return where things are in what a tool wrote, but for paths that a person chose."""
    known = {
        path: use for path, use in chosen.items() if path not in ("", "-") and has_path(first, path)
    }
    inputs = {
        path: [path]
        for path, use in known.items()
        if use not in _ROLES
        and use not in _KEPT
        and not use.startswith("gold_")
        and _is_path(path, path, row.inputs.get(path, []))
    }
    changes: dict[str, Any] = {
        name: paths
        for name, use in (("id", "item"), ("system", "system"), ("output", "output"))
        if (
            paths := [
                path
                for path, field_name in known.items()
                if field_name == use and _is_path(path, use, getattr(row, name))
            ]
        )
    }
    if inputs:
        changes |= {"inputs": inputs, "open": [], "loose": []}
    return replace(row, **changes) if changes else row


def _is_path(chosen: str, name: str, paths: Sequence[str]) -> bool:
    """Return whether a chosen path isn't just the tool's own column of this name.

    That may be a text inside what the file has under this name.
    """
    return chosen != name or not paths or chosen in paths


# --- ids that tables share ---------------------------------------------------------------

# The column by which several tables are joined, if no name says which it is: in each table its
# values are all there and all different, and most of them are in every table.


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
