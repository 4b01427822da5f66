"""Tables of text: cells parted by commas, semicolons or tabs, in quotes where needed (RFC 4180).

A file is read as a stream: no more than one record of it is ever held here.
"""

import csv
import re
from collections.abc import Iterator

from evalsite.imports.tables.faults import UnreadableFile
from evalsite.imports.tables.table import Limits, Row, Table
from evalsite.imports.tables.texts import Lines, TextFile

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
_DECLARED = re.compile(r"sep=([,;\t])[\r\n]*", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')


def open_delimited(text: TextFile, limits: Limits) -> Table:
    """The header is read and the rows are ready to be."""
    delimiter, is_declared = _find_delimiter(text, limits)
    # process-wide in Python, so it is set to the same number each time
    csv.field_size_limit(limits.cell)
    records = _read_records(Lines(text, limits), delimiter, limits)
    for line, cells in records:
        if is_declared:
            is_declared = False
        elif any(cell.strip() for cell in cells):
            limits.check_width(len(cells), line)
            rows = _number_rows(records, limits)
            return Table(text.encoding, _DELIMITERS[delimiter], cells, line, rows)
    raise UnreadableFile("empty_file", "The file has no rows: it is empty.")


def _find_delimiter(text: TextFile, limits: Limits) -> tuple[str, bool]:
    """The sign that parts the header: comma, semicolon or tab. No other line is asked.

    Some programs put a line before it that says so, such as sep=; which is no part of the table.
    """
    stream = text.open()
    try:
        header = line = ""
        blank = 0
        # a name of a column may go on in the next line
        while not header.strip() or (header.count('"') % 2 and len(header) < limits.record):
            line = stream.readline(limits.record)
            if not line:
                break
            header = header + line if header.strip() else line
            blank += not header.strip()
            limits.check_blank(blank, blank)
    finally:
        stream.detach()
    if declared := _DECLARED.fullmatch(header):
        return declared[1], True
    bare = _QUOTED.sub("", header)
    return max(_DELIMITERS, key=bare.count), False


def _read_records(lines: Lines, delimiter: str, limits: Limits) -> Iterator[tuple[int, list[str]]]:
    """Line and cells of each record, the header too; empty lines are passed over."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    blank = 0
    try:
        while True:
            lines.start_record()
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                opened = _find_open_quote(lines.record, lines.first, delimiter)
                code, message = _explain(str(error), lines, opened)
                raise UnreadableFile(code, message, line=opened or lines.first) from None
            if cells:
                yield lines.first, cells
            else:
                blank += 1
                limits.check_blank(blank, lines.first)
    finally:
        lines.close()


def _number_rows(records: Iterator[tuple[int, list[str]]], limits: Limits) -> Iterator[Row]:
    number = 0
    for line, cells in records:
        if not any(map(str.strip, cells)):
            continue  # a line of delimiters alone, as spreadsheets leave behind
        number += 1
        limits.check_rows(number, line)
        yield Row(line, number, cells)


def _explain(error: str, lines: Lines, opened: int | None) -> tuple[str, str]:
    """What Python's csv module found, in words that help to find it in the file.

    They stand behind the line in which a quote opened that went wrong, if one did.
    """
    if "field limit" in error:
        advice = f"A cell is longer than {csv.field_size_limit():,} letters."
        if opened is not None:
            advice += " Perhaps a quote that opens in this line is never closed."
        return "cell_too_long", advice
    if opened is None:
        return "stray_quote", f"The row cannot be read as CSV ({error})."
    if "unexpected end" in error:
        return (
            "unclosed_quote",
            "A quote that opens in this line is never closed. Close it, or double it.",
        )
    return (
        "stray_quote",
        f"A quote that opens in this line ends in line {lines.number}, "
        "and other text follows it. Close it before the delimiter; "
        'write a quote inside a cell twice ("").',
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
