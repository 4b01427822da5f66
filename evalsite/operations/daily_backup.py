"""A backup every day, if a folder is set up for them."""

import re
from pathlib import Path

from django.conf import settings

from evalsite.jobs.clock_watch import find_jump
from evalsite.jobs.schedule import DAILY, scheduled
from evalsite.lib.old_files import delete_older
from evalsite.operations.backup import make_backup

_NAME = re.compile(r"evalsite-\d{8}-\d{6}\.tar\.gz")


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
    names = sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
    for old in names[: max(0, len(names) - max(1, settings.BACKUPS_KEPT))]:
        old.unlink(missing_ok=True)
    return result
