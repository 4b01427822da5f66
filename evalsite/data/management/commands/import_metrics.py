"""Scores of automatic metrics become part of a study, from the command line."""

from collections.abc import Mapping
from typing import Any

from evalsite.data.command import ImportCommand
from evalsite.data.metrics.importer import METRICS, CheckedScores
from evalsite.data.models import MetricFile
from evalsite.studies.summary_lines import count_of


class Command(ImportCommand):
    help = (
        "Store the scores that automatic metrics gave to a study's outputs; with one fault nothing "
        "is stored. Exit code 0: they are stored; 1: the file has faults; 2: the study or the file "
        "can't be found."
    )
    importer = METRICS

    def read_choices(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {"no_limit": arguments["no_limit"]}

    def describe(self, checked: CheckedScores) -> str:
        scores, outputs = len(checked.scores), checked.outputs
        by = ", ".join(checked.metrics)
        return f"{count_of(scores, 'score')} of {count_of(outputs, 'output')} by {by}"

    def describe_same(self, record: MetricFile) -> str:
        return (
            f"Already uploaded as {record}, 0 new. If scores of it went with a batch, take it back "
            "first, then upload it again."
        )
