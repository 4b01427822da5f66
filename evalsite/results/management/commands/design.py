"""manage.py design STUDY: the design of a study, and how even it is, planned and achieved."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from evalsite.lib.words import align
from evalsite.results.design.report import Measure, Report, Table, report_design
from evalsite.studies.study_lookup import add_study_argument, find_study


class Command(BaseCommand):
    help = "Print the design of a study and its balance, planned and achieved."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_study_argument(parser)
        parser.add_argument("--json", action="store_true", help="the same figures as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        report = report_design(find_study(options["study"]))
        if options["json"]:
            self.stdout.write(json.dumps(report.as_dict(), indent=2, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(write_report(report)))


# --- the report as text -----------------------------------------------------------------------


def write_report(report: Report) -> list[str]:
    """Return the lines to print: facts, tables, the largest differences, and what was left out."""
    lines = [report.title, report.study, "", *align([[*fact] for fact in report.facts])]
    if not report.has_places:
        return [*lines, "", "Nothing is planned yet: places are made at the launch."]
    if report.replay:
        lines += ["", report.replay]
    for table in report.tables:
        lines += ["", *write_table(table)]
    lines += ["", *write_measures(report.measures)]
    if report.left_out:
        lines += ["", "Left out", *(f"  {reason}" for reason in report.left_out)]
    return lines


def write_table(table: Table) -> list[str]:
    rows = [[table.head, "", *table.columns]]
    for row in table.rows:
        names = [row.name, ""]
        rows += [
            [name, words, *counts] for name, (words, counts) in zip(names, row.lines, strict=False)
        ]
    return [table.caption, *(f"  {line}" for line in align(rows, words=2)), f"  {table.words}"]


def write_measures(measures: list[Measure]) -> list[str]:
    rows = [["Largest difference between", "planned", "achieved"]]
    rows += [
        [measure.name, _in_words(measure.planned), _in_words(measure.achieved)]
        for measure in measures
    ]
    return align(rows, words=1)


def _in_words(difference: int | None) -> str:
    return "-" if difference is None else f"{difference:,}"
