"""manage.py fsck [STUDY]"""

import sys
from argparse import ArgumentParser
from textwrap import fill
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.db.models import QuerySet

from evalsite.data.fsck import (
    Breach,
    find_breaches,
    find_breaches_between_studies,
    is_in_progress,
)
from evalsite.lib.database_state import WHAT_TO_DO_IF_DAMAGED, find_damage, is_damaged
from evalsite.studies.models import Study
from evalsite.studies.study_lookup import STUDY_HELP, find_study
from evalsite.studies.summary_lines import count_of

_WIDTH = 100


class Command(BaseCommand):
    help = (
        "Check that the database keeps what Evalsite promises: k answers per item, each saved once "
        "and whole. It only reads, so people can keep working. Ends with 1 if something is broken."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "study", nargs="?", metavar="STUDY", help=f"{STUDY_HELP}; all studies if left out"
        )

    def handle(self, *, study: str | None = None, **options: Any) -> None:
        refuse_damage(is_quick=study is not None)
        try:
            self._check(study)
        except DatabaseError as error:
            if not is_damaged(error):
                raise
            raise CommandError(f"{error}. {WHAT_TO_DO_IF_DAMAGED}") from error

    def _check(self, reference: str | None) -> None:
        studies, broken = list_studies(reference), 0
        for study in studies:
            try:
                breaches = find_breaches(study, is_alone=reference is not None)
            except LookupError as error:
                raise CommandError(f"{study}: {error} Install it, and check again.") from None
            broken += self._write_findings(study, breaches)
        if reference is None:
            between = find_breaches_between_studies()
            broken += len(between)
            self._list("All studies", between)
        checked = count_of(len(studies), "study", "studies")
        if broken:
            self.stdout.write(f"{checked}, {count_of(broken, 'breach', 'breaches')}.")
            sys.exit(1)
        self.stdout.write(f"{checked}, no breach.")

    def _write_findings(self, study: Study, breaches: list[Breach]) -> int:
        self._list(f"{study.title} ({study.pk})", breaches)
        if is_in_progress(study):
            self.stdout.write(
                f"{study.title} ({study.pk}): work on the places is not done, so the "
                "number of places was not checked. Check again when it is."
            )
        return len(breaches)

    def _list(self, title: str, breaches: list[Breach]) -> None:
        for breach in breaches:
            self.stdout.write(f"{title}: {breach.check.wrong}: {breach.count:,}")
            for example in breach.examples:
                self.stdout.write(f"    {example}")
            if breach.more:
                self.stdout.write(f"    and {breach.more:,} more")
            todo = f"What to do: {breach.check.todo}"
            self.stdout.write(fill(todo, _WIDTH, initial_indent="  ", subsequent_indent="  "))


def refuse_damage(*, is_quick: bool) -> None:
    """Raise CommandError with what SQLite finds wrong with its file, if anything."""
    damage = find_damage(connection, is_quick=is_quick)
    if damage:
        listed = "\n".join(f"    {line}" for line in damage)
        raise CommandError(f"{WHAT_TO_DO_IF_DAMAGED} SQLite reports:\n{listed}")


def list_studies(reference: str | None) -> QuerySet[Study]:
    """Return all studies, or the one that is meant."""
    studies = Study.objects.select_related("version").order_by("created_at")
    return studies if reference is None else studies.filter(pk=find_study(reference).pk)
