"""Several files as one: a zip whose bytes depend on names and contents alone."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.core.exceptions import ValidationError

_EARLIEST = (1980, 1, 1, 0, 0, 0)


def pack_files(files: Iterable[tuple[str, Callable[[], IO[bytes]]]]) -> IO[bytes]:
    """Return an open zip of these files; ValidationError if two have one name."""
    ordered = sorted(files, key=lambda one: one[0])
    names = [name for name, _ in ordered]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise ValidationError(f"Two files are called {twice}. Rename one of them.")
    target = TemporaryFile()  # noqa: SIM115 (the caller closes it)
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name, open_file in ordered:
            with open_file() as source, archive.open(ZipInfo(name, _EARLIEST), "w") as entry:
                copyfileobj(source, entry)
    target.seek(0)
    return target


def replace_file(path: Path, name: str, open_file: Callable[[], IO[bytes]]) -> IO[bytes]:
    """Return the zip at this path with another file under one of its names."""
    with ZipFile(path) as archive:
        files = [
            (entry, open_file if entry == name else partial(archive.open, entry))
            for entry in archive.namelist()
        ]
        return pack_files(files)


def name_files(names: Iterable[str]) -> str:
    """Name several files in a few words; those of one folder by its name."""
    first, *others = sorted(names)
    folders = {name.partition("/")[0] if "/" in name else "" for name in (first, *others)}
    if folders != {""} and len(folders) == 1:
        number = len(others) + 1
        return f"{folders.pop()} ({number:,} {'file' if number == 1 else 'files'})"
    if not others:
        return first
    return f"{first} and {others[0] if len(others) == 1 else f'{len(others)} more'}"
