"""A file becomes a batch of a study, from the command line."""

from evalsite.imports.batches.importer import ITEMS
from evalsite.imports.batches.shelf import CheckedItems
from evalsite.imports.command import ImportCommand
from evalsite.studies.models import Batch


class Command(ImportCommand):
    help = (
        "Import a file as a batch of a study; with one fault nothing is imported. Exit code 0: it "
        "is a batch of the study; 1: it has faults; 2: the study or the file can't be found."
    )
    importer = ITEMS

    def describe(self, checked: CheckedItems) -> str:
        return f"{checked.rows:,} rows, {len(checked.items):,} items"

    def describe_stored(self, record: Batch, checked: CheckedItems) -> str:
        return f"Imported {record.rows:,} rows as {len(checked.items):,} items."
