"""Rows as CSV: exact, or guarded for spreadsheets, and quoted only where needed (RFC 4180)."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice
from operator import attrgetter
from typing import Any

from django.http import HttpResponse

from evalsite.exports.column import NUMBER, TEXT, TIME, WHOLE, YES_NO, Cell, Column
from evalsite.exports.rows import Group

# It also makes Python's writer quote a lone CR or LF in a cell, so that it survives.
LINE_END = "\r\n"
BYTE_ORDER_MARK = "\ufeff"
# what a spreadsheet may take for a formula, also in its full-width form
_FORMULA = re.compile("[=+\\-@\t\r\x00＝＋－＠]")
_SPECIAL = re.compile('[,"\r\n]').search
# types whose cells never need quotes
_UNQUOTED = frozenset({WHOLE, NUMBER, YES_NO, TIME})
_BLOCK = 256 * 1024
_MOST_KEPT = 4_096  # of what is put together again and again
_GROUPS = 100  # whose lines are put together at a time

PageWriter = Callable[[Sequence[Group]], list[str]]


def guard_cell(text: str) -> str:
    """Return the text, with a ' before it if a spreadsheet could run it as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def write_rows(rows: Iterable[Iterable[Any]]) -> str:
    """Write rows as CSV, as in every file that leaves the site."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator=LINE_END).writerows(rows)
    return buffer.getvalue()


def send_csv(text: str | bytes, name: str) -> HttpResponse:
    """Send a small file under this name."""
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def write_blocks(
    columns: Sequence[Column], groups: Iterable[Group], *, is_guarded: bool
) -> Iterator[tuple[bytes, int]]:
    """Write a file; yield its blocks, each with the number of rows up to its end."""
    block = BYTE_ORDER_MARK if is_guarded else ""
    block += write_rows([[column.name for column in columns]])
    count = 0
    for lines, rows in write_lines(columns, groups, is_guarded=is_guarded):
        block += lines
        count += rows
        if len(block) >= _BLOCK:
            yield block.encode(), count
            block = ""
    yield block.encode(), count


def write_lines(
    columns: Sequence[Column], groups: Iterable[Group], *, is_guarded: bool = False
) -> Iterator[tuple[str, int]]:
    """Write the lines of some groups at a time; yield them with their number.

    A million rows must be written in seconds, so neighbouring cells are put together as one part:
    once for an annotation if they depend on it alone, and once for each score if on that alone.
    """
    parts = [
        (kind, _make_part([*neighbours], is_guarded=is_guarded))
        for kind, neighbours in groupby(columns, key=attrgetter("of"))
    ]
    writers = [_WRITERS[kind](part) for kind, part in parts]
    groups = (group for group in groups if group[1])
    while page := [*islice(groups, _GROUPS)]:
        texts = [write(page) for write in writers]
        lines = [*map(",".join, zip(*texts, strict=True)), ""]
        yield LINE_END.join(lines), len(lines) - 1


def _write_shared(part: Cell) -> PageWriter:
    return lambda page: [text for answer, rows in page for text in [part(answer)] * len(rows)]


def _write_own(part: Cell) -> PageWriter:
    return lambda page: [part(row) for _, rows in page for row in rows]


def _write_scores(part: Cell) -> PageWriter:
    part = lru_cache(_MOST_KEPT)(part)
    return lambda page: [part(row.score) for _, rows in page for row in rows]


_WRITERS = {"answer": _write_shared, "row": _write_own, "score": _write_scores}


def _make_part(columns: Sequence[Column], *, is_guarded: bool) -> Cell:
    """Return a function that writes these cells of a row, separated by commas."""
    cells: list[Cell] = []
    joined: list[Cell] = []
    for is_attribute, neighbours in groupby(columns, key=lambda column: column.cell is None):
        run = [*neighbours]
        own = [_get_cell(column, is_guarded=is_guarded) for column in run]
        cells += own
        if is_attribute and len(run) > 1 and not (is_guarded and any(c.type == TEXT for c in run)):
            joined.append(_join_attributes([column.name for column in run]))
        else:
            joined += own
    if len(joined) == 1:
        (write,) = joined
    else:

        def write(row: Any) -> str:
            return ",".join([cell(row) for cell in joined])

    if _UNQUOTED.issuperset(column.type for column in columns):
        return write
    commas = len(cells) - 1

    def write_quoted(row: Any) -> str:
        text = write(row)
        if text.count(",") == commas and '"' not in text and "\n" not in text and "\r" not in text:
            return text
        return ",".join([_quote(cell(row)) for cell in cells])

    return write_quoted


def _join_attributes(names: Sequence[str]) -> Cell:
    """Return a function that reads several attributes at once, which is faster than each alone."""
    get = attrgetter(*names)
    return lambda row: ",".join(get(row))


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
