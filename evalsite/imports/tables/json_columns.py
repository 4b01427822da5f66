"""Columns of JSON objects: their keys, and a column for each system where one holds outputs."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from evalsite.imports.tables.faults import show

_MOST_SHOWN, _MOST_SYSTEMS = 10, 100
# what names the system and what is its text, in a list of outputs
_SYSTEM_KEYS = ("system", "model", "model_name", "system_name", "model_id", "generator", "name")
_TEXT_KEYS = ("output", "text", "response", "content", "completion", "generation", "answer")


class Literal(str):
    """A number as it is written."""

    __slots__ = ()


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

    def add(self, values: dict[str, Any], line: int) -> None:
        for key, value in values.items():
            known = self.keys.get(key)
            if known is None:
                known = self.keys[key] = _Values()
            if not (known.differs_in or value is None or value == []):
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
        for key, known in self.keys.items():
            if known.is_split:
                sentence = (
                    f"“{show(key)}” holds lists of outputs and was split into "
                    f"{len(known.systems):,} columns, one for each system"
                )
                if known.left_out:
                    sentence += f". Left out of its objects: {_join(known.left_out)}"
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
                cells.append(_write_cell(values.get(key)))
                continue
            if key != last:
                last, outputs = key, _find_outputs(values.get(key) or []) or {}
            cells.append(_write_cell(outputs.get(system)))
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


def _join(names: Iterable[str]) -> str:
    first = sorted(names)[:_MOST_SHOWN]
    return ", ".join(f"“{show(name)}”" for name in first)


def _write_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value)
    return _write_json(value)


def _write_json(value: Any) -> str:
    """Write the value as compact JSON, its numbers as they were written."""
    if isinstance(value, dict):
        pairs = (f"{_write_json(key)}:{_write_json(part)}" for key, part in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_write_json, value))}]"
    if isinstance(value, Literal):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
