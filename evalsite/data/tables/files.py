"""The files that were given: alone, in folders, in zip files or compressed."""

import gzip
import io
import re
import stat
import unicodedata
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile
from typing import IO, Any

from evalsite.data.tables.faults import Refused, quote
from evalsite.lib import limited
from evalsite.lib.limited import BROKEN_ZIP, TooMuch, ZipFile, ZipInfo, check_unpacked

MOST_FILES = 1_000
# of a zip that is one file, such as a log with an entry for each sample
MOST_ENTRIES = 1_000_000
MOST_BYTES = 8 * 1024**3
# an entry is held in memory as a whole
MOST_IN_RECORD = 64 * 1024**2
_ZIP, _GZIP = b"PK\x03\x04", b"\x1f\x8b"
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
        return self.read_start(4) == _ZIP


@dataclass
class FileUse:
    """A file with what it is, the systems whose outputs it holds, and how much was found."""

    name: str
    kind: str = ""  # "" if it isn't recognised
    role: str = ""  # "" if nobody knows
    systems: list[str] = field(default_factory=list)
    # those whose outputs another file has as well, and has first
    shared: list[str] = field(default_factory=list)
    size: str = ""
    is_settings: bool = False  # whether it has no rows
    run: str = ""  # what its tool calls the run


def find_files(path: Path) -> list[SourceFile]:
    """Return the file at this path, or all files of a folder."""
    if path.is_dir():
        return list(_walk(path))
    if not path.is_file():
        raise Refused("no_file", f"There is no file {path}.")
    return [SourceFile(path.name, lambda: path.open("rb"))]


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
                if entry.read_start(len(_GZIP)) == _GZIP:
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
        if not _is_hidden(name.parts):
            yield SourceFile(name.as_posix(), lambda path=path: path.open("rb"))  # type: ignore[misc]


def _is_hidden(parts: Sequence[str]) -> bool:
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
        if not _is_hidden(name.split("/")):
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


# --- of a command line ------------------------------------------------------------------


FILE_HELP = "files, folders or zip files; NAME is the system, or inputs, reference or leave-out"
_ANSWERS = {
    "samples": "several outputs of one system for an input: first, all or random",
    "variant": "outputs for several prompts or filters: the name of one, or each",
    "agents": "agents that traces of one file or service name: each is a system, or joined",
    "incomplete": "inputs that lack a system: leave-out",
    "reasoning": "reasoning in <think> before an output: leave-out or keep",
    "show-reasoning": "reasoning in a field beside the output, shown above it: yes or no",
    "system-prompts": "system prompts of conversations: leave-out or keep",
    "turns": "questions of several turns: first or joined",
    "join": "how several files are joined: id, input, line, or append (one after another)",
}


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


def add_answers(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("decisions, asked for where they are needed")
    for key, meaning in _ANSWERS.items():
        group.add_argument(f"--{key}", metavar="ANSWER", default="", help=meaning)
    group.add_argument(
        "--lines",
        metavar="FILE:ANSWER",
        action="append",
        default=[],
        help="missing lines of a text file: a.txt:empty:23 puts an empty one in at 23, "
        "a.txt:leave-out:23 leaves out item 23, or a line that is too many; give it once for each",
    )
    group.add_argument("--seed", default="", help="of --samples random, instead of the study's own")


def read_answers(arguments: Mapping[str, Any]) -> dict[str, str]:
    answers = {key: arguments.get(key.replace("-", "_"), "") for key in _ANSWERS}
    for pair in arguments.get("lines", ()):
        file, _, answer = pair.partition(":")
        answers[f"lines:{file}"] = answer
    return {key: answer for key, answer in answers.items() if answer}


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
