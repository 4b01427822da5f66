"""manage.py import_instrument FILE"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.studies.instruments import FaultyInstrument, import_instrument, read_file
from evalsite.studies.study_lookup import describe_faults, find_owner


class Command(BaseCommand):
    help = (
        "Import an instrument from a file (.json). The same content again changes nothing; other "
        "content under the same key becomes the next version. With one fault nothing is imported."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", metavar="FILE", type=Path, help="a file written by “Export as a file”"
        )
        parser.add_argument(
            "--owner", help="user name of the instrument's owner; default: the only superuser"
        )

    def handle(self, *, file: Path, owner: str | None, **options: Any) -> None:
        by = find_owner(owner)
        try:
            version, is_new = import_instrument(data=read_file(file.read_bytes()), by=by)
        except OSError as error:
            raise CommandError(f"{file} can't be read: {error.strerror}.", returncode=2) from None
        except FaultyInstrument as error:
            raise CommandError(describe_faults(error.messages)) from None
        done = "Imported" if is_new else "Nothing changed: already here is"
        self.stdout.write(f"{done} “{version}” ({version.instrument.key}, {version.sha256[:12]}).")
