"""Ratings collected elsewhere become part of a study, from the command line."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from evalsite.data.command import ImportCommand
from evalsite.data.ratings.answers import CheckedRatings
from evalsite.data.ratings.columns import REJECTED
from evalsite.data.ratings.importer import COMMAS, RATINGS, TURN
from evalsite.data.ratings.store import count_answers
from evalsite.data.tables.rating_forms import TURNS
from evalsite.handout.models import RatingsFile
from evalsite.studies.summary_lines import count_of


class Command(ImportCommand):
    help = (
        "Import ratings that were collected elsewhere; with one fault nothing is imported. Exit "
        "code 0: they are part of the study; 1: the file has faults; 2: the study or the file "
        "can't be found."
    )
    importer = RATINGS

    def add_choices(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--persons",
            choices=["yes", "no"],
            required=True,
            help="whether each participant of the file is one person",
        )
        parser.add_argument(
            "--incomplete",
            action="store_true",
            help="keep incomplete answers",
        )
        parser.add_argument(
            "--rejected",
            choices=["leave-out", "keep"],
            help="whether work that was rejected on its platform counts",
        )
        parser.add_argument(
            "--decimal-comma", action="store_true", help="read 4,0 as a number: 4.0"
        )
        parser.add_argument(
            "--turn",
            choices=list(TURNS),
            help="whether people or items have a column each, with their ratings below",
        )

    def read_choices(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "has_persons": arguments["persons"] == "yes",
            "keeps_incomplete": arguments["incomplete"],
            REJECTED: arguments["rejected"] or "",
            COMMAS: arguments["decimal_comma"],
            TURN: arguments["turn"] or "",
        }

    def describe(self, checked: CheckedRatings) -> str:
        answers = count_of(len(checked.answers), "answer")
        rows, ratings = count_of(checked.rows, "row"), count_of(checked.ratings, "rating")
        return f"{rows}, {ratings} in {answers}"

    def describe_same(self, record: RatingsFile) -> str:
        return f"Already imported as {record.file_name}, 0 new."

    def describe_stored(self, record: RatingsFile, checked: CheckedRatings) -> str:
        counts = count_answers(record)
        rows, counted = count_of(record.rows, "row"), count_of(counts["counted"], "counted answer")
        return f"Imported {rows}: {counted}, {counts['surplus']:,} surplus."
