"""What every reader of files returns: rows of text with their places, within limits."""

import re
import sys
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import NoReturn, Self

from evalsite.data.tables.faults import Fault, Question, Refused, Remarks, find_surrogate
from evalsite.data.tables.files import FileUse
from evalsite.lib.limited import BLANK_LINES, VALUES_IN_FILE
from evalsite.limits import (
    UPLOAD_MAX_CELL,
    UPLOAD_MAX_COLUMNS,
    UPLOAD_MAX_ROWS,
    UPLOAD_MAX_TEXT,
)

_MEGABYTE = 1024 * 1024
# how columns that contain one field are put together
JOIN, FIRST = "join", "first"
# what pandas, polars and pyarrow call the index of a data frame
_INDEX_NAME = re.compile(r"unnamed: \d+|__index_level_\d+__|level_\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Problem:
    """What keeps a row out, as its reader found it; `column` counts from 0."""

    code: str
    message: str
    column: int | None = None


# not frozen: that takes twice as long to make, and a file may hold a million of them
@dataclass(slots=True)
class Row:
    """The cells of one record, and where it starts: a line of a text, a row of a sheet."""

    line: int
    record: int
    cells: list[str]
    problems: tuple[Problem, ...] = ()


@dataclass
class Table:
    """An open file: what it looks like, and its rows still to be read, once.

    Every column has a unique name. Columns are numbered from 0 in `unnamed` (no name in the
    file, or that of a data frame's index: leave them out unless they are mapped), `repeated`
    (with the name that several columns share) and `systems` (each holds the outputs of the system
    it is named after). A reader's remarks are complete once the last row was read.
    """

    encoding: str
    delimiter: str
    header: list[str]
    header_line: int
    rows: Iterator[Row]
    remarks: Remarks = field(default_factory=Remarks)
    sheet: str = ""  # of a workbook, the one that is read
    unit: str = "line"  # what the line of a row is: of the file, or a row of a sheet or list
    systems: Collection[int] = ()
    # what was decided about the files that it was joined from, by option, in a sentence
    decided: Mapping[str, str] = field(default_factory=dict)
    # and what was asked
    answered: Mapping[str, Question] = field(default_factory=dict)
    # these files, and how they are joined
    files: Sequence[FileUse] = ()
    joined: str = ""
    # columns of these files, some of which have another name here, with their first values
    sources: Mapping[str, str] = field(default_factory=dict)
    # columns that may be what the systems got
    candidates: Sequence[str] = ()
    # columns that a tool is known to have as inputs
    inputs: Sequence[str] = ()
    # what was chosen for its columns when files were joined
    fields: Mapping[str, str] = field(default_factory=dict)
    # why outputs without a text have none, by item and system, if the file says it
    failures: Mapping[tuple[str, str], str] = field(default_factory=dict)
    # whether its texts are whole: none is an object to look into
    is_joined: bool = False
    unnamed: set[int] = field(init=False)
    repeated: dict[int, str] = field(init=False)

    def __post_init__(self) -> None:
        self.header, self.unnamed, self.repeated = _name_columns(self.header)
        if self.header and self.header[0].casefold() == "index":
            self._mark_index()
        self.rows = _leave_out_headers(self.rows, self.remarks)

    def merge(self, groups: Mapping[tuple[int, ...], str]) -> None:
        """Put columns together in the first of them: `join` all of their texts, or the `first`."""
        self.rows = _merge_rows(self.rows, groups)

    def check_mapped(self, columns: Collection[str]) -> list[Fault]:
        """Return a fault for each name that several columns share, if one of them is used."""
        names = {name for number, name in self.repeated.items() if self.header[number] in columns}
        return [
            Fault(
                "column_duplicate",
                f"{list(self.repeated.values()).count(name)} columns have this name (case and "
                "outer spaces don't count). Rename or remove all but one.",
                column=name,
                line=self.header_line,
            )
            for name in dict.fromkeys(self.repeated.values())
            if name in names
        ]

    def _mark_index(self) -> None:
        """A first column "index" that begins with 0 numbers the rows of a data frame."""
        try:
            first = next(self.rows, None)
        except Refused as error:
            self.rows = _raise_later(error)
            return
        if first is not None:
            self.rows = chain([first], self.rows)
            if first.cells[:1] == ["0"]:
                self.unnamed.add(0)


_IMPORT_ID = re.compile(r"\s*\{\s*\"ImportId\"")


def _leave_out_headers(rows: Iterator[Row], remarks: Remarks) -> Iterator[Row]:
    """Leave out two more rows of names, of which the second holds nothing but import ids."""
    first = list(islice(rows, 2))
    if len(first) == 2 and first[1].cells and all(map(_IMPORT_ID.match, first[1].cells)):
        remarks.tell(
            "header_rows",
            "The rows 2 and 3 are header rows too, with the questions and ids that Qualtrics "
            "writes. They were left out",
        )
        first = []
    yield from first
    yield from rows


def _merge_rows(rows: Iterator[Row], groups: Mapping[tuple[int, ...], str]) -> Iterator[Row]:
    most = max(number for group in groups for number in group)
    for row in rows:
        if len(row.cells) > most:
            for group, how in groups.items():
                texts = [row.cells[number] for number in group if row.cells[number].strip()]
                row.cells[group[0]] = "\n\n".join(texts if how == JOIN else texts[:1])
        yield row


_PEEKED = 50


def peek(table: Table) -> list[Row]:
    """Return the first rows, which are read again as if nothing had happened."""
    first: list[Row] = []
    try:
        for row in table.rows:
            first.append(row)
            if len(first) == _PEEKED:
                break
    except Refused as error:
        table.rows = chain(first, _raise_later(error))
    else:
        table.rows = chain(first, table.rows)
    return first


def _raise_later(error: Refused) -> Iterator[Row]:
    yield from ()
    raise error


def _name_columns(header: Sequence[str]) -> tuple[list[str], set[int], dict[int, str]]:
    """Return a name for each column, numbers of those without one, and names used twice."""
    stripped = [name.strip() for name in header]
    keys = [_fold(name) for name in stripped]
    counts = Counter(keys)
    taken, met = set(counts), Counter[str]()
    names: list[str] = []
    unnamed, repeated = set(), {}
    for number, (name, folded) in enumerate(zip(stripped, keys, strict=True)):
        if not name:
            unnamed.add(number)
            name = _make_free(f"column {number + 1}", taken)
        elif counts[folded] > 1:
            repeated[number] = stripped[keys.index(folded)]
            met[folded] += 1
            if met[folded] > 1:
                name = _make_free(f"{name} ({met[folded]})", taken)
        elif number == 0 and _INDEX_NAME.fullmatch(name):
            unnamed.add(number)
        names.append(name)
    return names, unnamed, repeated


def _fold(name: str) -> str:
    """Return a name for comparison: “é” is the same letter as “e” and an accent after it."""
    return unicodedata.normalize("NFC", name.casefold())


def _make_free(name: str, taken: set[str]) -> str:
    while _fold(name) in taken:
        name += "'"
    taken.add(_fold(name))
    return name


@cache
def load_names() -> dict[str, list[str]]:
    """Return by field what columns are called in tables that scripts write."""
    text = Path(__file__).with_name("columns.toml").read_text(encoding="utf-8")
    return {
        field: [name.strip().casefold() for name in names]
        for field, names in tomllib.loads(text).items()
    }


def number_rows(rows: Iterable[tuple[int, list[str]]], limits: "Limits") -> Iterator[Row]:
    """Yield the rows that hold something, from their lines and cells."""
    number = blank = values = 0
    for line, cells in rows:
        if any(map(str.strip, cells)):
            number += 1
            values += len(cells)
            limits.check_rows(number, line)
            limits.check_values(values, line)
            yield Row(line, number, cells)
        else:
            blank += 1
            limits.check_blank(blank, line)


def check_cells(cells: list[str], limits: "Limits") -> Iterator[Problem]:
    """Yield what is wrong with cells, and empty them: no page could show what is in them."""
    for column, cell in enumerate(cells):
        if len(cell) > limits.cell:
            message = f"The cell has more than {limits.cell:,} characters."
            yield Problem("cell_too_long", message, column)
            cells[column] = ""
        elif surrogate := find_surrogate(cell):
            yield Problem("surrogate", f"The text holds {surrogate}. Correct or remove it.", column)
            cells[column] = ""


@dataclass(frozen=True)
class Limits:
    """How much of everything a file may hold; texts and columns are counted, not stored sizes."""

    rows: int = UPLOAD_MAX_ROWS
    text: int = UPLOAD_MAX_TEXT  # bytes, unpacked
    cell: int = UPLOAD_MAX_CELL  # characters
    columns: int = UPLOAD_MAX_COLUMNS
    values: int = VALUES_IN_FILE  # rows x columns, or what JSON holds

    def lift(self) -> Self:
        """Allow any number of rows: nobody waits for a page."""
        return replace(self, rows=sys.maxsize, text=sys.maxsize, values=sys.maxsize)

    @property
    def record(self) -> int:
        """Return the most characters of a record: room for several of the longest cells."""
        return 8 * self.cell

    def check_rows(self, record: int, line: int) -> None:
        if record > self.rows:
            raise Refused(
                "too_many_rows",
                f"The file has more than {self.rows:,} rows. Split it and upload the parts one "
                "after the other, or have it imported whole on the server, by its command with "
                "--no-limit, such as manage.py import_batch --no-limit.",
                line=line,
                record=record,
            )

    def check_values(self, count: int, line: int) -> None:
        if count > self.values:
            raise Refused(
                "too_many_values",
                f"The file has more than {self.values:,} values, which are its rows times its "
                "columns. Remove columns you don't need, or split the file and upload the parts "
                "one after the other.",
                line=line,
            )

    def check_blank(self, count: int, line: int) -> None:
        most = min(self.rows, BLANK_LINES)
        if count > most:
            raise Refused(
                "too_many_rows",
                f"The file has more than {most:,} empty lines. Remove them.",
                line=line,
            )

    def check_width(self, count: int, line: int) -> None:
        if count > self.columns:
            raise Refused(
                "too_many_columns",
                f"The file has more than {self.columns:,} columns, which is the most that can be "
                "read. Remove those you don't need.",
                line=line,
            )

    def check_text(self, size: int) -> None:
        if size > self.text:
            raise Refused(
                "too_large",
                f"The file holds {size / _MEGABYTE:,.0f} MB of text, but at most "
                f"{self.text / _MEGABYTE:,.0f} MB can be read. Split it and upload the parts one "
                "after the other.",
            )

    def refuse_record(self, line: int) -> NoReturn:
        raise Refused(
            "cell_too_long",
            f"The row that starts here has more than {self.record:,} characters. "
            "Shorten it, or look for a quote that is never closed.",
            line=line,
        )
