"""Paths into values: the one small language of mappings, recognisers and `--map`.

a.b, ["odd.name"]     keys
a[0], a[-1]           an entry of a list
a[role=user]          the entries with this value, of which the first is taken
a[*]                  a row for each entry; paths that begin alike step together
a[*]#                 the number of the entry, from 1
a.{criterion}         a row for each key, which becomes this field

JSON in a text opens when a path goes into it.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from evalsite.data.tables.faults import Refused
from evalsite.lib.limited import make_decoder, read_json

KEY, INDEX, WHERE, EACH, PLACE, KEYS = "key", "index", "where", "each", "place", "keys"
# of a text that may be JSON; of the rows that one record may become
_LONGEST = 1_000_000
MOST_ROWS = 100_000
_PLAIN = re.compile(r"[^.\[\]{}#\"\\]+")
_STEP = re.compile(
    r"\[(?P<index>-?\d+)\]"
    r"|\[(?P<each>\*)\]"
    r"|(?P<place>#)"
    r"|\[\"(?P<quoted>(?:[^\"\\]|\\.)*)\"\]"
    r"|\[(?P<key>[^\[\]=*\"]+)=(?P<value>[^\]]*)\]"
    r"|(?:^|\.|(?<=\]))\{(?P<keys>\w+)\}"
    r"|(?:^|\.)(?P<name>[^.\[\]{}#]+)"
)


class Literal(str):
    """A number as it is written."""

    __slots__ = ()


class Missing(str):
    """Nothing: what programs write as NaN into JSON."""

    __slots__ = ()


MISSING = Missing()


def read_constant(name: str) -> str:
    """Read NaN as nothing; infinite numbers as they are written."""
    return MISSING if name == "NaN" else Literal(name)


_DECODER = make_decoder(parse_float=Literal, parse_int=Literal, parse_constant=read_constant)


class Step(NamedTuple):
    """One step of a path: its kind, and the key, number, or field that it names."""

    kind: str
    name: str = ""
    value: str = ""


@cache
def parse_path(path: str) -> tuple[Step, ...]:
    """Return the steps of a path; ValueError if it is none. "" is the value itself."""
    steps: list[Step] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            raise ValueError(f"“{path}” can't be read as a path from character {at + 1}.")
        steps.append(_read_step(match.groupdict()))
        at = match.end()
    return tuple(steps)


def _read_step(parts: dict[str, str | None]) -> Step:
    if parts["index"] is not None:
        return Step(INDEX, parts["index"])
    if parts["each"] or parts["place"]:
        return Step(EACH if parts["each"] else PLACE)
    if parts["key"] is not None:
        return Step(WHERE, parts["key"], parts["value"] or "")
    if parts["keys"]:
        return Step(KEYS, parts["keys"])
    if parts["quoted"] is not None:
        return Step(KEY, re.sub(r"\\(.)", r"\1", parts["quoted"]))
    return Step(KEY, parts["name"] or "")


def write_step(name: str) -> str:
    """Write the name of a column or key as the beginning of a path."""
    return name if _PLAIN.fullmatch(name) else f"[{json.dumps(name, ensure_ascii=False)}]"


def last_name(path: str) -> str:
    """Return the last key of a path, which names a column."""
    return next((step.name for step in reversed(parse_path(path)) if step.kind == KEY), path)


def is_spread(path: str) -> bool:
    """Return whether a path makes several rows of one record."""
    return any(step.kind in (EACH, KEYS, PLACE) for step in parse_path(path))


# --- one value --------------------------------------------------------------------------


def open_json(value: Any) -> Any:
    """Return the object or list that a text holds; any other value as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "[") or len(value) > _LONGEST:
        return value
    try:
        return read_json(value, decoder=_DECODER)
    except (ValueError, RecursionError):
        return value


_NOTHING: Any = object()


def _walk(value: Any, steps: Iterable[Step]) -> Any:
    for step in steps:
        value = next((part for _, part in _list_parts(value, step)), _NOTHING)
        if value is _NOTHING:
            break
    return value


def find(value: Any, path: str) -> Any:
    """Return what is at this path, of several the first; None if there is nothing."""
    part = _walk(value, parse_path(path))
    return None if part is _NOTHING else part


def has(value: Any, path: str) -> bool:
    """Return whether there is something at this path, which may be null."""
    return _walk(value, parse_path(path)) is not _NOTHING


def find_first(value: Any, paths: Iterable[str]) -> Any:
    """Return what is at the first of these paths that leads to something; an empty text doesn't.

    Where every path that is there leads to an empty text, that is what is returned.
    """
    values = [part for path in paths if (part := find(value, path)) is not None]
    return next((part for part in values if part != ""), values[0] if values else None)


def _list_parts(value: Any, step: Step) -> Iterator[tuple[str, Any]]:
    """Yield what one step leads to, each behind its key or number."""
    value = open_json(value)
    if isinstance(value, dict):
        if step.kind == KEY and step.name in value:
            yield step.name, value[step.name]
        elif step.kind == KEYS:
            yield from ((str(key), part) for key, part in value.items())
    elif isinstance(value, list):
        if step.kind == INDEX and -len(value) <= int(step.name) < len(value):
            yield step.name, value[int(step.name)]
        elif step.kind in (EACH, WHERE):
            for number, part in enumerate(value, start=1):
                if step.kind == EACH or (
                    isinstance(part, dict) and str(part.get(step.name)) == step.value
                ):
                    yield str(number), part


# --- several rows -----------------------------------------------------------------------


@dataclass
class Branch:
    """Paths that have begun alike: those that end here, and the next steps of the others."""

    ends: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    steps: dict[Step, "Branch"] = field(default_factory=dict)

    def add(self, path: str, steps: Iterable[Step]) -> None:
        branch = self
        for step in steps:
            if step.kind == PLACE:
                branch.places.append(path)
                return
            branch = branch.steps.setdefault(step, Branch())
        branch.ends.append(path)


def expand(branch: Branch, value: Any) -> list[dict[str, Any]]:
    """Return the rows of a record: values by path, and by {field} the keys that are fields."""
    rows = [dict.fromkeys(branch.ends, value)]
    for step, below in branch.steps.items():
        parts: list[dict[str, Any]] = []
        for key, part in _list_parts(value, step):
            bound = dict.fromkeys(below.places, key)
            if step.kind == KEYS:
                bound[f"{{{step.name}}}"] = key
            parts += [bound | row for row in expand(below, part)]
            if step.kind not in (EACH, KEYS):
                break
        if len(rows) * len(parts) > MOST_ROWS:
            message = f"A record becomes more than {MOST_ROWS:,} rows. Choose other paths."
            raise Refused("too_large", message)
        rows = [row | part for row in rows for part in parts] if parts else rows
    return rows
