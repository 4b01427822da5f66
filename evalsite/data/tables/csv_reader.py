"""Separated values: what separates them, how quotes are written, and where a quote went wrong."""

import csv
import re
from collections.abc import Iterable, Iterator

from evalsite.data.tables.decoding import Lines, TextFile
from evalsite.data.tables.faults import Refused, Remarks
from evalsite.data.tables.table import Limits, Table, number_rows
from evalsite.lib.limited import VALUES_IN_TEXT, TooMuch, read_cells

_CHUNK = 64 * 1024
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
_DECLARED = re.compile(r"sep=([,;\t])[\r\n]*", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')


def open_delimited(text: TextFile, limits: Limits, separator: str = "") -> Table:
    """Read the header; the rows follow as they are asked for.

    `separator`: what separates columns in words, if a person said so.
    """
    delimiter, is_declared = _find_delimiter(text, limits)
    delimiter = next((sign for sign, name in SEPARATORS.items() if name == separator), delimiter)
    # process-wide in Python, so it is set to the same number each time
    csv.field_size_limit(limits.cell)
    quotes, remark = _find_quotes(text, delimiter, limits)
    remarks = Remarks()
    if remark:
        remarks.tell(*remark)
    records = _read_records(Lines(text, limits), delimiter, limits, quotes)
    for line, cells in records:
        if is_declared:
            is_declared = False
        elif any(cell.strip() for cell in cells):
            limits.check_width(len(cells), line)
            rows = number_rows(records, limits)
            return Table(text.encoding, SEPARATORS[delimiter], cells, line, rows, remarks)
    raise Refused("empty_file", "The file has no rows: it is empty.")


# how quotes are written inside of cells: twice, behind a backslash, or as any other character
_TWICE, _BACKSLASH, _BARE = "twice", "backslash", "bare"
_AS_QUOTES = (
    "csv_backslashes",
    'Quotes inside of cells have a backslash before them (\\"), as some programs write them. They '
    "were read as quotes",
)
_AS_CHARACTERS = (
    "csv_bare_quotes",
    "Cells begin with quotes that don't end them, so all quotes are read as characters",
)


def _find_quotes(
    text: TextFile, delimiter: str, limits: Limits
) -> tuple[str, tuple[str, str] | None]:
    """Return how quotes are written, and what to say of it; only odd files are read once more."""
    plain = _TWICE, None
    has_backslashes = text.holds('\\"')
    if not has_backslashes and not (delimiter == "\t" and text.holds('"')):
        return plain
    code, _ = _try_quotes(text, delimiter, limits, _TWICE)
    if code == "stray_quote":
        if has_backslashes and not _try_quotes(text, delimiter, limits, _BACKSLASH)[0]:
            return _BACKSLASH, _AS_QUOTES
        if delimiter == "\t" and len(_try_quotes(text, delimiter, limits, _BARE)[1]) == 1:
            return _BARE, _AS_CHARACTERS
    return plain


def _try_quotes(
    text: TextFile, delimiter: str, limits: Limits, quotes: str
) -> tuple[str, set[int]]:
    """Return what is wrong with a file that is read so, and the widths of its records."""
    widths: set[int] = set()
    try:
        for _, cells in _read_records(Lines(text, limits), delimiter, limits, quotes):
            widths.add(len(cells))
    except Refused as refused:
        return refused.code, widths
    return "", widths


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
    return max(SEPARATORS, key=bare.count), False


def _read_records(
    lines: Lines, delimiter: str, limits: Limits, quotes: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield line and cells of each record, the header too, but no empty lines."""
    source: Iterable[str] = lines
    if quotes == _BACKSLASH:
        source = (line.replace('\\"', '""') for line in lines)
    reader = read_cells(source, delimiter=delimiter, has_quotes=quotes != _BARE)
    try:
        while True:
            lines.start_record()
            try:
                cells = next(reader)
            except StopIteration:
                return
            except TooMuch:
                limits.check_width(VALUES_IN_TEXT + 1, lines.first)
                raise
            except csv.Error as error:
                raise _describe_error(str(error), lines, delimiter) from None
            if cells:
                yield lines.first, cells
            else:
                lines.pass_blank()
    finally:
        lines.close()


def _describe_error(error: str, lines: Lines, delimiter: str) -> Refused:
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
    return Refused(code, message, line=opened or lines.first)


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
