"""Ratings while systems are hidden: without systems and texts, under numbers of one download."""

from collections.abc import Iterable, Iterator
from itertools import count
from random import SystemRandom
from typing import Any

from django.db.models import IntegerField, Value

from evalsite.data.files.rows import find_written
from evalsite.handout.models import Annotation, Rating
from evalsite.instruments.scales import COMMENT
from evalsite.lib.counts import count_together
from evalsite.lib.csv_writer import write_rows
from evalsite.studies.models import Item, Study

FILES = {
    "ratings": "One row for each rating: participant, random item and output numbers, criterion, "
    "value and time.",
    "comments": "One row for each text: participant, random item and output numbers, criterion and "
    "text. Read it first: people may name what they recognised.",
    "annotations": "One row for each answer: participant, random item and input numbers, position, "
    "times and status.",
}
_PAGE = 2_000
_HEADS = {
    "ratings": [
        "participant", "item_number", "output_number", "criterion", "value", "kind",
        "status", "excluded", "submitted_at",
    ],
    "comments": [
        "participant", "item_number", "output_number", "criterion", "text", "kind", "status",
        "excluded", "submitted_at",
    ],
    "annotations": [
        "participant", "item_number", "input_number", "set", "place", "outcome", "kind", "status",
        "excluded", "started_at", "submitted_at", "active_seconds",
    ],
}  # fmt: skip


class Numbers:
    """Random numbers for what is met, the same for the same thing, and never used again."""

    def __init__(self, values: Iterable[Any]) -> None:
        met = list(dict.fromkeys(values))
        numbers = list(range(1, len(met) + 1))
        SystemRandom().shuffle(numbers)
        self._numbers = dict(zip(met, numbers, strict=True))

    def __getitem__(self, value: Any) -> int | str:
        return "" if value is None else self._numbers[value]


def count_pseudonymised(study: Study) -> dict[str, int]:
    """Count the rows of each file."""
    answers = _find_answers(study)
    ratings = Rating.objects.without_marks().filter(annotation__in=answers.order_by().values("pk"))
    texts, notes = _find_texts(study)
    counts = count_together(annotations=answers, ratings=ratings, texts=texts, notes=notes)
    return {
        "annotations": counts["annotations"], "ratings": counts["ratings"],
        "comments": counts["texts"] + counts["notes"],
    }  # fmt: skip


def write_pseudonymised(study: Study, name: str) -> Iterator[str]:
    """Write the file in blocks; its rows come in the order of random numbers."""
    rows = sorted(
        {"ratings": _list_ratings, "comments": _list_comments, "annotations": _list_annotations}[
            name
        ](study),
        key=lambda row: (row[1], row[0], str(row[2])),
    )
    yield write_rows([_HEADS[name]])
    for first in count(0, _PAGE):
        if first >= len(rows):
            return
        yield write_rows(rows[first : first + _PAGE])


def _find_answers(study: Study) -> Any:
    answers = Annotation.objects.agreed().filter(study=study)
    return answers.exclude(status=Annotation.Status.PILOT).exclude(item__kind=Item.Kind.PRACTICE)


def _find_excluded(study: Study) -> tuple[set[Any], set[Any]]:
    exclusions = study.exclusions.active()
    people = set(exclusions.values_list("participant", flat=True))
    return people, set(exclusions.values_list("annotation", flat=True))


def _list_ratings(study: Study) -> list[list[Any]]:
    people, answers = _find_excluded(study)
    answered = _find_answers(study).values("pk")
    ratings = Rating.objects.without_marks().filter(annotation__in=answered)
    rows = list(
        ratings.order_by("pk").values_list(
            "annotation__participant__pseudonym", "annotation__item", "output", "criterion",
            "value", "part", "annotation__item__kind", "annotation__status",
            "annotation__participant", "annotation", "annotation__submitted_at",
            "annotation__order_shown", "output__position",
        )
    )  # fmt: skip
    compares = {criterion.key for criterion in study.config.criteria if criterion.scale.compares}
    items = Numbers(row[1] for row in rows)
    outputs = Numbers(row[2] for row in rows if row[2] is not None and row[3] not in compares)
    return [
        [
            row[0], items[row[1]], "" if row[3] in compares else outputs[row[2]],
            f"{row[3]}: {row[5]}" if row[5] else row[3],
            # the side that was chosen: its output would be the same item's in another row
            _name_side(row[11], row[12], row[4])
            if row[3] in compares and row[5] != COMMENT
            else row[4],
            row[6], row[7], "yes" if row[8] in people or row[9] in answers else "no",
            row[10].isoformat(timespec="seconds"),
        ]
        for row in rows
    ]  # fmt: skip


def _find_texts(study: Study) -> tuple[Any, Any]:
    """Return the ratings that are texts, and the answers with a note."""
    answers = _find_answers(study).order_by()
    ratings = Rating.objects.filter(annotation__in=answers.values("pk"))
    return find_written(ratings, study.config).order_by(), answers.exclude(note="")


def _list_comments(study: Study) -> list[list[Any]]:
    people, answers = _find_excluded(study)
    texts, notes = _find_texts(study)
    met = [
        *texts.order_by("pk").values_list(
            "annotation__participant__pseudonym", "annotation__item", "output", "criterion",
            "words", "annotation__item__kind", "annotation__status", "annotation__participant",
            "annotation", "annotation__submitted_at",
        ),
        *notes.order_by("pk").values_list(
            "participant__pseudonym", "item", Value(None, IntegerField()), Value(""), "note",
            "item__kind", "status", "participant", "pk", "submitted_at",
        ),
    ]  # fmt: skip
    items = Numbers(row[1] for row in met)
    outputs = Numbers(row[2] for row in met if row[2] is not None)
    return [
        [
            row[0], items[row[1]], outputs[row[2]], *row[3:7],
            "yes" if row[7] in people or row[8] in answers else "no",
            row[9].isoformat(timespec="seconds"),
        ]
        for row in met
    ]  # fmt: skip


def _name_side(shown: list[int], position: int | None, value: float | None) -> Any:
    if position is None:
        return "tie"
    return f"side {shown.index(position) + 1}" if position in shown else value


def _list_annotations(study: Study) -> list[list[Any]]:
    people, answers = _find_excluded(study)
    rows = list(
        _find_answers(study).order_by("pk").values_list(
            "participant__pseudonym", "item", "item__group", "item_set__number", "place",
            "outcome", "item__kind", "status", "participant", "pk", "started_at", "submitted_at",
            "active_ms",
        )
    )  # fmt: skip
    items, inputs = Numbers(row[1] for row in rows), Numbers(row[2] for row in rows)
    return [
        [
            row[0], items[row[1]], inputs[row[2]], row[3], row[4], row[5], row[6], row[7],
            "yes" if row[8] in people or row[9] in answers else "no",
            row[10].isoformat(timespec="seconds"), row[11].isoformat(timespec="seconds"),
            "" if row[12] is None else row[12] / 1000,
        ]
        for row in rows
    ]  # fmt: skip
