"""Rows as CSV: exact, or guarded for spreadsheets, and quoted only where needed (RFC 4180)."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any

from evalsite.exports.cells import Form, Join, Page, Part, Source
from evalsite.exports.shared_columns import TEXT, Column

# It also makes Python's writer quote a lone CR or LF in a cell, so that it survives.
LINE_END = "\r\n"
# what a spreadsheet may take for a formula, also in its full-width form
_FORMULA = re.compile("[=+\\-@\t\r\x00＝＋－＠]")


def guard_cell(text: str) -> str:
    """The text, or with a leading ' where a spreadsheet could run it as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def write_rows(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV, as in every file that leaves the site."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator=LINE_END).writerows(rows)
    return buffer.getvalue()


class Csv:
    """Cells as CSV has them: the one place that knows of quotes and guards."""

    def __init__(self, columns: Sequence[Column], *, is_guarded: bool = False) -> None:
        self._names = {column.name for column in columns}
        self._guarded = {column.name for column in columns if column.type == TEXT and is_guarded}

    def join(self, names: Sequence[str]) -> Join:
        """Makes texts of the cells of rows: guarded, quoted where needed, parted by commas."""
        there = [(place, name) for place, name in enumerate(names) if name in self._names]
        taken = [(place, name in self._guarded) for place, name in there]
        if not taken:
            return lambda columns: [""] * len(columns[0])

        def join(columns: Sequence[Sequence[str]]) -> list[str]:
            return _join_cells(
                [
                    [*map(guard_cell, columns[place])] if is_guarded else columns[place]
                    for place, is_guarded in taken
                ]
            )

        return join


class Plain:
    """Cells as they are, for files that put them together in their own way."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._names = {column.name for column in columns}

    def join(self, names: Sequence[str]) -> Join:
        """Makes rows of the cells whose columns the file has."""
        places = [place for place, name in enumerate(names) if name in self._names]
        if not places:
            return lambda columns: [()] * len(columns[0])
        return lambda columns: [*zip(*(columns[place] for place in places), strict=True)]


class Weaver:
    """Puts parts into the order of the columns; what several rows share is joined once for all."""

    def __init__(self, columns: Sequence[Column], source: Source, form: Form) -> None:
        part_of = {name: part for part, names in enumerate(source.own) for name in names}
        # in the order of the file: a part of its own, or a stretch of what rows share
        self._order: list[int | Join] = []
        for part, some in groupby(columns, key=lambda column: part_of.get(column.name)):
            if part is not None:
                self._order.append(part)
                continue
            names = {column.name for column in some}
            stretch = [name if name in names else "" for name in source.shared]
            self._order.append(form.join(stretch))

    def weave(self, page: Page) -> Iterator[Sequence[Part]]:
        """The parts of each row, in the order of the columns."""
        shared, own, which = page
        return zip(
            *(
                own[part] if isinstance(part, int) else map(part(shared).__getitem__, which)
                for part in self._order
            ),
            strict=True,
        )


def write_lines(rows: Iterable[Sequence[str]]) -> str:
    """Rows of parts that a `Csv` made, as lines."""
    return f"{LINE_END.join(map(','.join, rows))}{LINE_END}"


def weave_rows(columns: Sequence[Column], source: Source, form: Plain) -> Iterator[Sequence[str]]:
    """Whole rows of cells, in the order of the columns."""
    weaver = Weaver(columns, source, form)
    for page in source.pages:
        for parts in weaver.weave(page):
            yield [*chain.from_iterable(parts)]


def _join_cells(columns: Sequence[Sequence[str]]) -> list[str]:
    """A text for each row; all are looked at together, since hardly any cell needs quotes."""
    texts = columns[0]
    if len(columns) > 1:
        texts = [*map(",".join, zip(*columns, strict=True))]
    if not _has_special(",".join(texts), len(texts) * len(columns)):
        return [*texts]
    return [_join(cells) for cells in zip(*columns, strict=True)]


def _join(cells: Sequence[str]) -> str:
    text = ",".join(cells)
    if _has_special(text, len(cells)):
        return ",".join([_quote(cell) for cell in cells])
    return text


def _quote(text: str) -> str:
    if _has_special(text, 1):
        text = text.replace('"', '""')
        return f'"{text}"'
    return text


def _has_special(text: str, cells: int) -> bool:
    """Whether one of so many cells, parted by commas, may need quotes."""
    return text.count(",") >= max(1, cells) or '"' in text or "\n" in text or "\r" in text
