"""manage.py restore SRC|--newest [--check]"""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from evalsite.operations.archive import describe_os_error, describe_rows
from evalsite.operations.backup import list_backups
from evalsite.operations.restore import CheckedBackup, check_backup, restore_backup

_MOST_SHOWN = 50


class Command(BaseCommand):
    help = (
        "Restore a backup into an empty site: all of it, or nothing. With --check, only try it in "
        "a throw-away database and say whether it can be restored; ends with 1 if it can't."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("src", type=Path, nargs="?", help="a file that manage.py backup wrote")
        source.add_argument(
            "--newest", action="store_true", help="the newest file in EVALSITE_BACKUP_FOLDER"
        )
        parser.add_argument("--check", action="store_true", help="only check; change nothing")

    def handle(self, *, src: Path | None, check: bool, **options: Any) -> None:
        src = src or find_newest_backup()
        try:
            checked = check_backup(src) if check else restore_backup(src)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        except OSError as error:
            raise CommandError(f"The restore failed: {describe_os_error(error)}.") from error
        wrong = checked.faults + checked.remarks
        for line in wrong[:_MOST_SHOWN]:
            self.stdout.write(f"WRONG: {line}")
        if len(wrong) > _MOST_SHOWN:
            self.stdout.write(f"… and {len(wrong) - _MOST_SHOWN:,} more.")
        if not check:
            self._report_restored(checked)
            return
        self._report_checked(checked)
        if wrong:
            sys.exit(1)

    def _report_checked(self, checked: CheckedBackup) -> None:
        if checked.faults:
            phrases = "This backup can't be restored."
        elif checked.remarks:
            phrases = (
                "This backup can be restored, but the site it comes from had the faults above."
            )
        else:
            phrases = (
                "This backup can be restored: every checksum and row count is right, and fsck "
                "finds nothing."
            )
        self.stdout.write(f"{phrases} {describe_backup(checked)}")

    def _report_restored(self, checked: CheckedBackup) -> None:
        self.stdout.write(f"Restored. {describe_backup(checked)}")
        if checked.has_other_secret_key:
            self.stdout.write(
                "This site has another secret key than the one that was backed up: pages that "
                "are open in a browser, and sign-ins, no longer count. To keep them, set "
                "EVALSITE_SECRET_KEY to the old one before the site starts."
            )
        self.stdout.write("Start the web server and the worker again.")


def find_newest_backup() -> Path:
    if not settings.BACKUP_FOLDER:
        raise CommandError("Set EVALSITE_BACKUP_FOLDER to the folder of the daily backups.")
    folder = Path(settings.BACKUP_FOLDER)
    backups = list_backups(folder) if folder.is_dir() else []
    if not backups:
        raise CommandError(f"There is no backup in {folder}. Make one with manage.py backup.")
    return backups[-1]


def describe_backup(checked: CheckedBackup) -> str:
    manifest = checked.manifest
    return (
        f"Made at {manifest.made_at} by Evalsite {manifest.evalsite_version} on "
        f"{manifest.database}; {describe_rows(manifest.rows)}, "
        f"{len(manifest.parts) - 1:,} files."
    )
