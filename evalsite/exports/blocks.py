"""Rows of large files as blocks of CSV: exact, or guarded for spreadsheets."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from evalsite.data.tables.mqm import write_line
from evalsite.exports.column import NUMBER, TEXT, TIME, WHOLE, YES_NO, Cell, Column
from evalsite.exports.rows import Group
from evalsite.lib.csv_writer import BYTE_ORDER_MARK, LINE_END, guard_cell, write_rows

_SPECIAL = re.compile('[,"\r\n]').search
# types whose cells never need quotes
_UNQUOTED = frozenset({WHOLE, NUMBER, YES_NO, TIME})
_BLOCK = 256 * 1024
_MOST_KEPT = 4_096  # of what is put together again and again


def write_blocks(
    columns: Sequence[Column], groups: Iterable[Group], *, is_guarded: bool
) -> Iterator[tuple[bytes, int]]:
    """Write a file; yield its blocks, each with the number of rows up to its end."""
    block = [BYTE_ORDER_MARK] if is_guarded else []
    block.append(write_rows([[column.name for column in columns]]))
    size = count = 0
    for lines in write_lines(columns, groups, is_guarded=is_guarded):
        block += lines
        size += len(lines) * len(lines[0])
        count += len(lines)
        if size >= _BLOCK:
            yield "".join(block).encode(), count
            block, size = [], 0
    yield "".join(block).encode(), count


def write_tabbed(columns: Sequence[Column], groups: Iterable[Group]) -> Iterator[tuple[bytes, int]]:
    """Write a file without quotes, its cells separated by tabs; yield blocks as `write_blocks`."""
    cells = [(column.of == "answer", column.get_cell) for column in columns]
    count = 0
    yield write_line([column.name for column in columns]).encode(), 0
    for answer, rows in groups:
        count += len(rows)
        lines = [
            write_line([get(answer if is_shared else row) for is_shared, get in cells])
            for row in rows
        ]
        yield "".join(lines).encode(), count


def write_lines(
    columns: Sequence[Column], groups: Iterable[Group], *, is_guarded: bool = False
) -> Iterator[list[str]]:
    """Write the lines of each group of a file.

    A million rows must be written in seconds, so neighbouring cells are put together as one part:
    once for an annotation if they depend on it alone, and once for each score if on that alone.
    """
    kinds: list[str] = []
    parts: list[Callable[[Any], str]] = []
    for kind, some in groupby(columns, key=attrgetter("of")):
        part = _make_part([*some], is_guarded=is_guarded)
        kinds.append(kind)
        parts.append(_remember(part) if kind == "score" else part)
    shared = [(place, part) for place, part in enumerate(parts) if kinds[place] == "answer"]
    own = [(place, part) for place, part in enumerate(parts) if kinds[place] != "answer"]
    texts = [""] * len(parts)
    join = ",".join
    for answer, rows in groups:
        if not rows:
            continue
        for place, part in shared:
            texts[place] = part(answer)
        lines = []
        for row in rows:
            for place, part in own:
                texts[place] = part(row)
            lines.append(join(texts) + LINE_END)
        yield lines


def _make_part(columns: Sequence[Column], *, is_guarded: bool) -> Callable[[Any], str]:
    """Return a function that writes these cells of a row, separated by commas."""
    cells = [_get_cell(column, is_guarded=is_guarded) for column in columns]
    join = _join_cells(columns, cells, is_guarded=is_guarded)
    if _UNQUOTED.issuperset(column.type for column in columns):
        return join
    commas = len(cells) - 1

    def write(row: Any) -> str:
        text = join(row)
        if text.count(",") == commas and '"' not in text and "\n" not in text and "\r" not in text:
            return text
        return ",".join([_quote(cell(row)) for cell in cells])

    return write


def _join_cells(columns: Sequence[Column], cells: Sequence[Cell], *, is_guarded: bool) -> Cell:
    """Return a function that joins these cells; neighbouring attributes are read at once."""
    runs: list[Cell] = []
    for is_plain, pairs in groupby(
        zip(columns, cells, strict=True),
        key=lambda pair: pair[0].cell is None and not (is_guarded and pair[0].type == TEXT),
    ):
        run = [*pairs]
        if is_plain and len(run) > 1:
            runs.append(_join_attributes([column.name for column, _ in run]))
        else:
            runs += [cell for _, cell in run]
    if len(runs) == 1:
        return runs[0]
    if len(runs) == 2:
        first, second = runs
        return lambda row: f"{first(row)},{second(row)}"
    return lambda row: ",".join([cell(row) for cell in runs])


def _join_attributes(names: Sequence[str]) -> Cell:
    find = attrgetter(*names)
    return lambda row: ",".join(find(row))


def _get_cell(column: Column, *, is_guarded: bool) -> Cell:
    get_cell = column.get_cell
    if not is_guarded or column.type != TEXT:
        return get_cell
    return lambda row: guard_cell(get_cell(row))


def _quote(text: str) -> str:
    if not _SPECIAL(text):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


def _remember(part: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return a function of a row that writes these cells of its score, once for each score."""
    known: dict[Hashable, str] = {}

    def find(row: Any) -> str:
        score = row.score
        text = known.get(score)
        if text is None:
            if len(known) >= _MOST_KEPT:
                known.clear()
            text = known[score] = part(score)
        return text

    return find
