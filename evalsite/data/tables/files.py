"""The files that were given, alone, in folders, zipped or compressed, and each as a table."""

import gzip
import io
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile, SpooledTemporaryFile
from typing import IO, Any, BinaryIO, cast

from evalsite.data.tables import parquet
from evalsite.data.tables.archives import BROKEN, Archive, check_size, refuse_locked
from evalsite.data.tables.json_tables import open_frame, open_json
from evalsite.data.tables.spreadsheets import SHEET, open_spreadsheet
from evalsite.data.tables.table import Limits, Refused, Row, Table, quote
from evalsite.data.tables.text_files import PIPE, open_delimited, open_markdown, open_text
from evalsite.lib import limited
from evalsite.lib.limited import BROKEN_ZIP, TooMuch, ZipFile, ZipInfo, check_unpacked

MOST_FILES = 1_000
# of a zip that is one file, such as a log with an entry for each sample
MOST_ENTRIES = 1_000_000
MOST_BYTES = 8 * 1024**3
# an entry is held in memory as a whole
MOST_IN_RECORD = 64 * 1024**2
ZIP, GZIP = b"PK\x03\x04", b"\x1f\x8b"
_CHUNK = 64 * 1024
_DEPTH = 20
_MAX_NAME = 200
# how the names of parts of office documents begin
_OFFICE = ("[content_types]", "xl/", "word/", "ppt/", "index.zip", "index/document.iwa")


@dataclass(frozen=True)
class SourceFile:
    """A file by its name with its folders, and how to open it."""

    name: str
    open: Callable[[], IO[bytes]]

    @property
    def stem(self) -> str:
        return PurePosixPath(self.name).stem

    @property
    def folder(self) -> str:
        """The name of the folder that it is in; "" if in none."""
        return PurePosixPath(self.name).parent.name

    def read_start(self, size: int) -> bytes:
        with self.open() as file:
            return file.read(size)

    @property
    def is_zip(self) -> bool:
        return self.read_start(4) == ZIP


def find_files(path: Path) -> list[SourceFile]:
    """Return the file at this path, or all files of a folder."""
    if path.is_dir():
        return list(_walk(path))
    if not path.is_file():
        raise Refused("no_file", f"There is no file {path}.")
    return [SourceFile(path.name, lambda: path.open("rb"))]


def is_document(file: SourceFile) -> bool:
    """Return whether a zip is a spreadsheet or another office document, or can't be opened."""
    try:
        with open_zip(file) as archive:
            names = [name.lower() for name in archive.namelist()]
    except Refused:
        return True
    return any(name == "mimetype" or name.startswith(_OFFICE) for name in names)


def unpack(
    given_files: Sequence[SourceFile],
    *,
    is_whole: Callable[[list[str]], bool],
    most_bytes: int = MOST_BYTES,
) -> list[SourceFile]:
    """Return these files, with those in a zip instead of the zip, ordered by name.

    `is_whole` tells by the names in a zip whether it is one file of a tool rather than a folder.
    """
    files: list[SourceFile] = []
    for file in given_files:
        entries = list_entries(file, most_bytes) if file.is_zip else []
        if entries and not is_whole([entry.filename for entry in entries]):
            _check_number(len(entries), file.name)
            inside = list(_open_folder(file, entries))
            # logs that are zips themselves
            zips = [list_entries(log, most_bytes) for log in inside if log.is_zip]
            _check_bytes(sum(map(_sum_sizes, zips)), most_bytes, file.name)
            left = most_bytes
            for entry in inside:
                if entry.read_start(len(GZIP)) == GZIP:
                    entry, size = _unpack_gzip(entry, left)
                    left -= size
                files.append(entry)
        else:
            files.append(file)
        _check_number(len(files), "")
    return sorted(files, key=lambda file: file.name)


def _unpack_gzip(file: SourceFile, most_bytes: int) -> tuple[SourceFile, int]:
    """Return what a compressed file holds, kept on disk while it is used, and its size."""
    kept, size = NamedTemporaryFile(), 0  # noqa: SIM115 (it is deleted with the function below)
    try:
        with file.open() as opened:
            packed = opened.seek(0, io.SEEK_END)
            opened.seek(0)
            with gzip.GzipFile(fileobj=opened) as unpacked:
                while chunk := unpacked.read(_CHUNK):
                    size += len(chunk)
                    check_unpacked(size, packed, most_bytes)
                    kept.write(chunk)
    except TooMuch as error:
        raise Refused("too_large", str(error), file=file.name) from None
    except (*BROKEN_ZIP, gzip.BadGzipFile):
        message = "This compressed file is damaged. Compress it again, or upload the file itself."
        raise Refused("archive_unreadable", message, file=file.name) from None
    kept.flush()
    return SourceFile(file.name.removesuffix(".gz"), lambda: Path(kept.name).open("rb")), size


def _walk(folder: Path) -> Iterator[SourceFile]:
    """Yield the files of a folder and those below it; hidden ones and links are left out."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    _check_number(len(paths), folder.name)
    for path in paths:
        name = path.relative_to(folder.parent)
        if not is_hidden(name.parts):
            yield SourceFile(name.as_posix(), lambda path=path: path.open("rb"))  # type: ignore[misc]


def is_hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)


def _check_number(files: int, name: str) -> None:
    if files > MOST_FILES:
        message = f"There are more than {MOST_FILES:,} files. Leave out those that aren't needed."
        raise Refused("too_many_files", message, file=name)


# --- zip files ----------------------------------------------------------------------------


def open_zip(file: SourceFile) -> ZipFile:
    """Open a zip, also one whose entries are compressed with zstd; no bomb is opened."""
    try:
        opened = file.open()
        packed = opened.seek(0, io.SEEK_END)
        archive = limited.open_zip(opened)
        check_unpacked(_sum_sizes(archive.infolist()), packed, MOST_BYTES)
    except TooMuch as error:
        raise Refused("too_large", str(error), file=file.name) from None
    except BROKEN_ZIP:
        raise Refused(
            "file_damaged", "The zip file is damaged or incomplete.", file=file.name
        ) from None
    return archive


def _sum_sizes(entries: Iterable[ZipInfo]) -> int:
    return sum(entry.file_size for entry in entries)


def list_entries(file: SourceFile, most_bytes: int) -> list[ZipInfo]:
    """Return the entries of a zip, none of which leads out of it or unpacks to too much."""
    with open_zip(file) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MOST_ENTRIES:
        raise Refused(
            "too_many_files", f"It has more than {MOST_ENTRIES:,} entries.", file=file.name
        )
    for entry in entries:
        path = PurePosixPath(entry.filename.replace("\\", "/"))
        if (
            not path.parts
            or path.is_absolute()
            or ".." in path.parts
            or ":" in path.parts[0]
            or len(path.parts) > _DEPTH
        ):
            message = f"The entry {quote(entry.filename)} leads out of the zip file."
            raise Refused("zip_entry", message, file=file.name)
        if stat.S_ISLNK(entry.external_attr >> 16):
            message = f"The entry {quote(entry.filename)} is a link. Pack the file itself."
            raise Refused("zip_entry", message, file=file.name)
        if entry.flag_bits & 1:
            raise Refused("zip_locked", "The zip file has a password.", file=file.name)
    _check_bytes(_sum_sizes(entries), most_bytes, file.name)
    return entries


def _check_bytes(size: int, most_bytes: int, name: str) -> None:
    if size > most_bytes:
        message = f"It unpacks to more than {most_bytes / 1024**2:,.0f} MB."
        raise Refused("too_large", message, file=name)


def _open_folder(file: SourceFile, entries: Sequence[ZipInfo]) -> Iterator[SourceFile]:
    # one for all: each would read the list of entries again
    archive = open_zip(file)
    for entry in entries:
        name = entry.filename.replace("\\", "/")
        if not is_hidden(name.split("/")):
            yield SourceFile(name, partial(_open_entry, archive, entry.filename, file.name))


def _open_entry(archive: ZipFile, name: str, file: str) -> IO[bytes]:
    """Open an entry to read it from its start, whatever else of the archive is read meanwhile."""
    damaged = _make_damaged(name, file)
    try:
        return io.BufferedReader(_Entry(archive.open(name), damaged))
    except BROKEN_ZIP:
        raise damaged from None


def _make_damaged(name: str, file: str) -> Refused:
    message = f"The entry {quote(name)} is damaged. Make the zip file again."
    return Refused("entry_damaged", message, file=file)


class _Entry(io.RawIOBase):
    """An entry of a zip; Refused if what is read of it turns out to be damaged."""

    def __init__(self, entry: IO[bytes], damaged: Refused) -> None:
        self._entry, self._damaged = entry, damaged

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        try:
            return self._entry.seek(offset, whence)
        except BROKEN_ZIP:
            raise self._damaged from None

    def readinto(self, buffer: Any) -> int:
        try:
            piece = self._entry.read(len(buffer))
        except BROKEN_ZIP:
            raise self._damaged from None
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._entry.close()
        super().close()


def read_entry(archive: ZipFile, name: str, file: SourceFile) -> bytes:
    """Return all bytes of an entry, which are no more than one record may have."""
    try:
        with archive.open(name) as entry:
            content = entry.read(MOST_IN_RECORD + 1)
    except BROKEN_ZIP:
        raise _make_damaged(name, file.name) from None
    if len(content) > MOST_IN_RECORD:
        message = f"The entry {quote(name)} has more than {MOST_IN_RECORD // 1024**2} MB."
        raise Refused("too_large", message, file=file.name)
    return content


# --- their names ---------------------------------------------------------------------------


def name_apart(files: Iterable[str]) -> dict[str, str]:
    """Name files by their names without endings; by those of their folders if they share one."""
    paths = {file: PurePosixPath(file) for file in files}
    labels = {file: path.stem for file, path in paths.items()}
    for name in (
        lambda path: path.parent.name or path.stem,
        lambda path: path.with_suffix("").as_posix(),
    ):
        numbers = Counter(labels.values())
        shared = [file for file, label in labels.items() if numbers[label] > 1]
        labels |= {file: name(paths[file]) for file in shared}
    return labels


def clean_file_name(name: str) -> str:
    """Return a name to show to staff: without folders and invisible characters."""
    base = re.split(r"[/\\]", name)[-1]
    seen = "".join(
        sign for sign in base if unicodedata.category(sign)[0] not in "CZ" or sign == " "
    )
    return seen.strip(" .")[-_MAX_NAME:] or "batch.csv"


def clean_path(path: str) -> str:
    """Return the path of a file in a folder, each part of it cleaned as a name is."""
    parts = [part for part in re.split(r"[/\\]", path) if part.strip(" .")]
    return "/".join(map(clean_file_name, parts)) or clean_file_name("")


# --- one file as a table -----------------------------------------------------------------

# Its format is known by what is in it, never by its name.


_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # of .xls, and of .xlsx files with a password
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_SAVE_AS = "Open it, save it as .xlsx or as CSV UTF-8, and upload that file."
UNPACK = "Unpack it and upload the file of items that it holds."
_TABLE = "Upload the data itself, as CSV, JSON lines, .xlsx, .ods or Parquet."
_WRITE_TABLE = (
    'Save the table as CSV or JSON lines, in pandas to_csv or to_json(orient="records", '
    "lines=True), in datasets to_json."
)
_OTHER_KINDS = {
    (b"PK\x05\x06",): (
        "archive_unreadable",
        "This zip file is empty. Pack the files again, and upload that zip file.",
    ),
    (b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!"): (
        "archive_unreadable",
        f"This is a compressed file. {UNPACK}",
    ),
    (b"\x89PNG", b"\xff\xd8\xff", b"GIF8"): ("file_kind", f"This is a picture. {_TABLE}"),
    (b"%PDF-",): ("file_kind", f"This is a PDF file. {_TABLE}"),
    tuple(bytes([0x80, protocol]) for protocol in range(2, 6)): (
        "file_kind",
        f"This is a pickle, which only Python can read. {_WRITE_TABLE}",
    ),
    (b"ARROW1", b"\xff\xff\xff\xff"): (
        "file_kind",
        f"This is an Arrow file{{named}}. {_WRITE_TABLE}",
    ),
}
_NUMBERS = "spreadsheet_kind", f"This is a Numbers file. {_SAVE_AS}"
_OTHER_ZIPS = {
    "xl/workbook.bin": (
        "spreadsheet_kind",
        f"This is an Excel file in the binary form .xlsb. {_SAVE_AS}",
    ),
    "word/document.xml": ("file_kind", f"This is a Word file. {_TABLE}"),
    "index/document.iwa": _NUMBERS,
    "index.zip": _NUMBERS,
}
_WEB_PAGE = re.compile(r"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_XML = re.compile(r"\s*<\?xml\b")
# a key and its value in the first two lines, such as "version: 3"
_YAML = re.compile(
    r"(?:---[ \t]*\r?\n)?[A-Za-z][\w-]*:(?: [^,;\t\r\n]*)?\r?\n(?:[ -]|[A-Za-z][\w-]*:)"
)
TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".xlsx", ".ods", ".parquet")
_IN_MEMORY = 4 * 1024 * 1024


def open_any(source: BinaryIO, limits: Limits, options: Mapping[str, Any]) -> Table:
    """Open a table that may be compressed or a workbook."""
    source.seek(0)
    head = source.read(8)
    if head.startswith(ZIP):
        archive = Archive(source, limits)
        if not is_spreadsheet(archive):
            raise Refused("archive_unreadable", f"An archive holds an archive. {UNPACK}")
        return open_spreadsheet(source, archive, limits, str(options.get(SHEET, "")))
    if head.startswith(GZIP):
        return open_packed(lambda target: unpack_gzip(source, target, limits), limits, options)
    return open_plain(source, head, limits, options)


def open_plain(source: BinaryIO, head: bytes, limits: Limits, options: Mapping[str, Any]) -> Table:
    _refuse_other_kinds(source, head, str(options.get("file_name", "")))
    if head.startswith(parquet.MAGIC):
        return _open_parquet(source, limits)
    text = open_text(source, limits, options)
    start = text.read_start()
    if _WEB_PAGE.match(start):
        raise Refused(
            "file_kind",
            "This is an HTML page, perhaps one that asks to sign in or says that there is no such "
            f"file. Download the data itself, and upload that file. {_WRITE_TABLE}",
        )
    if _XML.match(start):
        raise Refused("file_kind", f"This is XML. {_WRITE_TABLE}")
    if _YAML.match(start):
        raise Refused(
            "file_kind",
            "This is a YAML file. Upload the data as JSON, JSON lines or CSV, which tools that "
            "write YAML can write as well.",
        )
    table = None
    # a single value has one line
    if start.lstrip().startswith(("[", "{")) or "\n" not in start.strip():
        rows = str(options.get("rows", ""))
        # a data frame has no lists to choose from
        table = None if rows else open_frame(text, start, limits)
        table = table or open_json(text, start, limits, rows)
    separator = str(options.get("separator", ""))
    if separator in ("", PIPE):
        table = table or open_markdown(text, start, limits)
    table = table or open_delimited(text, limits, separator)
    if text.remark:
        code = "windows_1252" if text.codec == "cp1252" else "encoding_chosen"
        table.remarks.tell(code, text.remark)
    return table


def _open_parquet(source: BinaryIO, limits: Limits) -> Table:
    def write(target: BinaryIO) -> None:
        source.seek(0)
        try:
            parquet.write_lines(source, target, limits.text)
        except Refused as fault:
            raise Refused(fault.code, fault.message) from None

    table = open_packed(write, limits, {})
    table.encoding, table.delimiter = "", "Parquet"
    return table


def _refuse_other_kinds(source: BinaryIO, head: bytes, file_name: str) -> None:
    if head == _OLD and _holds(source, _ENCRYPTED):
        refuse_locked()
    if head == _OLD:
        message = f"This is an Excel file in the old form .xls. {_SAVE_AS}"
        raise Refused("spreadsheet_kind", message)
    if other := find_other_kind(head, file_name):
        raise Refused(*other)


def find_other_kind(head: bytes, file_name: str) -> tuple[str, str] | None:
    """Return the code and the sentence about a file whose first bytes show that it is no table."""
    named = f" ({PurePosixPath(file_name).name})" if file_name else ""
    for starts, (code, message) in _OTHER_KINDS.items():
        if head.startswith(starts):
            return code, message.format(named=named)
    return None


def _holds(source: BinaryIO, sought: bytes) -> bool:
    """Tell whether these bytes are anywhere in the file."""
    source.seek(0)
    kept = b""
    while chunk := source.read(_CHUNK):
        if sought in kept + chunk:
            return True
        kept = chunk[-len(sought) :]
    return False


def is_spreadsheet(archive: Archive) -> bool:
    """Tell whether it is a spreadsheet that can be read; refuse other zipped documents."""
    names = {name.lower() for name in archive.names}
    for part, (code, message) in _OTHER_ZIPS.items():
        if part in names:
            raise Refused(code, message)
    if any(name.startswith("xl/") for name in names):
        return True
    mime = archive.read_start("mimetype", 100) if "mimetype" in names else b""
    if b"opendocument" in mime and b"opendocument.spreadsheet" not in mime:
        raise Refused("file_kind", f"This is an OpenDocument file without a table. {_TABLE}")
    return b"opendocument" in mime


def unpack_gzip(source: BinaryIO, target: BinaryIO, limits: Limits) -> None:
    packed, size = source.seek(0, io.SEEK_END), 0
    source.seek(0)
    try:
        with gzip.GzipFile(fileobj=source) as unpacked:
            while chunk := unpacked.read(_CHUNK):
                size += len(chunk)
                check_size(size, packed, limits)
                target.write(chunk)
    except (*BROKEN, gzip.BadGzipFile):
        message = "This compressed file is damaged. Compress it again, or upload the file itself."
        raise Refused("archive_unreadable", message) from None


def open_packed(
    unpack: Callable[[BinaryIO], None],
    limits: Limits,
    options: Mapping[str, Any],
    open_unpacked: Callable[[BinaryIO, bytes, Limits, Mapping[str, Any]], Table] = open_plain,
) -> Table:
    """Open what was packed, which must not be an archive in turn; it is kept for its rows."""
    with ExitStack() as stack:
        source = cast(BinaryIO, stack.enter_context(SpooledTemporaryFile(_IN_MEMORY)))
        unpack(source)
        source.seek(0)
        head = source.read(8)
        archive = Archive(source, limits) if head.startswith(ZIP) else None
        if head.startswith(GZIP) or (archive and not is_spreadsheet(archive)):
            raise Refused("archive_unreadable", f"An archive holds an archive. {UNPACK}")
        if archive:
            table = open_spreadsheet(source, archive, limits, str(options.get(SHEET, "")))
        else:
            table = open_unpacked(source, head, limits, options)
        table.rows = _read_and_close(table.rows, stack.pop_all())
    return table


def _read_and_close(rows: Iterator[Row], stack: ExitStack) -> Iterator[Row]:
    with stack:
        yield from rows


# --- of a command line ------------------------------------------------------------------


FILE_HELP = "files, folders or zip files; NAME is the system, or inputs, reference or leave-out"


def read_file(text: str) -> tuple[str, Path]:
    """Read [NAME=]FILE; a file whose own name has a = in it needs no name."""
    name, sign, path = text.partition("=")
    if sign and not Path(text).exists():
        # argparse takes -=FILE for an option
        name = name.strip()
        return "-" if name == "leave-out" else name, Path(path)
    return "", Path(text)


def find_named(pairs: Sequence[tuple[str, Path]]) -> tuple[list[SourceFile], dict[str, str]]:
    """Return all files of these paths, and the names that were given to some of them."""
    files: list[SourceFile] = []
    names: dict[str, str] = {}
    several = Counter(path.name for _, path in pairs)
    for name, path in pairs:
        files_at = find_files(path)
        if several[path.name] > 1 and path.parent.name and not path.is_dir():
            # such as alpha/out.jsonl and beta/out.jsonl
            files_at = [replace(file, name=f"{path.parent.name}/{file.name}") for file in files_at]
        if name and len(files_at) != 1:
            raise Refused("name", f"{path} is a folder, so it can't be called {name}.")
        if name and name != "-" and name in names.values():
            raise Refused("system_twice", f"Two files are called {name}.")
        files += files_at
        if name:
            names[files_at[0].name] = name
    return files, names
