"""Create the study of a bundle again, from the command line."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from evalsite.data.bundle.restore import Restored, restore_bundle
from evalsite.studies.study_lookup import describe_faults, find_owner


class Command(BaseCommand):
    help = (
        "Create a study from a bundle: closed and with its data, or a draft if it was never "
        "launched or the bundle has no data."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", metavar="FILE", type=Path, help="a bundle written by export_bundle"
        )
        parser.add_argument(
            "--owner", help="user name of the study's owner; default: the only superuser"
        )
        parser.add_argument(
            "--without-data",
            action="store_true",
            help="make a draft with the same items, texts, settings and seed, and so the same plan",
        )
        parser.add_argument(
            "--as-copy",
            action="store_true",
            help="give it a new id, so that it can exist alongside the first study",
        )

    def handle(
        self, *, file: Path, owner: str | None, without_data: bool, as_copy: bool, **options: Any
    ) -> None:
        user = find_owner(owner)
        try:
            with file.open("rb") as bundle:
                restored = restore_bundle(
                    file=bundle,
                    owner=user,
                    by="the command line",
                    has_data=not without_data,
                    is_copy=as_copy,
                )
        except OSError as error:
            raise CommandError(f"{file} can't be read: {error.strerror}.") from None
        except ValidationError as error:
            raise CommandError(describe_faults(error.messages)) from None
        self._report(restored, without_data)

    def _report(self, restored: Restored, without_data: bool) -> None:
        study = restored.study
        for check in restored.report.checks:
            self.stdout.write(check)
        if not restored.has_data and not without_data:
            self.stdout.write("The bundle has no data.")
        kind = f"{study.state}, with its data" if restored.has_data else "a draft, without data"
        self.stdout.write(f"Imported “{study.title}” as {study.pk}: {kind}.")
        for remark in restored.remarks:
            self.stdout.write(f"Note: {remark}")
