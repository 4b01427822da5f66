"""From bytes to lines of text: the encoding is found and checked, and lines are counted."""

import codecs
import io
from dataclasses import dataclass
from typing import BinaryIO

from evalsite.imports.tables.faults import UnreadableFile
from evalsite.imports.tables.table import Limits

_CHUNK = 64 * 1024
_ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)


@dataclass(frozen=True)
class TextFile:
    """A file whose bytes are known to be text: it may be read from its start again and again."""

    source: BinaryIO
    codec: str
    encoding: str  # in words
    skip: int  # bytes of the byte order mark

    def open(self) -> io.TextIOWrapper:
        """The text from its start; detach it when done, or the source is closed with it."""
        self.source.seek(self.skip)
        # newline="": lines end at LF, CR LF or CR, and keep their ends
        return io.TextIOWrapper(self.source, encoding=self.codec, errors="strict", newline="")

    def read_start(self, letters: int = 4096) -> str:
        text = self.open()
        try:
            return text.read(letters)
        finally:
            text.detach()


def open_text(source: BinaryIO, limits: Limits) -> TextFile:
    """The file is text of a known encoding; UnreadableFile names the first byte that isn't."""
    limits.check_text(source.seek(0, io.SEEK_END))
    codec, encoding, skip = _find_encoding(source)
    _check_encoding(source, codec, skip)
    return TextFile(source, codec, encoding, skip)


def _find_encoding(source: BinaryIO) -> tuple[str, str, int]:
    source.seek(0)
    head = source.read(4)
    for mark, codec, name in _ENCODINGS:
        if head.startswith(mark):
            return codec, name, len(mark)
    return "utf-8", "UTF-8", 0


def _check_encoding(source: BinaryIO, codec: str, skip: int) -> None:
    """The whole file decodes; otherwise the first byte that doesn't is named, from 1."""
    source.seek(skip)
    decoder = codecs.getincrementaldecoder(codec)("strict")
    offset, line, ends_in_return = skip, 1, False
    while True:
        chunk = source.read(_CHUNK)
        pending = len(decoder.getstate()[0])
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            good = error.object[: error.start].decode(codec, "ignore")
            line += _count_breaks(good, ends_in_return)
            byte = offset - pending + error.start + 1
            name = "UTF-16" if codec.startswith("utf-16") else "UTF-8"
            raise UnreadableFile(
                "not_utf8",
                f"The file is not {name} at byte {byte}, line {line}. "
                "Save it as CSV UTF-8 and upload it again.",
            ) from None
        if not chunk:
            return
        line += _count_breaks(text, ends_in_return)
        offset += len(chunk)
        ends_in_return = text.endswith("\r") if text else ends_in_return


def _count_breaks(text: str, after_return: bool) -> int:
    """Line breaks in a stretch of text; CR LF is one, also across two stretches."""
    both = text.count("\r\n") + (after_return and text.startswith("\n"))
    return text.count("\n") + text.count("\r") - both


class Lines:
    """Physical lines with their ends, counted; those of the record being read are at hand."""

    def __init__(self, text: TextFile, limits: Limits) -> None:
        self._text = text.open()
        self._limits = limits
        self._most = limits.record
        self.number = 0
        self.first = 1
        self.record: list[str] = []
        self._size = 0

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> str:
        line = self._text.readline(self._most + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self.record.append(line)
        self._size += len(line)
        if self._size > self._most:
            self._limits.refuse_record(self.first)
        return line

    def start_record(self) -> None:
        self.record.clear()
        self._size = 0
        self.first = self.number + 1

    def close(self) -> None:
        """The source is left open, for whoever opened it."""
        self._text.detach()
