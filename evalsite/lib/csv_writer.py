"""The only writer of tables that leave the site: CSV, quoted only where needed (RFC 4180)."""

import csv
import io
import re
from collections.abc import Iterable
from typing import Any, TextIO

# It also makes Python's writer quote a lone CR or LF in a cell, so that it survives.
LINE_END = "\r\n"
BYTE_ORDER_MARK = "\ufeff"
# what a spreadsheet may take for a formula, also in its full-width form
_FORMULA = re.compile("[=+\\-@\t\r\x00＝＋－＠]")


def guard_cell(text: str) -> str:
    """Return the text, with a ' before it if a spreadsheet could run it as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def write_csv(target: TextIO, rows: Iterable[Iterable[Any]], *, line_end: str = LINE_END) -> int:
    """Write rows as CSV into a file, each cell as it is, and return how many there were."""
    writer = csv.writer(target, lineterminator=line_end)
    count = 0
    for row in rows:
        writer.writerow(row)
        count += 1
    return count


def write_rows(rows: Iterable[Iterable[Any]]) -> str:
    """Write rows as CSV, each cell as it is."""
    buffer = io.StringIO(newline="")
    write_csv(buffer, rows)
    return buffer.getvalue()


def write_guarded(rows: Iterable[Iterable[Any]], *, line_end: str = LINE_END) -> str:
    """Write rows as CSV for programs in which a text could run as a formula."""
    buffer = io.StringIO(newline="")
    guarded = (
        [guard_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    write_csv(buffer, guarded, line_end=line_end)
    return buffer.getvalue()
