"""manage.py simulate STUDY --participants N --seed S"""

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from evalsite.annotation.models import Annotation
from evalsite.annotation.simulation import simulate_crowd
from evalsite.studies.models import Study


class Command(BaseCommand):
    help = "Simulate participants of a demo study or a pilot, through the real pages."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="the study's id, as in its address")
        parser.add_argument("--participants", type=int, default=10)
        parser.add_argument("--seed", default="1")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            study = Study.objects.get(pk=options["study"])
        except (Study.DoesNotExist, ValidationError):
            raise CommandError(f"There is no study {options['study']!r}.") from None
        before = Annotation.objects.filter(study=study).count()
        try:
            crowd = simulate_crowd(
                study, participants=options["participants"], seed=options["seed"]
            )
            people = sum(1 for _ in crowd)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        made = Annotation.objects.filter(study=study).count() - before
        self.stdout.write(f"{people} simulated participants gave {made} answers.")
