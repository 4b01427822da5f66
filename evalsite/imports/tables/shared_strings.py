"""The texts of a workbook, which its cells refer to by number: packed, so that many fit."""

import zlib
from array import array
from bisect import bisect_right
from collections import OrderedDict
from xml.sax.xmlreader import AttributesImpl

from evalsite.imports.tables.packages import PartHandler, refuse_damaged
from evalsite.imports.tables.table import Limits

_BLOCK_LETTERS = 16 * 1024
_BLOCK_TEXTS = 1_000
_BLOCKS_UNPACKED = 512


class SharedStrings:
    """Texts by their number, in packed blocks; those read last are kept unpacked.

    Cells mostly refer to texts in their order, so that a block is seldom unpacked twice.
    """

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._starts = array("L")
        self._unpacked: OrderedDict[int, list[str]] = OrderedDict()
        self._open: list[str] = []
        self._letters = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, text: str) -> None:
        self._open.append(text)
        self._letters += len(text)
        self._count += 1
        if self._letters >= _BLOCK_LETTERS or len(self._open) >= _BLOCK_TEXTS:
            self.close()

    def close(self) -> None:
        """All texts added so far can be read."""
        if self._open:
            self._starts.append(self._count - len(self._open))
            # NUL parts them: XML can't hold it
            self._blocks.append(zlib.compress("\0".join(self._open).encode(), 1))
            self._open, self._letters = [], 0

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < self._count:
            raise IndexError(number)
        block = bisect_right(self._starts, number) - 1
        texts = self._unpacked.get(block)
        if texts is None:
            texts = zlib.decompress(self._blocks[block]).decode().split("\0")
            self._unpacked[block] = texts
            if len(self._unpacked) > _BLOCKS_UNPACKED:
                self._unpacked.popitem(last=False)
        else:
            self._unpacked.move_to_end(block)
        return texts[number - self._starts[block]]


class StringsHandler(PartHandler):
    """Reads the part that holds them: <si> with <t>, or with several in differently styled runs."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.strings = SharedStrings()
        self._limits = limits
        self._parts: list[str] = []
        self._size = 0
        self._is_text = self._is_phonetic = False

    def begin(self, tag: str, attrs: AttributesImpl) -> None:
        if tag == "t":
            self._is_text = not self._is_phonetic
        elif tag == "si":
            self._parts, self._size = [], 0
        elif tag == "rPh":
            self._is_phonetic = True

    def end(self, tag: str) -> None:
        if tag == "t":
            self._is_text = False
        elif tag == "si":
            self.strings.add("".join(self._parts))
        elif tag == "rPh":
            self._is_phonetic = False

    def take(self, text: str) -> None:
        if self._is_text:
            self._size += len(text)
            if self._size > self._limits.cell:
                # far more than any spreadsheet puts into a cell
                refuse_damaged()
            self._parts.append(text)
