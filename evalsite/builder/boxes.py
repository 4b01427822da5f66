"""Rows of a part as lines of one box: points, options, statements. Nobody types their keys."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from evalsite.builder.controls import Control, Plain, list_controls

# a value before the words: "0 Not at all"
_VALUE = re.compile(r"(-?[0-9]{1,9}(?:\.[0-9]{1,3})?)(?:\s+(.*))?")


class Line(NamedTuple):
    """A line of a box, and the number of the row that it was; None for a new one."""

    value: int | float | None
    words: str
    row: int | None


def find_words_name(control: Control) -> str:
    """Name the field whose words are written into the box."""
    return next(c.name for c in list_controls(control.part) if c.is_in_box and c.kind == "text")


def has_values(control: Control) -> bool:
    return any(cell.is_in_box and cell.kind == "number" for cell in list_controls(control.part))


def list_rows_in_place(value: Any) -> list[Plain]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def list_rows(value: Any) -> list[Plain]:
    return list(map(dict, list_rows_in_place(value)))


def get_object(plain: Plain, name: str) -> Plain:
    value = plain.get(name)
    return value if isinstance(value, dict) else {}


def list_values(control: Control, count: int) -> list[int]:
    """List the values of so many lines that say none: 1, 2, 3, or around 0."""
    if not control.hints.get("is_mirrored"):
        return list(range(1, count + 1))
    half = count // 2
    return [value for value in range(-half, half + 1) if value or count % 2]


def write_box(control: Control, rows: list[Plain]) -> str:
    """Write a line for each row; with its value, unless the place of the line says that."""
    name = find_words_name(control)
    words = [" ".join(str(row.get(name, "")).split()) for row in rows]
    if not has_values(control):
        return "\n".join(words)
    values = [row.get("value") for row in rows]
    is_plain = values == list_values(control, len(rows)) and all(words)
    if is_plain and not any(_VALUE.fullmatch(line) for line in words):
        return "\n".join(words)
    return "\n".join(f"{value} {line}".strip() for value, line in zip(values, words, strict=True))


def read_box(control: Control, text: str, rows: list[Plain]) -> list[tuple[Plain, int | None]]:
    """Return the rows that the lines say, each with the number of the row that it was.

    A line stays its row if its words are the same, or if they changed in place.
    """
    name = find_words_name(control)
    lines = list(_match_lines(control, text, [str(row.get(name, "")) for row in rows]))
    values = _fill_values(control, [line.value for line in lines])
    matched = []
    for line, value in zip(lines, values, strict=True):
        row = dict(rows[line.row]) if line.row is not None else {}
        if " ".join(str(row.get(name, "")).split()) != line.words:
            row[name] = line.words
        if value is not None:
            row["value"] = value
        matched.append((row, line.row))
    return matched


def _match_lines(control: Control, text: str, before: list[str]) -> Iterator[Line]:
    parsed: list[tuple[int | float | None, str]] = []
    for line in filter(None, (" ".join(line.split()) for line in text.splitlines())):
        match = _VALUE.fullmatch(line) if has_values(control) else None
        if match:
            number = float(match[1]) if "." in match[1] else int(match[1])
            parsed.append((number, match[2] or ""))
        else:
            parsed.append((None, line))
    known = [" ".join(words.split()) for words in before]
    matcher = SequenceMatcher(None, known, [words for _, words in parsed], autojunk=False)
    for tag, start, end, first, last in matcher.get_opcodes():
        for number in range(first, last):
            row = start + number - first
            value, words = parsed[number]
            yield Line(value, words, row if tag != "insert" and row < end else None)


def _fill_values(control: Control, values: list[int | float | None]) -> list[int | float | None]:
    """Let lines without a value go on from the line before; without any, from their places."""
    if not has_values(control):
        return [None for _ in values]
    if all(value is None for value in values):
        return [*list_values(control, len(values))]
    filled: list[int | float | None] = []
    following: int | float = 1
    for value in values:
        filled.append(following if value is None else value)
        following = (following if value is None else value) + 1
    return filled
