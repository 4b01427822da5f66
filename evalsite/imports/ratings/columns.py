"""What columns of ratings contain in a study, and each row of the file as the ratings in it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsite.fields import LONGEST_NOTE
from evalsite.imports.columns import Field, check_cells
from evalsite.imports.tables.faults import Fault
from evalsite.imports.tables.table import Row
from evalsite.lib.rating_columns import FIELDS, MEANINGS, Asked, Part, melt, split_field
from evalsite.lib.rating_guess import find_unasked
from evalsite.participants.models import Origin
from evalsite.protocol import Criterion, Protocol
from evalsite.studies.models import Study

LONGEST_ID = 200
LONGEST_TIME = 64
# A file written by hand has no use for these: offered where they were guessed.
_OF_EXPORTS = ("outcome", "time_given", "kind", "status", "origin", "person", "excluded",
               "value_typed")  # fmt: skip
# what only some protocols have a use for
_OF_VALUES = ("value", "label", "value_typed", "place")
_OF_COMPARISONS = ("preferred", "outcome", "shown_first")
# so many fields for a criterion and a system each are offered unasked
_MOST_CROSSED = 60
_ROWS_WANTED = (("kind", ("", "main")), ("status", ("", "counted")))
_CODES = {
    "participant": "participant_invalid",
    "item": "cell_empty",
    "criterion": "criterion_unknown",
    "place": "place_invalid",
    "submitted_at": "text_too_long",
    "note": "text_too_long",
}


# --- fields -------------------------------------------------------------------------


def ask(study: Study) -> Asked:
    """What the study asks, as far as the columns of a file tell it."""
    config: Protocol = study.config
    is_single = config.outputs[1] == 1
    return Asked(
        labels={criterion.key: criterion.label for criterion in config.criteria},
        compared=frozenset(one.key for one in config.criteria if one.scale.compares),
        per_output=frozenset(
            one.key for one in config.criteria if one.per_output and not is_single
        ),
        systems=tuple(study.systems.order_by("name").values_list("name", flat=True)),
    )


def list_fields(asked: Asked, mapping: Mapping[str, str], most_outputs: int) -> list[Field]:
    """Everything that a column may be mapped to, in the order in which a page offers it."""
    useless = {*_OF_EXPORTS}
    useless |= set() if asked.has_values else {*_OF_VALUES}
    useless |= set() if asked.has_comparisons else {*_OF_COMPARISONS}
    there = set(mapping.values())
    fields = [Field("", "Leave out", is_for_many=True)]
    fields += [
        Field(name, f"{name}: {MEANINGS[name]}")
        for name in FIELDS
        if name in there or name not in useless
    ]
    return fields + [
        Field(name, name, group="Several ratings in a row")
        for name in dict.fromkeys([*_list_wide(asked, most_outputs), *sorted(there)])
        if (target := split_field(name)) and (target.is_wide or target.number)
    ]


def _list_wide(asked: Asked, most_outputs: int) -> Iterator[str]:
    for key in asked.labels:
        yield f"{'preferred' if key in asked.compared else 'value'}:{key}"
    scored = [key for key in asked.labels if key in asked.per_output]
    for number in range(1, min(most_outputs, 20) + 1 if scored else 1):
        yield from (f"system{number}", f"place{number}")
        yield from (f"value{number}:{key}" for key in scored)
    if len(scored) * len(asked.systems) <= _MOST_CROSSED:
        yield from (f"value:{key}:{system}" for key in scored for system in asked.systems)


def describe_unasked(mapping: Mapping[str, str], asked: Asked) -> str:
    """Columns of ratings by criteria that the study doesn't ask, as a sentence; "" if none."""
    columns = find_unasked(mapping, asked)
    if not columns:
        return ""
    return (
        f"{', '.join(columns[:12])}{' and more' if len(columns) > 12 else ''} "
        f"{'look' if len(columns) > 1 else 'looks'} like ratings by criteria that this study "
        "doesn't ask. They are left out"
    )


# --- rows ---------------------------------------------------------------------------


@dataclass(slots=True)
class RatingRow:
    """The cells of one rating, as they are in the file; "" where there is no such column."""

    line: int
    record: int
    participant: str
    item: str
    criterion: Criterion
    system: str
    value: str
    preferred: str
    place: int | None
    order_shown: str
    shown_first: str
    label: str
    typed: str
    is_tie: bool
    time: str
    note: str
    # where the cells are
    part: Part


class RowReader:
    """Takes rows apart by the mapping of their columns, and counts what is not imported."""

    def __init__(self, header: Sequence[str], mapping: Mapping[str, str], config: Protocol) -> None:
        self.header = header
        self.parts = melt(header, mapping)
        # rows that are not imported, by why
        self.left_out: Counter[str] = Counter()
        self.unrated = self.simulated = self.excluded = self.not_persons = 0
        labels = {criterion.label.casefold(): criterion for criterion in config.criteria}
        self._criteria = labels | {one.key.casefold(): one for one in config.criteria}
        self._only = config.criteria[0] if len(config.criteria) == 1 else None
        self._asked = ", ".join(criterion.key for criterion in config.criteria)

    def name_column(self, field: str, part: Part | None = None) -> str:
        """The column of the file that has this field; the field itself where there is none."""
        number = (part or self.parts[0]).columns.get(field)
        return field if number is None else self.header[number]

    def name_answer(self, row: Row) -> tuple[str, str]:
        """Whose answer to what the row belongs to."""
        if len(row.cells) != len(self.header):
            return "", ""
        part = self.parts[0]
        return part.get(row.cells, "participant"), part.get(row.cells, "item")

    def read(self, row: Row) -> tuple[list[RatingRow], list[Fault]]:
        """The ratings of a row, or what is wrong with it; neither of a row that stays out."""
        if faults := check_cells(row, self.header):
            return [], faults
        cells, first = row.cells, self.parts[0]
        for field, wanted in _ROWS_WANTED:
            if (text := first.get(cells, field).strip()) not in wanted:
                self.left_out[f"{field} {text[:40]}"] += 1
                return [], []
        parts = [part for part in self.parts if part.is_rated(cells)]
        if not parts:
            self.unrated += 1
        faults = [
            Fault(_CODES[field], message, self.name_column(field, part), row.line, row.record)
            for part, field, message in self._check(row, parts)
            if message
        ]
        if faults or not parts:
            return [], faults
        self.simulated += first.get(cells, "origin") == Origin.SIMULATED
        self.excluded += first.get(cells, "excluded") == "yes"
        self.not_persons += first.get(cells, "person") == "no"
        return [self._read_part(row, part) for part in parts], []

    def _read_part(self, row: Row, part: Part) -> RatingRow:
        cells, get = row.cells, part.get
        place = get(cells, "place").strip()
        return RatingRow(
            line=row.line,
            record=row.record,
            participant=get(cells, "participant"),
            item=get(cells, "item"),
            criterion=self._find_criterion(cells, part),  # type: ignore[arg-type]
            system=get(cells, "system"),
            value=get(cells, "value"),
            preferred=get(cells, "preferred"),
            place=int(place) if place else None,
            order_shown=get(cells, "order_shown").strip(),
            shown_first=get(cells, "shown_first"),
            label=get(cells, "label"),
            typed=get(cells, "value_typed"),
            is_tie=get(cells, "outcome") == "tie",
            time=get(cells, "time_given") or get(cells, "submitted_at"),
            note=get(cells, "note"),
            part=part,
        )

    def _find_criterion(self, cells: Sequence[str], part: Part) -> Criterion | None:
        if "criterion" not in part.columns and "criterion" not in part.fixed:
            return self._only
        return self._criteria.get(part.get(cells, "criterion").strip().casefold())

    def _check(self, row: Row, parts: Iterable[Part]) -> Iterator[tuple[Part, str, str]]:
        """What is wrong with the cells by themselves; "" where nothing is."""
        cells, first = row.cells, self.parts[0]
        time = first.get(cells, "time_given") or first.get(cells, "submitted_at")
        yield first, "participant", _check_participant(first.get(cells, "participant"))
        yield first, "item", "" if first.get(cells, "item") else "The item is empty. Give its id."
        yield first, "submitted_at", _check_length(time, LONGEST_TIME, "time")
        yield first, "note", _check_length(first.get(cells, "note"), LONGEST_NOTE, "note")
        for part in parts:
            yield part, "place", _check_place(part.get(cells, "place").strip())
            if self._find_criterion(cells, part) is None:
                text = part.get(cells, "criterion").strip()
                what = (
                    f"“{shorten(text)}” isn't a criterion of this study" if text else "It is empty"
                )
                yield part, "criterion", f"{what}. The criteria are: {self._asked}."


def _check_participant(text: str) -> str:
    if not text.strip():
        return "The participant is empty. Say in every row who rated; any name will do."
    if text != text.strip() or not text.isprintable():
        return "The participant has a space around it or an invisible character. Remove it."
    return _check_length(text, LONGEST_ID, "name of a participant")


def _check_place(text: str) -> str:
    if not text or (text.isascii() and text.isdigit() and 0 < len(text) < 5 and int(text) > 0):
        return ""
    return f"“{text[:40]}” isn't a place. Write where the output was shown: 1 for the first."


def _check_length(text: str, most: int, noun: str) -> str:
    if len(text) <= most:
        return ""
    return f"The {noun} may have {most:,} characters; this one has {len(text):,}. Shorten it."


def shorten(text: Any, most: int = 60) -> str:
    whole = str(text)
    return whole if len(whole) <= most else f"{whole[:most]}…"
