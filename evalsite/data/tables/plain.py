"""One file as a table, whatever its format, which is known by what is in it, never by its name."""

import csv
import gzip
import io
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import dropwhile, islice
from pathlib import PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

from evalsite.data.tables import parquet
from evalsite.data.tables.archives import BROKEN, Archive, check_size, refuse_locked
from evalsite.data.tables.decoding import Lines, TextFile, open_text
from evalsite.data.tables.faults import Refused, Remarks, describe_above
from evalsite.data.tables.json_tables import open_frame, open_json
from evalsite.data.tables.spreadsheets import SHEET, open_spreadsheet
from evalsite.data.tables.table import Limits, Row, Table, check_cells, number_rows
from evalsite.lib.limited import VALUES_IN_TEXT, TooMuch, read_cells

_PIPE = "pipe"
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": _PIPE}
_DECLARED = re.compile(r"sep=([,;\t|])[\r\n]*", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"')
# records among which the names of columns are looked for, and the fewest columns below titles
_ROWS_ABOVE, _LEAST_COLUMNS = 20, 3


def open_delimited(text: TextFile, limits: Limits, separator: str = "") -> Table:
    """Read the header; the rows follow as they are asked for.

    `separator`: what separates columns in words, if a person said so.
    """
    # process-wide in Python, so it is set to the same number each time
    csv.field_size_limit(limits.cell)
    delimiter, is_declared = _find_delimiter(text, limits)
    chosen = [sign for sign, name in SEPARATORS.items() if name == separator]
    titles = 0
    if not is_declared:
        delimiter, titles = _find_titles(text, chosen or [delimiter, *SEPARATORS], limits)
    delimiter = chosen[0] if chosen else delimiter
    quotes, remark = _find_quotes(text, delimiter, limits)
    remarks = Remarks()
    if remark:
        remarks.tell(*remark)
    records = _read_records(Lines(text, limits), delimiter, limits, quotes)
    above: list[str] = []
    for line, cells in records:
        if is_declared:
            is_declared = False
        elif titles:
            titles -= 1
            above += filter(None, map(str.strip, cells))
        elif any(cell.strip() for cell in cells):
            if above:
                remarks.tell("rows_above", describe_above(f"line {line:,}", above))
            limits.check_width(len(cells), line)
            rows = number_rows(records, limits)
            return Table(text.encoding, SEPARATORS[delimiter], cells, line, rows, remarks)
    raise Refused("empty_file", "The file has no rows: it is empty.")


def _find_titles(text: TextFile, delimiters: Sequence[str], limits: Limits) -> tuple[str, int]:
    """Return what separates columns, and how many records above their names are titles.

    A title fills the first cell alone, and all records below it have the same width. The first
    line may be a title, so another delimiter than it suggests may be right.
    """
    for delimiter in delimiters:
        records = _read_records(Lines(text, limits), delimiter, limits, _TWICE)
        try:
            with closing(records):
                first = [cells for _, cells in islice(records, _ROWS_ABOVE)]
        except Refused:
            continue
        table = [*dropwhile(lambda cells: not any(map(str.strip, cells[1:])), first)]
        widths = set(map(len, table))
        titles = len(first) - len(table)
        if not titles and delimiter == delimiters[0] and len(widths) == 1:
            break
        if titles and len(table) > 1 and len(widths) == 1:
            width, names = len(table[0]), {*filter(None, map(str.strip, table[0]))}
            if width >= _LEAST_COLUMNS and len(names) >= width - 1:
                return delimiter, titles
    return delimiters[0], 0


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
) -> Generator[tuple[int, list[str]], None, None]:
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


# --- Markdown ---------------------------------------------------------------------------


# titles, the names of columns, and the line of dashes below them
_MARKDOWN = re.compile(
    r"(?P<above>(?:(?:#[^\r\n]*|(?!#)[^\r\n,;\t|\"]*)\r?\n){0,20})"
    r"(?P<header>[^\r\n]*\|[^\r\n]*)\r?\n"
    r"(?=[^\r\n]*-)[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)*[ \t]*(?::?-+:?[ \t]*)?\r?(?:\n|$)"
)
_BAR = re.compile(r"(?<!\\)\|")


def open_markdown(text: TextFile, start: str, limits: Limits) -> Table | None:
    """Read a table as Markdown has it; None if the file is something else."""
    match = _MARKDOWN.match(start)
    if match is None:
        return None
    remarks = Remarks()
    line = match["above"].count("\n") + 1
    if above := [*filter(None, (part.strip(" #\r") for part in match["above"].split("\n")))]:
        remarks.tell("rows_above", describe_above(f"line {line:,}", above))
    header = _split_bars(match["header"])
    limits.check_width(len(header), line)
    return Table(text.encoding, _PIPE, header, line, _read_markdown(text, line, limits), remarks)


def _read_markdown(text: TextFile, header_line: int, limits: Limits) -> Iterator[Row]:
    for row in number_rows(_read_bars(Lines(text, limits), header_line + 1, limits), limits):
        row.problems = tuple(check_cells(row.cells, limits))
        yield row


def _read_bars(
    lines: Lines, passed: int, limits: Limits
) -> Generator[tuple[int, list[str]], None, None]:
    """Yield line and cells of each line below these, the empty ones too."""
    try:
        lines.start_record()
        for line in lines:
            if line.count("|") > VALUES_IN_TEXT:
                limits.check_width(VALUES_IN_TEXT + 1, lines.number)
            if lines.number > passed:
                yield lines.number, _split_bars(line)
            lines.start_record()
    finally:
        lines.close()


def _split_bars(line: str) -> list[str]:
    """Return the cells of a line, which may have a bar at both ends."""
    first, *cells = _BAR.split(line.strip())
    cells = [*filter(None, [first]), *cells]
    if cells and not cells[-1]:
        cells.pop()
    return [cell.strip().replace("\\|", "|") for cell in cells]


# --- any format -------------------------------------------------------------------------


_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # of .xls, and of .xlsx files with a password
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
ZIP, GZIP = b"PK\x03\x04", b"\x1f\x8b"
_SAVE_AS = "Open it, save it as .xlsx or as CSV UTF-8, and upload that file."
UNPACK = "Unpack it and upload the file of items that it holds."
_TABLE = "Upload the data itself, as CSV, JSON lines, .xlsx, .ods or Parquet."
_WRITE_TABLE = (
    'Save the table as CSV or JSON lines, in pandas to_csv or to_json(orient="records", '
    "lines=True), in datasets to_json."
)
_OTHER_KINDS = {
    (b"PK\x05\x06",): (
        "archive_unreadable",
        "This zip file is empty. Pack the files again, and upload that zip file.",
    ),
    (b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!"): (
        "archive_unreadable",
        f"This is a compressed file. {UNPACK}",
    ),
    (b"\x89PNG", b"\xff\xd8\xff", b"GIF8"): ("file_kind", f"This is a picture. {_TABLE}"),
    (b"%PDF-",): ("file_kind", f"This is a PDF file. {_TABLE}"),
    tuple(bytes([0x80, protocol]) for protocol in range(2, 6)): (
        "file_kind",
        f"This is a pickle, which only Python can read. {_WRITE_TABLE}",
    ),
    (b"ARROW1", b"\xff\xff\xff\xff"): (
        "file_kind",
        f"This is an Arrow file{{named}}. {_WRITE_TABLE}",
    ),
}
_NUMBERS = "spreadsheet_kind", f"This is a Numbers file. {_SAVE_AS}"
_OTHER_ZIPS = {
    "xl/workbook.bin": (
        "spreadsheet_kind",
        f"This is an Excel file in the binary form .xlsb. {_SAVE_AS}",
    ),
    "word/document.xml": ("file_kind", f"This is a Word file. {_TABLE}"),
    "index/document.iwa": _NUMBERS,
    "index.zip": _NUMBERS,
}
_WEB_PAGE = re.compile(r"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_XML = re.compile(r"\s*<\?xml\b")
# a key and its value in the first two lines, such as "version: 3"
_YAML = re.compile(
    r"(?:---[ \t]*\r?\n)?[A-Za-z][\w-]*:(?: [^,;\t\r\n]*)?\r?\n(?:[ -]|[A-Za-z][\w-]*:)"
)
TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".xlsx", ".ods", ".parquet")
_CHUNK = 64 * 1024
_IN_MEMORY = 4 * 1024 * 1024


def open_any(source: BinaryIO, limits: Limits, options: Mapping[str, Any]) -> Table:
    """Open a table that may be compressed or a workbook."""
    source.seek(0)
    head = source.read(8)
    if head.startswith(ZIP):
        archive = Archive(source, limits)
        if not is_spreadsheet(archive):
            raise Refused("archive_unreadable", f"An archive holds an archive. {UNPACK}")
        return open_spreadsheet(source, archive, limits, str(options.get(SHEET, "")))
    if head.startswith(GZIP):
        return open_packed(lambda target: unpack_gzip(source, target, limits), limits, options)
    return open_plain(source, head, limits, options)


def open_plain(source: BinaryIO, head: bytes, limits: Limits, options: Mapping[str, Any]) -> Table:
    _refuse_other_kinds(source, head, str(options.get("file_name", "")))
    if head.startswith(parquet.MAGIC):
        return _open_parquet(source, limits)
    text = open_text(source, limits, options)
    start = text.read_start()
    if _WEB_PAGE.match(start):
        raise Refused(
            "file_kind",
            "This is an HTML page, perhaps one that asks to sign in or says that there is no such "
            f"file. Download the data itself, and upload that file. {_WRITE_TABLE}",
        )
    if _XML.match(start):
        raise Refused("file_kind", f"This is XML. {_WRITE_TABLE}")
    if _YAML.match(start):
        raise Refused(
            "file_kind",
            "This is a YAML file. Upload the data as JSON, JSON lines or CSV, which tools that "
            "write YAML can write as well.",
        )
    table = None
    # a single value has one line
    if start.lstrip().startswith(("[", "{")) or "\n" not in start.strip():
        table = open_frame(text, start, limits)
        table = table or open_json(text, start, limits, str(options.get("rows", "")))
    separator = str(options.get("separator", ""))
    if separator in ("", _PIPE):
        table = table or open_markdown(text, start, limits)
    table = table or open_delimited(text, limits, separator)
    if text.remark:
        code = "windows_1252" if text.codec == "cp1252" else "encoding_chosen"
        table.remarks.tell(code, text.remark)
    return table


def _open_parquet(source: BinaryIO, limits: Limits) -> Table:
    def write(target: BinaryIO) -> None:
        source.seek(0)
        try:
            parquet.write_lines(source, target, limits.text)
        except Refused as fault:
            raise Refused(fault.code, fault.message) from None

    table = open_packed(write, limits, {})
    table.encoding, table.delimiter = "", "Parquet"
    return table


def _refuse_other_kinds(source: BinaryIO, head: bytes, file_name: str) -> None:
    if head == _OLD and _holds(source, _ENCRYPTED):
        refuse_locked()
    if head == _OLD:
        message = f"This is an Excel file in the old form .xls. {_SAVE_AS}"
        raise Refused("spreadsheet_kind", message)
    if other := find_other_kind(head, file_name):
        raise Refused(*other)


def find_other_kind(head: bytes, file_name: str) -> tuple[str, str] | None:
    """Return the code and the sentence about a file whose first bytes show that it is no table."""
    named = f" ({PurePosixPath(file_name).name})" if file_name else ""
    for starts, (code, message) in _OTHER_KINDS.items():
        if head.startswith(starts):
            return code, message.format(named=named)
    return None


def _holds(source: BinaryIO, sought: bytes) -> bool:
    """Tell whether these bytes are anywhere in the file."""
    source.seek(0)
    kept = b""
    while chunk := source.read(_CHUNK):
        if sought in kept + chunk:
            return True
        kept = chunk[-len(sought) :]
    return False


def is_spreadsheet(archive: Archive) -> bool:
    """Tell whether it is a spreadsheet that can be read; refuse other zipped documents."""
    names = {name.lower() for name in archive.names}
    for part, (code, message) in _OTHER_ZIPS.items():
        if part in names:
            raise Refused(code, message)
    if any(name.startswith("xl/") for name in names):
        return True
    mime = archive.read_start("mimetype", 100) if "mimetype" in names else b""
    if b"opendocument" in mime and b"opendocument.spreadsheet" not in mime:
        raise Refused("file_kind", f"This is an OpenDocument file without a table. {_TABLE}")
    return b"opendocument" in mime


def unpack_gzip(source: BinaryIO, target: BinaryIO, limits: Limits) -> None:
    packed, size = source.seek(0, io.SEEK_END), 0
    source.seek(0)
    try:
        with gzip.GzipFile(fileobj=source) as unpacked:
            while chunk := unpacked.read(_CHUNK):
                size += len(chunk)
                check_size(size, packed, limits)
                target.write(chunk)
    except (*BROKEN, gzip.BadGzipFile):
        message = "This compressed file is damaged. Compress it again, or upload the file itself."
        raise Refused("archive_unreadable", message) from None


def open_packed(
    unpack: Callable[[BinaryIO], None],
    limits: Limits,
    options: Mapping[str, Any],
    open_unpacked: Callable[[BinaryIO, bytes, Limits, Mapping[str, Any]], Table] = open_plain,
) -> Table:
    """Open what was packed, which must not be an archive in turn; it is kept for its rows."""
    with ExitStack() as stack:
        source = cast(BinaryIO, stack.enter_context(SpooledTemporaryFile(_IN_MEMORY)))
        unpack(source)
        source.seek(0)
        head = source.read(8)
        archive = Archive(source, limits) if head.startswith(ZIP) else None
        if head.startswith(GZIP) or (archive and not is_spreadsheet(archive)):
            raise Refused("archive_unreadable", f"An archive holds an archive. {UNPACK}")
        if archive:
            table = open_spreadsheet(source, archive, limits, str(options.get(SHEET, "")))
        else:
            table = open_unpacked(source, head, limits, options)
        table.rows = _read_and_close(table.rows, stack.pop_all())
    return table


def _read_and_close(rows: Iterator[Row], stack: ExitStack) -> Iterator[Row]:
    with stack:
        yield from rows
