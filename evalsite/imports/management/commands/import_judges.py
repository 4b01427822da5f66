"""Labels of judges become part of a study, from the command line."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from evalsite.imports.command import ImportCommand
from evalsite.imports.core import LEAVE_OUT_FAULTY
from evalsite.imports.judges.importer import JUDGES, CheckedLabels
from evalsite.imports.models import JudgeFile
from evalsite.studies.summary_lines import count_of


class Command(ImportCommand):
    help = (
        "Store the labels that judges, which are models that rate, gave to a study's outputs or to "
        "further inputs; with one fault nothing is stored. Exit code 0: they are stored; 1: the "
        "file has faults; 2: the study or the file can't be found."
    )
    importer = JUDGES

    def add_choices(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--leave-out-faulty",
            action="store_true",
            help="leave out rows with faults, and store the labels of the others",
        )

    def read_choices(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {LEAVE_OUT_FAULTY: arguments["leave_out_faulty"]}

    def describe(self, checked: CheckedLabels) -> str:
        by = ", ".join(dict.fromkeys(name for name, _ in checked.judges))
        further = f", {count_of(checked.further, 'further input')}" if checked.further else ""
        return f"{count_of(len(checked.labels), 'label')} by {by}{further}"

    def describe_same(self, record: JudgeFile) -> str:
        return f"Already uploaded as {record}, 0 new."

    def describe_stored(self, record: JudgeFile, checked: CheckedLabels) -> str:
        return f"Stored {self.describe(checked)}."
