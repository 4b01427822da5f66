"""What tests of backups share: new sites, other manifests, and refusals."""

import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection

from evalsite.data.models import Upload
from evalsite.data.uploads import keep_upload
from evalsite.operations.archive import MANIFEST
from evalsite.operations.database_dump import using_database
from evalsite.studies.models import Study
from tests.support.emptying import make_database
from tests.support.exports import export
from tests.support.factories import make_user

ROOT = Path(__file__).resolve().parents[2]
only_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="is about SQLite's file")
only_postgresql = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="is about PostgreSQL's programs"
)
FILES = ("ratings", "annotations", "items", "participants")


@pytest.fixture
def data(settings: Any, tmp_path: Path) -> Path:
    """A data folder of the test's own."""
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    return settings.DATA_DIR


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "backup.tar.gz"


@contextmanager
def new_site(settings: Any, folder: Path) -> Iterator[None]:
    """A site without studies and users, on a database and in a folder of its own."""
    settings.DATA_DIR = folder
    folder.mkdir(parents=True)
    name = f"{folder}/evalsite.sqlite3"
    if connection.vendor == "postgresql":
        name = f"site_{uuid4().hex[:8]}"
    make_database(name)
    with using_database(name):
        yield
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def export_all() -> dict[str, bytes]:
    """Every file of every study."""
    return {
        f"{study.pk}/{file}": export(study, file)
        for study in Study.objects.order_by("pk")
        for file in FILES
    }


def run_fsck() -> str:
    told = StringIO()
    call_command("fsck", stdout=told)
    return told.getvalue()


def refused(action: Any, *arguments: Any) -> str:
    """The code with which this is refused."""
    with pytest.raises(ValidationError) as caught:
        action(*arguments)
    (error,) = caught.value.error_list
    return error.code


def keep(study: Study, data: bytes = b"a,b\n1,2\n") -> Upload:
    return keep_upload(study=study, file_name="batch.csv", chunks=[data], by=make_user())


def unpack(path: Path, folder: Path) -> Path:
    with tarfile.open(path) as archive:
        for part in archive:  # the filter "data" came after Debian's Python 3.11.2
            target = folder / part.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.extractfile(part).read())
    return folder


def change(path: Path, folder: Path, **changes: Any) -> Path:
    """The backup with another manifest."""
    unpack(path, folder)
    about = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(about | changes))
    return pack_again(path, folder)


def pack_again(path: Path, folder: Path) -> Path:
    """An archive of what stands in the folder, without a fault of its own."""
    changed = path.with_name("changed.tar.gz")
    with tarfile.open(changed, "w:gz") as archive:
        for part in sorted(folder.rglob("*")):
            if part.is_file():
                archive.add(part, part.relative_to(folder).as_posix())
    return changed
