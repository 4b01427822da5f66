"""Ratings collected elsewhere become part of a study, from the command line."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from evalsite.imports.columns import Field
from evalsite.imports.command import read_mapping
from evalsite.imports.core import hash_file, list_faults
from evalsite.imports.ratings.checking import CheckedRatings, check_ratings
from evalsite.imports.ratings.files import count_answers
from evalsite.imports.ratings.importing import Source, find_same_ratings, import_ratings
from evalsite.imports.ratings.mapping import FIELDS
from evalsite.studies.lookup import add_study_argument, describe_faults, find_study
from evalsite.studies.summaries import count_of

_FIELDS = [
    Field("", "Leaves the column out", is_for_many=True),
    *(Field(name, name) for name in FIELDS),
]


class Command(BaseCommand):
    help = (
        "Import ratings that were collected elsewhere; with one fault nothing is imported. Exit "
        "code 0: they are part of the study; 1: the file has faults; 2: the study or the file "
        "can't be found."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_study_argument(parser)
        parser.add_argument(
            "file",
            metavar="FILE",
            type=Path,
            help="CSV, TSV, JSON lines or Excel, one row per rating",
        )
        parser.add_argument(
            "--persons",
            choices=["yes", "no"],
            required=True,
            help="whether each participant of the file is one person",
        )
        parser.add_argument(
            "--incomplete",
            action="store_true",
            help="keep answers that do not rate everything, as they are",
        )
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            metavar="COLUMN=FIELD",
            help="what a column holds, if its name doesn't say so; COLUMN= leaves it out",
        )
        parser.add_argument(
            "--faults", type=Path, metavar="FILE", help="write all faults into this file, as CSV"
        )
        parser.add_argument(
            "--check", action="store_true", help="only say what the file holds; import nothing"
        )

    def handle(self, *, study: str, file: Path, persons: str, **options: Any) -> None:
        found = find_study(study)
        if not file.is_file():
            raise CommandError(f"There is no file {file}.", returncode=2)
        mapping = read_mapping(_FIELDS, file, options["map"])
        sha256 = hash_file(file)
        if same := find_same_ratings(found, sha256):
            self.stdout.write(f"Already imported as {same.file_name}, 0 new.")
            return
        has_persons = persons == "yes"
        with file.open("rb") as opened:
            checked = check_ratings(
                opened,
                study=found,
                mapping=mapping,
                keeps_incomplete=options["incomplete"],
                has_persons=has_persons,
            )
        self._report_faults(checked, options["faults"])
        if options["check"]:
            self.stdout.write(
                f"{count_of(checked.rows, 'row')}, {count_of(checked.ratings, 'rating')} in "
                f"{count_of(len(checked.answers), 'answer')}, no faults. "
                "Nothing was imported: this was a check."
            )
            return
        source = Source(file_name=file.name, sha256=sha256, has_persons=has_persons)
        try:
            imported = import_ratings(
                study=found, checked=checked, source=source, by="the command line"
            )
        except ValidationError as error:
            raise CommandError(describe_faults(error.messages)) from None
        counts = count_answers(imported)
        rows = count_of(imported.rows, "row")
        self.stdout.write(
            f"Imported {rows}: {count_of(counts['counted'], 'counted answer')}, "
            f"{counts['surplus']:,} surplus."
        )

    def _report_faults(self, checked: CheckedRatings, faults: Path | None) -> None:
        """Print what is worth a look; CommandError with the faults, if there are any."""
        if faults:
            faults.write_bytes(list_faults(checked.faults).encode())
        for remark in checked.remarks:
            self.stdout.write(f"Worth a look: {remark}")
        if checked.faults:
            raise CommandError(describe_faults([str(fault) for fault in checked.faults]))
