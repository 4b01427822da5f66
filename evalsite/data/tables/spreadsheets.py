"""Tables of .xlsx and .ods files: the first sheet that isn't hidden, row by row.

python-calamine reads the cells. It holds a sheet in memory and trusts the file, so the XML is
looked through before: for its size, for what no spreadsheet program writes, and for what calamine
doesn't tell (formulas, errors, hidden rows). The line of a row is its number in the sheet.
"""

import datetime
import posixpath
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from itertools import chain, islice
from statistics import multimode
from typing import Any, BinaryIO

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from evalsite.data.tables.archives import Archive, refuse_damaged, refuse_locked
from evalsite.data.tables.table import (
    PLACES,
    Limits,
    Problem,
    Refused,
    Remark,
    Remarks,
    Row,
    Table,
    check_cells,
    describe_above,
    show,
)

_MOST_ROWS = 1_048_576
# the column that names the sheet a row comes from
SHEET = "sheet"
_FEW_CELLS, _MOST_PER_FILLED = 500_000, 20  # a table isn't nearly empty
_LETTERS = re.compile("[A-Z]{1,3}")
_ROWS_ABOVE = 20  # that are looked at to find the names of columns
_WHOLE = 10**16  # below it a float is exactly the whole number that was written
_REMARKS = {
    "numbers": (
        "Cells that hold numbers: if an id such as 007 was typed, its zeros were lost before the "
        "file came here"
    ),
    "dates": "Cells that hold dates or times, read in the form 2026-11-21",
    "truth_values": "Cells that hold true or false, read as TRUE and FALSE",
}
# what a table says of itself instead of its encoding
WORKBOOKS = ("Excel", "OpenDocument")


@dataclass(slots=True)
class _Facts:
    """What the XML of a sheet shows, beside its cells."""

    rows: int = 0
    columns: int = 0
    filled: int = 0
    formulas: int = 0
    first_formulas: list[str] = field(default_factory=list)
    errors: dict[int, dict[int, str]] = field(default_factory=dict)  # by row and column
    hidden: int = 0
    first_hidden: int = 0
    merged: int = 0
    first_merged: str = ""
    tabs: int = 0

    def fill(self, row: int, column: int) -> None:
        """Count a cell that holds something; rows and columns are counted from 0."""
        self.filled += 1
        if row >= self.rows:
            self.rows = row + 1
        if column >= self.columns:
            self.columns = column + 1

    def add_formula(self, row: int, column: int) -> None:
        self.formulas += 1
        if len(self.first_formulas) < PLACES:
            self.first_formulas.append(name_cell(column, row + 1))

    def add_error(self, row: int, column: int, error: str) -> None:
        self.errors.setdefault(row, {})[column] = error

    def add_merged(self, place: str) -> None:
        self.merged += 1
        self.first_merged = self.first_merged or place

    def hide_row(self, row: int) -> None:
        self.hidden += 1
        self.first_hidden = self.first_hidden or row + 1


def open_spreadsheet(source: BinaryIO, archive: Archive, limits: Limits, chosen: str = "") -> Table:
    """Read the names of the columns; the rows follow, of one sheet or of all with these columns.

    `chosen` is the sheet to read; without it the first.
    """
    is_excel = archive.has("xl/workbook.xml")
    if is_excel == archive.has("content.xml"):
        refuse_damaged()
    facts = _scan_excel(archive, limits) if is_excel else _scan_open_document(archive, limits)
    for scanned in facts.values():
        _check_area(scanned, limits)
    source.seek(0)
    try:
        book = CalamineWorkbook.from_filelike(source)
        visible = [
            sheet.name
            for sheet in book.sheets_metadata
            if sheet.typ == SheetTypeEnum.WorkSheet and sheet.visible == SheetVisibleEnum.Visible
        ]
        if not visible:
            message = "The file has no sheet with a table that isn't hidden."
            raise Refused("empty_file", message)
        if chosen and chosen not in visible:
            names = ", ".join(f"“{show(name, 60)}”" for name in visible[:10])
            message = f"There is no sheet “{show(chosen, 60)}”. The file has: {names}."
            raise Refused("sheet_unknown", message)
        # what can't be read is refused by the first that is opened
        sheets = [
            _Sheet(book.get_sheet_by_name(name), facts[name])
            for name in ([chosen] if chosen else visible)
            if name in facts or refuse_damaged()
        ]
    except CalamineError:
        refuse_damaged()
    sheets = [sheets[0], *(sheet for sheet in sheets[1:] if sheet.header == sheets[0].header)]
    read = {sheet.name for sheet in sheets}
    left = [] if chosen else [name for name in visible if name not in read]
    return _open_sheets(sheets, left, archive, limits, WORKBOOKS[not is_excel])


def _check_area(facts: _Facts, limits: Limits) -> None:
    """A sheet is held in memory with all cells from the first to the last, empty or not."""
    area = facts.rows * facts.columns
    most = min(limits.rows, _MOST_ROWS) * limits.columns // 8
    if area > min(most, _FEW_CELLS + _MOST_PER_FILLED * facts.filled):
        raise Refused(
            "too_large",
            f"The sheet has cells as far as row {facts.rows:,} and column {facts.columns:,}. "
            "Delete what is outside the table, or save it as CSV UTF-8 and upload that file.",
        )


class _Sheet:
    """A sheet whose names of columns were read; its rows follow."""

    def __init__(self, sheet: CalamineSheet, facts: _Facts) -> None:
        self.name, self.facts = sheet.name, facts
        self.rows: Iterator[tuple[int, list[Any]]] = _read_rows(sheet, facts)
        self.header: list[str] = []
        self.line = 0
        # titles and notes above the names of the columns
        self.above: list[str] = []
        self.is_named_twice = False
        first = list(islice(self.rows, _ROWS_ABOVE))
        texts = [[_write_cell(cell)[0] for cell in cells] for _, cells in first]
        filled = [sum(map(bool, map(str.strip, names))) for names in texts]
        usual = max(multimode(filter(None, filled)), default=0)
        for at, names in enumerate(texts):
            if filled[at] * 2 <= usual or not filled[at]:
                self.above += [name.strip() for name in names if name.strip()]
                continue
            if at + 1 < len(texts) and (joined := _join_names(names, texts[at + 1])):
                names, at, self.is_named_twice = joined, at + 1, True
            while not names[-1].strip():
                names.pop()
            self.header, self.line = names, first[at][0]
            self.rows = chain(first[at + 1 :], self.rows)
            return


def _join_names(upper: Sequence[str], lower: Sequence[str]) -> list[str]:
    """Return the names of columns whose groups are named in the row above; [] if it names columns.

    The name of a group is in a merged cell, which is empty but for its first column. Under columns
    without a group the second row is empty.
    """
    groups = [name.strip() for name in upper]
    is_grouped = [not name for name in groups]
    for number in range(1, len(groups)):
        if not groups[number] and lower[number].strip():
            groups[number], is_grouped[number - 1] = groups[number - 1], True
    is_named = [bool(name.strip()) for name in lower]
    if is_named != is_grouped or all(is_named) or not any(is_named):
        return []
    below = [name.strip() for name in lower if name.strip()]
    are_unique = len(set(below)) == len(below)
    return [
        group if not name.strip() else name if are_unique else f"{group} {name.strip()}"
        for group, name in zip(groups, lower, strict=True)
    ]


def _open_sheets(
    sheets: Sequence[_Sheet], left: Sequence[str], archive: Archive, limits: Limits, program: str
) -> Table:
    """Open the first sheet; of several, which have its columns, one more column names the sheet."""
    remarks = Remarks()
    first = sheets[0]
    name = show(first.name, 60)
    if not first.header:
        raise Refused("empty_file", f"The sheet “{name}” has no rows: it is empty.")
    limits.check_width(len(first.header), first.line)
    names = ", ".join(f"“{show(sheet.name, 60)}”" for sheet in sheets)
    if len(sheets) > 1:
        remarks.tell("sheets_joined", f"Sheets with the same columns are read as one: {names}")
    for sheet in sheets:
        remarks.extend(_describe_sheet(sheet, left, archive))
    header = [*first.header, *([SHEET] if len(sheets) > 1 else [])]
    rows = _join_rows(sheets, limits, remarks)
    return Table(
        program, f"sheet “{name}”", header, first.line, rows, remarks, sheet=name, unit="row"
    )


def _join_rows(sheets: Sequence[_Sheet], limits: Limits, remarks: Remarks) -> Iterator[Row]:
    record = 0
    for sheet in sheets:
        for row in _make_rows(sheet, limits, remarks):
            record += 1
            row.record = record
            limits.check_rows(record, row.line)
            if len(sheets) > 1:
                row.cells.append(sheet.name)
            yield row


def _describe_sheet(sheet: _Sheet, left: Sequence[str], archive: Archive) -> Iterator[Remark]:
    facts = sheet.facts
    if sheet.is_named_twice:
        message = f"Columns are named by row {sheet.line:,}, and where it is empty by the row above"
        yield Remark("names_in_two_rows", message)
    if sheet.above:
        yield Remark("rows_above", describe_above(f"row {sheet.line:,}", sheet.above))
    if left:
        names = ", ".join(f"“{show(name, 60)}”" for name in left[:10])
        more = " and more" if len(left) > 10 else ""
        yield Remark(
            "sheets_not_read",
            f"The sheet “{show(sheet.name, 60)}” was read, the first that isn't hidden. Not read: "
            f"{names}{more}. Choose another one with --sheet",
        )
    if any(part.lower().endswith("vbaproject.bin") for part in archive.names):
        yield Remark("macros", "The file holds macros. They were neither read nor run")
    if facts.formulas:
        message = (
            "Cells with a formula: the result last computed is read (nothing if there is none)"
        )
        yield Remark("formulas", message, facts.formulas, facts.first_formulas)
    if facts.hidden:
        yield Remark(
            "rows_hidden",
            f"Rows that are hidden in the sheet are read like the others: {facts.hidden:,}, the "
            f"first is row {facts.first_hidden:,}",
        )
    if facts.merged:
        yield Remark(
            "cells_merged",
            f"Merged cells: {facts.merged:,}, the first {show(facts.first_merged)}. Only the upper "
            "left cell of each holds a text, the others are read as empty",
        )
    if facts.tabs:
        yield Remark("tabs_lost", f"Tabs inside cells were left out: {facts.tabs:,}")


# --- cells ----------------------------------------------------------------------


def _read_rows(sheet: CalamineSheet, facts: _Facts) -> Iterator[tuple[int, list[Any]]]:
    """Yield line and cells of each row that holds something, from the first column on."""
    indent = [""] * (sheet.start[1] if sheet.start else 0)
    for row, cells in enumerate(sheet.iter_rows()):
        if row in facts.errors or any(cell != "" for cell in cells):
            yield row + 1, indent + cells


def _make_rows(sheet: _Sheet, limits: Limits, remarks: Remarks) -> Iterator[Row]:
    header, header_line, facts = sheet.header, sheet.line, sheet.facts
    width = len(header)
    record = 0
    for line, values in sheet.rows:
        cells = [_write_cell(value) for value in values]
        errors = list(_find_errors(facts, line, width))
        if not errors and not any(text.strip() for text, _ in cells):
            continue
        record += 1
        for column, (_, kind) in enumerate(cells):
            if kind:
                name = header[column].strip() if column < width else ""
                remarks.add(kind, _REMARKS[kind], line, record, name)
        texts = [text for text, _ in cells[:width]] + [""] * (width - len(cells))
        problems = [*errors, *check_cells(texts, limits)]
        for column, (text, _) in enumerate(cells[width:], start=width):
            if text.strip():
                message = (
                    f"The cell {name_cell(column, line)} holds a text, but row {header_line} gives "
                    "its column no name. Name the column, or clear the cell."
                )
                problems.append(Problem("column_unnamed", message))
        yield Row(line, record, texts, tuple(problems))


def _find_errors(facts: _Facts, line: int, width: int) -> Iterator[Problem]:
    for column, error in facts.errors.get(line - 1, {}).items():
        message = (
            f"The cell {name_cell(column, line)} holds the error {show(error)}. Correct it in the "
            "sheet."
        )
        yield Problem("cell_error", message, column if column < width else None)


def _write_cell(value: Any) -> tuple[str, str]:
    """Write a value as text; name what it is unless it is a text: docs/files.md has the rule."""
    if isinstance(value, str):
        return value, ""
    if isinstance(value, bool):
        return str(value).upper(), "truth_values"
    if isinstance(value, int | float):
        return _write_number(float(value)), "numbers"
    if isinstance(value, datetime.timedelta):
        seconds = round(value.total_seconds())
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}", "dates"
    return _write_date(value), "dates"


def _write_number(number: float) -> str:
    """Write a number in the fewest digits that mean it, without exponent."""
    if number.is_integer() and abs(number) < _WHOLE:
        return str(int(number))
    if number - number != 0:  # infinite, or none at all
        refuse_damaged()
    return format(Decimal(repr(number)), "f").removesuffix(".0")


def _write_date(value: datetime.date | datetime.time) -> str:
    """Write a date or time as ISO 8601, to the millisecond."""
    if not isinstance(value, datetime.datetime | datetime.time):
        return value.isoformat()
    thousandths = value.microsecond // 1000 * 1000
    shown = value.replace(microsecond=thousandths)
    return shown.isoformat(timespec="milliseconds" if thousandths else "seconds")


def name_cell(column: int, row: int) -> str:
    letters = ""
    number = column + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return f"{letters}{row}"


# --- .xlsx ----------------------------------------------------------------------


def _scan_excel(archive: Archive, limits: Limits) -> dict[str, _Facts]:
    """Look through all parts of XML; return what they show of each sheet, by its name."""
    lengths = _measure_strings(archive)
    scans = {}
    for part in archive.names:
        if part.lower().endswith((".xml", ".rels")) and not _holds_strings(part):
            scans[part.lower()] = scan = _ExcelScan(lengths, limits)
            archive.parse(part, scan.begins, scan.ends, scan.take)
    try:
        sheets = scans["xl/workbook.xml"].sheets
        targets = scans["xl/_rels/workbook.xml.rels"].targets
        return {
            name: scans[targets[key]].facts for name, key in sheets.items() if targets[key] in scans
        }
    except LookupError:
        refuse_damaged()


def _measure_strings(archive: Archive) -> "array[int]":
    """Return the lengths of the texts that cells refer to by number."""
    lengths = array("L")

    def take(text: str) -> None:
        if lengths:
            lengths[-1] += len(text)

    for part in archive.names:
        if _holds_strings(part):
            archive.parse(part, {"si": lambda _: lengths.append(0)}, take=take)
    return lengths


def _holds_strings(part: str) -> bool:
    return part.lower().endswith("sharedstrings.xml")


class _ExcelScan:
    """Follows a part: sheets hold <row> with <c>, and in it <v>, <f> or <is> with <t>."""

    def __init__(self, lengths: "array[int]", limits: Limits) -> None:
        self.facts = _Facts()
        self.sheets: dict[str, str] = {}
        self.targets: dict[str, str] = {}
        self.begins = {
            "row": self._begin_row,
            "c": self._begin_cell,
            "v": self._begin_value,
            "t": self._begin_value,
            "f": lambda _: self.facts.add_formula(self._row, self._column),
            "mergeCell": lambda attributes: self.facts.add_merged(attributes.get("ref", "")),
            "sheet": self._add_sheet,
            "Relationship": self._add_relation,
        }
        self.ends = {"v": self._end_value, "t": self._end_value}
        self._lengths = lengths
        self._limits = limits
        self._size = self._value_size = 0
        self._row: int = -1
        self._column: int = -1
        self._row_name = ""
        self._type = ""
        self._is_value = False

    def _begin_row(self, attributes: dict[str, str]) -> None:
        row = int(attributes.get("r", self._row + 2)) - 1
        if not self._row < row < _MOST_ROWS:
            raise ValueError("Rows of a sheet are numbered upwards.")
        self._row, self._column, self._row_name = row, -1, str(row + 1)
        if attributes.get("hidden") in ("1", "true"):
            self.facts.hide_row(row)

    def _begin_cell(self, attributes: dict[str, str]) -> None:
        self._type = attributes.get("t", "n")
        self._column += 1
        if address := attributes.get("r"):
            letters = address.rstrip("0123456789")
            if address[len(letters) :] != self._row_name:
                raise ValueError("A cell isn't in its row.")
            self._column = _count_column(letters)

    def _begin_value(self, _: dict[str, str]) -> None:
        self._is_value, self._value_size = True, 0
        if self._row >= 0:
            self.facts.fill(self._row, self._column)

    def _end_value(self) -> None:
        self._is_value = False

    def take(self, text: str) -> None:
        if not self._is_value:
            return
        if self._type == "e":
            self.facts.add_error(self._row, self._column, text[:20])
        size = self._lengths[int(text)] if self._type == "s" else len(text)
        self._size += size
        self._value_size += size
        self._limits.check_text(self._size)
        if self._value_size > self._limits.record:
            self._limits.refuse_record(self._row + 1)

    def _add_sheet(self, attributes: dict[str, str]) -> None:
        key = next((attributes[name] for name in attributes if name.endswith(":id")), "")
        self.sheets[attributes["name"]] = key

    def _add_relation(self, attributes: dict[str, str]) -> None:
        path = posixpath.join("/xl", attributes["Target"])
        self.targets[attributes["Id"]] = posixpath.normpath(path).lstrip("/").lower()


@lru_cache(maxsize=1024)
def _count_column(letters: str) -> int:
    if not _LETTERS.fullmatch(letters):
        raise ValueError(f"{letters[:40]} is no column.")
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


# --- .ods -----------------------------------------------------------------------


def _scan_open_document(archive: Archive, limits: Limits) -> dict[str, _Facts]:
    """Look through the content; return what it shows of each sheet, by its name."""
    scan = _OpenDocumentScan(limits)
    for part in archive.names:
        if part.lower() in ("content.xml", "meta-inf/manifest.xml"):
            archive.parse(part, scan.begins, scan.ends, scan.take)
    return scan.sheets


class _OpenDocumentScan:
    """Follows the content: sheets hold <table-row> with <table-cell>, each perhaps repeated."""

    def __init__(self, limits: Limits) -> None:
        self.sheets: dict[str, _Facts] = {}
        self.begins = {
            "table": self._begin_sheet,
            "table-row": self._begin_row,
            "table-cell": self._begin_cell,
            "covered-table-cell": self._begin_cell,
            "p": self._begin_text,
            "s": lambda attributes: self._count_text(int(attributes.get("text:c", 1))),
            "tab": self._add_tab,
            "encryption-data": lambda _: refuse_locked(),
        }
        self.ends = {
            "table-row": self._end_row,
            "table-cell": self._end_cell,
            "covered-table-cell": self._end_cell,
            "p": self._end_text,
        }
        self._facts = _Facts()
        self._limits = limits
        self._size = 0
        self._row = self._column = 0
        self._rows = self._columns = 1
        self._is_text = False

    def _begin_sheet(self, attributes: dict[str, str]) -> None:
        self._row = 0
        self._facts = self.sheets[attributes["table:name"]] = _Facts()

    def _begin_row(self, attributes: dict[str, str]) -> None:
        self._column = 0
        self._rows = int(attributes.get("table:number-rows-repeated", 1))
        if attributes.get("table:visibility") in ("collapse", "filter"):
            self._facts.hide_row(self._row)

    def _begin_cell(self, attributes: dict[str, str]) -> None:
        self._columns = int(attributes.get("table:number-columns-repeated", 1))
        if "office:value-type" in attributes:
            self._fill()
        if "table:formula" in attributes:
            self._facts.add_formula(self._row, self._column)
        if attributes.get("calcext:value-type") == "error":
            self._facts.add_error(self._row, self._column, "of a formula")
        spans = ("table:number-columns-spanned", "table:number-rows-spanned")
        if any(attributes.get(name, "1") != "1" for name in spans):
            self._facts.add_merged(name_cell(self._column, self._row + 1))

    def _fill(self) -> None:
        """Count the cell, and the last one that it is repeated as."""
        self._facts.fill(self._row, self._column)
        self._facts.fill(self._row + self._rows - 1, self._column + self._columns - 1)

    def _begin_text(self, _: dict[str, str]) -> None:
        self._is_text = True
        self._fill()

    def _end_text(self) -> None:
        self._is_text = False

    def _add_tab(self, _: dict[str, str]) -> None:
        self._facts.tabs += 1

    def _end_cell(self) -> None:
        self._column += self._columns

    def _end_row(self) -> None:
        self._row += self._rows

    def take(self, text: str) -> None:
        if self._is_text:
            self._count_text(len(text))

    def _count_text(self, size: int) -> None:
        """Count a stretch of text as often as its cell is repeated."""
        if size > self._limits.record:
            self._limits.refuse_record(self._row + 1)
        self._size += max(1, size) * self._rows * self._columns
        self._limits.check_text(self._size)
