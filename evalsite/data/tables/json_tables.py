"""Tables of JSON: a list of objects, also as {"data": [...]}, or JSON lines. Keys name columns.

Texts are taken exactly, numbers as they are written (1.0, 1e5), nested values as compact JSON. A
key that holds lists of outputs becomes a column for each system. The file is streamed twice.
"""

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import IO, Any, NoReturn, cast

import ijson

from evalsite.data.tables.documents import read_events, read_items
from evalsite.data.tables.paths import MISSING, Literal, parse_path, write_cell, write_step
from evalsite.data.tables.table import (
    Limits,
    Problem,
    Question,
    Refused,
    Remarks,
    Row,
    Table,
    check_cells,
    find_surrogate,
    load_names,
    show,
)
from evalsite.data.tables.text_files import Lines, TextFile
from evalsite.lib.limited import (
    VALUES_IN_TEXT,
    TooDeep,
    TooMuch,
    count_values,
    make_decoder,
    read_json,
)

_MAX_DEPTH = 50
_MOST_LIST_DEPTH = 5
_MOST_QUOTED = 120
_OPENS_OBJECT = re.compile(r"\s*\{\s*(?:[\"}]|$)")
_OPENS_LIST = re.compile(r"\s*\[\s*(?:[\{\]]|$)")
_OPENS_WRAPPED = re.compile(r'\s*\{\s*"(?:[^"\\]++|\\.)*"\s*:\s*(?=\[\s*(?:[\{\]]|$))', re.DOTALL)
_OTHER_LIST = re.compile(
    r'\s*\[\s*(?:\[\s*\[|(?:(?:"(?:[^"\\]|\\.)*"|-?[0-9.eE+-]+|null|true|false)\s*,\s*){3})'
)
_NO_JSON: Any = object()
# a string is passed over whole, also one that never ends
_PARTS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{},]', re.DOTALL)
_BRACES = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|(?P<open>))|[{}]', re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")
_BREAK = re.compile(r"\r\n|\r|\n")
_START = 4096  # characters that a format is known by
_CHUNK, _MAX_CHUNK = 64 * 1024, 512 * 1024
_MEANINGS = {
    "Unterminated string": "a quote that opens here is never closed",
    "Expecting property name": "a key in double quotes is expected here",
    "Expecting ',' delimiter": "a comma or the end of the object is expected here",
    "Expecting ':' delimiter": "a colon is expected here",
    "Invalid control character": "a control character in a text; write it as an escape such as \\n",
    "Invalid \\": "a backslash that begins no known escape; write it twice",
    "Extra data": "something follows the end of the object",
}


class BadObject(Exception):
    """What is wrong with an object: a code and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


@dataclass(frozen=True, slots=True)
class _Source:
    """A piece of the file that should be an object, and where it starts."""

    line: int
    content: str
    column: int = 1
    values: dict[str, Any] | None = None  # if it is known to be an object


def open_json(text: TextFile, start: str, limits: Limits, rows: str = "") -> Table | None:
    """Collect the keys of all objects; the rows follow. None if the file starts like no JSON.

    `rows` is the list to read of a document with several.
    """
    if _OPENS_LIST.match(start):
        return _open(text, _List(text, limits, 0), limits)
    if not _OPENS_OBJECT.match(start):
        _refuse_other_json(start)
        return None
    wrapped = _OPENS_WRAPPED.match(start)
    if not rows and wrapped and _is_one_list(text, limits, wrapped.end()):
        return _open(text, _List(text, limits, wrapped.end()), limits)
    if _is_document(text, limits) and (lists := _find_lists(text)):
        return _open_document(text, lists, limits, rows)
    return _open(text, _ObjectLines(text, limits), limits)


def _refuse_other_json(start: str) -> None:
    """Refuse JSON without objects: a list of other values, or a single value."""
    first = start.lstrip().split("\n", 1)[0]
    values = [value for text in (first, start) if (value := _parse(text)) is not _NO_JSON]
    is_list = any(isinstance(value, list) for value in values) or _OTHER_LIST.match(start)
    if is_list or (len(values) == 2 and len(start) < _START):
        raise Refused(
            "json_shape",
            f"The file holds {'a list of values' if is_list else 'a single value'} without names. "
            'Write a list of objects, with a key for each value, such as [{"prompt": …, '
            '"output": …}].',
            line=1,
        )


def _parse(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return _NO_JSON


def _is_document(text: TextFile, limits: Limits) -> bool:
    """Return whether the file is one object, and not one in each line."""
    stream = text.open()
    try:
        line = stream.readline(limits.record)
        while line and not line.strip():
            line = stream.readline(limits.record)
        if not line.rstrip().endswith("}"):
            return True
        return not any(part.strip() for part in iter(lambda: stream.read(_CHUNK), ""))
    finally:
        stream.detach()


class _Bytes:
    """The text in UTF-8, as ijson reads it; it may be read once more from its beginning."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream

    def tell(self) -> int:
        return 0

    def seek(self, _: int) -> None:
        self._stream.seek(0)

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(size).encode("utf-8", "surrogatepass")


def _find_lists(text: TextFile) -> dict[str, int]:
    """Return the lists of objects in a document by their paths, with their lengths."""
    lists: dict[str, int] = {}
    stream = text.open()
    # keys from the outside in; None inside of a list
    keys: list[str | None] = []
    depth_of_list = 0
    path = ""
    # lists of something else than rows: of turns, or with values that are no objects
    left: set[str] = set()
    try:
        for event, value in read_events(cast(IO[bytes], _Bytes(stream))):
            is_entry = bool(depth_of_list) and len(keys) == depth_of_list
            if event == "map_key":
                keys[-1] = value
                if value == "role" and len(keys) == depth_of_list + 1:
                    left.add(path)
            elif event in ("start_map", "start_array"):
                if is_entry and event == "start_map":
                    lists[path] = lists.get(path, 0) + 1
                is_list = event == "start_array" and not depth_of_list
                if is_list and len(keys) <= _MOST_LIST_DEPTH:
                    path = _write_keys(keys)
                    depth_of_list = len(keys) + 1
                keys.append(None if event == "start_array" else "")
                if len(keys) > _MAX_DEPTH:
                    return {}
            elif event in ("end_map", "end_array"):
                keys.pop()
                depth_of_list = depth_of_list if len(keys) >= depth_of_list else 0
            elif is_entry:
                left.add(path)
    except (ijson.JSONError, ValueError):
        return {}  # the reader of lines says what is wrong
    finally:
        stream.detach()
    return {path: count for path, count in lists.items() if path not in left}


def _write_keys(keys: Iterable[str | None]) -> str:
    steps = [write_step(key or "") for key in keys]
    return "".join(step if step[0] == "[" else f".{step}" for step in steps if step).lstrip(".")


def _open_document(text: TextFile, lists: dict[str, int], limits: Limits, rows: str) -> Table:
    named = ", ".join(f"{path} ({count:,})" for path, count in list(lists.items())[:_MOST_SHOWN])
    if rows and rows not in lists:
        message = f"There is no list “{show(rows)}” in this document. It has: {named}."
        raise Refused("rows_unknown", message)
    if not rows and len(lists) > 1:
        first = next(iter(lists))
        message = f"This JSON document has several lists: {named}. Choose one (--rows {first})."
        choices = tuple((path, f"{count:,} rows") for path, count in lists.items())
        question = Question("rows", f"Which list holds the rows? {named}", choices)
        raise Refused("decision_needed", message, questions=[question])
    path = rows or next(iter(lists))
    table = _open(text, _Entries(text, path), limits)
    table.unit = "row"
    table.remarks.tell("rows_in_document", f"The rows are the list “{path}” of the document")
    return table


class _Entries:
    """The entries of one list in a document, numbered."""

    name = "JSON document"
    advice = ""

    def __init__(self, text: TextFile, path: str) -> None:
        self._text, self._path = text, path

    def read(self) -> Iterator[_Source]:
        stream = self._text.open()
        try:
            keys = [step.name for step in parse_path(self._path)]
            for number, value in enumerate(
                read_items(cast(IO[bytes], _Bytes(stream)), keys), start=1
            ):
                if isinstance(value, dict):
                    yield _Source(number, "", values=value)
        except (ijson.JSONError, ValueError) as error:
            why = " ".join(str(error).split())[:_MOST_QUOTED]
            message = f"The document isn't valid JSON, or it is incomplete ({why})."
            raise Refused("json_invalid", message) from None
        finally:
            stream.detach()


def _open(text: TextFile, pieces: "_List | _ObjectLines | _Entries", limits: Limits) -> Table:
    columns = Columns()
    first = total = 0
    first_fault: Refused | None = None
    for number, source in enumerate(pieces.read(), start=1):
        limits.check_rows(number, source.line)
        try:
            values = _read_object(source, pieces.advice)
        except BadObject as error:
            first_fault = first_fault or Refused(error.code, error.message, line=source.line)
            continue
        first = first or source.line
        total += count_values(values)
        limits.check_values(total, source.line)
        columns.add(values, source.line)
        limits.check_width(len(columns.keys), source.line)
    header = columns.finish()
    limits.check_width(len(header), first)
    if not header:
        raise first_fault or Refused(
            "no_rows", "The file has no rows: it holds no object with a key."
        )
    if any(find_surrogate(key) for key in header):
        message = "A key holds an invalid character (a lone surrogate such as \\ud800). Correct it."
        raise Refused("surrogate", message)
    rows = _read_rows(pieces, columns, limits)
    remarks = Remarks()
    for code, sentence in columns.describe():
        remarks.tell(code, sentence)
    return Table(text.encoding, pieces.name, header, first, rows, remarks, systems=columns.systems)


def _read_rows(
    pieces: "_List | _ObjectLines | _Entries", columns: "Columns", limits: Limits
) -> Iterator[Row]:
    number = 0
    for source in pieces.read():
        try:
            values = _read_object(source, pieces.advice)
        except BadObject as error:
            number += 1
            yield Row(source.line, number, [], (Problem(error.code, error.message),))
            continue
        cells = columns.write_cells(values)
        if not any(cell.strip() for cell in cells):
            continue
        number += 1
        yield Row(source.line, number, cells, tuple(check_cells(cells, limits)))


# --- columns -------------------------------------------------------------------

_MOST_SHOWN, _MOST_SYSTEMS = 10, 100
# what names the system and what is its text, in a list of outputs
_SYSTEM_KEYS = ("system", "model", "model_name", "system_name", "model_id", "generator", "name")
_TEXT_KEYS = ("output", "text", "response", "content", "completion", "generation", "answer")


@dataclass(slots=True)
class _Values:
    """What is known of the values of one key: whether all of them are lists of outputs."""

    systems: dict[str, None] = field(default_factory=dict)
    left_out: dict[str, None] = field(default_factory=dict)  # other keys of their objects
    differs_in: int = 0  # the first line with another value
    rows: int = 0
    outputs: int = 0

    @property
    def is_split(self) -> bool:
        """Systems come again from row to row; names of documents, say, do not."""
        comes_again = self.rows == 1 or 2 * self.outputs >= 3 * len(self.systems)
        return bool(self.systems) and not self.differs_in and comes_again

    def add(self, value: Any, line: int) -> None:
        outputs = _find_outputs(value) if isinstance(value, list) else None
        if outputs is None:
            self.differs_in = line
            return
        self.rows += 1
        self.outputs += len(outputs)
        self.systems.update(dict.fromkeys(outputs))
        if len(self.systems) > _MOST_SYSTEMS:
            self.systems, self.differs_in = {}, line
        if len(self.left_out) < _MOST_SHOWN:
            for entry in value:
                self.left_out.update(dict.fromkeys(entry.keys() - _find_keys(entry)))


class Columns:
    """The keys of all objects in the order in which they first occur, and what they hold.

    A key whose values are all lists of outputs, such as [{"model": "a", "text": "One."}], becomes
    a column for each system.
    """

    def __init__(self) -> None:
        self.systems: set[int] = set()
        self.keys: dict[str, _Values] = {}
        self._columns: list[tuple[str, str | None]] = []  # key, and system where it is split
        self._missing: dict[str, int] = {}  # how often NaN occurs, by key

    def add(self, values: dict[str, Any], line: int) -> None:
        for key, value in values.items():
            known = self.keys.get(key)
            if known is None:
                known = self.keys[key] = _Values()
            if value is MISSING:
                self._missing[key] = self._missing.get(key, 0) + 1
            elif not (known.differs_in or value is None or value == []):
                known.add(value, line)

    def finish(self) -> list[str]:
        """Return the names of the columns."""
        self._columns = [
            (key, system)
            for key, known in self.keys.items()
            for system in (known.systems if known.is_split else [None])
        ]
        counts = Counter(key if system is None else system for key, system in self._columns)
        self.systems = {n for n, (_, system) in enumerate(self._columns) if system is not None}
        return [
            key if system is None else system if counts[system] == 1 else f"{key}.{system}"
            for key, system in self._columns
        ]

    def describe(self) -> Iterator[tuple[str, str]]:
        """Say which keys were split, and what was left out."""
        if self._missing:
            counts = ", ".join(f"{show(key)} ({count:,})" for key, count in self._missing.items())
            yield "json_nan", f"NaN, which is no JSON, was read as an empty value: {counts}"
        for key, known in self.keys.items():
            if known.is_split:
                sentence = (
                    f"“{show(key)}” holds lists of outputs and was split into "
                    f"{len(known.systems):,} columns, one for each system"
                )
                if known.left_out:
                    names = sorted(known.left_out)[:_MOST_SHOWN]
                    listed = ", ".join(f"“{show(name)}”" for name in names)
                    sentence += f". Left out of its objects: {listed}"
                yield "outputs_split", sentence
            elif known.systems and known.differs_in:
                yield (
                    "outputs_not_split",
                    f"“{show(key)}” holds lists of outputs, but something else in line "
                    f"{known.differs_in:,}, so it was not split into a column for each system",
                )

    def write_cells(self, values: dict[str, Any]) -> list[str]:
        cells = []
        last, outputs = None, {}
        for key, system in self._columns:
            if system is None:
                cells.append(write_cell(values.get(key)))
                continue
            if key != last:
                last, outputs = key, _find_outputs(values.get(key) or []) or {}
            cells.append(write_cell(outputs.get(system)))
        return cells


def _find_outputs(entries: list[Any]) -> dict[str, Any] | None:
    """Return the texts of a list of outputs by system; None if it is another list."""
    outputs: dict[str, Any] = {}
    for entry in entries:
        keys = _find_keys(entry) if isinstance(entry, dict) else ()
        if not keys:
            return None
        system, text = (entry[key] for key in keys)
        if system.strip() in outputs or not isinstance(text, str | None):
            return None
        outputs[system.strip()] = text
    return outputs or None


def _find_keys(entry: dict[str, Any]) -> tuple[str, ...]:
    """Return the keys that name the system and its text; none if it is no output."""
    if "role" in entry:  # a turn of a conversation
        return ()
    system = next((key for key in _SYSTEM_KEYS if isinstance(entry.get(key), str)), None)
    text = next((key for key in _TEXT_KEYS if key in entry), None)
    return (system, text) if system and text and entry[system].strip() else ()


# --- pieces ---------------------------------------------------------------------


class _ObjectLines:
    """JSON lines: an object in each line that isn't blank."""

    name = "JSON lines"
    advice = "Write one whole object in each line."

    def __init__(self, text: TextFile, limits: Limits) -> None:
        self._text, self._limits = text, limits

    def read(self) -> Iterator[_Source]:
        lines = Lines(self._text, self._limits)
        try:
            while True:
                lines.start_record()
                content = next(lines, None)
                if content is None:
                    return
                if content.strip():
                    yield _Source(lines.first, content.rstrip("\r\n"))
                else:
                    lines.pass_blank()
        finally:
            lines.close()


class _List:
    """One list of objects, which begins at this character of the file."""

    name = "JSON list"
    advice = "Correct the file, or write it again with a JSON library."

    def __init__(self, text: TextFile, limits: Limits, start: int) -> None:
        self._text, self._limits, self._start = text, limits, start

    def read(self) -> Iterator[_Source]:
        """Yield the objects of the list, after which only what it is wrapped in may end."""
        scanner = _Scanner(self._text, self._limits)
        try:
            scanner.skip(self._start)
            scanner.expect("[", "the list of objects")
            is_open = scanner.peek() != "]"
            while is_open:
                if scanner.peek() != "{":
                    scanner.refuse("json_shape", "an object in braces is expected here")
                yield scanner.read_object()
                is_open = scanner.peek() == ","
                if is_open:
                    scanner.take()
            scanner.expect("]", "a comma or the end of the list")
            if self._start:
                scanner.expect("}", "the end of the object that holds the list")
            if scanner.peek():
                scanner.refuse("json_invalid", "something follows the end of the list")
        finally:
            scanner.close()


def _is_one_list(text: TextFile, limits: Limits, start: int) -> bool:
    """Tell whether the list that begins here is all that the file holds, but for its key."""
    try:
        for number, _ in enumerate(_List(text, limits, start).read()):
            if number > limits.rows:
                break
    except Refused:
        return False
    return True


class _Scanner:
    """Finds where objects begin and end, in as little text as that takes."""

    def __init__(self, text: TextFile, limits: Limits) -> None:
        self._text = text.open()
        self._limits = limits
        self._buffer = ""
        self._at = self._dropped = 0
        self.line = self.column = 1

    def close(self) -> None:
        if not self._text.closed:
            self._text.detach()

    def skip(self, count: int) -> None:
        while len(self._buffer) < count and self._fill():
            pass
        self._move(count)

    def peek(self) -> str:
        """Return the next character that is no space; "" at the end of the file."""
        while True:
            match = _SPACE.match(self._buffer, self._at)
            self._move(match.end() if match else self._at)
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._fill():
                return ""

    def take(self) -> None:
        self._move(self._at + 1)

    def expect(self, char: str, meaning: str) -> None:
        if self.peek() != char:
            self.refuse("json_invalid", f"{meaning} is expected here")
        self.take()

    def refuse(self, code: str, problem: str) -> NoReturn:
        raise Refused(
            code,
            f"The file isn't valid JSON (character {self.column:,}): {problem}.",
            line=self.line,
        )

    def read_object(self) -> _Source:
        """Return the text from an opening brace to its closing one."""
        line, column = self.line, self.column
        try:
            # much quicker, where the object is good and ends in the buffer
            values, end = DECODER.raw_decode(self._buffer, self._at)
        except (json.JSONDecodeError, RecursionError, BadObject):
            values, end = None, 0
        if end:
            return self._take_object(end, line, column, values)
        depth, at = 0, self._at
        while True:
            match = _BRACES.search(self._buffer, at)
            if match is None or match["open"] is not None:
                # a text may go on; more and more is read, so that none is searched too often
                at = match.start() if match else len(self._buffer)
                if not self._fill(len(self._buffer) - self._at):
                    return self._take_object(len(self._buffer), line, column)
                at -= self._dropped
                continue
            at = match.end()
            depth += {"{": 1, "}": -1}.get(match[0], 0)
            if not depth:
                return self._take_object(at, line, column)

    def _take_object(
        self, end: int, line: int, column: int, values: dict[str, Any] | None = None
    ) -> _Source:
        content = self._buffer[self._at : end]
        self._move(end)
        return _Source(line, content, column, values)

    def _fill(self, least: int = 0) -> bool:
        """Read on, and forget what was passed; whether there was more."""
        self._dropped = self._at
        if len(self._buffer) - self._at > self._limits.record:
            self._limits.refuse_record(self.line)
        chunk = self._text.read(min(max(_CHUNK, least), _MAX_CHUNK))
        self._buffer, self._at = self._buffer[self._at :] + chunk, 0
        return bool(chunk)

    def _move(self, to: int) -> None:
        passed = self._buffer[self._at : to]
        self._at = to
        breaks = list(_BREAK.finditer(passed)) if "\n" in passed or "\r" in passed else []
        if breaks:
            self.line += len(breaks)
            self.column = 1 + len(passed) - breaks[-1].end()
        else:
            self.column += len(passed)


# --- one object -----------------------------------------------------------------


def _read_object(source: _Source, advice: str) -> dict[str, Any]:
    """Return what the text says; BadObject if it is no object, or not for certain."""
    content = source.content
    _check_size(content)
    if source.values is not None:
        return source.values
    try:
        values = read_json(content, decoder=DECODER)
    except json.JSONDecodeError as error:
        meaning = next(
            (words for start, words in _MEANINGS.items() if error.msg.startswith(start)),
            "a value is expected here",
        )
        line = source.line + error.lineno - 1
        column = error.colno + (source.column - 1 if error.lineno == 1 else 0)
        message = f"Line {line} isn't valid JSON (character {column:,}): {meaning}. {advice}"
        raise BadObject("json_invalid", message) from None
    if not isinstance(values, dict):
        message = "The line is no object. Write it in braces, with a key for each value."
        raise BadObject("json_shape", message)
    return values


def _check_size(content: str) -> None:
    """Refuse what is nested so deep, or holds so many values, that it would take all memory."""
    if sum(map(content.count, "[{")) <= _MAX_DEPTH and content.count(",") <= VALUES_IN_TEXT:
        return
    depth = values = 0
    for part in _PARTS.finditer(content):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(part[0], 0)
        values += part[0] in "[{,"
        if depth > _MAX_DEPTH:
            message = (
                f"Values are nested more than {_MAX_DEPTH} deep (from character "
                f"{part.start() + 1:,} of the object). Flatten them."
            )
            raise BadObject("json_depth", message)
        if values > VALUES_IN_TEXT:
            message = f"The object has more than {VALUES_IN_TEXT:,} values. Split it."
            raise BadObject("too_large", message)


def _read_constant(name: str) -> str:
    if name == "NaN":
        return MISSING
    raise BadObject("json_number", f"{name} isn't a JSON value. Write null, or the text in quotes.")


def _join_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    joined = dict(pairs)
    if len(joined) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        message = f"The key “{show(twice)}” occurs twice in one object. Remove one."
        raise BadObject("json_duplicate_key", message)
    return joined


DECODER = make_decoder(
    parse_int=Literal, parse_float=Literal, parse_constant=_read_constant,
    object_pairs_hook=_join_pairs,
)  # fmt: skip


# --- data frames ------------------------------------------------------------------------


# names of columns, and the rows of values
_Frame = tuple[list[str], list[list[Any]]]

_STARTS = re.compile(
    r"\s*\[\s*\["
    # beside others, such as the name of a table
    r'|\s*\{[^\[\]]{0,1000}"columns"\s*:\s*\[\s*"'
    r'|\s*\{\s*"(?:columns"\s*:\s*\[|schema"\s*:\s*\{\s*"fields"|(?:[^"\\]|\\.)*"\s*:\s*\{\s*")'
)


def open_frame(text: TextFile, start: str, limits: Limits) -> Table | None:
    """Read a data frame; None if the file is something else. It is held in memory as a whole."""
    if not _STARTS.match(start):
        return None
    stream = text.open()
    try:
        first = stream.readline(limits.record)
        if first.rstrip().endswith("}") and stream.readline(2):
            return None  # an object in each line
        value = read_json(first + stream.read(), most_values=limits.values, decoder=DECODER)
    except TooDeep as error:
        raise Refused("json_depth", f"{error} Flatten it.") from None
    except TooMuch:
        limits.check_values(limits.values + 1, 1)
        raise
    except (json.JSONDecodeError, BadObject):
        return None  # the reader of lists of objects says what is wrong
    finally:
        stream.detach()
    frame = next((candidate for read in _ORIENTS if (candidate := read(value))), None)
    if frame is None:
        return None
    header, rows = frame
    limits.check_width(len(header), 1)
    return Table(text.encoding, "data frame", header, 1, _read_frame(rows, limits))


def _read_frame(rows: list[list[Any]], limits: Limits) -> Iterator[Row]:
    for number, row in enumerate(rows, start=1):
        limits.check_rows(number, 1)
        cells = [write_cell(value) for value in row]
        yield Row(1, number, cells, tuple(check_cells(cells, limits)))


def _read_values(value: Any) -> _Frame | None:
    if not isinstance(value, list) or not value or not all(isinstance(row, list) for row in value):
        return None
    width = len(value[0])
    if not all(len(row) == width for row in value):
        return None
    known = {name for names in load_names().values() for name in names}
    names = [name.strip() for name in value[0] if isinstance(name, str)]
    if len(names) == width and len(known & {name.casefold() for name in names}) > 1:
        return names, value[1:]
    return [""] * width, value


def _read_split(value: Any) -> _Frame | None:
    if not isinstance(value, dict) or not {"columns", "data"} <= value.keys():
        return None
    columns, data = value["columns"], value["data"]
    if not isinstance(columns, list) or not isinstance(data, list):
        return None
    if not all(isinstance(row, list) and len(row) == len(columns) for row in data):
        return None
    index = value.get("index")
    labels = [str(label) for label in index] if isinstance(index, list) else []
    return _add_index([str(column) for column in columns], data, labels)


def _read_inner(value: Any) -> _Frame | None:
    """Return the only frame of this form in an object, below whatever keys."""
    frames, objects = [], [value]
    while objects:
        inner = objects.pop()
        if frame := _read_split(inner):
            frames.append(frame)
        elif isinstance(inner, dict):
            objects += inner.values()
    return frames[0] if len(frames) == 1 else None


def _read_table(value: Any) -> _Frame | None:
    if not _has_keys(value, {"schema", "data"}) or not isinstance(value["data"], list):
        return None
    fields = value["schema"].get("fields") if isinstance(value["schema"], dict) else None
    if not isinstance(fields, list) or not all(isinstance(row, dict) for row in value["data"]):
        return None
    columns = [field.get("name") for field in fields if isinstance(field, dict)]
    # pandas writes an index without a name as "index"; whether it only numbers the rows is read off
    # its values
    named = [column for column in columns if isinstance(column, str) and column != "index"]
    labels = [str(row["index"]) for row in value["data"] if "index" in row]
    return _add_index(
        named, [[row.get(column) for column in named] for row in value["data"]], labels
    )


def _read_columns(value: Any) -> _Frame | None:
    """Columns of rows, or rows of columns: the rows are what is numbered, or the longer side."""
    parts = list(value.values()) if isinstance(value, dict) else []
    if not parts or not all(isinstance(part, dict) for part in parts):
        return None
    inner, outer = list(parts[0]), list(value)
    if not inner or any(part.keys() != parts[0].keys() for part in parts):
        return None
    is_numbered = _are_numbers(inner) or _are_numbers(outer)
    if not is_numbered and all(map(_is_list_of_objects, chain(*map(dict.values, parts)))):
        return None  # a document with lists, of which one holds the rows
    if _are_numbers(inner) or (len(inner) >= len(outer) > 1 and not _are_numbers(outer)):
        return _add_index(outer, [[part[label] for part in parts] for label in inner], inner)
    if _are_numbers(outer) or len(inner) > 1:
        return _add_index(inner, [[part[label] for label in inner] for part in parts], outer)
    return None


def _is_list_of_objects(cell: Any) -> bool:
    return isinstance(cell, list) and bool(cell) and all(isinstance(row, dict) for row in cell)


def _has_keys(value: Any, keys: set[str]) -> bool:
    return isinstance(value, dict) and value.keys() == keys


def _are_numbers(labels: Sequence[str]) -> bool:
    return all(label.isascii() and label.isdigit() for label in labels)


def _add_index(columns: list[str], rows: list[list[Any]], labels: Sequence[str]) -> _Frame:
    """Put the index before the other columns, unless it numbers the rows."""
    if len(labels) != len(rows) or _are_numbers(labels) or "index" in columns:
        return columns, rows
    return ["index", *columns], [[label, *row] for label, row in zip(labels, rows, strict=True)]


_ORIENTS: tuple[Callable[[Any], _Frame | None], ...] = (
    _read_values,
    _read_inner,
    _read_table,
    _read_columns,
)
