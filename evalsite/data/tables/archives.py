"""Zipped files, whose sizes are checked before and while they are unpacked."""

import codecs
import io
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import BinaryIO, NoReturn, cast
from xml.parsers import expat

from evalsite.data.tables.table import Limits, Refused
from evalsite.lib.limited import (
    BROKEN_ZIP,
    UNPACKED_RATIO,
    ZIP_DEFLATED,
    ZIP_STORED,
    BadZipFile,
    TooMuch,
    check_unpacked,
    open_zip,
)

_CHUNK = 64 * 1024
_MEGABYTE = 1024 * 1024
# the directory of a zip is held in memory: room for some ten thousand parts
_MAX_DIRECTORY = _MEGABYTE
_MAX_DEPTH = 50
# a token of XML that doesn't end for so long would have to be held as a whole
_MAX_TOKEN = _MEGABYTE
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# all that zips, expat and our own handlers raise about malformed bytes
BROKEN = (*BROKEN_ZIP, struct.error, OverflowError, expat.ExpatError, LookupError)


def refuse_damaged() -> NoReturn:
    raise Refused(
        "spreadsheet_damaged",
        "The file can't be read: it is damaged or incomplete. Upload it again, or open it, save it "
        "as .xlsx or as CSV UTF-8, and upload that file.",
    ) from None


def refuse_locked() -> NoReturn:
    raise Refused(
        "spreadsheet_locked",
        "The file is protected by a password. Save it without one and upload that file.",
    )


def check_size(size: int, packed: int, limits: Limits) -> None:
    """Refuse more text than the limit, and what unpacks to far more than tables do."""
    limits.check_text(size)
    try:
        check_unpacked(size, packed, limits.text)
    except TooMuch:
        raise Refused(
            "archive_too_large",
            f"The file unpacks to more than {UNPACKED_RATIO} times its size, which no table does. "
            "Save it as CSV UTF-8 and upload that file.",
        ) from None


class Archive:
    """A zipped file that was found to be harmless by its directory, before anything is unpacked."""

    def __init__(self, source: BinaryIO, limits: Limits) -> None:
        try:
            self._zip = open_zip(cast(BinaryIO, _Guarded(source)))
        except BROKEN:
            refuse_damaged()
        parts = [part for part in self._zip.infolist() if not part.is_dir()]
        if any(part.flag_bits & 0x1 for part in parts):
            refuse_locked()
        check_size(sum(part.file_size for part in parts), source.seek(0, io.SEEK_END), limits)
        # some programs refer to a part in another case than that of its name
        self._parts = {part.filename.lower(): part for part in parts}
        is_plain = all(part.compress_type in (ZIP_STORED, ZIP_DEFLATED) for part in parts)
        if len(self._parts) < len(parts) or not is_plain:
            refuse_damaged()

    @property
    def names(self) -> list[str]:
        """Return the names of all parts, as the file writes them."""
        return [part.filename for part in self._parts.values()]

    def has(self, name: str) -> bool:
        return name.lower() in self._parts

    def read_start(self, name: str, size: int) -> bytes:
        try:
            with self._zip.open(self._parts[name.lower()]) as part:
                return part.read(size)
        except BROKEN:
            refuse_damaged()

    def copy(self, name: str, target: BinaryIO) -> None:
        """Unpack a part, which is as long as the directory says, or broken."""
        try:
            with self._zip.open(self._parts[name.lower()]) as part:
                while chunk := part.read(_CHUNK):
                    target.write(chunk)
        except BROKEN:
            refuse_damaged()

    def parse(
        self,
        name: str,
        begins: Mapping[str, Callable[[dict[str, str]], None]],
        ends: Mapping[str, Callable[[], None]] = MappingProxyType({}),
        take: Callable[[str], None] | None = None,
    ) -> None:
        """Call handlers for elements, by their names without prefixes; check all of the part.

        Types, entities and deep nesting are refused, and so is a part of another size than the
        directory says: what reads it later can trust it.
        """
        parser = _make_parser(begins, ends)
        parser.CharacterDataHandler = take
        fed = 0
        try:
            with self._zip.open(self._parts[name.lower()]) as part:
                while chunk := part.read(_CHUNK):
                    if not fed and chunk.startswith(_UTF_16):
                        refuse_damaged()
                    parser.Parse(chunk, False)
                    fed += len(chunk)
                    if fed - parser.CurrentByteIndex > _MAX_TOKEN:
                        refuse_damaged()
            parser.Parse(b"", True)
        except BROKEN:
            refuse_damaged()


def _make_parser(
    begins: Mapping[str, Callable[[dict[str, str]], None]], ends: Mapping[str, Callable[[], None]]
) -> expat.XMLParserType:
    depth = 0

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MAX_DEPTH:
            raise ValueError("The elements of the part are nested too deep.")
        if handler := begins.get(tag) or begins.get(tag[tag.find(":") + 1 :]):
            handler(attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        if handler := ends.get(tag) or ends.get(tag[tag.find(":") + 1 :]):
            handler()

    def refuse_type(*_: object) -> None:
        raise ValueError("The part declares a type, and perhaps entities.")

    # all programs write UTF-8: a declaration of something else is overruled
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.StartDoctypeDeclHandler = refuse_type
    return parser


class _Guarded(io.RawIOBase):
    """The source, of which no more than a directory's worth is read at once."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        try:
            return self._source.seek(offset, whence)
        except (OSError, ValueError):
            raise BadZipFile("A part is said to be outside of the file.") from None

    def tell(self) -> int:
        return self._source.tell()

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > _MAX_DIRECTORY:
            raise ValueError("The directory is far too large.")
        # without a size the end of the file is wanted, which is never as long as this
        return self._source.read(_MAX_DIRECTORY if size is None or size < 0 else size)
