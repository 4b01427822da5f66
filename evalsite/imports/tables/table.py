"""What every reader of files gives: rows of text with their places, within limits."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn, Self

from django.conf import settings

from evalsite.imports.tables.faults import Remarks, UnreadableFile

_MEGABYTE = 1024 * 1024


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


@dataclass(frozen=True)
class Table:
    """A file that is open: what it looks like, and its rows still to be read, once.

    What a reader remarks on is complete when the last row has been read.
    """

    encoding: str
    delimiter: str
    header: list[str]
    header_line: int
    rows: Iterator[Row]
    remarks: Remarks = field(default_factory=Remarks)
    sheet: str = ""  # of a workbook, the one that is read


@dataclass(frozen=True)
class Limits:
    """How much of everything a file may hold; texts and columns are counted, not stored sizes."""

    rows: int
    text: int  # bytes, unpacked
    cell: int  # letters
    columns: int

    @classmethod
    def of_pages(cls) -> Self:
        """Those printed on the page of items."""
        return cls(
            settings.UPLOAD_MAX_ROWS,
            settings.UPLOAD_MAX_TEXT,
            settings.UPLOAD_MAX_CELL,
            settings.UPLOAD_MAX_COLUMNS,
        )

    @classmethod
    def of_command(cls) -> Self:
        """As many rows as there are: nobody waits for an answer of a page."""
        return cls(sys.maxsize, sys.maxsize, settings.UPLOAD_MAX_CELL, settings.UPLOAD_MAX_COLUMNS)

    @property
    def record(self) -> int:
        """Letters in a record: room for several of the longest cells."""
        return 8 * self.cell

    def check_rows(self, record: int, line: int) -> None:
        if record > self.rows:
            raise UnreadableFile(
                "too_many_rows",
                f"The file has more than {self.rows:,} rows. "
                "Split it and upload the parts one after the other, or have it imported whole "
                "on the server: manage.py import_batch --no-limit.",
                line=line,
                record=record,
            )

    def check_blank(self, found: int, line: int) -> None:
        if found > self.rows:
            raise UnreadableFile(
                "too_many_rows",
                f"The file has more than {self.rows:,} empty lines. Remove them.",
                line=line,
            )

    def check_width(self, found: int, line: int) -> None:
        if found > self.columns:
            raise UnreadableFile(
                "too_many_columns",
                f"The file has {found:,} columns; at most "
                f"{self.columns:,} are taken. Remove those that are not needed.",
                line=line,
            )

    def check_text(self, size: int) -> None:
        if size > self.text:
            raise UnreadableFile(
                "too_large",
                f"The file holds {size / _MEGABYTE:,.0f} MB of text; at most "
                f"{self.text / _MEGABYTE:,.0f} MB are taken. Split it and upload the parts one "
                "after the other.",
            )

    def refuse_record(self, line: int) -> NoReturn:
        raise UnreadableFile(
            "cell_too_long",
            f"The row that starts here is longer than {self.record:,} letters. "
            "Shorten it, or look for a quote that is never closed.",
            line=line,
        )
