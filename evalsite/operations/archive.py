"""The file of a backup: a compressed tar of the database, the site's files and a manifest.

The manifest comes last, so that a file that was cut short has none.
"""

import errno
import gzip
import io
import json
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO, Any
from uuid import uuid4

from django.core.exceptions import ValidationError

from evalsite.lib.limited import VALUES_IN_FILE, read_json
from evalsite.operations.database_dump import NAMES
from evalsite.operations.site_files import FOLDERS

FORMAT = "evalsite.backup/1"
MANIFEST = "manifest.json"
FILES = "files"
_CHUNK = 1024 * 1024
# what a file system without links says of them
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS)


@dataclass(kw_only=True)
class Manifest:
    """What a backup says about itself."""

    format: str = FORMAT
    evalsite_version: str
    made_at: str
    database: str
    database_version: str
    migrations: list[list[str]]
    rows: dict[str, int]
    # shows whether a site has the same secret key, without revealing it
    secret_key_check: str
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)


def describe_os_error(error: OSError) -> str:
    """Say in a few words what the system refused, and where."""
    phrases = error.strerror or str(error)
    return f"{error.filename}: {phrases}" if error.filename else phrases


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name once it is whole; only its owner can read it.

    A file that is there already is never overwritten.
    """
    taken = ValidationError(f"{path} exists already. Name a new file.", code="exists")
    if path.exists():
        raise taken
    part = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    try:
        with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _name(part, path)
    except FileExistsError:
        raise taken from None
    except OSError as error:
        raise ValidationError(
            f"The backup {path} can't be written ({describe_os_error(error)}). There is no new "
            "backup.",
            code="unwritable",
        ) from error
    finally:
        part.unlink(missing_ok=True)
    number = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _name(part: Path, path: Path) -> None:
    try:
        # unlike a rename, a link never replaces a file that appeared meanwhile
        os.link(part, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if path.exists():
            raise FileExistsError(path) from None
        part.rename(path)


class _Digest:
    """A stream that notes what is read from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._sha256 = sha256()
        self.size = 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._sha256.update(data)
        self.size += len(data)
        return data

    def describe(self) -> dict[str, Any]:
        return {"sha256": self._sha256.hexdigest(), "size": self.size}


def write_archive(
    target: IO[bytes], manifest: Manifest, database: Path, files: dict[str, Path]
) -> None:
    """Write the database, the files (name in DATA_DIR -> path; folders too) and the manifest."""
    with tarfile.open(fileobj=target, mode="w:gz", compresslevel=6) as archive:
        _add(archive, manifest, database.name, database)
        for name, path in sorted(files.items()):
            if path.is_dir():
                manifest.folders.append(name)
            else:
                _add(archive, manifest, f"{FILES}/{name}", path)
        content = json.dumps(asdict(manifest), indent=1, ensure_ascii=False).encode()
        info = tarfile.TarInfo(MANIFEST)
        info.size, info.mode = len(content), 0o600
        archive.addfile(info, io.BytesIO(content))


def _add(archive: tarfile.TarFile, manifest: Manifest, name: str, path: Path) -> None:
    with path.open("rb") as file:
        info = tarfile.TarInfo(name)
        status = os.fstat(file.fileno())
        info.size, info.mtime, info.mode = status.st_size, int(status.st_mtime), 0o600
        digest = _Digest(file)
        archive.addfile(info, digest)
    manifest.parts[name] = digest.describe()


def read_archive(path: Path, folder: Path) -> Manifest:
    """Unpack a backup into a separate folder, and compare every checksum with the manifest."""
    try:
        unpacked = _unpack(path, folder)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise _damaged(path, str(error)) from error
    except OSError as error:
        if error.errno is None:  # gzip's own complaint about its data
            raise _damaged(path, str(error)) from error
        raise ValidationError(
            f"{path} can't be unpacked: {describe_os_error(error)}.", code="unreadable"
        ) from error
    manifest = _read_manifest(path, folder)
    strangers = [name for name in manifest.folders if not _is_of_site(name)]
    strangers += [name for name in manifest.parts if not _is_part(name)]
    if strangers:
        raise _damaged(path, f"{strangers[0]!r} isn't part of a backup")
    wrong = sorted(
        name
        for name in {*unpacked, *manifest.parts}
        if name != MANIFEST and unpacked.get(name) != manifest.parts.get(name)
    )
    if wrong:
        raise _damaged(path, f"checksums differ or parts are missing: {', '.join(wrong[:5])}")
    return manifest


def _unpack(path: Path, folder: Path) -> dict[str, dict[str, Any]]:
    parts: dict[str, dict[str, Any]] = {}
    with gzip.open(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            if content is None or not _is_part(member.name) or member.name in parts:
                raise tarfile.TarError(f"{member.name!r} isn't part of a backup")
            parts[member.name] = _copy(content, folder / member.name)
        while stream.read(_CHUNK):
            pass  # up to gzip's own checksum
    return parts


def _is_part(name: str) -> bool:
    """Return whether a backup may hold a file of this name."""
    if name == MANIFEST or name in NAMES.values():
        return True
    return name.startswith(f"{FILES}/") and _is_of_site(name.removeprefix(f"{FILES}/"))


def _is_of_site(name: str) -> bool:
    """Return whether this is something in one of the folders that belong to a site."""
    path = PurePosixPath(name)
    is_plain = path.as_posix() == name and ".." not in path.parts
    return is_plain and name.split("/")[0] in FOLDERS


def _copy(source: IO[bytes], path: Path) -> dict[str, Any]:
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = _Digest(source)
    with path.open("xb") as target:
        while data := digest.read(_CHUNK):
            target.write(data)
    return digest.describe()


def _read_manifest(path: Path, folder: Path) -> Manifest:
    try:
        content = read_json((folder / MANIFEST).read_bytes(), most_values=VALUES_IN_FILE)
        kind = content["format"]
        if kind == FORMAT:
            return Manifest(**content)
    except FileNotFoundError:
        raise _damaged(path, "it has no manifest: it was cut short, or isn't a backup") from None
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(path, f"its manifest can't be read ({error})") from error
    raise ValidationError(
        f"{path} has the format {kind!r}, which this version of Evalsite doesn't know. Restore it "
        "with a newer version.",
        code="newer",
    )


def _damaged(path: Path, why: str) -> ValidationError:
    return ValidationError(
        f"{path} is damaged and can't be restored: {why}. Use another backup.", code="damaged"
    )


def describe_rows(rows: dict[str, int]) -> str:
    """Name the two numbers by which people know their site."""
    studies, answers = (rows.get(table, 0) for table in ("studies_study", "annotation_annotation"))
    return f"studies: {studies:,}, answers: {answers:,}"
