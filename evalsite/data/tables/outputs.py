"""Outputs as several files in a zip, or as evaluation tools write them, joined into one table."""

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import IO, Any, BinaryIO, cast

from evalsite.data.tables.batch import Batch, convert, find_tool
from evalsite.data.tables.faults import Refused, Remarks
from evalsite.data.tables.files import FileUse, SourceFile, is_document
from evalsite.data.tables.table import Limits, Row, Table, check_cells

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
    # whoever chose a list of the document reads it as a table
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
            raise Refused(
                "decision_needed",
                "Something has to be decided before these files can be read.",
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
    remarks = Remarks()
    for sentence in batch.remarks:
        remarks.tell("files_joined", sentence)
    return Table(
        "UTF-8", "", batch.header, 1, _read_rows(batch.rows, limits), remarks,
        decided=decided, files=batch.files, joined=f"{batch.summary}. {batch.joined}",
        sources=batch.sources, candidates=batch.candidates, is_joined=True,
        failures=batch.failures, fields=batch.fields, inputs=batch.inputs,
    )  # fmt: skip


def _read_rows(rows: Iterable[list[str]], limits: Limits) -> Iterator[Row]:
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
