"""manage.py demo --first makes demo studies and a researcher; --crowd simulates participants."""

import secrets
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand
from django.urls import reverse

from evalsite.exchange.demo import add_demo_crowd, make_demo_studies
from evalsite.studies.models import Study

USERNAME = "researcher"


class Command(BaseCommand):
    help = "Demo studies, one researcher with a one-time password, and a simulated crowd."

    def add_arguments(self, parser: ArgumentParser) -> None:
        stage = parser.add_mutually_exclusive_group(required=True)
        stage.add_argument("--first", action="store_true", help="studies and researcher")
        stage.add_argument("--crowd", action="store_true", help="simulated participants")
        parser.add_argument("--at", default="http://127.0.0.1:8000", help="where the site answers")

    def handle(self, **options: Any) -> None:
        if options["crowd"]:
            self.add_crowds()
        else:
            self.make_first(options["at"].rstrip("/"))

    def make_first(self, site: str) -> None:
        user, password = find_or_make_researcher()
        studies = make_demo_studies(by=user)
        self.stdout.write(f"\nResearchers sign in at  {site}{reverse('admin:index')}")
        self.stdout.write(f"  user      {user.get_username()}")
        if password:
            self.stdout.write(f"  password  {password}   (shown only now)")
        else:
            self.stdout.write("  password  as before (make password sets a new one)")
        self.stdout.write("\nAnnotators join at")
        for study in studies:
            link = reverse("study-join", args=[study.pk])
            self.stdout.write(f"  {site}{link}   {study.title}")
        self.stdout.write("")

    def add_crowds(self) -> None:
        for study in Study.objects.filter(is_demo=True):
            people = add_demo_crowd(study)
            if people:
                self.stdout.write(f"{people} simulated participants rated “{study.title}”.")


def find_or_make_researcher() -> tuple[User, str]:
    """The demo's researcher, and the password if it was made now."""
    user = User.objects.filter(username=USERNAME).first()
    if user is not None:
        return user, ""
    password = secrets.token_urlsafe(12)
    user = User.objects.create_user(
        USERNAME, password=password, is_staff=True, is_superuser=True, first_name="Researcher"
    )
    return user, password
