"""Lists of a scale as tables of the builder: its points, the marks of a slider, its options."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evalsite.building.parameters import MOST_ROWS, Column, Parameter, Plain, make_key, read_whole


@dataclass(frozen=True)
class Cell:
    """One control of a table. `label` names it to those who can't see its column."""

    name: str
    column: str
    label: str
    value: Any
    control: str
    choices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class TableRow:
    """An entry as a row; `at` is what its buttons post after the name of what they do."""

    number: int
    at: str
    cells: tuple[Cell, ...]
    is_first: bool
    is_last: bool


@dataclass(frozen=True)
class Table:
    """A list as a table, under the name of its field."""

    name: str
    label: str
    noun: str
    help: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    has_ends: bool
    flags: str  # the columns with boxes, which a form leaves out where they aren't ticked


def describe_table(name: str, parameter: Parameter, scale: Plain, known: Container[str]) -> Table:
    """Return the table of a parameter of a scale that takes these parameters."""
    entries = list_entries(scale.get(name.rpartition("-")[2]))
    columns = tuple(
        column
        for column in parameter.columns
        if not column.needs or (column.needs in known and _is_shown(column, scale, entries))
    )
    rows = tuple(
        TableRow(
            number=number + 1,
            at=f"{name}:{number}",
            cells=tuple(
                Cell(
                    name=f"{name}-{number}-{column.name}",
                    column=column.label,
                    label=f"{column.label} of {parameter.noun} {number + 1}",
                    value=column.write(entry.get(column.name)),
                    control=column.control,
                    choices=column.choices,
                )
                for column in columns
            ),
            is_first=number == 0,
            is_last=number == len(entries) - 1,
        )
        for number, entry in enumerate(entries)
    )
    flags = " ".join(column.name for column in columns if column.control == "flag")
    has_ends = parameter.has_ends and any(entry.get("label") for entry in entries[1:-1])
    return Table(
        name, parameter.label, parameter.noun, parameter.help, columns, rows, has_ends, flags
    )


def _is_shown(column: Column, scale: Plain, entries: list[Plain]) -> bool:
    is_used = scale.get(column.needs) or any(entry.get(column.name) for entry in entries)
    return not column.is_rare or bool(is_used)


def list_entries(entries: Any) -> list[Plain]:
    listed = entries if isinstance(entries, list) else []
    return [dict(entry) for entry in listed if isinstance(entry, Mapping)]


def read_table(
    data: Mapping[str, str], name: str, parameter: Parameter, before: Any
) -> list[Plain]:
    """Read the rows of a table; what it shows no column of stays as it was."""
    count = read_whole(data.get(f"{name}-count", ""))
    flags = data.get(f"{name}-flags", "").split()
    entries = list_entries(before)
    found: list[Plain] = []
    for number in range(min(count, MOST_ROWS) if isinstance(count, int) else 0):
        entry = entries[number] if number < len(entries) else {}
        for column in parameter.columns:
            field = f"{name}-{number}-{column.name}"
            if field in data or column.name in flags:
                _read_cell(data.get(field, ""), column, entry)
        if entry.get("key") == "" and entry.get("label"):
            entry["key"] = make_key(entry["label"], {one.get("key") for one in found})
        found.append(entry)
    return found


def _read_cell(text: str, column: Column, entry: Plain) -> None:
    """Read a cell into its entry; what nobody changed stays as it was, spaces included."""
    text = text.replace("\r\n", "\n")
    if text == column.write(entry.get(column.name)) and column.name in entry:
        return
    value = column.read(text)
    if value in (None, "", []) and not column.is_needed:
        entry.pop(column.name, None)
    else:
        entry[column.name] = "" if value is None else value


# --- buttons ------------------------------------------------------------------------


def change_table(
    entries: list[Plain], what: str, number: int, *, noun: str, is_mirrored: bool
) -> int:
    """Do what a button of a table says; return the row that the page goes on at."""
    if what == "add":
        return _add(entries, noun, is_mirrored=is_mirrored)
    if what == "ends":
        for entry in entries[1:-1]:
            entry["label"] = ""
    elif number < len(entries) and what == "remove":
        value = entries.pop(number).get("value")
        if is_mirrored and type(value) is int:
            # of points that mirror each other both go
            entries[:] = [one for one in entries if one.get("value") != -value]
    elif number < len(entries):
        to = number - 1 if what == "up" else number + 1
        if 0 <= to < len(entries):
            _swap(entries, number, to)
            number = to
    return min(number, len(entries) - 1)


def _swap(entries: list[Plain], one: int, other: int) -> None:
    """Swap two entries; values stay where they are, as they rise from row to row."""
    entries[one], entries[other] = entries[other], entries[one]
    if "value" in entries[one] and "value" in entries[other]:
        entries[one]["value"], entries[other]["value"] = (
            entries[other]["value"], entries[one]["value"],
        )  # fmt: skip


# what a new point on both sides of 0 says
_STRENGTHS = {1: "better", 2: "much better", 3: "far better"}


def _add(entries: list[Plain], noun: str, *, is_mirrored: bool) -> int:
    """Add a row; to points on both sides of 0, one at each end."""
    if entries and "key" in entries[0]:
        label = f"{noun.capitalize()} {len(entries) + 1}"
        entries.append(
            {"key": make_key(label, {one.get("key") for one in entries}), "label": label}
        )
        return len(entries) - 1
    values = list(_whole_values(entries))
    value = max(values, default=0) + 1
    if is_mirrored:
        words = _STRENGTHS.get(value, "")
        first, second = (f"The {side} is {words}" if words else "" for side in ("first", "second"))
        entries.insert(0, {"value": -value, "label": first})
        entries.append({"value": value, "label": second})
        return 0
    entries.append({"value": value, "label": ""})
    return len(entries) - 1


def _whole_values(entries: list[Plain]) -> Iterator[int]:
    for entry in entries:
        value = entry.get("value")
        if isinstance(value, int) and not isinstance(value, bool):
            yield value
