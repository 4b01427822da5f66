"""A file becomes a batch of a study, from the command line."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from evalsite.exchange.importing import find_same_file, hash_file, import_file
from evalsite.studies.models import Study

_MOST_SHOWN = 100


class Command(BaseCommand):
    help = "Import a CSV file as a batch of a study; with one fault nothing is imported."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="the id in the study's address")
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            metavar="COLUMN=FIELD",
            help="what a column holds, if its name doesn't say so; COLUMN= keeps it as metadata",
        )

    def handle(self, *, study: str, file: Path, map: list[str], **options: Any) -> None:
        found = find_study(study)
        if not file.is_file():
            raise CommandError(f"There is no file {file}.")
        if same := find_same_file(found, hash_file(file)):
            self.stdout.write(f"Already uploaded as {same.file_name}, 0 new.")
            return
        try:
            batch = import_file(
                study=found, path=file, by="the command line", mapping=read_mapping(map)
            )
        except ValidationError as error:
            raise CommandError(describe_faults(error.messages)) from None
        items = batch.items.count()
        self.stdout.write(f"Imported {batch.rows:,} rows as {items:,} items.")


def find_study(text: str) -> Study:
    try:
        return Study.objects.get(pk=text)
    except (Study.DoesNotExist, ValidationError):
        raise CommandError(f"There is no study {text}. Its id stands in its address.") from None


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
