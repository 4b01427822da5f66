"""Checked items in a temporary file: as many as a batch may have, in little memory."""

import json
import marshal
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import Any, overload
from weakref import finalize

from evalsite.imports.batches.values import CheckedItem, CheckedOutput, write_texts
from evalsite.imports.core import Checked

# number, key, group, cluster, kind, then as JSON: inputs, extra, gold
StoredItem = tuple[int, str, str, str, str, str, str, str]
# number of its item, position from 0, system, text
StoredOutput = tuple[int, int, str, str]

# items that are written at once: so many, or fewer if their texts are long
_ITEMS, _LETTERS = 500, 1_000_000


class Shelf(Sequence[CheckedItem]):
    """Checked items in the order in which they were added; read some at a time."""

    def __init__(self) -> None:
        # small ones stay in memory
        self._file = SpooledTemporaryFile(max_size=_LETTERS)  # noqa: SIM115 (closed with the shelf)
        finalize(self, self._file.close)
        # of each stretch of items that was written: the number of its first, and where it ends
        self._firsts: list[int] = []
        self._ends = [0]
        self._new: list[tuple[Any, ...]] = []
        self._letters = 0
        self._count = 0
        self.outputs = 0
        self.systems: set[str] = set()

    def add(self, item: CheckedItem) -> None:
        inputs = item.inputs_text or write_texts(item.inputs.items())
        self._letters += len(inputs)
        outputs = []
        for output in item.outputs:
            self.systems.add(output.system)
            self._letters += len(output.text)
            outputs.append((output.system, output.text))
        self._new.append(
            (
                item.key,
                item.group,
                item.cluster,
                item.kind,
                inputs,
                json.dumps(item.extra) if item.extra else "{}",
                json.dumps(item.gold) if item.gold else "{}",
                outputs,
                item.line,
                item.record,
            )
        )
        self.outputs += len(outputs)
        self._count += 1
        if len(self._new) == _ITEMS or self._letters > _LETTERS:
            self._write()

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[CheckedItem]:
        return map(_unpack, self._rows())

    @overload
    def __getitem__(self, place: int) -> CheckedItem: ...
    @overload
    def __getitem__(self, place: slice) -> list[CheckedItem]: ...
    def __getitem__(self, place: int | slice) -> CheckedItem | list[CheckedItem]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(self._count))]
        number = place if place >= 0 else self._count + place
        if not 0 <= number < self._count:
            raise IndexError(place)
        self._write()
        stretch = bisect_right(self._firsts, number) - 1
        return _unpack(self._read(stretch)[number - self._firsts[stretch]])

    def stored_items(self) -> Iterator[StoredItem]:
        """The items numbered from 1, as plain texts that a database takes as they are."""
        for number, row in enumerate(self._rows(), start=1):
            yield (number, *row[:7])

    def stored_outputs(self) -> Iterator[StoredOutput]:
        """The outputs of all items, likewise."""
        return _list_outputs(self._rows(), first=1)

    def stored_stretches(self) -> Iterator[tuple[list[StoredItem], list[StoredOutput]]]:
        """The items and their outputs, likewise, some at a time: for who takes both at once."""
        self._write()
        for stretch, first in enumerate(self._firsts):
            rows = self._read(stretch)
            items = [(number, *row[:7]) for number, row in enumerate(rows, start=first + 1)]
            yield items, list(_list_outputs(rows, first=first + 1))

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        self._write()
        for stretch in range(len(self._firsts)):
            yield from self._read(stretch)

    def _read(self, stretch: int) -> list[tuple[Any, ...]]:
        start, end = self._ends[stretch : stretch + 2]
        self._file.seek(start)
        rows: list[tuple[Any, ...]] = marshal.loads(self._file.read(end - start))  # noqa: S302 (our own)
        return rows

    def _write(self) -> None:
        if not self._new:
            return
        self._firsts.append(self._count - len(self._new))
        self._file.seek(self._ends[-1])
        # much faster than JSON, and nobody but this process ever reads it
        written = self._file.write(marshal.dumps(self._new))
        self._ends.append(self._ends[-1] + written)
        self._new.clear()
        self._letters = 0


def _list_outputs(rows: Iterable[tuple[Any, ...]], first: int) -> Iterator[StoredOutput]:
    for number, row in enumerate(rows, start=first):
        for position, (system, text) in enumerate(row[7]):
            yield number, position, system, text


def _unpack(row: tuple[Any, ...]) -> CheckedItem:
    key, group, cluster, kind, inputs, extra, gold, outputs, line, record = row
    return CheckedItem(
        key=key,
        group=group,
        cluster=cluster,
        kind=kind,
        inputs=json.loads(inputs),
        extra=json.loads(extra),
        gold=json.loads(gold),
        outputs=tuple(CheckedOutput(system, text) for system, text in outputs),
        line=line,
        record=record,
    )


@dataclass
class CheckedItems(Checked):
    """What a file of items contains: its items if it may be imported, its faults if not."""

    # of the rows: the site makes such rows itself
    left_out: int = 0
    items: Shelf = field(default_factory=Shelf)

    @property
    def is_importable(self) -> bool:
        return not self.faults and bool(self.items)

    @property
    def rows_taken(self) -> int:
        return self.rows - self.left_out

    @property
    def systems(self) -> list[str]:
        return sorted(self.items.systems)

    @property
    def outputs(self) -> int:
        return self.items.outputs
