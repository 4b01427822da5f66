"""The lines of a file around its first faults, to see what is wrong with them."""

import codecs
import io
from collections.abc import Iterable, Iterator
from typing import BinaryIO

_MOST_FAULTS, _MOST_CHARACTERS = 3, 300
_FARTHEST = 100_000  # lines
_CHUNK = 64 * 1024
_PACKED = (b"PK", b"\x1f\x8b", b"PAR1")


def read_around(source: BinaryIO, lines: Iterable[int]) -> list[list[int | str | bool]]:
    """Return the first of these lines, each between its neighbours: number, text, is it faulty.

    Nothing of files that aren't text. Bytes that can't be read are shown as U+FFFD.
    """
    faulty = [line for line in dict.fromkeys(lines) if line <= _FARTHEST][:_MOST_FAULTS]
    shown = {number for line in faulty for number in (line - 1, line, line + 1)}
    source.seek(0)
    start = source.read(4)
    if not shown or start.startswith(_PACKED):
        return []
    is_utf_16 = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    source.seek(0)
    # newline="": lines end at LF, CR LF or CR
    text = io.TextIOWrapper(
        source, encoding="utf-16" if is_utf_16 else "utf-8-sig", errors="replace", newline=""
    )
    try:
        return [
            [number, line, number in faulty]
            for number, line in _read_lines(text, max(shown))
            if number in shown
        ]
    finally:
        text.detach()


def _read_lines(text: io.TextIOWrapper, last: int) -> Iterator[tuple[int, str]]:
    """Yield the first lines with their numbers; of long ones only the beginning is held."""
    for number in range(1, last + 1):
        piece = text.readline(_CHUNK)
        if not piece:
            return
        line = piece.rstrip("\r\n").replace("\0", "\ufffd")
        yield number, line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}…"
        while piece and not piece.endswith(("\n", "\r")):
            piece = text.readline(_CHUNK)
