"""Labels of judges become part of a study, from the command line."""

from evalsite.data.command import ImportCommand
from evalsite.data.judges.importer import JUDGES, CheckedLabels
from evalsite.studies.summary_lines import count_of


class Command(ImportCommand):
    help = (
        "Store the labels that judges, which are models that rate, gave to a study's outputs or to "
        "further inputs; with one fault nothing is stored. Exit code 0: they are stored; 1: the "
        "file has faults; 2: the study or the file can't be found."
    )
    importer = JUDGES

    def describe(self, checked: CheckedLabels) -> str:
        by = ", ".join(dict.fromkeys(name for name, _ in checked.judges))
        further = f", {count_of(checked.further, 'further input')}" if checked.further else ""
        return f"{count_of(len(checked.labels), 'label')} by {by}{further}"
