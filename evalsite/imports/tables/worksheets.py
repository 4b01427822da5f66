"""Tables of Excel files: the first sheet that isn't hidden, row by row.

Read with a parser of our own, not with openpyxl: that keeps all texts of the workbook in memory,
and makes other numbers and texts of some. The line of a row is its number in the sheet.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.sax.xmlreader import AttributesImpl

from evalsite.imports.tables.characters import find_surrogate, show
from evalsite.imports.tables.faults import Remarks, UnreadableFile
from evalsite.imports.tables.packages import Package, PartHandler, refuse_damaged
from evalsite.imports.tables.sheet_values import (
    DATE,
    DURATION,
    NUMBER,
    name_cell,
    split_address,
    unescape,
    write_date,
    write_duration,
    write_number,
)
from evalsite.imports.tables.table import Limits, Problem, Row, Table
from evalsite.imports.tables.workbooks import Workbook, find_cell_meaning, open_workbook

_FORMULA, _TRUTH = "formula", "truth"
_CODES = {NUMBER: "numbers", DATE: "dates", _TRUTH: "truth_values", _FORMULA: "formulas"}
_REMARKS = {
    NUMBER: (
        "Cells that Excel holds as numbers: if an id such as 007 was typed, its zeros were lost "
        "before the file came here"
    ),
    DATE: "Cells that Excel holds as dates, read in the form 2026-11-21",
    _TRUTH: "Cells that Excel holds as true or false, read as TRUE and FALSE",
    _FORMULA: (
        "Cells with a formula, which is read as its text, such as =A1&B1; paste the values over "
        "it if its result is meant"
    ),
}


def open_worksheet(package: Package, limits: Limits) -> Table:
    """The names of the columns are read, and the rows are ready to be."""
    book = open_workbook(package, limits)
    remarks = Remarks()
    rows = _read_rows(book, limits, remarks)
    header = next(rows, None)
    if header is None:
        raise UnreadableFile(
            "empty_file", f"The sheet “{book.sheet.name}” has no rows: it is empty."
        )
    for problem in header.problems:
        raise UnreadableFile(problem.code, problem.message, line=header.line)
    width = max(number for number, cell in header.cells.items() if cell.strip()) + 1
    limits.check_width(width, header.line)
    names = [header.cells.get(number, "") for number in range(width)]
    _tell_book(book, remarks)
    return Table(
        encoding="Excel",
        delimiter=f"sheet “{book.sheet.name}”",
        header=names,
        header_line=header.line,
        rows=_number_rows(rows, names, header.line, limits, remarks),
        remarks=remarks,
        sheet=book.sheet.name,
    )


@dataclass(slots=True)
class _SheetRow:
    line: int
    cells: dict[int, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    # columns whose cells are no texts in the file, and what they are
    others: list[tuple[int, str]] = field(default_factory=list)

    @property
    def is_blank(self) -> bool:
        return not self.problems and not any(cell.strip() for cell in self.cells.values())


def _read_rows(book: Workbook, limits: Limits, remarks: Remarks) -> Iterator[_SheetRow]:
    """Rows that hold something, from the first on."""
    handler = _SheetHandler(book, limits)
    for _ in book.package.feed(book.sheet.part, handler):
        ready, handler.ready = handler.ready, []
        yield from (row for row in ready if not row.is_blank)
    if handler.hidden:
        remarks.tell(
            "rows_hidden",
            f"Rows that are hidden in the sheet are read like the others: {handler.hidden:,}, the "
            f"first is row {handler.first_hidden}",
        )
    if handler.merged:
        remarks.tell(
            "cells_merged",
            f"Merged cells: {handler.merged:,}, the first {show(handler.first_merged)}. Only the "
            "upper left cell of each holds a text, the others are read as empty",
        )


def _number_rows(
    rows: Iterator[_SheetRow], header: list[str], line: int, limits: Limits, remarks: Remarks
) -> Iterator[Row]:
    width = len(header)
    for record, row in enumerate(rows, start=1):
        limits.check_rows(record, row.line)
        problems = [
            problem if (problem.column or 0) < width else Problem(problem.code, problem.message)
            for problem in row.problems
        ]
        for number, cell in row.cells.items():
            if number >= width and cell.strip():
                problems.append(
                    Problem(
                        "column_unnamed",
                        f"The cell {name_cell(number, row.line)} holds a text, but row {line} "
                        "gives its column no name. Name the column, or clear the cell.",
                    )
                )
        for number, kind in row.others:
            column = header[number] if number < width else ""
            remarks.add(_CODES[kind], _REMARKS[kind], row.line, record, column.strip())
        cells = [row.cells.get(number, "") for number in range(width)]
        yield Row(row.line, record, cells, tuple(problems))


def _tell_book(book: Workbook, remarks: Remarks) -> None:
    if book.others:
        names = ", ".join(f"“{name}”" for name in book.others[:10])
        remarks.tell(
            "sheets_not_read",
            f"The sheet “{book.sheet.name}” was read, the first that is not hidden. Not read: "
            f"{names}{' and more' if len(book.others) > 10 else ''}",
        )
    if book.has_macros:
        remarks.tell("macros", "The file holds macros. They were neither looked at nor run")


# --- one sheet ------------------------------------------------------------------


class _SheetHandler(PartHandler):
    """Makes rows of what stands in a sheet: <row> with <c>, and in it <v>, <f> or <is>."""

    def __init__(self, book: Workbook, limits: Limits) -> None:
        super().__init__()
        self.ready: list[_SheetRow] = []
        self.hidden = self.first_hidden = self.merged = 0
        self.first_merged = ""
        self._book = book
        self._limits = limits
        self._is_data = self._is_phonetic = False
        self._line = 0
        self._row: _SheetRow | None = None
        self._row_size = 0
        self._cell: _Cell | None = None
        self._column = -1
        self._parts: list[str] | None = None

    def begin(self, tag: str, attrs: AttributesImpl) -> None:
        if tag == "c" and self._row is not None:
            self._begin_cell(attrs)
        elif tag in ("v", "t", "f") and self._cell is not None:
            self._begin_text(tag, attrs)
        elif tag == "row" and self._is_data:
            self._begin_row(attrs)
        elif tag == "rPh":
            self._is_phonetic = True
        elif tag == "sheetData":
            self._is_data = True
        elif tag == "mergeCell":
            self.merged += 1
            self.first_merged = self.first_merged or attrs.get("ref", "")

    def end(self, tag: str) -> None:
        if tag in ("v", "t", "f"):
            self._parts = None
        elif tag == "c" and self._cell is not None and self._row is not None:
            self._end_cell(self._cell, self._row)
        elif tag == "row" and self._row is not None:
            self.ready.append(self._row)
            self._row = None
        elif tag == "rPh":
            self._is_phonetic = False
        elif tag == "sheetData":
            self._is_data = False

    def take(self, text: str) -> None:
        if self._parts is None or self._cell is None:
            return
        self._row_size += len(text)
        self._cell.size += len(text)
        if self._row_size > self._limits.record:
            self._limits.refuse_record(self._line)
        if self._cell.size <= self._limits.cell:
            self._parts.append(text)

    def _begin_row(self, attrs: AttributesImpl) -> None:
        line = int(attrs.get("r", str(self._line + 1)))
        if line <= self._line or self._row is not None:
            raise ValueError("Rows of a sheet are numbered upwards.")
        self._line, self._row, self._row_size, self._column = line, _SheetRow(line), 0, -1
        if attrs.get("hidden") in ("1", "true"):
            self.hidden += 1
            self.first_hidden = self.first_hidden or line

    def _begin_cell(self, attrs: AttributesImpl) -> None:
        if self._cell is not None:
            raise ValueError("A cell stands in a cell.")
        address = attrs.get("r")
        self._column = split_address(address) if address else self._column + 1
        self._cell = _Cell(attrs.get("t", "n"), attrs.get("s"))

    def _begin_text(self, tag: str, attrs: AttributesImpl) -> None:
        if self._cell is None or self._is_phonetic:
            return
        if tag == "f":
            self._cell.formula = self._parts = []
            self._cell.is_shared = attrs.get("t") in ("shared", "dataTable")
        else:
            self._parts = self._cell.value

    def _end_cell(self, cell: "_Cell", row: _SheetRow) -> None:
        self._cell = self._parts = None
        if self._column >= self._limits.columns:
            if cell.value:
                self._limits.check_width(self._column + 1, row.line)
            return
        if cell.size > self._limits.cell:
            kind, text, problem = "", "", f"is longer than {self._limits.cell:,} letters."
        else:
            kind, text, problem = _read_cell(cell, self._book)
        if problem:
            where = name_cell(self._column, row.line)
            row.problems.append(
                Problem("cell_invalid", f"The cell {where} {problem}", self._column)
            )
            return
        if kind and text:
            row.others.append((self._column, kind))
        row.cells[self._column] = text


@dataclass(slots=True)
class _Cell:
    """A cell in the making: its type and style, and what stands in it."""

    type: str
    style: str | None
    value: list[str] = field(default_factory=list)
    formula: list[str] | None = None
    is_shared: bool = False
    size: int = 0


def _read_cell(cell: _Cell, book: Workbook) -> tuple[str, str, str]:
    """What the cell is unless it is a text; its text; what keeps it out, as a sentence."""
    value = "".join(cell.value)
    if cell.type == "e":
        return "", "", f"holds the error {show(value)}. Correct it in the sheet."
    if cell.formula is not None:
        return _read_formula(cell)
    if cell.type in ("s", "str", "inlineStr"):
        text = unescape(book.strings[int(value)] if cell.type == "s" else value)
        if found := find_surrogate(text):
            return "", "", f"holds {found}. Correct or remove it."
        return "", text, ""
    if cell.type == "b":
        return _TRUTH, {"1": "TRUE", "0": "FALSE"}[value], ""
    if cell.type == "d":
        return DATE, value, ""
    if cell.type != "n":
        refuse_damaged()
    return _read_number(value.strip(), cell, book)


def _read_formula(cell: _Cell) -> tuple[str, str, str]:
    text = unescape("".join(cell.formula or []))
    if cell.is_shared or not text:
        return (
            "",
            "",
            (
                "holds a formula that it shares with other cells. Copy the cells and paste them as "
                "values."
            ),
        )
    if found := find_surrogate(text):
        return "", "", f"holds {found}. Correct or remove it."
    return _FORMULA, f"={text}", ""


def _read_number(value: str, cell: _Cell, book: Workbook) -> tuple[str, str, str]:
    if not value:
        return "", "", ""
    meaning = find_cell_meaning(book.meanings, cell.style)
    if meaning == NUMBER:
        return NUMBER, write_number(value), ""
    try:
        if meaning == DURATION:
            return DATE, write_duration(value), ""
        return DATE, write_date(value, is_1904=book.is_1904), ""
    except ValueError:
        return "", "", f"holds a date that no calendar has ({show(value)}). Correct it."
