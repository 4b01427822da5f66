"""Rows as a workbook (XLSX) of one sheet: texts stay texts, and are never cut or run."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import IO, Any

import xlsxwriter
from django.conf import settings
from django.core.exceptions import ValidationError

from evalsite.data.files.columns import NUMBER, WHOLE, Column
from evalsite.data.files.rows import Group

MOST_ROWS = 1_048_575  # below the header
MOST_CHARACTERS = 32_767  # in a cell, counted as spreadsheets do
_TAKE_CSV = "Download the CSV, which holds everything."
# XML has no such characters
_UNWRITABLE = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}
# of the document, so that the same data give the same bytes
_CREATED = datetime(1980, 1, 1)  # noqa: DTZ001 (XlsxWriter takes no time zone)


def write_workbook(
    file: IO[bytes], name: str, columns: Sequence[Column], groups: Iterable[Group], progress: Any
) -> int:
    """Write the workbook, its header frozen; return the number of rows below it."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    # rows go to a temporary file beside the database: /tmp is memory on many machines
    options = {"constant_memory": True, "tmpdir": str(settings.DATA_DIR)}
    with xlsxwriter.Workbook(file, options) as book:
        book.set_properties({"created": _CREATED})
        sheet = _Sheet(book, name, columns)
        for answer, rows in groups:
            for row in rows:
                sheet.write(answer, row)
            progress(sheet.rows)
    return sheet.rows


class _Exact(float):
    """A number that XlsxWriter writes with all of its digits, not with 16."""

    def __format__(self, _: str) -> str:
        return repr(float(self)).removesuffix(".0")


class _Sheet:
    def __init__(self, book: Any, name: str, columns: Sequence[Column]) -> None:
        self.rows = 0
        self._sheet = book.add_worksheet(name)
        # text, whatever it begins with
        self._text = book.add_format({"num_format": "@", "quote_prefix": True})
        self._plain = book.add_format()
        self._cells = [
            (place, column.of, column.type in (WHOLE, NUMBER), column.get_cell)
            for place, column in enumerate(columns)
        ]
        header = book.add_format({"num_format": "@", "bold": True})
        self._sheet.freeze_panes(1, 0)
        for place, column in enumerate(columns):
            self._sheet.write_string(0, place, column.name, header)

    def write(self, answer: Any, row: Any) -> None:
        self.rows += 1
        if self.rows > MOST_ROWS:
            raise ValidationError(f"A spreadsheet holds {MOST_ROWS:,} rows at most. {_TAKE_CSV}")
        for place, of, is_number, get_cell in self._cells:
            text = get_cell(answer if of == "answer" else row.score if of == "score" else row)
            if is_number and text and text not in ("inf", "-inf", "nan"):
                self._sheet.write_number(self.rows, place, _Exact(text))
            elif text:
                self._write_text(place, text)

    def _write_text(self, place: int, text: str) -> None:
        # a character beyond the first plane counts as two
        if len(text) * 2 > MOST_CHARACTERS and len(text.encode("utf-16-le")) // 2 > MOST_CHARACTERS:
            cell = xlsxwriter.utility.xl_rowcol_to_cell(self.rows, place)
            raise ValidationError(
                f"The text in cell {cell} is too long: a cell of a spreadsheet holds "
                f"{MOST_CHARACTERS:,} characters. {_TAKE_CSV}"
            )
        text = text.translate(_UNWRITABLE)
        if text.startswith("<r>") and text.endswith("</r>"):
            # XlsxWriter would take this for its own notation of formatted text
            self._sheet.write_rich_string(
                self.rows, place, text[:1], self._plain, text[1:], self._text
            )
        else:
            self._sheet.write_string(self.rows, place, text, self._text)
