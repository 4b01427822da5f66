"""Check a bundle in a scratch database."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.data.bundle.verify import verify_file, write_lines


class Command(BaseCommand):
    help = (
        "Check a bundle: every checksum, every row against the rules of the database and of fsck, "
        "the places against the seed, ratings.csv against the loaded rows, and all figures against "
        "the ratings. Exits with 1 if anything is wrong."
    )
    # the site's database isn't used, so nothing about it is checked
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", metavar="FILE", type=Path, help="a bundle written by export_bundle"
        )
        parser.add_argument(
            "--rerun",
            action="store_true",
            help="also run analysis.R and analysis.py of this Evalsite on the ratings, and compare "
            "every cell of their tables with the report",
        )

    def handle(self, *, file: Path, rerun: bool, **options: Any) -> None:
        try:
            report = verify_file(file, is_rerun=rerun)
        except OSError as error:
            raise CommandError(f"{file} can't be read: {error.strerror}.") from None
        for line in write_lines(report, file):
            self.stdout.write(line)
        if not report.is_sound:
            sys.exit(1)
