"""What columns of ratings contain in a study, and each row of the file as the ratings in it."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from evalsite.data.importing import Field, check_cells
from evalsite.data.items.choices import shorten_id
from evalsite.data.tables.table import Fault, Row
from evalsite.instruments.checks import RESERVED_COLUMNS, RESERVED_KEYS
from evalsite.instruments.fields import LONGEST_TEXT
from evalsite.instruments.scales import COMMENT
from evalsite.instruments.schema import Criterion, Instrument
from evalsite.lib.rating_columns import (
    FIELDS,
    MEANINGS,
    Asked,
    Part,
    Target,
    fold,
    melt,
    split_field,
)
from evalsite.lib.rating_guess import find_unasked
from evalsite.people.models import Origin
from evalsite.studies.models import Study

# whether rejected work counts
REJECTED, LEAVE_OUT, KEEP = "rejected", "leave-out", "keep"
# what programs write for a rating that was not given
_MISSING = frozenset(("na", "n/a", "nan", "none", "null", "\\n"))
# as our tables write it, and our datasets
_YES = ("yes", "true")
LONGEST_ID = 200
LONGEST_TIME = 64
# A file written by hand has no use for these: offered where they were guessed.
_OF_EXPORTS = ("outcome", "time_given", "kind", "status", "origin", "person", "excluded",
               "value_typed", "part", "text", "not_applicable", "better")  # fmt: skip
# what only some protocols have a use for
_OF_VALUES = ("value", "label", "value_typed", "place")
_OF_COMPARISONS = ("preferred", "outcome", "shown_first")
# so many fields for a criterion and a system each are offered unasked
_MOST_CROSSED = 60
_SHARED = ("participant", "item", "submitted_at", "time_given", "note", "kind", "status", "origin",
           "excluded", "person")  # fmt: skip
_OF_RATING = ("criterion", "system", "value", "preferred", "place", "order_shown", "shown_first",
              "label", "value_typed", "outcome", "part", "text", "not_applicable")  # fmt: skip
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
    """Return what the study asks, as far as the columns of a file tell it."""
    config: Instrument = study.config
    is_single = config.item.outputs.most == 1
    return Asked(
        labels={criterion.key: criterion.label for criterion in config.criteria},
        compared=frozenset(
            criterion.key for criterion in config.criteria if criterion.scale.compares
        ),
        per_output=frozenset(
            criterion.key
            for criterion in config.criteria
            if criterion.is_of_outputs and not is_single
        ),
        systems=tuple(study.systems.order_by("name").values_list("name", flat=True)),
    )


def list_fields(asked: Asked, mapping: Mapping[str, str], most_outputs: int) -> list[Field]:
    """Everything that a column may be mapped to, in the order in which a page offers it."""
    useless = {*_OF_EXPORTS}
    useless |= set() if asked.has_values else {*_OF_VALUES}
    useless |= set() if asked.has_comparisons else {*_OF_COMPARISONS}
    mapped = set(mapping.values())
    fields = [Field("", "Leave out", is_for_many=True)]
    fields += [
        Field(name, f"{name.replace('_', ' ').capitalize()}: {MEANINGS[name]}")
        for name in FIELDS
        if name in mapped or name not in useless
    ]
    return fields + [
        Field(name, _name_target(target, asked), group="Several ratings in a row")
        for name in dict.fromkeys([*_list_wide(asked, most_outputs), *sorted(mapped)])
        if (target := split_field(name)) and (target.is_wide or target.number)
    ]


def _name_target(target: Target, asked: Asked) -> str:
    """Name what a column of a wide row contains: "Informativeness of output 2"."""
    if target.is_rating:
        name = asked.labels.get(target.criterion, target.criterion) or "Rating"
        name += ": which is preferred" if target.name == "preferred" else ""
    else:
        name = target.name.capitalize()
    of = f"output {target.number}" if target.number else target.system
    return f"{name} of {of}" if of else name


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
    outcome: str
    time: str
    note: str
    # where the cells are
    part: Part
    # the statement or option that it is of
    part_key: str = ""
    text: str = ""
    is_not_applicable: bool = False


class RowReader:
    """Takes rows apart by the mapping of their columns, and counts what is not imported."""

    def __init__(
        self,
        header: Sequence[str],
        mapping: Mapping[str, str],
        config: Instrument,
        *,
        rejected: str = "",
    ) -> None:
        self.header = header
        self.parts = melt(header, mapping)
        # rows that are not imported, by why
        self.left_out: Counter[str] = Counter()
        self.unrated = self.simulated = self.excluded = self.not_persons = self.missing = 0
        # whether work that was rejected on its platform counts, and how many rows are of such work
        self._rejected = rejected
        self.rejected = 0
        self._assignment = next(
            (number for number, name in enumerate(header) if fold(name) == "assignmentstatus"), None
        )
        # what the header says, behind the cells of each row: first of all, nothing
        self._constants = [""]
        self._get_shared = self._make_getter(self.parts[0], _SHARED)
        self._getters = [(part, self._make_getter(part, _OF_RATING)) for part in self.parts]
        labels = {criterion.label.casefold(): criterion for criterion in config.criteria}
        self._criteria = labels | {
            criterion.key.casefold(): criterion for criterion in config.criteria
        }
        is_named = any("criterion" in (*part.columns, *part.fixed) for part in self.parts)
        if len(config.criteria) == 1 and not is_named:
            self._criteria[""] = config.criteria[0]
        self._asked = ", ".join(criterion.key for criterion in config.criteria)

    def _make_getter(self, part: Part, fields: Sequence[str]) -> Callable[[list[str]], Any]:
        """Return a quick way to the cells of these fields: there may be a million rows."""
        places = []
        for field in fields:
            place = part.columns.get(field, len(self.header))
            if text := part.fixed.get(field):
                place = len(self.header) + len(self._constants)
                self._constants.append(text)
            places.append(place)
        return itemgetter(*places)

    def name_column(self, field: str, part: Part | None = None) -> str:
        """The column of the file that has this field; the field itself where there is none."""
        number = (part or self.parts[0]).columns.get(field)
        return field if number is None else self.header[number]

    def name_answer(self, row: Row) -> tuple[str, str]:
        """Whose answer to what the row belongs to."""
        if len(row.cells) != len(self.header):
            return "", ""
        participant, item, *_ = self._get_shared(row.cells + self._constants)
        return participant, item

    def read(self, row: Row) -> tuple[list[RatingRow], list[Fault]]:
        """The ratings of a row, or what is wrong with it; neither of a row that stays out."""
        if faults := check_cells(row, self.header):
            return [], faults
        if self._is_rejected(row):
            return [], []
        cells = row.cells + self._constants
        shared = self._get_shared(cells)
        participant, item, submitted, time_given, note, kind, status, *exported = shared
        if self._is_left_out(kind, status):
            return [], []
        ratings = [(part, get(cells)) for part, get in self._getters if part.is_rated(cells)]
        if not ratings:
            self.unrated += 1
        time = time_given or submitted
        checks = [
            ("participant", _check_participant(participant)),
            ("item", "" if item else "The item is empty. Give its id."),
            ("submitted_at", _check_length(time, LONGEST_TIME, "time")),
            ("note", _check_length(note, LONGEST_TEXT, "note")),
        ]
        faults = [self._blame(row, field, text) for field, text in checks if text]
        for part, (criterion, _, _, _, place, *_) in ratings:
            if text := _check_place(place.strip()):
                faults.append(self._blame(row, "place", text, part))
            if criterion.strip().casefold() not in self._criteria:
                text = self._explain_criterion(criterion.strip())
                faults.append(self._blame(row, "criterion", text, part))
        if faults or not ratings:
            return [], faults
        origin, excluded, person = exported
        self.simulated += origin == Origin.SIMULATED
        self.excluded += excluded in _YES
        self.not_persons += person == "no"
        rows = [
            RatingRow(
                line=row.line,
                record=row.record,
                participant=participant,
                item=item,
                criterion=self._criteria[criterion.strip().casefold()],
                system=system,
                value=value,
                preferred=preferred,
                place=int(place) if place.strip() else None,
                order_shown=order.strip(),
                shown_first=first,
                label=label,
                typed=typed,
                outcome=outcome.strip(),
                part_key=part_key.strip(),
                text=text,
                is_not_applicable=na.strip() in _YES,
                time=time,
                note=note,
                part=part,
            )
            for part, (
                criterion, system, value, preferred, place, order, first, label, typed, outcome,
                part_key, text, na,
            ) in ratings
        ]  # fmt: skip
        rated = [
            rating
            for rating in rows
            if not is_missing(
                rating.criterion,
                rating.preferred if rating.criterion.scale.compares else rating.value,
            )
        ]
        self.missing += len(rows) - len(rated)
        return rated, []

    def _is_rejected(self, row: Row) -> bool:
        """Return whether a row of rejected work stays out: while nobody decided, too."""
        if self._assignment is None or fold(row.cells[self._assignment]) != "rejected":
            return False
        self.rejected += 1
        return self._rejected != KEEP

    def _is_left_out(self, kind: str, status: str) -> bool:
        """Return whether the row is of a practice item, a pilot or the like, and in no results."""
        if kind.strip() not in ("", "main"):
            self.left_out[f"kind {kind.strip()[:40]}"] += 1
        elif status.strip() not in ("", "counted"):
            self.left_out[f"status {status.strip()[:40]}"] += 1
        else:
            return False
        return True

    def _explain_criterion(self, text: str) -> str:
        beginning = f"“{shorten(text)}” isn't a criterion of this study" if text else "It is empty"
        return f"{beginning}. The criteria are: {self._asked}."

    def _blame(self, row: Row, field: str, message: str, part: Part | None = None) -> Fault:
        return Fault(_CODES[field], message, self.name_column(field, part), row.line, row.record)


def is_missing(criterion: Criterion, cell: str) -> bool:
    """Return whether a cell says that there is no rating, and is no answer on this scale."""
    word = cell.strip().casefold()
    if word not in _MISSING:
        return False
    labels = {str(label).casefold() for _, label in criterion.scale.list_answers()}
    return word not in labels and word not in criterion.scale.file_words()


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


def make_key(name: str, taken: set[str]) -> str:
    """Return a key for what a file calls so, unlike those that are taken."""
    start = re.sub("[^a-z0-9]+", "_", shorten_id(name).casefold()).strip("_")[:30].strip("_")
    start = start if start[:1].isalpha() else f"q_{start}".strip("_")
    reserved = RESERVED_KEYS | RESERVED_COLUMNS | {"turn"} | {f"{key}_{COMMENT}" for key in taken}
    start = f"{start}_answer" if start in reserved else start
    number, key = 1, start
    while key in taken:
        number += 1
        key = f"{start}_{number}"
    return key
