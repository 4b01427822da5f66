"""What the page of an uploaded file shows: its first rows, the items they become, its columns."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalsite.data.importing import LEAVE_OUT, LEAVE_OUT_FAULTY, Report
from evalsite.data.models import Upload
from evalsite.data.tables import lines
from evalsite.data.tables.paths import KEY, WHERE, parse_path
from evalsite.data.tables.reader import PREFIX
from evalsite.data.tables.text_files import SEPARATORS
from evalsite.lib.dialogue import Turn, parse_dialogue
from evalsite.lib.limited import read_json

_MOST_ROWS = 6
# what a message says of options of the command, which a page has no use for
_OPTIONS = re.compile(r" \((?:on the command line )?--[^()]*\)")
_LONGEST_TITLE = 100

# a piece of a line of the file, and whether it is used
Piece = tuple[str, bool]


def describe_upload(
    upload: Upload, report: Report, forms: Mapping[str, Any], number: str = ""
) -> dict[str, Any]:
    """Return what the partials of the page show; `number` is that of the item to show."""
    # before there is an instrument, outputs of one input are one item
    is_open = "groups" in report.summary
    items = report.summary.get("examples" if is_open else "first_items", [])
    place = int(number) - 1 if number.isdecimal() and 1 <= int(number) <= len(items) else 0
    columns = [
        {
            "name": column,
            "field": field,
            "sample": report.samples.get(column, ""),
            "note": report.notes.get(column, ""),
            "is_used": report.mapping.get(column) not in ("", LEAVE_OUT),
        }
        for column, field in forms["mapping"].columns
    ]
    used = [column["name"] for column in columns if column["is_used"]]
    has_lists = any("[*]" in name for name in used)
    are_offered = any("[*]" in column["name"] for column in columns)
    open_decisions = count_open(report)
    is_table = report.delimiter in SEPARATORS.values() or upload.purpose != Upload.Purpose.ITEMS
    item = items[place] if items else None
    decisions = forms["decisions"].rows
    gaps = [row for row in decisions if row["key"].startswith(_GAP) and not row["is_made"]]
    variants = next((row for row in decisions if row["key"] == _VARIANTS), None)
    decisions = [
        {**row, "text": _OPTIONS.sub("", row["text"])}
        for row in decisions
        if row not in gaps and row is not variants
    ]
    # of a random part, the lines up to the next item aren't this one's
    has_lines = not report.files and not report.summary.get("drawn_of")
    first_lines = _show_lines(report, items, place, used) if has_lines else []
    return {
        "forms": forms,
        "tool": find_tool(report),
        "needs_names": not _are_named_by_files(report),
        "is_folded": bool(report.files) and report.is_importable,
        "field_name": "Column" if is_table else "Field",
        "unit": "Line" if report.encoding else "Row",
        "first_line": report.first_rows[0][0] if report.first_rows else 1,
        "has_lists": has_lists,
        "are_lists_offered": are_offered and not has_lists,
        "is_faulty": bool(report.fault_count and not open_decisions),
        "open_decisions": open_decisions,
        "decisions": decisions,
        "unmade": sum(not row["is_made"] for row in decisions),
        "gaps": [_describe_gap(gap) for gap in gaps],
        "variants": variants,
        "fault_title": _name_fault(upload, report),
        "faults": [(place, _OPTIONS.sub("", words), code) for place, words, code in report.faults],
        "remarks": [_OPTIONS.sub("", str(remark)) for remark in report.remarks],
        "columns": columns,
        "used_columns": [column for column in columns if column["is_used"]],
        "other_columns": [column for column in columns if not column["is_used"]],
        "left_out": [name for name, field in report.mapping.items() if field == LEAVE_OUT],
        "item": item
        and {
            **item,
            "number": place + 1,
            "next": place + 2 if place + 1 < len(items) else 1,
            "inputs": [(name, _read_turns(text), text) for name, text in item["inputs"].items()],
            "outputs": [(name, _read_turns(text), text) for name, text in item["outputs"]],
        },
        "item_count": len(items),
        "item_total": report.summary.get("groups" if is_open else "records", 0),
        "lines": first_lines,
        "last_line": first_lines[-1][0] if first_lines else 0,
        "good_files": [
            file
            for file in report.files
            if len(report.files) > 1 and file["name"] not in _name_faulty(report)
        ],
    }


# whether prompts or models are the systems
_VARIANTS = f"{PREFIX}variant"
# decisions about files whose numbers of lines differ
_GAP = f"{PREFIX}{lines.KEY}"


def _describe_gap(gap: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a file with missing lines, or with too many."""
    title, _, text = gap["title"].partition(". ")
    numbers = [number for number, *_ in gap["around"]]
    return {
        **gap,
        "file": gap["key"].removeprefix(_GAP),
        "title": title,
        "text": _OPTIONS.sub("", text),
        "first": min(numbers, default=0),
        "last": max(numbers, default=0),
    }


def _are_named_by_files(report: Report) -> bool:
    """Return whether each system has a file of its own, in whose row its name can be changed."""
    named = {file["systems"][0] for file in report.files if len(file["systems"]) == 1}
    return len(report.files) > 1 and named >= {
        name for _, name, _ in report.summary.get("names", [])
    }


def find_tool(report: Report) -> str:
    """Return what wrote these files, if all of them are of one known tool."""
    kinds = {file["kind"] for file in report.files if file["role"] != LEAVE_OUT}
    return kinds.pop() if len(kinds) == 1 and not kinds & {"", *_PLAIN} else ""


# kinds of files that no tool has a name for
_PLAIN = ("text, a line for each input", "table")


# faults that are gone once something is decided, by the decision
_DECIDED = {"empty_outputs": "output_empty", "take_once": "item_repeated", "encoding": "not_utf8"}


def count_open(report: Report) -> int:
    """Return how many decisions keep a file from being used, if nothing else does."""
    keys = [decision["key"] for decision in report.decisions if not decision["is_made"]]
    answered = {"decision_needed", *(_DECIDED[key] for key in keys if key in _DECIDED)}
    if not report.faults or not {code for *_, code in report.faults} <= answered:
        return 0
    return len([key for key in keys if key != LEAVE_OUT_FAULTY])


def _name_fault(upload: Upload, report: Report) -> str:
    """Return the one thing that is wrong, if it is short enough for a headline."""
    if len(report.faults) != 1:
        return ""
    place, message, _ = report.faults[0]
    title = message.split(". ")[0].split("? ")[0]
    title += "?" if message[len(title) :].startswith("?") else ""
    title = f"{place[:1].upper()}{place[1:]}: {title[:1].lower()}{title[1:]}" if place else title
    return title.removesuffix(".") if len(title) <= _LONGEST_TITLE else ""


def _name_faulty(report: Report) -> set[str]:
    """Return the files that a fault names."""
    messages = " ".join(message for _, message, _ in report.faults)
    return {file["name"] for file in report.files if file["name"] in messages}


def _read_turns(text: str) -> Sequence[Turn]:
    """Return the messages of a text that is a list of them in JSON; none if it is plain."""
    turns = parse_dialogue(text) if text[:1] == "[" else ()
    return turns if all(turn.speaker for turn in turns) else ()


# --- the lines of the file ------------------------------------------------------------


def _show_lines(
    report: Report, items: Sequence[Mapping[str, Any]], place: int, used: Sequence[str]
) -> list[tuple[int, list[Piece]]]:
    """Return the lines of an item, each in pieces; none if they aren't among the first."""
    if not report.first_rows:
        return []
    first = items[place]["line"] if items else report.first_rows[0][0]
    last = items[place + 1]["line"] if place + 1 < len(items) else None
    rows = [
        (line, cells)
        for line, cells in report.first_rows
        if line >= first and (line < last if last else line <= first)
    ]
    is_json = report.delimiter not in SEPARATORS.values()
    return [
        (line, [*(_show_object if is_json else _show_cells)(report.first_columns, cells, used)])
        for line, cells in dict(rows[:_MOST_ROWS]).items()
    ]


def _show_cells(
    columns: Sequence[str], cells: Sequence[str], used: Iterable[str]
) -> Iterator[Piece]:
    for name, cell in zip(columns, cells, strict=False):
        yield name, name in used
        yield f": {cell}\n", False


def _show_object(
    columns: Sequence[str], cells: Sequence[str], used: Iterable[str]
) -> Iterator[Piece]:
    """Yield a row as the object it is in JSON, with the keys that are used."""
    keys = {key for name in used for key in _list_keys(name, columns)}
    yield "{", False
    for number, (name, cell) in enumerate(zip(columns, cells, strict=False)):
        yield (",\n " if number else ""), False
        yield f'"{name}"', name in keys
        yield ": ", False
        yield from _show_value(cell, keys)
    yield "}", False


def _list_keys(name: str, columns: Sequence[str]) -> set[str]:
    """Return the keys along a path; a column with this whole name wins over a path."""
    if name in columns:
        return {name}
    try:
        return {step.name for step in parse_path(name) if step.kind in (KEY, WHERE)}
    except ValueError:
        return {name}


def _show_value(cell: str, keys: set[str], depth: int = 1) -> Iterator[Piece]:
    value: Any = cell
    if cell[:1] in "[{":
        try:
            value = read_json(cell)
        except ValueError:
            # it was cut, so it is shown as it is
            yield cell, False
            return
    yield from _write(value, keys, depth)


def _write(value: Any, keys: set[str], depth: int) -> Iterator[Piece]:
    if isinstance(value, dict):
        yield "{", False
        for number, (key, inner) in enumerate(value.items()):
            yield (", " if number else ""), False
            yield json.dumps(key, ensure_ascii=False), key in keys
            yield ": ", False
            yield from _write(inner, keys, depth + 1)
        yield "}", False
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        yield "[", False
        for number, inner in enumerate(value):
            yield (",\n" if number else "\n") + "  " * depth, False
            yield from _write(inner, keys, depth + 1)
        yield "]", False
    else:
        yield json.dumps(value, ensure_ascii=False), False
