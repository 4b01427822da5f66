"""A file becomes a batch of a study, from the command line."""

from argparse import ArgumentParser
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from evalsite.imports.batches.checking import Checked, check_file
from evalsite.imports.batches.fields import OF_SYSTEM, name_fields
from evalsite.imports.batches.files import list_faults
from evalsite.imports.batches.importing import find_same_file, hash_file, import_batch
from evalsite.imports.batches.persons import LEAVE_OUT
from evalsite.imports.tables.faults import UnreadableFile
from evalsite.imports.tables.reader import open_table
from evalsite.imports.tables.table import Limits
from evalsite.studies.lookup import add_study_argument, describe_faults, find_study
from evalsite.studies.models import Study


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
        limits = Limits.of_command() if options["no_limit"] else None
        mapping = read_mapping(found, file, limits, options["map"])
        sha256 = hash_file(file)
        if same := find_same_file(found, sha256):
            self.stdout.write(f"Already uploaded as {same.file_name}, 0 new.")
            return
        with file.open("rb") as source:
            tell = self._tell if self.stderr.isatty() else None
            checked = check_file(source, study=found, mapping=mapping, limits=limits, tell=tell)
        self._report_faults(checked, options["faults"])
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

    def _report_faults(self, checked: Checked, faults: Path | None) -> None:
        """Print what is worth a look; CommandError with the faults, if there are any."""
        if faults:
            faults.write_bytes(list_faults(checked.faults).encode())
        # also beside faults, whose cause they may tell
        for remark in checked.remarks:
            self.stdout.write(f"Worth a look: {remark}")
        if checked.faults:
            raise CommandError(describe_faults([str(fault) for fault in checked.faults]))

    def _tell(self, rows: int) -> None:
        self.stderr.write(f"\r{rows:,} rows read", ending="")


def read_mapping(
    study: Study, file: Path, limits: Limits | None, pairs: list[str]
) -> dict[str, str]:
    """Return what --map says of the columns of a batch; CommandError if it can't be so."""
    if not pairs:
        return {}
    fields = name_fields(study.config, {pair: pair.rpartition("=")[2].strip() for pair in pairs})
    others = {"": "keeps the column as metadata", LEAVE_OUT: "leaves it out"}
    several = (*others, OF_SYSTEM)
    return Columns(
        header=read_header(file, limits), fields=fields, others=others, several=several
    ).read(pairs)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What --map may say of a file: its columns, the fields they may hold, and what else."""

    header: list[str]  # empty if the file can't be read: its own faults are listed next
    fields: list[str]
    others: Mapping[str, str]  # what to write in place of a field, with what it does
    several: Collection[str]  # what more than one column may be mapped to

    def read(self, pairs: list[str]) -> dict[str, str]:
        """Return COLUMN=FIELD pairs as a mapping; CommandError lists everything wrong with them."""
        mapping: dict[str, str] = {}
        problems: list[str] = []
        for pair in pairs:
            # the last =, since the name of a column may contain one
            column, sign, field = (part.strip() for part in pair.rpartition("="))
            found = (
                [*self._find_problems(column, field, mapping)] if sign else [self._ask_for(pair)]
            )
            problems += [f"--map {pair}: {problem}" for problem in found]
            mapping[column] = field
        if problems:
            raise CommandError("\n".join(["Nothing was imported.", *problems]))
        return mapping

    def _find_problems(self, column: str, field: str, mapping: Mapping[str, str]) -> Iterator[str]:
        if self.header and column not in self.header:
            yield f"the file has no column “{column}”. It has: {', '.join(self.header)}."
        if field not in (*self.fields, *self.others):
            yield f"there is no field “{field}”. {self._describe_fields(column)}"
        if column in mapping:
            yield f"the column “{column}” is mapped already. Map it once."
        elif field in mapping.values() and field not in self.several:
            yield f"another column is mapped to “{field}” already. Choose one."

    def _ask_for(self, pair: str) -> str:
        return f"write {pair}=FIELD. {self._describe_fields(pair)}"

    def _describe_fields(self, column: str) -> str:
        others = (f"{column}={name} {does}" for name, does in self.others.items())
        return f"FIELD is one of {', '.join(self.fields)}. {', '.join(others)}."


def read_header(file: Path, limits: Limits | None = None) -> list[str]:
    """Return the names of a file's columns; none of a file that can't be read."""
    try:
        with file.open("rb") as source:
            return [name.strip() for name in open_table(source, limits=limits).header]
    except UnreadableFile:
        return []
