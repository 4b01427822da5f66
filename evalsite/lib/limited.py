"""Reading JSON, CSV and zips from outside: what is too much is refused before it is built.

A few kilobytes can become gigabytes in memory, so limits are on products: values, rows times
columns, size times ratio. No other module parses such files; a test of the repository checks that.
"""

import csv
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, Any

# as Python's own since 3.14: it reads entries that are compressed with zstd
from backports.zstd import ZstdError
from backports.zstd.zipfile import ZIP_DEFLATED as ZIP_DEFLATED
from backports.zstd.zipfile import ZIP_STORED as ZIP_STORED
from backports.zstd.zipfile import BadZipFile as BadZipFile
from backports.zstd.zipfile import ZipFile
from backports.zstd.zipfile import ZipInfo as ZipInfo

VALUES_IN_TEXT = 100_000
VALUES_IN_FILE = 5_000_000
# objects and lists inside one another: what walks through them goes no deeper
DEEPEST = 100
CELLS_SHOWN = 20_000
BLANK_LINES = 1_000_000
UNPACKED_RATIO = 100
UNPACKED_BYTES = 200 * 1024**2
# whatever the ratio: a cell may well hold a letter a million times
_HARMLESS_BYTES = 10 * 1024**2
# a string is passed over whole, also one that never ends
_PARTS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|(?P<value>[\[{,])', re.DOTALL)
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{\]}]', re.DOTALL)
# what is raised about zips that are damaged, or that no program wrote
BROKEN_ZIP = (
    BadZipFile, zlib.error, ZstdError, EOFError, OSError, NotImplementedError,
    RuntimeError, ValueError,
)  # fmt: skip


class TooMuch(ValueError):
    """What is read exceeds a limit; nothing of it was built."""


class TooDeep(TooMuch):
    """What is read is nested too deep."""


# --- JSON -------------------------------------------------------------------------------

_DECODER = json.JSONDecoder()


def make_decoder(**hooks: Any) -> json.JSONDecoder:
    """Return a decoder for `read_json`; making one takes longer than reading a short text."""
    return json.JSONDecoder(**hooks)


def read_json(
    text: str | bytes,
    *,
    most_values: int = VALUES_IN_TEXT,
    most_depth: int = DEEPEST,
    decoder: json.JSONDecoder = _DECODER,
) -> Any:
    """Return what a text says; ValueError if it isn't JSON, TooMuch if it has too many values.

    `most_depth`: how many objects and lists may be inside one another.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    check_values(text, most_values)
    check_depth(text, most_depth)
    return decoder.decode(text)


def check_values(text: str, most: int) -> None:
    """Raise TooMuch if a text in JSON has more values than that."""
    # most texts are short: then even counting inside strings is below the limit
    if sum(map(text.count, ",[{")) <= most:
        return
    if '"' not in text:
        raise TooMuch(f"It has more than {most:,} values.")
    values = (part for part in _PARTS.finditer(text) if part["value"])
    if next(islice(values, most, None), None):
        raise TooMuch(f"It has more than {most:,} values.")


def check_depth(text: str, most: int) -> None:
    """Raise TooDeep if a text in JSON is nested deeper than that."""
    if text.count("[") + text.count("{") <= most:
        return
    depth = 0
    for part in _BRACKETS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(part[0], 0)
        if depth > most:
            raise TooDeep(f"It is nested more than {most} levels deep.")


def count_values(value: Any) -> int:
    """Return how many values there are in one that was read."""
    if isinstance(value, dict):
        return 1 + sum(map(count_values, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(count_values, value))
    return 1


# --- CSV --------------------------------------------------------------------------------


def read_cells(
    lines: Iterable[str],
    *,
    delimiter: str = ",",
    strict: bool = True,
    most: int = VALUES_IN_TEXT,
    has_quotes: bool = True,
) -> Any:
    """Return a `csv.reader`; TooMuch at a line with more delimiters, before its cells are made.

    Without `has_quotes` a quote is a character like any other.
    """

    def check_lines() -> Iterator[str]:
        for line in lines:
            if line.count(delimiter) > most:
                raise TooMuch(f"A line has more than {most:,} cells.")
            yield line

    return csv.reader(
        check_lines(),
        delimiter=delimiter,
        strict=strict,
        quoting=csv.QUOTE_MINIMAL if has_quotes else csv.QUOTE_NONE,
    )


def read_shown_table(text: str, delimiter: str) -> list[list[str]]:
    """Return the rows of CSV that a page may draw; TooMuch as soon as there are too many cells."""
    rows: list[list[str]] = []
    width = 0
    lines = io.StringIO(text)
    for row in read_cells(lines, delimiter=delimiter, strict=False, most=CELLS_SHOWN):
        if any(row):
            rows.append(row)
            width = max(width, len(row))
            check_cells_shown(len(rows), width)
    return rows


def check_cells_shown(rows: int, columns: int) -> None:
    if rows * columns > CELLS_SHOWN:
        raise TooMuch(f"The table has more than {CELLS_SHOWN:,} cells.")


# --- zips -------------------------------------------------------------------------------


def open_zip(source: IO[bytes]) -> ZipFile:
    """Open a zip, also one whose entries are compressed with zstd; BROKEN_ZIP if it is none.

    Its directory alone is read: `check_unpacked` says whether the entries may be.
    """
    return ZipFile(source)


def check_unpacked(size: int, packed: int, most: int = UNPACKED_BYTES) -> None:
    """Raise TooMuch if this unpacks to more than `most` bytes, or to far more than files do."""
    if size > most:
        raise TooMuch(f"It unpacks to more than {most / 1024**2:,.0f} MB.")
    if size > max(_HARMLESS_BYTES, UNPACKED_RATIO * packed):
        raise TooMuch(f"It unpacks to more than {UNPACKED_RATIO} times its size.")


def measure_unpacked(source: IO[bytes]) -> int:
    """Return what a zip unpacks to by its directory; its own size if it can't be opened."""
    packed = source.seek(0, io.SEEK_END)
    try:
        with open_zip(source) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except BROKEN_ZIP:
        return packed
