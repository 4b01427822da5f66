"""manage.py retain"""

from typing import Any

from django.core.management.base import BaseCommand

from evalsite.operations.retention import delete_expired


class Command(BaseCommand):
    help = (
        "Delete the identities whose time is over, and the codes that recognise people in later "
        "studies. The worker does so, too."
    )

    def handle(self, **options: Any) -> None:
        deleted = delete_expired()
        for study, people in deleted.items():
            self.stdout.write(f"Study {study}: identities of {people:,} people deleted.")
        if not deleted:
            self.stdout.write("No identity had to be deleted.")
