"""Scores of automatic metrics become part of a study, from the command line."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from evalsite.imports.metrics.files import import_metrics_file
from evalsite.studies.lookup import add_study_argument, describe_faults, find_study
from evalsite.studies.summaries import count_of


class Command(BaseCommand):
    help = (
        "Store the scores that automatic metrics gave to a study's outputs; with one fault nothing "
        "is stored. Exit code 0: they are stored; 1: the file has faults; 2: the study or the file "
        "can't be found."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_study_argument(parser)
        parser.add_argument("file", metavar="FILE", type=Path, help="CSV, TSV, JSON lines or Excel")
        parser.add_argument(
            "--check", action="store_true", help="only say what the file holds; store nothing"
        )

    def handle(self, *, study: str, file: Path, check: bool, **options: Any) -> None:
        found = find_study(study)
        if not file.is_file():
            raise CommandError(f"There is no file {file}.", returncode=2)
        try:
            stored, checked = import_metrics_file(
                study=found, path=file, by="the command line", is_check=check
            )
        except ValidationError as error:
            raise CommandError(describe_faults(error.messages)) from None
        if checked is None:
            self.stdout.write(
                f"Already uploaded as {stored}, 0 new. If scores of it went with a batch, take it "
                "back first, then upload it again."
            )
            return
        for remark in checked.remarks:
            self.stdout.write(f"Worth a look: {remark}")
        told = f"{count_of(len(checked.scores), 'score')} of {count_of(checked.outputs, 'output')}"
        told += f" by {', '.join(checked.metrics)}"
        if stored is None:
            self.stdout.write(f"{told}, no faults. Nothing was stored: this was a check.")
        else:
            self.stdout.write(f"Stored {told}.")
