"""manage.py demo: demo studies, a researcher, simulated participants."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.urls import reverse

from evalsite.core.accounts.researchers import find_or_make_first
from evalsite.data.demo import FailedDemo, add_demo_crowds, make_demo_studies


class Command(BaseCommand):
    help = "Make a demo study of each protocol and a researcher (--first), or fill them (--crowd)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        stage = parser.add_mutually_exclusive_group(required=True)
        stage.add_argument(
            "--first",
            action="store_true",
            help="make the demo studies and the researcher that are missing, and print the links",
        )
        stage.add_argument(
            "--crowd", action="store_true", help="let simulated participants rate the demo studies"
        )
        parser.add_argument(
            "--at",
            default="http://127.0.0.1:8000",
            metavar="URL",
            help="address of the site, for the links that are printed",
        )

    def handle(self, **options: Any) -> None:
        if options["crowd"]:
            self.add_crowds()
        else:
            self.make_first(options["at"].rstrip("/"))

    def make_first(self, site: str) -> None:
        user, password = find_or_make_first()
        studies, failures = make_demo_studies(by=user)
        if password:
            self.stdout.write(f"Researchers sign in at  {site}{reverse('admin:index')}")
            self.stdout.write(f"  user      {user.get_username()}")
            self.stdout.write(f"  password  {password}   (shown only now)\n\n")
        if studies:
            self.stdout.write("Annotators join at")
        for study in studies:
            link = reverse("study-join", args=[study.pk])
            self.stdout.write(f"  {site}{link}   {study.title}")
        self.stdout.write("")
        self.warn("There is no demo study of", failures)

    def add_crowds(self) -> None:
        filled, failures = add_demo_crowds()
        for study, people in filled:
            if people:
                self.stdout.write(f"{people} simulated participants rated “{study.title}”.")
        self.warn("Simulated participants couldn't finish the demo study of", failures)

    def warn(self, beginning: str, failures: list[FailedDemo]) -> None:
        for failure in failures:
            self.stderr.write(
                f"Warning: {beginning} “{failure.protocol}”: {failure.reason}\n"
                "  All else runs. This is tried again at the next start. To find the mistake: "
                f"pytest tests/instruments/test_contract.py -k {failure.protocol}"
            )
