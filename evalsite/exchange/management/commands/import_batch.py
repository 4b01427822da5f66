"""A file becomes a batch of a study, from the command line."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from evalsite.exchange.batches.checking import Checked, check_file
from evalsite.exchange.batches.files import list_faults
from evalsite.exchange.batches.importing import find_same_file, hash_file, import_batch
from evalsite.exchange.formats.reading import Limits
from evalsite.studies.lookup import add_study_argument, find_study
from evalsite.studies.models import Study

_MOST_SHOWN = 100


class Command(BaseCommand):
    help = (
        "Import a file as a batch of a study; with one fault nothing is imported. Exit code 0: it "
        "is a batch of the study; 1: it has faults; 2: the study or the file can't be found."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_study_argument(parser)
        parser.add_argument("file", metavar="FILE", type=Path, help="CSV, TSV, JSON lines or Excel")
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            metavar="COLUMN=FIELD",
            help="what a column holds, if its name doesn't say so; COLUMN= keeps it as metadata, "
            "COLUMN=- leaves it out",
        )
        parser.add_argument(
            "--no-limit",
            action="store_true",
            help="take files with more rows than an upload may have",
        )
        parser.add_argument(
            "--faults", type=Path, metavar="FILE", help="write all faults into this file, as CSV"
        )
        parser.add_argument(
            "--check", action="store_true", help="only say what the file holds; import nothing"
        )

    def handle(self, *, study: str, file: Path, **options: Any) -> None:
        found = find_study(study)
        if not file.is_file():
            raise CommandError(f"There is no file {file}.", returncode=2)
        sha256 = hash_file(file)
        if same := find_same_file(found, sha256):
            self.stdout.write(f"Already uploaded as {same.file_name}, 0 new.")
            return
        checked = self._check(found, file, options)
        if options["check"]:
            self.stdout.write(
                f"{checked.rows:,} rows, {len(checked.items):,} items, no faults. "
                "Nothing was imported: this was a check."
            )
            return
        try:
            batch = import_batch(
                study=found,
                checked=checked,
                file_name=file.name,
                sha256=sha256,
                by="the command line",
            )
        except ValidationError as error:
            raise CommandError(describe_faults(error.messages)) from None
        items = len(checked.items)
        self.stdout.write(f"Imported {batch.rows:,} rows as {items:,} items.")

    def _check(self, study: Study, file: Path, options: dict[str, Any]) -> Checked:
        """What the file holds; CommandError with its faults, if it has any."""
        mapping = read_mapping(options["map"])
        with file.open("rb") as source:
            checked = check_file(
                source,
                study=study,
                mapping=mapping,
                limits=Limits.of_command() if options["no_limit"] else None,
                tell=self._tell if self.stderr.isatty() else None,
            )
        # a name mistyped would else be kept, though it was to be left out
        if checked.header and (others := mapping.keys() - set(checked.header)):
            raise CommandError(
                f"The file has no column {', '.join(sorted(others))}, which --map names. It has: "
                f"{', '.join(checked.header)}."
            )
        if options["faults"]:
            options["faults"].write_bytes(list_faults(checked.faults).encode())
        # also beside faults, whose cause they may tell
        for remark in checked.remarks:
            self.stdout.write(f"Worth a look: {remark}")
        if checked.faults:
            raise CommandError(describe_faults([str(fault) for fault in checked.faults]))
        return checked

    def _tell(self, rows: int) -> None:
        self.stderr.write(f"\r{rows:,} rows read", ending="")


def read_mapping(pairs: list[str]) -> dict[str, str]:
    """COLUMN=FIELD as a mapping; the last = parts them, since a column's name may hold one."""
    mapping = {}
    for pair in pairs:
        column, sign, field = pair.rpartition("=")
        if not sign:
            raise CommandError(f"Write --map {pair}=FIELD: the column, =, and what it holds.")
        mapping[column] = field
    return mapping


def describe_faults(messages: list[str]) -> str:
    lines = ["Nothing was imported.", *messages[:_MOST_SHOWN]]
    if len(messages) > _MOST_SHOWN:
        lines.append(f"… and {len(messages) - _MOST_SHOWN:,} more faults.")
    return "\n".join(lines)
