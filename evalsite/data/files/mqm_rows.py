"""Rows of mqm.tsv: errors as WMT publishes them, a row for each."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from evalsite.data.tables.mqm import NO_ERROR, mark_passage
from evalsite.instruments.schema import Instrument
from evalsite.lib.mqm_weights import list_severities

if TYPE_CHECKING:
    from evalsite.data.files.rows import Answer, MarkRow, RatingRow


class MqmRow(NamedTuple):
    """A row of mqm.tsv."""

    system: str
    segment: str
    source: str
    target: str
    category: str
    severity: str
    metadata: str


class Shown(NamedTuple):
    """What an item shows: its position in the document, the source, and outputs by number."""

    segment: str
    source: str
    targets: Mapping[int, str]


def find_source(config: Instrument) -> str:
    """Return the input that is the source: one in which passages are marked, or else the first."""
    marked = [name for criterion in config.marking for name in criterion.scale.marked_columns]
    names = [column.name for column in config.columns]
    return next((name for name in names if name in marked), names[0] if names else "")


class MqmWriter:
    """Makes the rows of one study. `has_words`: with the notes that people wrote."""

    def __init__(self, config: Instrument, *, has_words: bool) -> None:
        self.source = find_source(config)
        self._criteria = {criterion.key: criterion for criterion in config.marking}
        self._names = {
            key: _name_parts(criterion.scale.describe_marks())
            for key, criterion in self._criteria.items()
        }
        self._has_words = has_words

    def make_rows(
        self, answer: "Answer", ratings: Sequence["RatingRow"], marks: Sequence["MarkRow"],
        shown: Shown,
    ) -> Iterator[MqmRow]:  # fmt: skip
        """Yield the errors of an annotation, or that there is none, by output as uploaded."""
        rated = {(row.number, row.score.criterion): row.system for row in ratings}
        rated |= {(mark.number, mark.criterion): mark.system for mark in marks}
        for (number, key), system in sorted(rated.items()):
            if key not in self._criteria or not number:
                continue
            of_question = [mark for mark in marks if (mark.number, mark.criterion) == (number, key)]
            shared = (system, shown.segment)
            source, target = shown.source, shown.targets[number]
            for mark in of_question:
                categories, severities = self._names[key]
                words = (
                    categories.get(mark.category, mark.category),
                    severities.get(mark.severity, mark.severity),
                )
                column = mark.input
                ends = (mark.start, mark.end)
                yield MqmRow(
                    *shared,
                    mark_passage(source, *ends) if column and column == self.source else source,
                    target if column else mark_passage(target, *ends),
                    *words, self._write_metadata(answer, key, mark),
                )  # fmt: skip
            if not of_question:
                metadata = self._write_metadata(answer, key, None)
                yield MqmRow(*shared, source, target, NO_ERROR, NO_ERROR, metadata)

    def _write_metadata(self, answer: "Answer", key: str, mark: "MarkRow | None") -> str:
        known: dict[str, Any] = {}
        if mark is not None and mark.note and self._has_words:
            known["note"] = mark.note
        if mark is not None and mark.input not in ("", self.source):
            known["column"] = mark.input
        if len(self._criteria) > 1:
            known["criterion"] = key
        if not answer.is_imported:
            at = datetime.fromisoformat(answer.submitted_at)
            known["timestamp"] = round(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000)
        return json.dumps(known, ensure_ascii=False)


def _name_parts(described: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Return what categories and severities are called in the file, by key."""
    categories = {}
    for option in described.get("options", ()):
        group, label = option["group"], option["label"]
        is_alone = not group or group.casefold() == label.casefold()
        categories[option["key"]] = label if is_alone else f"{group}/{label}"
    severities = {option["key"]: option["label"] for option in described.get("severities", ())}
    # readers of the format know these by name, also where people saw a translation
    severities |= {option["key"]: option["label"] for option in list_severities()}
    return categories, severities
