"""Tables read one after another, with the folder and the file that each row comes from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO, cast

from evalsite.data.tables.faults import Refused, Remarks, quote
from evalsite.data.tables.files import SourceFile, unpack
from evalsite.data.tables.plain import open_any
from evalsite.data.tables.roles import LEAVE_OUT
from evalsite.data.tables.table import Limits, Problem, Row, Table
from evalsite.lib.words import count_of

FOLDER, FILE = "folder", "file"
PLACES = (FOLDER, FILE)
# how several tables are joined, as the option of an upload has it
JOIN, APPEND = "outputs_join", "append"
# whether tables with the same columns are one without a word from anybody
TAKES_ALIKE = "takes_alike"


@dataclass(frozen=True)
class _Part:
    file: SourceFile
    columns: list[str]


def names_places(chosen: Mapping[str, str]) -> bool:
    """Return whether the folder or the file of a row says something."""
    return any(chosen.get(name) not in (None, "", LEAVE_OUT) for name in PLACES)


def open_appended(
    files: Sequence[SourceFile],
    limits: Limits,
    options: Mapping[str, Any],
    names: Mapping[str, str],
    *,
    is_chosen: bool,
) -> Table | None:
    """Return all tables of these files as one; None if it isn't chosen and they aren't alike."""
    used = [
        file
        for file in unpack(files, is_whole=lambda entries: False, most_bytes=limits.text)
        if names.get(file.name) != LEAVE_OUT
    ]
    parts = list(_list_parts(used, limits, options, is_chosen=is_chosen))
    if not parts or (not is_chosen and not _are_alike(parts, used)):
        return None
    header = list(dict.fromkeys(name for part in parts for name in part.columns))
    added = [name for name in PLACES if name not in header]
    limits.check_width(len(header) + len(added), 1)
    remarks = Remarks()
    table = Table(
        "", "", [*header, *added], 1, _read_rows(parts, header, added, (limits, options, remarks)),
        remarks, unit="row", joined=f"{count_of(len(parts), 'file')}, read one after another.",
    )  # fmt: skip
    # what nobody chose is left out
    table.unnamed |= {len(header) + number for number in range(len(added))}
    return table


def add_places(table: Table, file_name: str) -> None:
    """Add the folder and the name of the only file as columns."""
    path, width = PurePosixPath(file_name), len(table.header)
    cells = {FOLDER: path.parent.name, FILE: path.name}
    added = [name for name in PLACES if name not in table.header]
    table.header += added
    table.unnamed |= set(range(width, len(table.header)))

    def extend(rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            if len(row.cells) == width:
                row.cells = [*row.cells, *(cells[name] for name in added)]
            yield row

    table.rows = extend(table.rows)


def _list_parts(
    files: Sequence[SourceFile], limits: Limits, options: Mapping[str, Any], *, is_chosen: bool
) -> Iterator[_Part]:
    for file in files:
        try:
            with file.open() as source:
                table = open_any(cast(BinaryIO, source), limits, options)
                yield _Part(file, list(table.header))
                # closes what it was unpacked to
                cast(Any, table.rows).close()
        except Refused as fault:
            if is_chosen:
                message = f"{fault.message} Leave this file out, or correct it."
                raise Refused(fault.code, message, file=file.name) from None


def _are_alike(parts: Sequence[_Part], files: Sequence[SourceFile]) -> bool:
    return len(parts) == len(files) > 1 and len({frozenset(part.columns) for part in parts}) == 1


def _read_rows(
    parts: Sequence[_Part],
    header: Sequence[str],
    added: Sequence[str],
    wishes: tuple[Limits, Mapping[str, Any], Remarks],
) -> Iterator[Row]:
    limits, options, remarks = wishes
    number = 0
    for part in parts:
        place = {FOLDER: part.file.folder, FILE: PurePosixPath(part.file.name).name}
        with part.file.open() as source:
            table = open_any(cast(BinaryIO, source), limits, options)
            # by their names: a file may have them in another order
            numbers = [header.index(name) for name in table.header]
            for row in table.rows:
                number += 1
                limits.check_rows(number, number)
                cells = [""] * len(header)
                for at, cell in zip(numbers, row.cells, strict=False):
                    cells[at] = cell
                yield Row(
                    number, number, [*cells, *(place[name] for name in added)],
                    tuple(_list_problems(row, table, numbers, part.file.name)),
                )  # fmt: skip
            remarks.extend(table.remarks.listed())


def _list_problems(row: Row, table: Table, numbers: Sequence[int], name: str) -> Iterator[Problem]:
    where = f"(line {row.line} of {quote(name)})"
    for problem in row.problems:
        column = None if problem.column is None else numbers[problem.column]
        yield Problem(problem.code, f"{problem.message} {where}", column)
    if not row.problems and len(row.cells) != len(table.header):
        cells = count_of(len(row.cells), "cell")
        yield Problem("row_width", f"{cells} instead of {len(table.header)} {where}.")
