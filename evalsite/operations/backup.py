"""Making a backup, at once or every day: database and files of one moment, in one file."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import connection
from django.utils.crypto import salted_hmac

from evalsite import __version__
from evalsite.core.jobs.clock_watch import find_jump
from evalsite.core.jobs.schedule import DAILY, scheduled
from evalsite.lib.old_files import delete_older
from evalsite.operations.archive import Manifest, describe_os_error, new_file, write_archive
from evalsite.operations.database_dump import dump_database
from evalsite.operations.site_files import hold_files, list_files

_NAME_BY_TIME = re.compile(r"evalsite-\d{8}-\d{6}\.tar\.gz")


@dataclass(frozen=True, kw_only=True)
class Backup:
    path: Path
    manifest: Manifest
    size: int
    sha256: str


def make_backup(target: Path) -> Backup:
    """Write a backup to a new file, or into a folder under a name made from the time.

    People may go on working. The copy of the database is consistent. The files are held
    (linked) before that moment and once more after it: a file that was there before is kept even
    if the site deletes it meanwhile, and one whose row came just before the moment is found the
    second time. So every file that a row of the copy needs is in the backup; a few that no row
    needs may be there too, and do no harm.
    """
    made_at = datetime.now(UTC)
    path = target / f"evalsite-{made_at:%Y%m%d-%H%M%S}.tar.gz" if target.is_dir() else target
    if not path.parent.is_dir():
        raise ValidationError(f"There is no folder {path.parent}. Make it first.", code="no_folder")
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    with (
        new_file(path) as file,
        TemporaryDirectory(dir=settings.DATA_DIR, prefix="tmp-backup-") as linked,
        TemporaryDirectory(dir=path.parent, prefix=".evalsite-backup-") as copied,
    ):
        hold_files(Path(linked))
        dump = dump_database(Path(copied))
        hold_files(Path(linked))
        manifest = Manifest(
            evalsite_version=__version__,
            made_at=made_at.isoformat(timespec="seconds"),
            database=connection.vendor,
            database_version=dump.version,
            migrations=[list(migration) for migration in dump.migrations],
            rows=dump.rows,
            secret_key_check=check_secret_key(),
        )
        write_archive(file, manifest, dump.path, list_files(Path(linked)))
    return Backup(
        path=path, manifest=manifest, size=path.stat().st_size, sha256=_compute_sha256(path)
    )


def check_secret_key() -> str:
    """Return a digest by which secret keys can be compared without revealing them."""
    return salted_hmac("evalsite.backup", "secret key", algorithm="sha256").hexdigest()[:16]


def _compute_sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ValidationError(
            f"{path} can't be read back: {describe_os_error(error)}.", code="unreadable"
        ) from error


@scheduled("Back up", every=DAILY, is_on=lambda: bool(settings.BACKUP_FOLDER))
def back_up() -> str:
    """Write today's backup, then delete the oldest beyond those to keep, if the clock is right."""
    folder = Path(settings.BACKUP_FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    backup = make_backup(folder)
    result = f"{backup.path.name}, {backup.size:,} bytes"
    # after a jump, the backups that look old may be the good ones
    if find_jump() is not None:
        return result
    # what a backup left that was killed
    delete_older(folder.glob(".evalsite-*"), DAILY)
    backups = list_backups(folder)
    for old in backups[: max(0, len(backups) - max(1, settings.BACKUPS_KEPT))]:
        old.unlink(missing_ok=True)
    return result


def list_backups(folder: Path) -> list[Path]:
    """Return the backups that were written into this folder, oldest first."""
    return sorted(path for path in folder.iterdir() if _NAME_BY_TIME.fullmatch(path.name))
