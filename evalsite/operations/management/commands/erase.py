"""manage.py erase STUDY PERSON"""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from evalsite.operations.retention import erase_person
from evalsite.people.models import Participant


class Command(BaseCommand):
    help = (
        "Erase a person from a study: their answers, identity, links and what recognises them in "
        "later studies. Backups made before still hold them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", type=UUID, help="the id of the study, as in its address")
        parser.add_argument("person", help="the pseudonym, as in participants.csv")

    def handle(self, *, study: UUID, person: str, **options: Any) -> None:
        people = Participant.objects.filter(study=study, pseudonym=person).select_related("study")
        participant = people.first()
        if participant is None:
            raise CommandError(f"Study {study} has nobody called {person}.")
        try:
            erase_person(participant, by=None)
        except ValidationError as refused:
            raise CommandError(refused.message) from refused
        self.stdout.write(f"{person} is erased. Backups made before still hold them.")
