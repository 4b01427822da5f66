"""Reading the rows of one file, once a format is found that fits it."""

import fnmatch
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import PurePosixPath
from typing import Any, BinaryIO, NoReturn, cast

import ijson

from evalsite.data.tables.decoding import TextFile
from evalsite.data.tables.documents import read_items, read_object, read_value
from evalsite.data.tables.faults import Refused, quote
from evalsite.data.tables.files import MOST_IN_RECORD, SourceFile, open_zip, read_entry
from evalsite.data.tables.formats import Format, Shape, TracePaths
from evalsite.data.tables.paths import find, has, last_name, parse_path
from evalsite.data.tables.plain import open_any, open_delimited
from evalsite.data.tables.table import Limits, Table
from evalsite.data.tables.traces import read_traces
from evalsite.lib.limited import (
    BLANK_LINES,
    VALUES_IN_TEXT,
    TooMuch,
    check_values,
    make_decoder,
    read_json,
)

_START = 64 * 1024
# of a JSON document, to know it by its first row
_MOST_SEARCHED = 256 * 1024
# if its first row is longer
_MOST_SEARCHED_AGAIN = 16 * 1024**2
_UNFINISHED = "run_unfinished"


@dataclass(frozen=True)
class Recognised:
    """A file, and what it was found to be."""

    file: SourceFile
    format: Format
    shape: Shape
    # of a plain table, how it is read
    limits: Limits = field(default_factory=Limits)
    options: Mapping[str, Any] = field(default_factory=dict)
    # the system of its rows, if that can't be the name of the file
    called: str = ""


@dataclass(slots=True)
class Row:
    """One row of a file, with what its header says of the system; `data` is nested."""

    number: int
    data: dict[str, Any]
    system: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    # what the header says of all rows, kept with each
    metadata: dict[str, Any] = field(default_factory=dict)
    # whether it is a line of a text, or an entry
    unit: str = "row"

    @property
    def place(self) -> str:
        return f"{self.unit} {self.number:,}"


def is_zip_of_a_tool(names: Sequence[str], formats: Sequence[Format]) -> bool:
    """Return whether a zip with these entries is one file that a tool writes."""
    entries = set(names)
    return any(
        shape.header in entries
        for tool in formats
        for shape in tool.shapes
        if shape.container == "zip"
    )


# --- what a file is -----------------------------------------------------------------------


def recognise(file: SourceFile, formats: Sequence[Format]) -> Recognised | None:
    """Return what the file is; None if no format fits."""
    containers, first = _look(file)
    searched = [_MOST_SEARCHED, _MOST_SEARCHED_AGAIN] if "json" in containers else [0]
    start = b""
    for size in searched:
        before, start = start, file.read_start(size)
        if size and start == before:
            break  # the whole file was searched
        for tool in formats:
            for shape in tool.shapes:
                if shape.container in containers and _fits(file, tool, shape, first, start):
                    return Recognised(file, tool, shape)
    return None


def _look(file: SourceFile) -> tuple[set[str], Any]:
    """Return how the file may hold its rows, and the first line of JSON lines."""
    if file.is_zip:
        return {"zip"}, None
    start = file.read_start(_START).removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] == b"[":
        return {"json"}, None
    if start[:1] == b"{":
        line = start.split(b"\n", 1)[0]
        try:
            first = _parse(_read_first_line(file) if line == start else line, file, 1)
        except Refused:
            return {"json"}, None
        # one object in one line may be the whole document, too
        return {"lines", "json"}, first
    # by its name, unless a browser sent it without one
    if PurePosixPath(file.name).suffix.lower() in (".csv", ".tsv", ""):
        return {"columns", "table"}, None
    return set(), None


def is_json_lines(file: SourceFile) -> bool:
    """Return whether the first line is an object in JSON."""
    containers, _ = _look(file)
    return "lines" in containers


def read_first(known: Recognised) -> dict[str, Any]:
    """Return the data of the first row; nothing if there is none that can be read."""
    try:
        row = next(read_rows(known), None)
    except Refused:
        return {}
    return row.data if row else {}


def _read_first_line(file: SourceFile) -> bytes:
    with file.open() as opened:
        return opened.readline(_MOST_SEARCHED_AGAIN)


def _fits(file: SourceFile, tool: Format, shape: Shape, line: Any, start: bytes) -> bool:
    if shape.names:
        return fnmatch.fnmatch(PurePosixPath(file.name).name, shape.names)
    if shape.output_column:
        is_output = re.compile(shape.output_column, re.DOTALL).fullmatch
        return any(map(is_output, _read_first_cells(file)))
    if shape.container in ("columns", "table"):
        first: Any = _read_first_cells(file)
    elif shape.container == "lines":
        first = line
    else:
        peeked = file if file.is_zip else SourceFile(file.name, lambda: io.BytesIO(start))
        first = _read_first_row(Recognised(peeked, tool, shape))
    if not isinstance(first, dict) or any(name in first for name in shape.lacks):
        return False
    if not all(_is_match(pattern, find(first, path)) for path, pattern in shape.matches.items()):
        return False
    if shape.needs_one:
        return any(name in first for name in shape.needs_one)
    if shape.needs:
        return all(has(first, path) for path in shape.needs)
    return any(has(first, path) for path in tool.row.output)


def _read_first_row(known: Recognised) -> dict[str, Any] | None:
    """Return the data of the first row, as far as the file has this shape."""
    try:
        row = next(read_rows(known, is_first=True), None)
    except Refused:
        # a log of a run that isn't finished, with or without rows: reading the rows says so
        return dict.fromkeys(known.shape.needs)
    return row.data if row else None


def _is_match(pattern: str, value: Any) -> bool:
    return isinstance(value, str) and re.match(pattern, value) is not None


def _read_first_cells(file: SourceFile) -> dict[str, str]:
    """Return the first row of a table by column, as far as the beginning of the file has it."""
    start = file.read_start(_START).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "ignore")
    text = TextFile(io.BytesIO(start.encode()), "utf-8", "UTF-8")
    try:
        table = open_delimited(text, Limits())
        header = [table.repeated.get(at, name) for at, name in enumerate(table.header)]
        row = next(table.rows, None)
    except Refused:
        return {}
    cells = row.cells if row else []
    return dict.fromkeys(header, "") | dict(zip(header, cells, strict=False))


# --- rows ---------------------------------------------------------------------------------


def read_rows(known: Recognised, *, is_first: bool = False) -> Iterator[Row]:
    """Read the rows of a file one by one.

    With `is_first` a file of another shape has none, and only an unfinished run is a fault.
    """
    read = {
        "lines": _read_lines,
        "json": _read_json,
        "zip": _read_zip,
        "columns": _read_columns,
        "table": _read_table,
    }
    try:
        rows = read[known.shape.container](known)
        if known.format.trace is not None and not is_first:
            rows = _read_traces(rows, known, known.format.trace)
        yield from rows
    except (ijson.JSONError, UnicodeDecodeError) as error:
        if not is_first:
            refuse_json(known.file, str(error))
    except Refused as fault:
        # a zip with the header of a tool's log is that log
        is_log = fault.code == "too_large" and known.shape.container == "zip"
        if not is_first or is_log or fault.code == _UNFINISHED:
            raise


def refuse_json(file: SourceFile, why: str) -> NoReturn:
    message = f"The file isn't valid JSON, or it is incomplete ({quote(why, 120)})."
    raise Refused("file_damaged", message, file=file.name)


def _read_traces(rows: Iterator[Row], known: Recognised, paths: TracePaths) -> Iterator[Row]:
    traces = read_traces((row.data for row in rows), paths)
    for number, data in enumerate(traces, start=1):
        yield Row(number, data, _name_system(known))


def _read_table(known: Recognised) -> Iterator[Row]:
    system = _name_system(known)
    with known.file.open() as source:
        table = open_any(cast(BinaryIO, source), known.limits, known.options)
        for line, cells in _read_cells(table, known):
            pairs = enumerate(zip(table.header, cells, strict=True))
            data = {name: cell for at, (name, cell) in pairs if at not in table.unnamed}
            yield Row(line, data, system, unit=table.unit)


def _read_cells(table: Table, known: Recognised) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the cells of each row; Refused if one can't be read."""
    for row in table.rows:
        for problem in row.problems:
            message = f"Line {row.line:,}: {problem.message}"
            raise Refused(problem.code, message, file=known.file.name)
        if len(row.cells) != len(table.header):
            message = (
                f"The row in line {row.line:,} has {len(row.cells):,} cells, the header "
                f"{len(table.header):,}."
            )
            raise Refused("file_damaged", message, file=known.file.name)
        yield row.line, row.cells


def _read_lines(known: Recognised) -> Iterator[Row]:
    for number, line in read_lines(known.file):
        if line.strip():
            data = _parse(line, known.file, number)
            yield Row(number, data, _name_system(known), unit="line")


def read_lines(file: SourceFile) -> Iterator[tuple[int, bytes]]:
    """Yield each line with its number, without the byte order mark and the line break."""
    with file.open() as opened:
        number = blank = 0
        while line := opened.readline(MOST_IN_RECORD + 1):
            number += 1
            if len(line) > MOST_IN_RECORD:
                message = f"Line {number:,} has more than {MOST_IN_RECORD // 1024**2} MB."
                raise Refused("too_large", message, file=file.name)
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            blank += line.isspace()
            if blank > BLANK_LINES:
                message = f"It has more than {BLANK_LINES:,} empty lines. Remove them."
                raise Refused("too_large", message, file=file.name)
            yield number, line.removesuffix(b"\n").removesuffix(b"\r")


def _parse(line: bytes, file: SourceFile, number: int) -> dict[str, Any]:
    try:
        value = read_json(line.decode(), decoder=_DECODER)
    except TooMuch as error:
        message = f"Line {number:,}: {error} Leave out what people don't rate."
        raise Refused("too_large", message, file=file.name) from None
    except RecursionError:
        raise Refused(
            "json_depth", f"Line {number:,} is nested too deep.", file=file.name
        ) from None
    except (ValueError, UnicodeDecodeError) as error:
        message = f"Line {number:,} isn't valid JSON ({quote(error, 120)})."
        raise Refused("file_damaged", message, file=file.name) from None
    if not isinstance(value, dict):
        raise Refused("file_damaged", f"Line {number:,} is no JSON object.", file=file.name)
    return value


def _read_constant(name: str) -> None:
    """Read NaN as null, as programs write a missing value; no other constant is one."""
    if name != "NaN":
        raise ValueError(f"{name} is no JSON value")


def _join_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    joined = dict(pairs)
    if len(joined) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return joined


_DECODER = make_decoder(parse_constant=_read_constant, object_pairs_hook=_join_pairs)


def _read_json(known: Recognised) -> Iterator[Row]:
    system, arguments = _name_system(known), dict[str, Any]()
    metadata: dict[str, Any] = {}
    if known.format.header.system:
        system, arguments, metadata = read_settings(known)
    keys = known.shape.rows.split(".") if known.shape.rows else []
    with known.file.open() as opened:
        for number, data in enumerate(read_items(opened, keys, _list_keys(known)), start=1):
            if not isinstance(data, dict):
                message = f"Entry {number:,} is no JSON object."
                raise Refused("file_damaged", message, file=known.file.name)
            yield Row(number, data, system, arguments, metadata)


def read_settings(known: Recognised) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return the system, the arguments and the metadata that a document names for all rows."""
    head, of_format = {}, known.format.header
    try:
        for path in filter(
            None, (of_format.status, of_format.system, *of_format.arguments, *of_format.metadata)
        ):
            with known.file.open() as opened:
                head[path] = read_value(opened, path.split("."))
    except (ijson.JSONError, ijson.IncompleteJSONError, UnicodeDecodeError) as error:
        refuse_json(known.file, str(error))
    return _read_header(known, head.get)


def read_run(known: Recognised) -> str:
    """Return what a tool's document calls its run; "" if it doesn't say."""
    path, value = known.shape.run, None
    with suppress(Refused, ijson.JSONError, ijson.IncompleteJSONError, UnicodeDecodeError):
        if path and known.shape.container == "zip":
            with open_zip(known.file) as archive:
                header = read_entry(archive, known.shape.header, known.file)
                value = find(_parse(header, known.file, 1), path)
        elif path:
            with known.file.open() as opened:
                value = read_value(opened, path.split("."))
    return value if isinstance(value, str) else ""


def _read_zip(known: Recognised) -> Iterator[Row]:
    with open_zip(known.file) as archive:
        names = archive.namelist()
        if known.shape.header not in names:
            return
        header = _parse(read_entry(archive, known.shape.header, known.file), known.file, 1)
        system, arguments, metadata = _read_header(known, lambda path: find(header, path))
        rows = [
            entry
            for entry in names
            if entry.startswith(known.shape.rows) and entry.endswith(".json")
        ]
        for number, name in enumerate(rows, start=1):
            data = _read_sample(read_entry(archive, name, known.file), known)
            yield Row(number, data, system, arguments, metadata)


def _read_sample(content: bytes, known: Recognised) -> dict[str, Any]:
    """Read one sample of a log; of a very long one only what becomes part of the batch."""
    try:
        check_values(content.decode(errors="replace"), VALUES_IN_TEXT)
    except TooMuch:
        return read_object(io.BytesIO(content), _list_keys(known))
    return _parse(content, known.file, 1)


def _list_keys(known: Recognised) -> frozenset[str] | None:
    """Return the keys of a row that the format reads; None if it keeps them all."""
    row, shape = known.format.row, known.shape
    if row.keeps_rest or known.format.trace is not None:
        return None
    values = [getattr(row, part.name) for part in fields(row)]
    paths = [*shape.needs, *shape.needs_one, *shape.lacks]
    for value in values:
        if isinstance(value, dict):
            paths += [path for group in value.values() for path in group]
        elif isinstance(value, list):
            paths += value
        elif isinstance(value, str) and value:
            paths.append(value)
    return frozenset(step.name for path in paths for step in parse_path(path)[:1])


def _read_header(known: Recognised, find: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return the system of a log, its arguments and metadata; refuse a run that didn't end well."""
    header = known.format.header
    status = find(header.status) if header.status else None
    if header.status and (status is None or not find(header.system)):
        raise Refused("file_damaged", "The log has no header.", file=known.file.name)
    if header.finished and status not in header.finished:
        message = (
            f"The run isn't finished (its status is {quote(status)}). Run it to its end, and take "
            "that log."
        )
        raise Refused(_UNFINISHED, message, file=known.file.name)
    arguments = {last_name(path): value for path in header.arguments if (value := find(path))}
    metadata = {last_name(path): value for path in header.metadata if (value := find(path))}
    return str(find(header.system) or ""), arguments, metadata


def _read_columns(known: Recognised) -> Iterator[Row]:
    """Yield a row for each output of a table with several in a row, each behind its prompt."""
    with known.file.open() as source:
        table = open_any(cast(BinaryIO, source), known.limits, known.options)
        header = [table.repeated.get(at, name) for at, name in enumerate(table.header)]
        outputs = [
            (place, match)
            for place, name in enumerate(header)
            if (match := re.fullmatch(known.shape.output_column, name, re.DOTALL))
        ]
        first = outputs[0][0]
        for number, (_, cells) in enumerate(_read_cells(table, known), start=1):
            variables = dict(zip(header[:first], cells[:first], strict=True))
            for place, match in outputs:
                end = place + 1 + len(known.shape.after)
                after = dict(zip(header[place + 1 : end], cells[place + 1 : end], strict=True))
                yield Row(
                    number,
                    {
                        "testIdx": number - 1,
                        "vars": variables,
                        "provider": {"label": match["system"]},
                        "prompt": {"label": match["variant"]},
                        "response": {"output": cells[place]},
                        **{
                            name.lower(): after[name]
                            for name in known.shape.after
                            if after.get(name)
                        },
                    },
                )


def _name_system(known: Recognised) -> str:
    """Return the system by the name of the file or of its folder; "" if that doesn't name it."""
    stem = known.file.stem
    names = {"file": known.called or stem, "folder": known.file.folder or stem}
    name = names.get(known.shape.system_from, "")
    return replace_in_name(known, name)


def replace_in_name(known: Recognised, name: str) -> str:
    if not known.shape.replace:
        return name
    old, new = known.shape.replace
    return name.replace(old, new)
