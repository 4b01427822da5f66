"""From bytes to rows: encoding, delimiter, quotes and limits. What cells mean is not asked here.

A file is read as a stream: no more than one record of it is ever held here.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from django.conf import settings

from evalsite.exchange.faults import UnreadableFile

_CHUNK = 64 * 1024
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
_ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)
_EXCEL = "This is an Excel file. Open it, save it as “CSV UTF-8”, and upload that file."
_SPREADSHEET = "This is a spreadsheet file. Open it, save it as CSV in UTF-8, and upload that file."
_COMPRESSED = "This is a compressed file. Unpack it and upload the CSV file that it holds."
_QUOTED = re.compile(r'"[^"]*"')


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one record, and where it starts."""

    line: int
    record: int
    cells: list[str]


@dataclass(frozen=True)
class Table:
    """A file that is open: what it looks like, and its rows still to be read, once."""

    encoding: str
    delimiter: str
    header: list[str]
    header_line: int
    rows: Iterator[Row]


def open_table(source: BinaryIO) -> Table:
    """The header is read and the rows are ready to be; UnreadableFile says why they cannot be."""
    _refuse_other_formats(source)
    codec, encoding, skip = _find_encoding(source)
    _check_encoding(source, codec, skip)
    source.seek(skip)
    delimiter = _find_delimiter(source, codec)
    source.seek(skip)
    # process-wide in Python, so it is set to the same number each time
    csv.field_size_limit(settings.UPLOAD_MAX_CELL)
    records = _read_records(_Lines(source, codec), delimiter)
    for line, cells in records:
        if any(cell.strip() for cell in cells):
            _check_width(cells, line)
            return Table(encoding, _DELIMITERS[delimiter], cells, line, _number_rows(records))
    raise UnreadableFile("The file has no rows: it is empty.")


# --- bytes ----------------------------------------------------------------------


def _refuse_other_formats(source: BinaryIO) -> None:
    """Told by content, never by the file's name."""
    source.seek(0)
    head = source.read(4096)
    if head.startswith(b"PK\x03\x04"):
        # the names of a zip's entries stand at its end; nothing is unpacked to read them
        source.seek(max(0, source.seek(0, io.SEEK_END) - _CHUNK))
        names = head + source.read(_CHUNK)
        if b"xl/workbook" in names:
            raise UnreadableFile(_EXCEL)
        if b"opendocument" in names or b"Index/Document.iwa" in names:
            raise UnreadableFile(_SPREADSHEET)
        raise UnreadableFile(_COMPRESSED)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        raise UnreadableFile(_EXCEL)
    if head.startswith((b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!")):
        raise UnreadableFile(_COMPRESSED)
    if head.startswith(b"%PDF-"):
        raise UnreadableFile("This is a PDF file. Upload the data itself, as CSV in UTF-8.")


def _find_encoding(source: BinaryIO) -> tuple[str, str, int]:
    source.seek(0)
    head = source.read(4)
    for mark, codec, name in _ENCODINGS:
        if head.startswith(mark):
            return codec, name, len(mark)
    return "utf-8", "UTF-8", 0


def _check_encoding(source: BinaryIO, codec: str, skip: int) -> None:
    """The whole file decodes; otherwise the first byte that doesn't is named, from 1."""
    source.seek(skip)
    decoder = codecs.getincrementaldecoder(codec)("strict")
    offset, line, ends_in_return = skip, 1, False
    while True:
        chunk = source.read(_CHUNK)
        pending = len(decoder.getstate()[0])
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            good = error.object[: error.start].decode(codec, "ignore")
            line += _count_breaks(good, ends_in_return)
            byte = offset - pending + error.start + 1
            name = "UTF-16" if codec.startswith("utf-16") else "UTF-8"
            raise UnreadableFile(
                f"The file is not {name} at byte {byte}, line {line}. "
                "Save it as CSV UTF-8 and upload it again."
            ) from None
        if not chunk:
            return
        line += _count_breaks(text, ends_in_return)
        offset += len(chunk)
        ends_in_return = text.endswith("\r") if text else ends_in_return


def _count_breaks(text: str, after_return: bool) -> int:
    """Line breaks in a stretch of text; CR LF is one, also across two stretches."""
    both = text.count("\r\n") + (after_return and text.startswith("\n"))
    return text.count("\n") + text.count("\r") - both


# --- text -----------------------------------------------------------------------


def _open_text(source: BinaryIO, codec: str) -> io.TextIOWrapper:
    # newline="": lines end at LF, CR LF or CR, and keep their ends
    return io.TextIOWrapper(source, encoding=codec, errors="strict", newline="")


def _max_record() -> int:
    """Letters in a record: room for several of the longest cells."""
    return 8 * settings.UPLOAD_MAX_CELL


def _find_delimiter(source: BinaryIO, codec: str) -> str:
    """The sign that parts the header: comma, semicolon or tab. No other line is asked."""
    text = _open_text(source, codec)
    try:
        header = ""
        while not header.strip():
            header = text.readline(_max_record())
            if not header:
                break
    finally:
        text.detach()
    bare = _QUOTED.sub("", header)
    return max(_DELIMITERS, key=bare.count)


class _Lines:
    """Physical lines with their ends, counted; those of the record being read are at hand."""

    def __init__(self, source: BinaryIO, codec: str) -> None:
        self._text = _open_text(source, codec)
        self._limit = _max_record()
        self.number = 0
        self.first = 1
        self.record: list[str] = []
        self._size = 0

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._text.readline(self._limit + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self.record.append(line)
        self._size += len(line)
        if self._size > self._limit:
            raise UnreadableFile(
                f"The row that starts here is longer than {self._limit:,} letters. "
                "Shorten it, or look for a quote that is never closed.",
                line=self.first,
            )
        return line

    def start_record(self) -> None:
        self.record.clear()
        self._size = 0
        self.first = self.number + 1

    def close(self) -> None:
        """The source is left open, for whoever opened it."""
        self._text.detach()


# --- records --------------------------------------------------------------------


def _read_records(lines: _Lines, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line and cells of each record, the header too; empty lines are passed over."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        while True:
            lines.start_record()
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise UnreadableFile(
                    _explain(str(error), lines, delimiter), line=lines.first
                ) from None
            if cells:
                yield lines.first, cells
    finally:
        lines.close()


def _number_rows(records: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    number = 0
    for line, cells in records:
        if not any(cell.strip() for cell in cells):
            continue  # a line of delimiters alone, as spreadsheets leave behind
        number += 1
        if number > settings.UPLOAD_MAX_ROWS:
            raise UnreadableFile(
                f"The file has more than {settings.UPLOAD_MAX_ROWS:,} rows. "
                "Split it and upload the parts one after the other.",
                line=line,
                record=number,
            )
        yield Row(line, number, cells)


def _check_width(header: list[str], line: int) -> None:
    if len(header) > settings.UPLOAD_MAX_COLUMNS:
        raise UnreadableFile(
            f"The file has {len(header):,} columns; at most "
            f"{settings.UPLOAD_MAX_COLUMNS:,} are taken. Remove those that are not needed.",
            line=line,
        )


def _explain(error: str, lines: _Lines, delimiter: str) -> str:
    """What Python's csv module found, in words that help to find it in the file."""
    opened = _find_open_quote(lines.record, lines.first, delimiter)
    if "field limit" in error:
        advice = f"A cell is longer than {settings.UPLOAD_MAX_CELL:,} letters."
        if opened is not None:
            advice += f" Perhaps the quote that opens in line {opened} is never closed."
        return advice
    if opened is None:
        return f"The row cannot be read as CSV ({error})."
    if "unexpected end" in error:
        return f"The quote that opens in line {opened} is never closed. Close it, or double it."
    return (
        f"The quote that opens in line {opened} ends in line {lines.number}, "
        "and other text follows it. Close it before the delimiter; "
        'write a quote inside a cell twice ("").'
    )


def _find_open_quote(record: list[str], first: int, delimiter: str) -> int | None:
    """The line of the quote that went wrong in this record; None if every one was closed well."""
    opened, is_quoted, at_start, after_quote = None, False, True, False
    for number, line in enumerate(record, start=first):
        for sign in line:
            if is_quoted:
                is_quoted, after_quote = sign != '"', sign == '"'
            elif sign == '"' and (at_start or after_quote):
                opened = number if at_start else opened
                is_quoted, at_start = True, False
            elif after_quote and sign != delimiter and sign not in "\r\n":
                return opened  # text after a closing quote: here the reader stopped
            else:
                at_start, after_quote = sign == delimiter, False
    return opened if is_quoted else None
