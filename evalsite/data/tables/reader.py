"""From bytes to rows, whatever was sent: a table, what a tool wrote, or several files in a zip."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import IO, Any, BinaryIO, Literal, cast

from pydantic import BaseModel, ConfigDict

from evalsite.data.tables.archives import Archive
from evalsite.data.tables.batch import Batch, convert
from evalsite.data.tables.files import (
    GZIP,
    TABLES,
    UNPACK,
    ZIP,
    SourceFile,
    is_document,
    is_hidden,
    is_spreadsheet,
    open_any,
    open_packed,
    open_plain,
    unpack,
    unpack_gzip,
)
from evalsite.data.tables.roles import LEAVE_OUT, OUTPUTS, WORDS
from evalsite.data.tables.spreadsheets import SHEET, open_spreadsheet
from evalsite.data.tables.table import (
    FileUse,
    Limits,
    Problem,
    Refused,
    Remarks,
    Row,
    Table,
    check_cells,
    quote,
    show,
)
from evalsite.data.tables.tools import find_tool
from evalsite.lib.words import count_of

# --- one table after another ------------------------------------------------------------


FOLDER, FILE = "folder", "file"
PLACES = (FOLDER, FILE)
# how several tables are joined, as the option of an upload has it
JOIN, APPEND = "outputs_join", "append"
# whether tables with the same columns are one without a word from anyone
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
    are_alike = (
        len(parts) == len(used) > 1 and len({frozenset(part.columns) for part in parts}) == 1
    )
    if not parts or not (is_chosen or are_alike):
        return None
    header = list(dict.fromkeys(name for part in parts for name in part.columns))
    added = [name for name in PLACES if name not in header]
    limits.check_width(len(header) + len(added), 1)
    remarks = Remarks()
    table = Table(
        "", "", [*header, *added], 1, _read_parts(parts, header, added, (limits, options, remarks)),
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


def _read_parts(
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


# --- outputs of tools -------------------------------------------------------------------


PREFIX = "outputs_"
NAMES, SEED = "outputs_names", "outputs_seed"
# of the file itself, perhaps behind that of its folder
FILE_NAME = "file_name"
# fields by path, as a person chose them
CHOSEN = "chosen"
# then it is read as a table, which may say more of what is wrong
_NO_FOLDER = {"unknown_format", "no_file", "file_damaged", "zip_locked"}
_NO_OUTPUTS = {"unknown_format", "no_system", "inputs_missing"}


def open_outputs(
    source: BinaryIO, limits: Limits, options: Mapping[str, Any]
) -> Table | Refused | None:
    """Join what a zip holds, or read what a tool wrote; None if it is an ordinary table.

    What looks like a tool's file but can't be read as one may be read as a table: the fault is
    returned. Of the options of an upload those are used that answer its questions, and
    `outputs_names`.
    """
    answers = {
        option.removeprefix(PREFIX): str(answer)
        for option, answer in options.items()
        if option.startswith(PREFIX)
    }
    file = SourceFile(str(options.get(FILE_NAME, "")), partial(open_again, source))
    is_zip = file.is_zip
    if is_zip and is_document(file):
        return None
    chosen = options.get(CHOSEN) or {}
    tool = find_tool(file, chosen)
    # a list of the document that was chosen is read as a table
    if not is_zip and (not tool or options.get("rows")):
        return None
    try:
        batch = convert(
            [file],
            names=options.get(NAMES) or {},
            answers=answers,
            seed=str(options.get(SEED, "")),
            most_bytes=limits.text,
            limits=limits,
            chosen=chosen,
            options=options,
        )
    except Refused as fault:
        if fault.questions:
            is_asked = fault.code == "decision_needed"
            raise Refused(
                fault.code,
                "Something has to be decided before these files can be read."
                if is_asked
                else fault.message,
                questions=[
                    replace(question, key=f"{PREFIX}{question.key}") for question in fault.questions
                ],
                files=fault.files,
            ) from None
        if is_zip and fault.code in _NO_FOLDER:
            return None
        text = str(fault) if is_zip else fault.message
        message = _explain(tool, text) if tool else text
        unreadable = Refused(fault.code, message, files=fault.files)
        unreadable.columns = fault.columns
        if not is_zip and fault.code in _NO_OUTPUTS:
            return unreadable
        raise unreadable from None
    return _make_table(batch, limits)


def _explain(tool: str, message: str) -> str:
    """Say what looks like a tool's file, but can't be read as one: the row, then what is wrong."""
    place, colon, sentence = message.partition(": ")
    if not message.startswith(("row ", "line ")):
        place, sentence = "", message
    where = f"in {place}{colon}" if place else ""
    return f"This looks like {tool}, but {where}{sentence[:1].lower()}{sentence[1:]}"


def list_files(source: BinaryIO, options: Mapping[str, Any]) -> list[FileUse]:
    """Return the files of a zip that couldn't be joined, with what each seems to be."""
    file = SourceFile("", partial(open_again, source))
    try:
        return convert([file], names=options.get(NAMES) or {}).files
    except Refused as problem:
        return list(problem.files)


def _make_table(batch: Batch, limits: Limits) -> Table:
    limits.check_width(len(batch.header), 1)
    decided = {f"{PREFIX}{key}": text for key, text in batch.made.items()}
    answered = {f"{PREFIX}{key}": question for key, question in batch.answered.items()}
    remarks = Remarks()
    for sentence in batch.remarks:
        remarks.tell("files_joined", sentence)
    return Table(
        "UTF-8", "", batch.header, 1, _read_joined(batch.rows, limits), remarks,
        decided=decided, answered=answered, files=batch.files,
        joined=f"{batch.summary}. {batch.joined}",
        sources=batch.sources, candidates=batch.candidates, is_joined=True,
        failures=batch.failures, fields=batch.fields, inputs=batch.inputs,
    )  # fmt: skip


def _read_joined(rows: Iterable[list[str]], limits: Limits) -> Iterator[Row]:
    for number, cells in enumerate(rows, start=1):
        limits.check_rows(number, number)
        yield Row(number, number, cells, tuple(check_cells(cells, limits)))


class _View(io.RawIOBase):
    """A place of its own in a file that others read as well, one after the other."""

    def __init__(self, source: BinaryIO) -> None:
        self._source, self._at = source, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at}.get(whence)
        if start is None:
            start = self._source.seek(0, io.SEEK_END)
        if start + offset < 0:
            raise ValueError("There is nothing before the beginning of a file.")
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        self._source.seek(self._at)
        content = self._source.read(len(buffer))
        buffer[: len(content)] = content
        self._at += len(content)
        return len(content)


def open_again(source: BinaryIO) -> IO[bytes]:
    return cast(IO[bytes], io.BufferedReader(_View(source)))


# --- whatever was sent ------------------------------------------------------------------


# packed once more, which may hide outputs
# whether files of tools are read as the tables they are, as ratings are
AS_TABLE = "as_table"
_PACKED = (".zip", ".gz", ".tgz", ".tar", ".7z", ".rar", ".bz2", ".xz", ".zst")


def open_table(
    source: BinaryIO,
    *,
    limits: Limits | None = None,
    options: Mapping[str, Any] | None = None,
    file_name: str = "",
) -> Table:
    """Read the header; the rows follow as they are asked for. Refused says what is wrong.

    Of the options of an upload these are used: `encoding` ("windows-1252" once it is confirmed),
    `rows` (the list of a JSON document), `sheet`, `separator` (of columns, in words), and what
    several files are for.
    """
    limits = limits or Limits()
    options = {**(options or {}), FILE_NAME: file_name.removesuffix(".gz")}
    # files are called as they are once they are unpacked
    names, chosen = options.get(NAMES) or {}, options.get(CHOSEN) or {}
    options[NAMES] = {name.removesuffix(".gz"): use for name, use in names.items()}
    chosen = {path.replace(".gz:", ":", 1): use for path, use in chosen.items()}
    options[CHOSEN] = chosen
    source.seek(0)
    head = source.read(8)
    if head.startswith(ZIP):
        if appended := _open_appended(source, limits, options):
            return appended
        table = None if options.get(AS_TABLE) else open_outputs(source, limits, options)
        if isinstance(table, Table):
            return table
        archive = Archive(source, limits)
        if is_spreadsheet(archive):
            return open_spreadsheet(source, archive, limits, str(options.get(SHEET, "")))
        try:
            name = _find_table(archive, options)
        except Refused as error:
            error.files = list_files(source, options)
            raise
        return open_packed(lambda target: archive.copy(name, target), limits, options)
    if head.startswith(GZIP):
        table = open_packed(
            lambda target: unpack_gzip(source, target, limits), limits, options, _open_single
        )
    else:
        table = _open_single(source, head, limits, options)
    if names_places(chosen):
        add_places(table, file_name)
    return table


def _open_appended(source: BinaryIO, limits: Limits, options: Mapping[str, Any]) -> Table | None:
    """Read the tables of a zip one after another, if that was chosen or goes without saying."""
    is_chosen = options.get(JOIN) == APPEND or names_places(options.get(CHOSEN) or {})
    file = SourceFile("", partial(open_again, source))
    if not (is_chosen or options.get(TAKES_ALIKE)) or is_document(file):
        return None
    names = options.get(NAMES) or {}
    return open_appended([file], limits, options, names, is_chosen=is_chosen)


def _open_single(
    source: BinaryIO, head: bytes, limits: Limits, options: Mapping[str, Any]
) -> Table:
    """Open what isn't packed: a tool's file, or else a table, which a tool's file may be, too."""
    opened = None if options.get(AS_TABLE) else open_outputs(source, limits, options)
    if isinstance(opened, Table):
        return opened
    try:
        table = open_plain(source, head, limits, options)
    except Refused as error:
        raise opened or error from None
    if opened:
        message = f"{str(opened).rstrip('.')}. It is read as an ordinary table"
        table.remarks.tell("looks_like_a_tool", message)
    return table


def _find_table(archive: Archive, options: Mapping[str, Any]) -> str:
    """Return the name of the only table in an archive that isn't left out."""
    roles = options.get(NAMES) or {}
    names = [name for name in archive.names if not is_hidden(name.replace("\\", "/").split("/"))]
    packed = [name for name in names if name.lower().endswith(_PACKED)]
    # by the name: what else is packed with a table is often text, too
    tables = [
        name for name in names if name.lower().endswith(TABLES) and roles.get(name) != LEAVE_OUT
    ]
    if packed and roles.get(packed[0]) != LEAVE_OUT:
        message = (
            f"“{show(packed[0], 60)}” in this zip file is packed itself, and isn't opened. Unpack "
            "it, and pack what it holds with the rest, or leave it out."
        )
        raise Refused("archive_unreadable", message)
    if not tables:
        message = f"This zip file holds no table ({', '.join(TABLES)}). {UNPACK}"
        raise Refused("archive_unreadable", message)
    if len(tables) > 1:
        listed = ", ".join(f"“{show(name, 60)}”" for name in tables[:5])
        raise Refused(
            "archive_several_tables",
            f"There are {len(tables):,} tables: {listed}{' and more' if len(tables) > 5 else ''}. "
            "They can't be joined as they are. Leave out all but one, or upload that one alone.",
        )
    return tables[0]


# --- what a person says of files --------------------------------------------------------


# what systems are called instead, by their names in the file
SYSTEM_NAMES = "system_names"


class _Choice(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FileChoice(_Choice):
    """What one of several files is for, and what its only system is called."""

    name: str
    role: Literal["inputs", "outputs", "reference", "settings", "-"]
    system: str = ""


class FileMapping(_Choice):
    """What files are for, the field of each path, and the answer to each question.

    It beats whatever is guessed. It is kept with an upload, remembered for the next file with the
    same columns, and made of the options of a command. `options` are the same for readers.
    """

    files: tuple[FileChoice, ...] = ()
    fields: dict[str, str] = {}
    decisions: dict[str, bool | int | str | list[str] | None] = {}
    # new names of systems by those in the file
    systems: dict[str, str] = {}
    # the earlier file with the same columns whose fields these are
    copied_from: str = ""

    @classmethod
    def read(
        cls, fields: Mapping[str, str] | None = None, options: Mapping[str, Any] | None = None
    ) -> "FileMapping":
        """Return the mapping with these fields and options."""
        options = dict(options or {})
        names, systems = options.pop(NAMES, None) or {}, options.pop(SYSTEM_NAMES, None) or {}
        return cls(
            files=tuple(
                FileChoice(name=name, role=word) if word in WORDS
                else FileChoice(name=name, role=OUTPUTS, system=word)
                for name, word in names.items()
            ),
            fields=dict(fields or {}), decisions=options, systems=systems,
        )  # fmt: skip

    @property
    def options(self) -> dict[str, Any]:
        names = {file.name: file.system or file.role for file in self.files}
        return {
            **self.decisions,
            **({NAMES: names} if names else {}),
            **({SYSTEM_NAMES: self.systems} if self.systems else {}),
        }

    def change(self, **parts: Any) -> "FileMapping":
        """Return it with these parts in place of its own, which are checked."""
        return FileMapping.model_validate({**dict(self), **parts})
