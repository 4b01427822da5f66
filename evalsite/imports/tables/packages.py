"""The parts of a zipped file, read as streams within limits; nothing is unpacked to disk."""

import io
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NoReturn
from xml.sax import SAXException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from defusedxml.common import DefusedXmlException
from defusedxml.sax import make_parser

from evalsite.imports.tables.faults import UnreadableFile
from evalsite.imports.tables.table import Limits

# small, since a few letters of it may refer to a long text of the workbook's list
_CHUNK = 4 * 1024
_MEGABYTE = 1024 * 1024
# the directory of a zip is held in memory: room for some ten thousand parts
_MAX_DIRECTORY = _MEGABYTE
_MAX_RATIO = 100
_HARMLESS = 10 * _MEGABYTE  # whatever the ratio: a cell may well hold a letter a million times
_MAX_DEPTH = 50
# a part in which nothing begins or ends for so long would have to be held as a whole
_MAX_SILENCE = _MEGABYTE
_DAMAGED = (
    "The file can't be read: it is damaged, or not as Excel writes it. Open it, save it as .xlsx "
    "or as CSV UTF-8, and upload that file."
)
_LOCKED = "The file is protected by a password. Save it without one and upload that file."
# all that zipfile, zlib and the parser say about bytes that somebody made up
BROKEN = (
    BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OverflowError,
    SAXException, DefusedXmlException, ValueError, LookupError,
)  # fmt: skip


def refuse_damaged() -> NoReturn:
    raise UnreadableFile("spreadsheet_damaged", _DAMAGED) from None


class PartHandler(ContentHandler):
    """Takes what stands in a part, by names without their prefixes."""

    def __init__(self) -> None:
        super().__init__()
        self.is_moving = False
        self._depth = 0

    def startElement(self, name: str, attrs: AttributesImpl) -> None:
        self.is_moving = True
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError("The elements of the part are nested too deep.")
        self.begin(name.rpartition(":")[2], attrs)

    def endElement(self, name: str) -> None:
        self._depth -= 1
        self.end(name.rpartition(":")[2])

    def characters(self, content: str) -> None:
        self.is_moving = True
        self.take(content)

    def begin(self, tag: str, attrs: AttributesImpl) -> None:
        """An element has begun."""

    def end(self, tag: str) -> None:
        """An element has ended."""

    def take(self, text: str) -> None:
        """A stretch of text was met, not necessarily a whole one."""


class Package:
    """A zipped file that was found to be harmless by its directory, before anything is unpacked."""

    def __init__(self, source: BinaryIO, limits: Limits) -> None:
        try:
            self._zip = ZipFile(_Guarded(source))
        except BROKEN:
            refuse_damaged()
        self._left = limits.text
        parts = self._zip.infolist()
        size = sum(part.file_size for part in parts)
        _check_parts(parts)
        limits.check_text(size)
        if size > _HARMLESS and size > _MAX_RATIO * source.seek(0, io.SEEK_END):
            raise UnreadableFile(
                "archive_too_large",
                f"The file unpacks to more than {_MAX_RATIO} times its size, as no table does. "
                "Save it as CSV UTF-8 and upload that file.",
            )
        # some programs write a part's name in other letters than they refer to it
        self._names = {part.filename.lower(): part.filename for part in reversed(parts)}

    @property
    def names(self) -> frozenset[str]:
        """In small letters, whatever the file says."""
        return frozenset(self._names)

    def has(self, name: str) -> bool:
        return name.lower() in self._names

    def read_start(self, name: str, size: int) -> bytes:
        try:
            with self._zip.open(self._names[name.lower()]) as part:
                return part.read(size)
        except BROKEN:
            refuse_damaged()

    def parse(self, name: str, handler: PartHandler) -> None:
        """The handler has seen the whole part."""
        for _ in self.feed(name, handler):
            pass

    def feed(self, name: str, handler: PartHandler) -> Iterator[None]:
        """The handler sees the part, a stretch with each step; UnreadableFile if it is broken."""
        parser = make_parser()
        parser.forbid_dtd = parser.forbid_entities = parser.forbid_external = True
        parser.setContentHandler(handler)
        silence = 0
        try:
            parser.feed(b"")  # so that an empty part is found to be no XML
            with self._zip.open(self._names[name.lower()]) as part:
                while chunk := part.read(_CHUNK):
                    self._count(len(chunk))
                    handler.is_moving = False
                    parser.feed(chunk)
                    silence = 0 if handler.is_moving else silence + len(chunk)
                    if silence > _MAX_SILENCE:
                        refuse_damaged()
                    yield
            parser.close()
        except BROKEN:
            refuse_damaged()
        yield

    def _count(self, size: int) -> None:
        """What is unpacked stays below the limit, whatever the directory said."""
        self._left -= size
        if self._left < 0:
            refuse_damaged()


def _check_parts(parts: list[ZipInfo]) -> None:
    if any(part.flag_bits & 0x1 for part in parts):
        raise UnreadableFile("spreadsheet_locked", _LOCKED)
    if any(part.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for part in parts):
        refuse_damaged()


class _Guarded(io.RawIOBase):
    """The source, of which no more than a directory's worth is read at once."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._source.seek(offset, whence)

    def tell(self) -> int:
        return self._source.tell()

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > _MAX_DIRECTORY:
            raise BadZipFile("The directory is far too large.")
        # without a size the end of the file is wanted, which is never as long as this
        return self._source.read(_MAX_DIRECTORY if size is None or size < 0 else size)
