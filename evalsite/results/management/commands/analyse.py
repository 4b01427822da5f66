"""manage.py analyse STUDY: the results of a study as text, JSON, an HTML page or LaTeX."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from evalsite.decisions.frozen_plans import note_reveal
from evalsite.handout.models import Annotation
from evalsite.results.document.figures import let_go
from evalsite.results.document.text import render_text
from evalsite.results.models import Report
from evalsite.results.replication.comparison import compare_studies
from evalsite.results.replication.tables import make_comparison
from evalsite.results.report.computation import compute_report
from evalsite.results.report.files import list_files, read_document, write_page
from evalsite.studies.models import Study
from evalsite.studies.study_lookup import add_study_argument, find_study


class Command(BaseCommand):
    help = "Print the results of a study. They are computed again only if its data changed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_study_argument(parser)
        forms = parser.add_mutually_exclusive_group()
        forms.add_argument("--json", action="store_true", help="all figures, with every digit")
        forms.add_argument("--html", action="store_true", help="the report as one page")
        forms.add_argument("--latex", action="store_true", help="report.tex, references, figures")
        parser.add_argument(
            "--against", metavar="STUDY",
            help="compare it with this study, which it repeats; as text or JSON",
        )  # fmt: skip
        parser.add_argument(
            "-o", "--output", type=Path, metavar="PATH",
            help="write to this file (with --latex: into this folder) instead of the screen",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        study, output = find_study(options["study"]), options["output"]
        if options["latex"] and output is None:
            raise CommandError("Name the folder for the LaTeX files with -o.")
        if not Annotation.objects.filter(study=study).counted().exists():
            raise CommandError(f"{study.title} has no answers yet.")
        if options["against"]:
            original = find_study(options["against"])
            for each in (study, original):
                note_reveal(each, "the command line", "the command analyse")
            self._write_out(output, _compare(study, original, options))
            return
        note_reveal(study, "the command line", "the command analyse")
        report = compute_report(study)
        if options["latex"]:
            for name, content in list_files(study, report).items():
                self._write_file(output / name, content)
        else:
            self._write_out(output, _write(study, report, options))

    def _write_out(self, path: Path | None, text: str) -> None:
        if path is None:
            self.stdout.write(text, ending="")
        else:
            self._write_file(path, text.encode())

    def _write_file(self, path: Path, content: bytes) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise CommandError(f"{path} can't be written: {error.strerror}.") from error
        self.stdout.write(f"Wrote {path}.")


def _write(study: Study, report: Report, options: dict[str, Any]) -> str:
    if options["json"]:
        return write_json(study, report)
    if options["html"]:
        return write_page(study, report)
    return let_go(render_text(read_document(study, report).keep("main", "further")))


def _compare(study: Study, original: Study, options: dict[str, Any]) -> str:
    """Return the study beside the one that it repeats, as text or JSON."""
    if options["html"] or options["latex"]:
        raise CommandError("A comparison with another study is written as text or with --json.")
    try:
        comparison = compare_studies(study, original)
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    if options["json"]:
        return json.dumps(comparison, indent=1, ensure_ascii=False) + "\n"
    return let_go(render_text(make_comparison(comparison)))


def write_json(study: Study, report: Report) -> str:
    data = {"study": str(study.pk), "made_at": report.made_at.isoformat(),
            "ratings_sha256": report.sha256, **report.content}  # fmt: skip
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
