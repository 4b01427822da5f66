"""Tables of text: cells separated by commas, semicolons or tabs, quoted where needed (RFC 4180).

A file is read as a stream: no more than one record of it is held at a time.
"""

import csv
import re
from collections.abc import Iterator

from evalsite.imports.tables.decoding import Lines, TextFile
from evalsite.imports.tables.faults import UnreadableFile
from evalsite.imports.tables.table import Limits, Table, number_rows

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab"}
_DECLARED = re.compile(r"sep=([,;\t])[\r\n]*", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')


def open_delimited(text: TextFile, limits: Limits) -> Table:
    """Read the header; the rows follow as they are asked for."""
    delimiter, is_declared = _find_delimiter(text, limits)
    # process-wide in Python, so it is set to the same number each time
    csv.field_size_limit(limits.cell)
    records = _read_records(Lines(text, limits), delimiter, limits)
    for line, cells in records:
        if is_declared:
            is_declared = False
        elif any(cell.strip() for cell in cells):
            limits.check_width(len(cells), line)
            rows = number_rows(records, limits)
            return Table(text.encoding, _DELIMITERS[delimiter], cells, line, rows)
    raise UnreadableFile("empty_file", "The file has no rows: it is empty.")


def _find_delimiter(text: TextFile, limits: Limits) -> tuple[str, bool]:
    """Find what separates the header, and whether a line before it says so, such as sep=;."""
    stream = text.open()
    try:
        header = line = ""
        blank = 0
        # the name of a column may go on in the next line
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
    """Yield line and cells of each record, the header too, but no empty lines."""
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
                raise _describe_error(str(error), lines, delimiter) from None
            if cells:
                yield lines.first, cells
            else:
                blank += 1
                limits.check_blank(blank, lines.first)
    finally:
        lines.close()


def _describe_error(error: str, lines: Lines, delimiter: str) -> UnreadableFile:
    """Say what Python's csv module found, at the line of the quote that went wrong."""
    opened = _find_open_quote(lines.record, lines.first, delimiter)
    code = "stray_quote"
    if "field limit" in error:
        code = "cell_too_long"
        message = f"A cell has more than {csv.field_size_limit():,} characters."
        if opened is not None:
            message += " Perhaps a quote that opens in this line is never closed."
    elif opened is None:
        message = f"The row can't be read as CSV ({error})."
    elif "unexpected end" in error:
        code = "unclosed_quote"
        message = "A quote that opens in this line is never closed. Close it, or double it."
    else:
        message = (
            f"A quote that opens in this line ends in line {lines.number}, and other text follows "
            'it. Close it before the delimiter; write a quote inside a cell twice ("").'
        )
    return UnreadableFile(code, message, line=opened or lines.first)


def _find_open_quote(record: list[str], first: int, delimiter: str) -> int | None:
    """Find the line of the quote that went wrong in this record; None if all are closed."""
    opened, is_quoted, at_start, after_quote = None, False, True, False
    for number, line in enumerate(record, start=first):
        for char in line:
            if is_quoted:
                is_quoted, after_quote = char != '"', char == '"'
            elif char == '"' and (at_start or after_quote):
                opened = number if at_start else opened
                is_quoted, at_start = True, False
            elif after_quote and char != delimiter and char not in "\r\n":
                return opened  # text after a closing quote: here the reader stopped
            else:
                at_start, after_quote = char == delimiter, False
    return opened if is_quoted else None
