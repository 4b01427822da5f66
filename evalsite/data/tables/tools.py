"""What tools write, as data: one file for each, which says how to know it and where things are.

title         what it is called: "promptfoo results"

[row]         paths (`evalsite/data/tables/paths.py`) into a row; of several the first that leads to
              something, which an empty text is not
id            what the tool numbers inputs by; without it, rows are joined by equal inputs
open          objects whose keys are columns
inputs        columns with the paths of their texts or conversations
system        the system; without it, `system_from` of the shape or `system` of the header
variant       what else may differ between outputs of one system: a prompt, a filter
variant_name  and what that is called
sample        the number of a repeated sample
output        the text, or a list of texts, which are samples
reasoning     parts of a message with reasoning, where they aren't those of the output
outputs       of a row with several: the `output` of each, and its `system` or, at a path, its
              `system_at`; without either, that of the row
begins_alike  whether the messages with which all outputs of a row begin are its input
turns         whether inputs and outputs are lists of turns
loose         inputs that may differ between outputs of one id, as other inputs tell it, too: then
              these others are shown
error         why there is no output
failed        why an output doesn't count, though there is one
failed_values values that say so, by path
failed_over   numbers by path, of which larger ones say so
reference     what the output should have been, in a file of references
metadata      what is kept with the item: the tool's own ids and scores
exact         of these, where a number and a text that looks like one differ: the text is quoted
arguments     what the model was called with, kept as `model_arguments`
keeps_rest    whether columns without a meaning are kept as well

[header]      what a log, or a file of settings, says of all rows: `system`, `arguments`,
              `metadata`, and `status` with `finished` ones

[trace]       of steps that belong together, where each names its `trace`, its own `id` and its
              `parent`, when it began (`start`), its `kind` (of which some are `answers` and some
              `tools`), its `input`, `output`, `result`, `system` and `error`; `steps` leads to the
              steps of a record, `owner` to what they belong to, and `kept` names paths of the root
              that are metadata. A trace becomes a row with `input`, `messages`, `system` and
              `error`

[ratings]     of a file of ratings: fields by path; "" leaves a column out

[[shape]]     one way in which it is written
container     lines (JSON lines), json, zip (an entry a row), table (CSV), columns (CSV with outputs
              side by side), or ratings: any table
rows          the path of the list, or the folder of the entries; "" or none: all of the file
header        the entry with the header; of json the object itself
needs         paths that the first row has; without them, one of those of the output
needs_one     keys of which it has one at least
matches       patterns that texts of the first row match, by path
lacks         keys that it doesn't have
names         a pattern of file names, for what is told by its name
role          inputs, reference or settings (the header of all files in its folder); else the file
              holds outputs
system_from   file or folder, by whose name the system is called
replace       two texts, of which the first stands for the second in that name
part_from     a pattern of the file's name, whose group `part` is what ids are unique in
part_name     and the metadata that it becomes
output_column a pattern of columns with outputs; its groups are `system` and `variant`
after         columns after each of them that say something of that output
"""

import fnmatch
import io
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NoReturn, cast

import ijson

from evalsite.data.tables.documents import read_items, read_object, read_value
from evalsite.data.tables.files import MOST_IN_RECORD, SourceFile, open_any, open_zip, read_entry
from evalsite.data.tables.paths import (
    Branch,
    expand,
    find,
    find_first,
    has,
    last_name,
    open_json,
    parse_path,
)
from evalsite.data.tables.table import Limits, Refused, Table, quote
from evalsite.data.tables.text_files import TextFile, open_delimited
from evalsite.data.tables.texts import write_value
from evalsite.lib.limited import (
    BLANK_LINES,
    VALUES_IN_TEXT,
    TooDeep,
    TooMuch,
    check_values,
    make_decoder,
    read_json,
)

FOLDER = Path(__file__).parent / "formats"
RATINGS = "ratings"
_START = 64 * 1024
# of a JSON document, to know it by its first row
_MOST_SEARCHED = 256 * 1024
# if its first row is longer
_MOST_SEARCHED_AGAIN = 16 * 1024**2
_UNFINISHED = "run_unfinished"
_OUTPUTS = {"output", "output_of_this_system"}


@dataclass(frozen=True, kw_only=True)
class RowPaths:
    """Where things are in a row."""

    id: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    inputs: dict[str, list[str]] = field(default_factory=dict)
    system: list[str] = field(default_factory=list)
    variant: list[str] = field(default_factory=list)
    variant_name: str = ""
    sample: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    error: list[str] = field(default_factory=list)
    reference: list[str] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)
    exact: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    outputs: list[dict[str, str]] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    failed_values: dict[str, list[str]] = field(default_factory=dict)
    failed_over: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    scores: str = ""
    turns: bool = False
    begins_alike: bool = False
    keeps_rest: bool = False


@dataclass(frozen=True, kw_only=True)
class TracePaths:
    """Where things are in a step of a trace."""

    trace: str
    id: str
    parent: str
    start: str
    kind: str
    answers: list[str]
    tools: list[str]
    input: list[str]
    output: list[str]
    result: list[str]
    system: list[str]
    error: str
    steps: str = ""
    owner: str = ""
    kept: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Header:
    """What a log says of all its rows."""

    system: str = ""
    arguments: list[str] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)
    status: str = ""
    finished: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One way in which a tool writes its file."""

    container: str
    rows: str = ""
    header: str = ""
    needs: list[str] = field(default_factory=list)
    needs_one: list[str] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)
    matches: dict[str, str] = field(default_factory=dict)
    names: str = ""
    role: str = "outputs"
    system_from: str = ""
    replace: list[str] = field(default_factory=list)
    part_from: str = ""
    part_name: str = ""
    output_column: str = ""
    after: list[str] = field(default_factory=list)
    # where a document or its header says what people call the run
    run: str = ""


@dataclass(frozen=True, kw_only=True)
class Format:
    """What one tool writes."""

    key: str
    title: str
    row: RowPaths
    shapes: tuple[Shape, ...]
    header: Header = field(default_factory=Header)
    trace: TracePaths | None = None
    # of a file of ratings: what is at its paths
    ratings: dict[str, str] = field(default_factory=dict)


def load_formats(folders: Sequence[Path] = (FOLDER,)) -> list[Format]:
    """Read all formats; TypeError for a key that doesn't exist."""
    files = sorted(chain.from_iterable(folder.glob("*.toml") for folder in folders))
    return [_load(path) for path in files]


@cache
def _load(path: Path) -> Format:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return Format(
        key=path.stem,
        row=RowPaths(**data.pop("row", {})),
        header=Header(**data.pop("header", {})),
        trace=TracePaths(**data.pop("trace")) if "trace" in data else None,
        shapes=tuple(Shape(**shape) for shape in data.pop("shape")),
        **data,
    )


def find_ratings(header: Sequence[str], rows: Sequence[Any]) -> dict[str, str]:
    """Return fields by path of ratings that a tool wrote, as the first row shows it; or nothing."""
    cells = rows[0].cells if rows else []
    data = dict(zip(header, cells, strict=False))
    for known in load_formats():
        for shape in known.shapes:
            if shape.container == RATINGS and all(has(data, path) for path in shape.needs):
                return dict(known.ratings)
    return {}


# --- what a file is -----------------------------------------------------------------------


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


def find_tool(file: SourceFile, chosen: Mapping[str, str]) -> str:
    """Return what a tool wrote into this file, in a form that is no table; "" if it is one."""
    known = recognise(file, load_formats(), chosen)
    if known is None:
        return ""
    row = known.format.row
    paths = [*row.output, *(use["output"] for use in row.outputs)]
    is_nested = any({".", "["} & {*path} for path in paths)
    is_tool = is_nested or row.begins_alike or known.shape.rows or known.format.trace is not None
    return known.format.title if is_tool else ""


def recognise(
    file: SourceFile, formats: Sequence[Format], chosen: Mapping[str, str]
) -> Recognised | None:
    """Return what a tool wrote; None also where a person chose other outputs than the tool's."""
    known = _find_format(file, formats)
    if known is None or not known.format.row.outputs:
        return known
    return None if _OUTPUTS & {*get_chosen(known.file, chosen).values()} else known


def get_chosen(file: SourceFile, chosen: Mapping[str, str]) -> dict[str, str]:
    """Return what was chosen for the columns of this file: for all files, or for it by name."""
    paths: dict[str, str] = {}
    for path, use in chosen.items():
        name, colon, rest = path.partition(":")
        if not colon or name not in (file.name, PurePosixPath(file.name).name):
            paths.setdefault(path, use)
    for path, use in chosen.items():
        name, colon, rest = path.partition(":")
        if colon and name in (file.name, PurePosixPath(file.name).name):
            paths[rest] = use
    return paths


def _find_format(file: SourceFile, formats: Sequence[Format]) -> Recognised | None:
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
            if line == start:
                with file.open() as opened:
                    line = opened.readline(_MOST_SEARCHED_AGAIN)
            first = _parse(line, file, 1)
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
    texts = ((pattern, find(first, path)) for path, pattern in shape.matches.items())
    if not all(isinstance(text, str) and re.match(pattern, text) for pattern, text in texts):
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
            traces = _read_traces((row.data for row in rows), known.format.trace)
            system = _name_system(known)
            rows = (Row(number, data, system) for number, data in enumerate(traces, start=1))
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
    except TooDeep:
        raise Refused(
            "json_depth", f"Line {number:,} is nested too deep.", file=file.name
        ) from None
    except TooMuch as error:
        message = f"Line {number:,}: {error} Leave out what people don't rate."
        raise Refused("too_large", message, file=file.name) from None
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


# --- traces of agents ---------------------------------------------------------------------

# Steps by trace and in order, of which each trace becomes a row. It has `input` (the first message
# of the user), `messages` (all that follows: answers, calls of tools and their results), `system`,
# and `error`, that of the last step. If only an agent's name says which system it is, it is the
# `agent`, which runs in a `service`.
_OWNER = "owner"
# roles of messages of LangChain by their types
_TYPES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}


@dataclass(slots=True)
class _Step:
    """One step: its data, and the service that it belongs to."""

    data: dict[str, Any]
    owner: str


def _read_traces(records: Iterable[Any], paths: TracePaths) -> Iterator[dict[str, Any]]:
    """Yield a row for each trace, in the order in which traces first come."""
    traces: dict[str, list[_Step]] = {}
    for record in records:
        for step in _list_steps(record, paths):
            trace = write_value(find(step.data, paths.trace))
            traces.setdefault(trace, []).append(step)
    for trace, steps in traces.items():
        steps.sort(key=lambda step: write_value(find(step.data, paths.start)))
        yield {"trace": trace, **_read_trace(steps, paths)}


def _list_steps(record: Any, paths: TracePaths) -> Iterator[_Step]:
    if not paths.steps:
        yield _Step(record, "")
        return
    branch = Branch()
    begins = "" if "resourceSpans" in record else paths.steps.partition("[*].")[0] + "[*]."
    for name, path in (("steps", paths.steps), (_OWNER, paths.owner)):
        branch.add(name, parse_path(path.removeprefix(begins)))
    for row in expand(branch, record):
        if isinstance(row.get("steps"), dict):
            yield _Step(row["steps"], write_value(row.get(_OWNER)))


def _read_trace(steps: list[_Step], paths: TracePaths) -> dict[str, Any]:
    roots = [step for step in steps if not find(step.data, paths.parent)]
    root = roots[0] if roots else steps[0]
    answers = [step for step in steps if find(step.data, paths.kind) in paths.answers]
    asked = [
        turn
        for step in (root, *answers)
        for turn in _read_messages(find_first(step.data, paths.input), "user")
        if turn["role"] == "user"
    ]
    messages = [turn for step in steps for turn in _read_step(step, paths)]
    if not any(turn["role"] == "assistant" and turn["content"] for turn in messages):
        last = _read_messages(find_first(root.data, paths.output), "assistant")
        messages += [turn for turn in last if turn["role"] != "user"]
    names = [find_first(step.data, paths.system[:1]) for step in (root, *steps)]
    named = next((name for name in names if name), None)
    agent = None if named else find_first(root.data, paths.system[1:])
    return {
        **{name: find(root.data, path) for name, path in paths.kept.items()},
        "input": asked[0]["content"] if asked else None,
        "messages": messages,
        "system": named or agent or root.owner or None,
        "agent": agent,
        "service": root.owner,
        "error": find(steps[-1].data, paths.error) or find(root.data, paths.error),
    }


def _read_step(step: _Step, paths: TracePaths) -> list[dict[str, Any]]:
    """Return the messages of a step: an answer, or the result of a tool."""
    kind = find(step.data, paths.kind)
    if kind in paths.answers:
        turns = _read_messages(find_first(step.data, paths.output), "assistant")
        return [turn for turn in turns if turn["role"] not in ("user", "system")]
    if kind in paths.tools:
        result = find_first(step.data, paths.result)
        return [{"role": "tool", "content": write_value(result)}]
    return []


def _read_messages(value: Any, role: str) -> list[dict[str, Any]]:
    """Return messages as turns; a text is one of this role."""
    value = open_json(value)
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value["messages"]
    values = value if isinstance(value, list) else [value]
    # as LangChain has them, a list of messages for each prompt
    values = values[0] if values and isinstance(values[0], list) else values
    return [turn for part in values if (turn := _read_message(part, role))]


def _read_message(value: Any, role: str) -> dict[str, Any] | None:
    if not value:
        return None
    if not isinstance(value, dict):
        return {"role": role, "content": write_value(value)}
    if isinstance(value.get("kwargs"), dict):
        value = value["kwargs"]
    known = value.get("role") or _TYPES.get(str(value.get("type")))
    if not known:
        return {"role": role, "content": write_value(value)}
    turn = {"role": str(known), "content": value.get("content") or ""}
    calls = value.get("tool_calls") or []
    if isinstance(calls, list):
        calls = [
            _write_call(call) if isinstance(call, dict) and "args" in call else call
            for call in calls
        ]
    if isinstance(value.get("parts"), list):
        parts = [part for part in value["parts"] if isinstance(part, dict)]
        texts = [write_value(part.get("content")) for part in parts if part.get("type") == "text"]
        turn["content"] = "\n".join(texts)
        calls = [_write_call(part) for part in parts if part.get("type") == "tool_call"]
    if not isinstance(turn["content"], list):
        turn["content"] = write_value(turn["content"])
    return turn | ({"tool_calls": calls} if calls else {})


def _write_call(part: dict[str, Any]) -> dict[str, Any]:
    arguments = part.get("arguments", part.get("args"))
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    function = {"name": write_value(part.get("name")), "arguments": text}
    return {"id": write_value(part.get("id")), "type": "function", "function": function}
