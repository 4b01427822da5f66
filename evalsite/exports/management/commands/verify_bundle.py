"""Check a bundle in a scratch database."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.exports.bundle.read import open_bundle
from evalsite.exports.bundle.rerun import rerun_scripts
from evalsite.exports.bundle.verify import verify_bundle

_MOST_SHOWN = 100


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
            with file.open("rb") as bundle:
                report = verify_bundle(bundle)
                if rerun and report.is_sound:
                    with open_bundle(bundle) as opened:
                        result = rerun_scripts(opened)
                    report.checks += result.checks
                    report.remarks += result.remarks
                    report.faults += result.faults
        except OSError as error:
            raise CommandError(f"{file} can't be read: {error.strerror}.") from None
        for check in report.checks:
            self.stdout.write(check)
        for remark in report.remarks:
            self.stdout.write(f"Note: {remark}")
        for fault in report.faults[:_MOST_SHOWN]:
            self.stdout.write(f"WRONG: {fault}")
        if len(report.faults) > _MOST_SHOWN:
            self.stdout.write(f"… and {len(report.faults) - _MOST_SHOWN:,} more faults.")
        if not report.is_sound:
            sys.exit(1)
        verdict = "nothing else is wrong" if report.remarks else "nothing is wrong"
        self.stdout.write(f"{file}: {verdict}.")
