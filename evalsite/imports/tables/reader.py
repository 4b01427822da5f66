"""From bytes to rows, whatever the format. What cells mean is not asked here.

The format is told by a file's content, never by its name. Files are read as streams.
"""

import re
from typing import BinaryIO

from evalsite.imports.tables.delimited import open_delimited
from evalsite.imports.tables.faults import UnreadableFile
from evalsite.imports.tables.json_lines import (
    looks_like_json_lines,
    looks_like_json_list,
    open_json_lines,
)
from evalsite.imports.tables.packages import Package
from evalsite.imports.tables.table import Limits, Table
from evalsite.imports.tables.texts import open_text
from evalsite.imports.tables.worksheets import open_worksheet

_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # of .xls, and of .xlsx files with a password
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_COMPRESSED_STARTS = (b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!")
_PICTURE_STARTS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8")
_WEB_PAGE = re.compile(r"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_CHUNK = 64 * 1024
_SAVE_AS = "Open it, save it as .xlsx or as CSV UTF-8, and upload that file."
_COMPRESSED = "This is a compressed file. Unpack it and upload the file of items that it holds."
_JSON = (
    "This is one JSON list. Write each of its objects in a line of its own, without brackets and "
    "commas around them (JSON lines), and upload that file."
)


def open_table(source: BinaryIO, *, limits: Limits | None = None) -> Table:
    """The header is read and the rows are ready to be; UnreadableFile says why they cannot be."""
    limits = limits or Limits.of_pages()
    source.seek(0)
    head = source.read(8)
    if head.startswith(b"PK\x03\x04"):
        package = Package(source, limits)
        _refuse_other_packages(package)
        return open_worksheet(package, limits)
    _refuse_other_formats(source, head)
    text = open_text(source, limits)
    start = text.read_start()
    if _WEB_PAGE.match(start):
        raise UnreadableFile(
            "file_kind",
            "This is a web page, perhaps one that asks to log in or says that there is no such "
            "file. Download the data itself, and upload that file.",
        )
    if looks_like_json_lines(start):
        return open_json_lines(text, limits)
    if looks_like_json_list(start):
        raise UnreadableFile("json_shape", _JSON)
    return open_delimited(text, limits)


def _refuse_other_packages(package: Package) -> None:
    """Every zipped file but Excel's."""
    names = package.names
    if "xl/workbook.bin" in names:
        raise UnreadableFile(
            "spreadsheet_kind", f"This is an Excel file in the binary form .xlsb. {_SAVE_AS}"
        )
    if any(name.startswith("xl/") for name in names):
        return
    if "word/document.xml" in names:
        raise UnreadableFile(
            "file_kind", "This is a Word file. Upload a table: CSV in UTF-8, or .xlsx."
        )
    if "index/document.iwa" in names or "index.zip" in names or _is_open_document(package):
        raise UnreadableFile(
            "spreadsheet_kind",
            f"This is a spreadsheet file in a form other than Excel’s. {_SAVE_AS}",
        )
    raise UnreadableFile("archive_unreadable", _COMPRESSED)


def _is_open_document(package: Package) -> bool:
    return package.has("mimetype") and b"opendocument" in package.read_start("mimetype", 100)


def _refuse_other_formats(source: BinaryIO, head: bytes) -> None:
    if head == _OLD and _holds(source, _ENCRYPTED):
        raise UnreadableFile(
            "spreadsheet_locked",
            "This is an Excel file with a password. Save it without one and upload that file.",
        )
    if head == _OLD:
        raise UnreadableFile(
            "spreadsheet_kind", f"This is an Excel file in the old form .xls. {_SAVE_AS}"
        )
    if head.startswith(_COMPRESSED_STARTS):
        raise UnreadableFile("archive_unreadable", _COMPRESSED)
    if head.startswith(_PICTURE_STARTS):
        raise UnreadableFile(
            "file_kind", "This is a picture. Upload the data itself, as CSV in UTF-8."
        )
    if head.startswith(b"%PDF-"):
        raise UnreadableFile(
            "file_kind", "This is a PDF file. Upload the data itself, as CSV in UTF-8."
        )


def _holds(source: BinaryIO, sought: bytes) -> bool:
    """Whether these bytes stand anywhere in the file."""
    source.seek(0)
    kept = b""
    while chunk := source.read(_CHUNK):
        if sought in kept + chunk:
            return True
        kept = chunk[-len(sought) :]
    return False
