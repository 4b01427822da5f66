"""Tables of JSON lines: each line is an object, whose keys name the columns.

Texts are taken exactly, numbers as they are written (1.0, 1e5), nested values as compact JSON.
The file is read twice, as a stream: for its keys, and for its rows.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from evalsite.imports.tables.characters import find_surrogate, show
from evalsite.imports.tables.faults import UnreadableFile
from evalsite.imports.tables.table import Limits, Problem, Row, Table
from evalsite.imports.tables.texts import Lines, TextFile

_MAX_DEPTH = 50
_MAX_VALUES = 100_000  # in a line; each takes far more memory than its letters
_OPENS = re.compile(r"\s*\{\s*(?:[\"}]|$)")
_OPENS_LIST = re.compile(r"\s*\[\s*(?:\{|$)")
# a string is passed over whole, also one that never ends
_PARTS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{},]', re.DOTALL)
_MEANINGS = {
    "Unterminated string": "a quote that opens here is never closed",
    "Expecting property name": "a key in double quotes is expected here",
    "Expecting ',' delimiter": "a comma or the end of the object is expected here",
    "Expecting ':' delimiter": "a colon is expected here",
    "Invalid control character": "a control character in a text; write it as an escape such as \\n",
    "Invalid \\": "a backslash that begins no known escape; write it twice",
    "Extra data": "something follows the end of the object",
}


class _BadLine(Exception):
    """What is wrong with a line: a code, and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class _Literal(str):
    """A number as it is written."""

    __slots__ = ()


def looks_like_json_lines(start: str) -> bool:
    return _OPENS.match(start) is not None


def looks_like_json_list(start: str) -> bool:
    return _OPENS_LIST.match(start) is not None


def open_json_lines(text: TextFile, limits: Limits) -> Table:
    """The keys of all lines are known, and the rows are ready to be read."""
    header, line = _collect_keys(text, limits)
    return Table(text.encoding, "JSON lines", header, line, _read_rows(text, header, limits))


def _collect_keys(text: TextFile, limits: Limits) -> tuple[list[str], int]:
    """Every key in the order in which they first stand, and the line of the first object."""
    keys: dict[str, None] = {}
    first = 0
    worst: UnreadableFile | None = None
    for number, (line, content) in enumerate(_read_lines(text, limits), start=1):
        limits.check_rows(number, line)
        try:
            found = _read_object(content)
        except _BadLine as error:
            worst = worst or UnreadableFile(error.code, error.message, line=line)
            continue
        first = first or line
        keys.update(dict.fromkeys(found))
        limits.check_width(len(keys), line)
    if not keys:
        raise worst or UnreadableFile("no_rows", "The file has no rows: no line holds a key.")
    if any(find_surrogate(key) for key in keys):
        raise UnreadableFile(
            "surrogate",
            "A key holds half of a letter (a lone surrogate such as \\ud800). Correct it.",
        )
    return list(keys), first


def _read_rows(text: TextFile, header: Sequence[str], limits: Limits) -> Iterator[Row]:
    number = 0
    for line, content in _read_lines(text, limits):
        try:
            found = _read_object(content)
        except _BadLine as error:
            number += 1
            yield Row(line, number, [], (Problem(error.code, error.message),))
            continue
        cells = [_write_cell(found.get(key)) for key in header]
        if not any(cell.strip() for cell in cells):
            continue
        number += 1
        problems = tuple(_check_cells(cells, limits))
        for problem in problems:
            cells[problem.column or 0] = ""  # no page could show it
        yield Row(line, number, cells, problems)


def _read_lines(text: TextFile, limits: Limits) -> Iterator[tuple[int, str]]:
    """Each line that is not blank, with its number."""
    lines = Lines(text, limits)
    try:
        while True:
            lines.start_record()
            content = next(lines, None)
            if content is None:
                return
            if content.strip():
                yield lines.first, content.rstrip("\r\n")
    finally:
        lines.close()


def _check_cells(cells: Sequence[str], limits: Limits) -> Iterator[Problem]:
    for column, cell in enumerate(cells):
        if len(cell) > limits.cell:
            yield Problem(
                "cell_too_long", f"A cell is longer than {limits.cell:,} letters.", column
            )
        elif found := find_surrogate(cell):
            yield Problem("surrogate", f"The text holds {found}. Correct or remove it.", column)


# --- one line -------------------------------------------------------------------


def _read_object(content: str) -> dict[str, Any]:
    """What the line says; _BadLine if it is no object, or one that can't be told for sure."""
    _check_size(content)
    try:
        found = json.loads(
            content,
            parse_int=_Literal,
            parse_float=_Literal,
            parse_constant=_refuse_constant,
            object_pairs_hook=_join_pairs,
        )
    except json.JSONDecodeError as error:
        meaning = next(
            (words for start, words in _MEANINGS.items() if error.msg.startswith(start)),
            "a value is expected here",
        )
        raise _BadLine(
            "json_invalid",
            f"The line is not JSON at sign {error.pos + 1:,}: {meaning}. "
            "Write one whole object in each line.",
        ) from None
    if not isinstance(found, dict):
        raise _BadLine(
            "json_shape", "The line is no object. Write it in braces, with a key for each value."
        )
    return found


def _check_size(content: str) -> None:
    """No line is nested so deep, or of so many values, that reading it would take all memory."""
    if sum(map(content.count, "[{")) <= _MAX_DEPTH and content.count(",") <= _MAX_VALUES:
        return
    depth = values = 0
    for part in _PARTS.finditer(content):
        match part[0]:
            case "[" | "{":
                depth += 1
            case "]" | "}":
                depth -= 1
            case _:
                pass
        values += part[0] in "[{,"
        if depth > _MAX_DEPTH:
            raise _BadLine(
                "json_depth",
                f"Values are nested more than {_MAX_DEPTH} deep, from sign {part.start() + 1:,} "
                "on. Flatten them.",
            )
        if values > _MAX_VALUES:
            raise _BadLine("too_large", f"The line has more than {_MAX_VALUES:,} values. Split it.")


def _refuse_constant(name: str) -> NoReturn:
    raise _BadLine("json_number", f"{name} is no JSON value. Write null, or the text in quotes.")


def _join_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    joined = dict(pairs)
    if len(joined) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise _BadLine(
            "json_duplicate_key", f"The key “{show(twice)}” stands twice in one object. Remove one."
        )
    return joined


def _write_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value)
    return _write_json(value)


def _write_json(value: Any) -> str:
    """The value as compact JSON, its numbers as they were written."""
    if isinstance(value, dict):
        pairs = (f"{_write_json(key)}:{_write_json(part)}" for key, part in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_write_json, value))}]"
    if isinstance(value, _Literal):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
