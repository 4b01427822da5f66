"""manage.py design STUDY: the design of a study, and how even it is, planned and achieved."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.results.design import Measure, Report, Table, report_design
from evalsite.studies.models import Study

_MOST_LISTED = 50


class Command(BaseCommand):
    help = "Print the design of a study and its balance, planned and achieved."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="its id, the beginning of its id, or its title")
        parser.add_argument("--json", action="store_true", help="the same figures for a program")

    def handle(self, *args: Any, **options: Any) -> None:
        report = report_design(find_study(options["study"]))
        if options["json"]:
            self.stdout.write(json.dumps(report.as_dict(), indent=2, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(write_report(report)))


def find_study(text: str) -> Study:
    """The one study that this names; CommandError with those to choose from otherwise."""
    studies = list(Study.objects.all())
    sign = text.replace("-", "").casefold()
    for found in (
        [study for study in studies if study.pk.hex == sign],
        [study for study in studies if study.title == text],
        [study for study in studies if sign and study.pk.hex.startswith(sign)],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            raise CommandError(f"More than one study is named {text}:\n{_list(found)}")
    if not studies:
        raise CommandError(f"There is no study {text}: there are no studies yet.")
    raise CommandError(f"There is no study {text}. There are:\n{_list(studies)}")


def _list(studies: list[Study]) -> str:
    lines = [f"  {study.pk}  {study.title}" for study in studies[:_MOST_LISTED]]
    if len(studies) > _MOST_LISTED:
        lines.append(f"  and {len(studies) - _MOST_LISTED:,} more")
    return "\n".join(lines)


# --- the report as text -----------------------------------------------------------------------


def write_report(report: Report) -> list[str]:
    """The lines to print: facts, tables, the largest differences, and what was left out."""
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
            [name, what, *counts] for name, (what, counts) in zip(names, row.lines, strict=False)
        ]
    return [table.caption, *(f"  {line}" for line in align(rows, words=2)), f"  {table.words}"]


def write_measures(measures: list[Measure]) -> list[str]:
    rows = [["Largest difference between", "planned", "achieved"]]
    rows += [[one.name, _say(one.planned), _say(one.achieved)] for one in measures]
    return align(rows, words=1)


def _say(difference: int | None) -> str:
    return "-" if difference is None else f"{difference:,}"


def align(rows: list[list[str]], *, words: int = 2) -> list[str]:
    """The rows in columns: so many of words, which begin together, then numbers, which end so."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number < words else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
