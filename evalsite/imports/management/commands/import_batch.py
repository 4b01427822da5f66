"""A file becomes a batch of a study, from the command line."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from evalsite.imports.batches.choices import EMPTY_OUTPUTS, TAKE_ONCE
from evalsite.imports.batches.importer import ITEMS
from evalsite.imports.batches.items import CheckedItems
from evalsite.imports.command import ImportCommand
from evalsite.imports.core import LEAVE_OUT_FAULTY
from evalsite.studies.models import Batch


class Command(ImportCommand):
    help = (
        "Import a file as a batch of a study; with one fault nothing is imported. Exit code 0: it "
        "is a batch of the study; 1: it has faults; 2: the study or the file can't be found."
    )
    importer = ITEMS

    def add_choices(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--take-once",
            action="store_true",
            help="import each item once if the file repeats it for each rater",
        )
        parser.add_argument(
            "--leave-out-faulty",
            action="store_true",
            help="leave out rows with faults, and all other rows of their items; with --check the "
            "command says how many these are",
        )
        parser.add_argument(
            "--empty-outputs",
            choices=["show"],
            help="accept empty outputs; participants see “(no output)” instead",
        )

    def read_choices(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        names = (TAKE_ONCE, LEAVE_OUT_FAULTY, EMPTY_OUTPUTS)
        return {name: arguments[name] for name in names if arguments[name]}

    def describe(self, checked: CheckedItems) -> str:
        return f"{checked.rows:,} rows, {len(checked.items):,} items"

    def describe_stored(self, record: Batch, checked: CheckedItems) -> str:
        return f"Imported {record.rows:,} rows as {len(checked.items):,} items."
