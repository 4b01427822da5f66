"""One row of a file of ratings: its cells by field, and what is wrong with them by themselves."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsite.fields import LONGEST_NOTE
from evalsite.imports.columns import check_cells
from evalsite.imports.tables.faults import Fault
from evalsite.imports.tables.table import Row
from evalsite.participants.models import Origin
from evalsite.protocol import Criterion, Protocol

LONGEST_ID = 200
LONGEST_TIME = 64
_MAIN = ("", "main")
_COUNTED = ("", "counted")
_CODES = {
    "participant": "participant_invalid",
    "item": "cell_empty",
    "place": "place_invalid",
    "submitted_at": "text_too_long",
    "note": "text_too_long",
    "criterion": "criterion_unknown",
}


@dataclass(slots=True)
class RatingRow:
    """The cells of one row, as they stand in the file; "" where there is no such column."""

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

    def fault(self, code: str, message: str, column: str) -> Fault:
        return Fault(code, message, column=column, line=self.line, record=self.record)


class RowReader:
    """Takes rows apart by the mapping of their columns, and remembers what is wrong."""

    def __init__(self, header: Sequence[str], mapping: Mapping[str, str], config: Protocol) -> None:
        self.header = header
        self.columns = {
            mapping[name]: number for number, name in enumerate(header) if mapping.get(name)
        }
        self.faults: list[Fault] = []
        # whose answers to what lack a row because of a fault
        self.faulty: set[tuple[str, str]] = set()
        # rows that do not go in, by why
        self.left_out: dict[str, int] = {}
        self.simulated = self.excluded = self.not_persons = 0
        self._criteria = _name_criteria(config)
        self._only = config.criteria[0] if len(config.criteria) == 1 else None
        self._asked = ", ".join(criterion.key for criterion in config.criteria)

    def name_column(self, field: str) -> str:
        """The column of the file that holds this field; the field itself where there is none."""
        number = self.columns.get(field)
        return field if number is None else self.header[number]

    def read(self, row: Row) -> RatingRow | None:
        """The row by field; None: it stays out, or something is wrong with it."""
        if found := check_cells(row, self.header):
            self.faults += found
            return None
        if self._stays_out(row):
            return None
        faults = list(self._find_faults(row))
        self.faults += faults
        if faults:
            self.faulty.add((self._get(row, "participant"), self._get(row, "item")))
            return None
        self.simulated += self._get(row, "origin") == Origin.SIMULATED
        self.excluded += self._get(row, "excluded") == "yes"
        self.not_persons += self._get(row, "person") == "no"
        criterion = self._criterion(row)
        place = self._get(row, "place").strip()
        return RatingRow(
            line=row.line,
            record=row.record,
            participant=self._get(row, "participant"),
            item=self._get(row, "item"),
            criterion=criterion,  # type: ignore[arg-type]
            system=self._get(row, "system"),
            value=self._get(row, "value"),
            preferred=self._get(row, "preferred"),
            place=int(place) if place else None,
            order_shown=self._get(row, "order_shown").strip(),
            shown_first=self._get(row, "shown_first"),
            label=self._get(row, "label"),
            typed=self._get(row, "value_typed"),
            is_tie=self._get(row, "outcome") == "tie",
            time=self._time(row),
            note=self._get(row, "note"),
        )

    def _get(self, row: Row, field: str) -> str:
        number = self.columns.get(field)
        return "" if number is None else row.cells[number]

    def _time(self, row: Row) -> str:
        return self._get(row, "time_given") or self._get(row, "submitted_at")

    def _criterion(self, row: Row) -> Criterion | None:
        if "criterion" not in self.columns:
            return self._only
        return self._criteria.get(self._get(row, "criterion").strip().casefold())

    def _stays_out(self, row: Row) -> bool:
        """Whether the row is of a practice item, a pilot or the like, and no rating of a result."""
        for field, wanted in (("kind", _MAIN), ("status", _COUNTED)):
            if (said := self._get(row, field).strip()) not in wanted:
                why = f"{field} {said[:40]}"
                self.left_out[why] = self.left_out.get(why, 0) + 1
                return True
        return False

    def _find_faults(self, row: Row) -> Iterator[Fault]:
        checks: list[tuple[str, str]] = [
            ("participant", _check_participant(self._get(row, "participant"))),
            ("item", "" if self._get(row, "item") else "The item is empty. Give its id."),
            ("place", _check_place(self._get(row, "place").strip())),
            ("submitted_at", _check_length(self._time(row), LONGEST_TIME, "time")),
            ("note", _check_length(self._get(row, "note"), LONGEST_NOTE, "note")),
        ]
        if self._criterion(row) is None:
            said = self._get(row, "criterion").strip()
            what = f"“{said[:60]}” is not a criterion of this study" if said else "It is empty"
            checks.append(("criterion", f"{what}. The criteria are: {self._asked}."))
        for field, message in checks:
            if message:
                yield Fault(
                    _CODES[field],
                    message,
                    column=self.name_column(field),
                    line=row.line,
                    record=row.record,
                )


def _name_criteria(config: Protocol) -> dict[str, Criterion]:
    """The criteria by key, and by label where that is no key of another."""
    labels = {criterion.label.casefold(): criterion for criterion in config.criteria}
    return labels | {criterion.key.casefold(): criterion for criterion in config.criteria}


def _check_participant(text: str) -> str:
    if not text.strip():
        return "The participant is empty. Say in every row who rated; any name will do."
    if text != text.strip() or not text.isprintable():
        return "The participant has a space around it or a sign that can't be seen. Remove it."
    return _check_length(text, LONGEST_ID, "name of a participant")


def _check_place(text: str) -> str:
    if not text or (text.isascii() and text.isdigit() and 0 < len(text) < 5 and int(text) > 0):
        return ""
    return f"“{text[:40]}” is no place. Write where the output stood: 1 for the first."


def _check_length(text: str, most: int, noun: str) -> str:
    if len(text) <= most:
        return ""
    return f"The {noun} may have {most:,} letters; this one has {len(text):,}. Shorten it."


def shorten(text: Any, most: int = 60) -> str:
    said = str(text)
    return said if len(said) <= most else f"{said[:most]}…"
