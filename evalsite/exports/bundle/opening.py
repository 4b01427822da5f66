"""Opening an archive that came from anywhere: looked at before it is read, and never unpacked."""

import csv
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from django.conf import settings

from evalsite.exports.bundle.layout import CHECKSUMS, write_checksums

MOST_FILES = 1_000
MOST_BYTES = 16 * 1024**3
MOST_RATIO = 200
# a small file may be as repetitive as it likes
_SMALL = 1024**2
# texts that are held whole, and one line of records
MOST_TEXT = 64 * 1024**2
_BLOCK = 256 * 1024
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_ENCRYPTED = 0x1
# what the standard library raises while it reads an archive that was tampered with
_BROKEN = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)


class BadBundle(Exception):
    """The archive can't be read as a bundle; the text says why, for whoever has it."""


class Bundle:
    """An archive whose directory was looked at and found harmless."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self.names = [info.filename for info in archive.infolist()]

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """The file as a stream; no more of it than the directory says."""
        if name not in self.names:
            raise BadBundle(f"{name} is missing.")
        try:
            with self._archive.open(name) as file:
                yield file
        except _BROKEN as error:
            raise BadBundle(f"{name} can't be read: {error}") from None

    def read_text(self, name: str) -> str:
        with self.open(name) as file:
            data = file.read(MOST_TEXT + 1)
        if len(data) > MOST_TEXT:
            raise BadBundle(f"{name} is larger than {MOST_TEXT // 1024**2} MB.")
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise BadBundle(f"{name} is not UTF-8.") from None

    def read_json(self, name: str) -> Any:
        return parse_json(self.read_text(name), name)

    def read_rows(self, name: str) -> Iterator[dict[str, Any]]:
        """The objects of a file that has one in each line."""
        with self.open(name) as file:
            number = 0
            while line := file.readline(MOST_TEXT):
                number += 1
                where = f"{name}, line {number}"
                if not line.endswith(b"\n"):
                    raise BadBundle(f"{where} has no end.")
                row = parse_json(line, where)
                if not isinstance(row, dict):
                    raise BadBundle(f"{where} is no object.")
                yield row

    def read_table(self, name: str) -> Iterator[list[str]]:
        """The rows of a CSV file, its header first, each with as many cells as that."""
        # process-wide in Python, so it is set to the same number each time
        csv.field_size_limit(settings.UPLOAD_MAX_CELL)
        with self.open(name) as file:
            reader = csv.reader(io.TextIOWrapper(file, "utf-8", newline=""), strict=True)
            try:
                header = next(reader, [])
                yield header
                for row in reader:
                    if len(row) != len(header):
                        raise BadBundle(
                            f"{name}, line {reader.line_num}: {len(row)} cells, "
                            f"but the header has {len(header)}."
                        )
                    yield row
            except csv.Error as error:
                raise BadBundle(f"{name}, line {reader.line_num}: {error}.") from None


def parse_json(text: str | bytes, where: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise BadBundle(f"{where} is no JSON that can be read.") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


@contextmanager
def open_bundle(file: IO[bytes]) -> Iterator[Bundle]:
    """The archive, if its directory promises nothing that could do harm; else BadBundle."""
    try:
        archive = ZipFile(file)
    except _BROKEN:
        raise BadBundle("This is no .zip archive, or a part of it is missing.") from None
    with archive:
        _check_directory(archive.infolist())
        yield Bundle(archive)


def _check_directory(infos: list[ZipInfo]) -> None:
    if len(infos) > MOST_FILES:
        raise BadBundle(f"The archive has {len(infos):,} files. A bundle has at most {MOST_FILES}.")
    names = Counter(info.filename.lower() for info in infos)
    twice = next((name for name, count in names.items() if count > 1), None)
    if twice is not None:
        raise BadBundle(f"The archive has {twice!r} twice.")
    for info in infos:
        _check_entry(info)
    total = sum(info.file_size for info in infos)
    if total > MOST_BYTES:
        raise BadBundle(f"Unpacked, the archive has {total:,} bytes, more than {MOST_BYTES:,}.")


def _check_entry(info: ZipInfo) -> None:
    name = info.filename
    # a NUL in a name ends it for some programs, and not for others
    if info.orig_filename != name or not _NAME.fullmatch(name):
        raise BadBundle(f"The archive has a file named {name!r}. No bundle has such a name.")
    if info.flag_bits & _ENCRYPTED:
        raise BadBundle(f"{name} is encrypted. A bundle never is.")
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise BadBundle(f"{name} is compressed in a way that bundles don't use.")
    if info.file_size > _SMALL and info.file_size > MOST_RATIO * max(1, info.compress_size):
        raise BadBundle(f"{name} unpacks to more than {MOST_RATIO} times its size.")


def check_sums(bundle: Bundle) -> Iterator[str]:
    """What is wrong with the checksums: of files that differ, are missing, or are not listed."""
    text = bundle.read_text(CHECKSUMS)
    listed = {}
    for line in text.removesuffix("\n").split("\n"):
        digest, _, name = line.partition("  ")
        listed[name] = digest
    found = {}
    for name in sorted(set(bundle.names) - {CHECKSUMS}):
        if name not in listed:
            yield f"{name} is not listed in {CHECKSUMS}."
            continue
        try:
            found[name] = _hash(bundle, name)
        except BadBundle as error:
            yield str(error)
            continue
        if found[name] != listed[name]:
            yield f"{name} is not as {CHECKSUMS} says: its SHA-256 is another."
    for name in sorted(listed.keys() - set(bundle.names)):
        yield f"{name} is listed in {CHECKSUMS}, but missing."
    # every sign of it counts, not only what was read of it above
    if found == listed and write_checksums(found) != text:
        yield f"{CHECKSUMS} is not written as Evalsite writes it."


def _hash(bundle: Bundle, name: str) -> str:
    digest = sha256()
    with bundle.open(name) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
