"""manage.py simulate STUDY --participants N --seed S"""

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Annotation
from evalsite.studies.study_lookup import add_study_argument, find_study


class Command(BaseCommand):
    help = "Simulate participants of a demo study or a pilot, through the real pages."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_study_argument(parser)
        parser.add_argument(
            "--participants",
            type=_read_number,
            default=10,
            metavar="N",
            help="number of participants; each does a few sets (default: 10)",
        )
        parser.add_argument(
            "--seed",
            default="1",
            metavar="S",
            help="any text; another seed gives different answers (default: 1)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
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


def _read_number(text: str) -> int:
    """Return a number of people, 1 or more."""
    if text.isdecimal() and (number := int(text)) >= 1:
        return number
    raise ArgumentTypeError(f"{text!r} isn't a whole number of 1 or more")
