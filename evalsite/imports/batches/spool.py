"""Items not yet complete: the newest in memory, the others in a temporary file.

Rows of an item may be anywhere in a file, so no item is complete before all of it has been read.
"""

import marshal
import sqlite3
from collections.abc import Iterator

from evalsite.imports.batches.items import DraftItem, DraftOutput

_AT_HAND = 4_000


class Drafts:
    """Items not yet complete by their ids, in the order in which they began.

    A draft that was got may be changed until the next one is got or begun.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._at_hand: dict[str, DraftItem] = {}
        # "": a file without a name, which is gone when it is closed; small ones stay in memory
        self._file = sqlite3.connect("", isolation_level=None)
        self._file.execute("CREATE TABLE draft (no INTEGER PRIMARY KEY, data BLOB)")

    def __contains__(self, key: object) -> bool:
        return key in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[DraftItem]:
        if len(self._at_hand) == len(self._numbers):
            # nothing has been put away; what was begun last stands last
            yield from self._at_hand.values()
            return
        self._put_away(len(self._at_hand))
        # gone through more than once, so each time by a cursor of its own
        for (data,) in self._file.execute("SELECT data FROM draft ORDER BY no"):
            yield _unpack(data)

    def get(self, key: str) -> DraftItem | None:
        item = self._at_hand.get(key)
        if item is not None or key not in self._numbers:
            return item
        found = self._file.execute("SELECT data FROM draft WHERE no = ?", [self._numbers[key]])
        item = self._at_hand[key] = _unpack(found.fetchone()[0])
        self._make_room()
        return item

    def begin(self, item: DraftItem) -> None:
        self._numbers[item.key] = len(self._numbers)
        self._at_hand[item.key] = item
        self._make_room()

    def _make_room(self) -> None:
        if len(self._at_hand) > _AT_HAND:
            self._put_away(_AT_HAND // 2)

    def _put_away(self, count: int) -> None:
        """The oldest at hand wait in the file."""
        keys = list(self._at_hand)[:count]
        self._file.execute("BEGIN")
        self._file.executemany(
            "INSERT OR REPLACE INTO draft VALUES (?, ?)",
            ((self._numbers[key], _pack(self._at_hand.pop(key))) for key in keys),
        )
        self._file.execute("COMMIT")


# marshal: some five times as fast as JSON, and nobody but this process ever reads it


def _pack(item: DraftItem) -> bytes:
    # most rows of an item share the very same values, which are written once
    outputs = [tuple(output) for output in item.outputs]
    return marshal.dumps((item.key, item.line, item.record, item.shared, outputs, item.is_short))


def _unpack(data: bytes) -> DraftItem:
    key, line, record, shared, outputs, is_short = marshal.loads(data)  # noqa: S302 (our own)
    return DraftItem(key, line, record, shared, [*map(DraftOutput._make, outputs)], is_short)
