"""Items as a file gives them: rows, then checked values. No rows of the database."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from io import SEEK_END
from itertools import islice
from json.encoder import encode_basestring, encode_basestring_ascii
from tempfile import SpooledTemporaryFile
from typing import Any, overload
from weakref import finalize

from evalsite.data.importing import Checked
from evalsite.instruments.schema import InputColumn

_MADE = "inputs-"


@dataclass(frozen=True, slots=True)
class OutputHeads:
    """What the columns of one output are called in the file."""

    system: str
    text: str
    flag: str
    # the header names the system, not a cell
    is_named: bool


NO_HEADS = OutputHeads("", "", "", is_named=False)


# not frozen: that takes twice as long to make, and a file may hold 200,000 of each


@dataclass(slots=True)
class DraftOutput:
    """One output as its row gives it. `shared` belongs to the row: see `ItemMaker.is_single`."""

    system: str
    text: str
    line: int
    record: int
    shared: dict[str, str]
    extra: dict[str, str]
    pair: str = ""
    # whether the row says that it is empty, and what its columns are called: to check it by
    flag: str = field(default="", compare=False)
    heads: OutputHeads = field(default=NO_HEADS, compare=False, repr=False)


@dataclass(slots=True)
class DraftItem:
    """What a row says of an item; with the outputs of later rows, the item."""

    key: str
    line: int
    record: int
    # what belongs to the item as a whole
    shared: dict[str, str]
    outputs: list[DraftOutput] = field(default_factory=list)
    # one of its outputs was refused and reported, so their number isn't checked
    is_short: bool = False
    # metadata of the row, which its outputs get
    extra: dict[str, str] = field(default_factory=dict, compare=False)


@dataclass(slots=True)
class CheckedOutput:
    system: str
    text: str


@dataclass(slots=True)
class CheckedItem:
    """One item, with the line of its first row."""

    key: str
    group: str
    line: int
    record: int
    outputs: tuple[CheckedOutput, ...]
    inputs: dict[str, str]
    kind: str = "main"
    cluster: str = ""
    extra: dict[str, object] = field(default_factory=dict)
    gold: dict[str, str] = field(default_factory=dict)
    # as JSON, where that is known already
    inputs_text: str = field(default="", compare=False, repr=False)

    @property
    def is_part(self) -> bool:
        """Whether the file has an item of which this is only one output, or one pair of them."""
        return self.key.startswith(f"{self.extra.get('item')}/")

    @property
    def record_key(self) -> str:
        """The id of the item in the file, of which this may be a part."""
        return str(self.extra["item"]) if self.is_part else self.key

    def list_values(self) -> tuple[str, str, str, str, str, str, str]:
        """As a database stores them, from the key on."""
        return (
            self.key,
            self.group,
            self.cluster,
            self.kind,
            self.inputs_text or write_texts(self.inputs.items()),
            json.dumps(self.extra) if self.extra else "{}",
            json.dumps(self.gold) if self.gold else "{}",
        )


class Items(Sequence[CheckedItem]):
    """The items of a file, made of its drafts whenever they are gone through."""

    def __init__(
        self,
        make: Callable[[], Iterator[CheckedItem]] = lambda: iter(()),
        *,
        count: int = 0,
        outputs: int = 0,
        systems: Iterable[str] = (),
    ) -> None:
        self._make = make
        self._count = count
        self.outputs = outputs
        self.systems = set(systems)
        # of the file, before its outputs are shown one by one or in pairs
        self.records = 0
        self.of_systems: Counter[str] = Counter()

    def count(self, item: CheckedItem) -> None:  # type: ignore[override]
        """One more of them is known to be good."""
        self._count += 1
        self.outputs += len(item.outputs)
        for output in item.outputs:
            self.systems.add(output.system)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[CheckedItem]:
        return self._make()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, place: int) -> CheckedItem: ...
    @overload
    def __getitem__(self, place: slice) -> list[CheckedItem]: ...
    def __getitem__(self, place: int | slice) -> CheckedItem | list[CheckedItem]:
        if isinstance(place, slice):
            start, stop, step = place.indices(self._count)
            return list(islice(self, start, stop, step))
        number = place if place >= 0 else self._count + place
        if not 0 <= number < self._count:
            raise IndexError(place)
        return next(islice(self, number, None))


@dataclass
class CheckedItems(Checked):
    """What a file of items contains: its items if it may be imported, its faults if not."""

    # of the rows: those that the site makes itself, and those left out by choice
    left_out: int = 0
    # the items of the file, if people rate a random part of them
    drawn_of: int = 0
    items: Items = field(default_factory=Items)
    # what systems are called instead, by their names in the file
    renamed: dict[str, str] = field(default_factory=dict)
    # before an instrument is chosen: the inputs by column, and what the outputs are
    inputs: dict[str, InputColumn] = field(default_factory=dict)
    output_kind: str = "text"

    @property
    def read_mapping(self) -> dict[str, str]:
        mapping = super().read_mapping
        return mapping | {column: input_column.name for column, input_column in self.inputs.items()}

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


def merge_extra(outputs: Sequence[DraftOutput]) -> dict[str, Any]:
    """Metadata of an item; where its rows differ, by system."""
    if len(outputs) == 1:
        return dict(outputs[0].extra)
    merged: dict[str, Any] = {}
    for column in dict.fromkeys(name for output in outputs for name in output.extra):
        values = {output.system: output.extra.get(column, "") for output in outputs}
        first, *other_values = dict.fromkeys(values.values())
        merged[column] = values if other_values else first
    return merged


def write_texts(
    texts: Iterable[tuple[str, str]], quote: Callable[[str], str] = encode_basestring_ascii
) -> str:
    """Texts by name as JSON, as json.dumps writes them, in a quarter of its time."""
    return f"{{{', '.join([f'{quote(name)}: {quote(text)}' for name, text in texts])}}}"


def name_written_group(inputs: Mapping[str, str], written: str) -> str:
    """As name_group, of inputs that have been written as JSON already."""
    if len(inputs) == 1 and "\\u" not in written:
        # one name needs no order, and these letters are written alike in both ways
        return f"{_MADE}{sha256(written.encode()).hexdigest()[:16]}"
    return name_group(inputs)


def name_group(inputs: Mapping[str, str]) -> str:
    """Return the group of items that name none: equal for equal inputs, and for no others."""
    text = write_texts(sorted(inputs.items()), encode_basestring)
    return f"{_MADE}{sha256(text.encode()).hexdigest()[:16]}"


def is_made_group(group: str) -> bool:
    """Return whether this name was made from the inputs, not given by a file."""
    return group.startswith(_MADE)


_AT_HAND = 4_000
_IN_MEMORY = 1024 * 1024


class Drafts:
    """Items not yet complete by their ids, in the order in which they began.

    A draft that was got may be changed until the next one is got or begun. Those that wait are
    lines of JSON in a file without a name, for the texts of a large file don't fit into memory.
    """

    def __init__(self) -> None:
        # where each was written last; -1: not yet
        self._places: dict[str, int] = {}
        self._at_hand: dict[str, DraftItem] = {}
        # small ones stay in memory
        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (open as long as this is used)
        self._next = 0
        finalize(self, self._file.close)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[DraftItem]:
        if len(self._at_hand) == len(self._places):
            # nothing has been put away; the item begun last is the last
            yield from self._at_hand.values()
            return
        self._put_away(len(self._at_hand))
        for place in self._places.values():
            yield self._read(place)

    def get(self, key: str) -> DraftItem | None:
        item = self._at_hand.get(key)
        if item is None and key in self._places:
            item = self._at_hand[key] = self._read(self._places[key])
            self._make_room()
        return item

    def begin(self, item: DraftItem) -> None:
        self._places[item.key] = -1
        self._at_hand[item.key] = item
        self._make_room()

    def _make_room(self) -> None:
        if len(self._at_hand) > _AT_HAND:
            self._put_away(_AT_HAND // 2)

    def _put_away(self, count: int) -> None:
        """The oldest at hand wait in the file."""
        place, self._next = self._file.seek(0, SEEK_END), -1
        for key in list(self._at_hand)[:count]:
            line = _write_line(self._at_hand.pop(key))
            self._places[key] = place
            place += self._file.write(line)

    def _read(self, place: int) -> DraftItem:
        # one after another without a search, which empties the file's buffer
        if place != self._next:
            self._file.seek(place)
        line = self._file.readline()
        self._next = place + len(line)
        return _read_line(line)


def _write_line(item: DraftItem) -> bytes:
    # most rows of an item share the very same values, which are written once
    outputs = [
        (
            output.system,
            output.text,
            output.line,
            output.record,
            None if output.shared is item.shared else output.shared,
            output.extra,
            output.pair,
        )
        for output in item.outputs
    ]
    values = (item.key, item.line, item.record, item.shared, outputs, item.is_short)
    return f"{json.dumps(values)}\n".encode()


def _read_line(written: bytes) -> DraftItem:
    key, first, number, values, outputs, is_short = json.loads(written)
    return DraftItem(
        key,
        first,
        number,
        values,
        [
            DraftOutput(system, text, line, record, shared or values, extra, pair)
            for system, text, line, record, shared, extra, pair in outputs
        ],
        is_short,
    )
