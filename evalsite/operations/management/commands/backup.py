"""manage.py backup DEST"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from evalsite.operations.archive import describe_os_error, describe_rows
from evalsite.operations.backup import make_backup


class Command(BaseCommand):
    help = (
        "Write a backup of the whole site, database and files, to one new file. People can keep "
        "working while it is written."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "dest", type=Path, help="a new file, or a folder for a file named by date"
        )

    def handle(self, *, dest: Path, **options: Any) -> None:
        try:
            backup = make_backup(dest)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        except OSError as error:
            raise CommandError(f"The backup failed: {describe_os_error(error)}.") from error
        rows, parts = backup.manifest.rows, backup.manifest.parts
        self.stdout.write(
            f"{backup.path}: {describe_rows(rows)}, {len(parts) - 1:,} files, "
            f"{backup.size:,} bytes.\n"
            f"SHA-256 {backup.sha256}\n"
            "The secret key isn't in it: keep EVALSITE_SECRET_KEY somewhere else. Without it, "
            "a restored site ends sign-ins and refuses pages that were open in a browser; "
            "personal links and passwords keep working."
        )
