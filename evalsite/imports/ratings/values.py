"""What one cell of a file of ratings says, read by the criterion's own scale."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from evalsite.imports.ratings.rows import RatingRow, shorten
from evalsite.protocol import Criterion

_TIE = "tie"
_PARTS = re.compile(r"\s*[,|]\s*")


@dataclass(frozen=True, slots=True)
class CheckedRating:
    """One rating as a checked file gives it. `output_id` None: a tie, or about all outputs."""

    criterion: str
    output_id: int | None
    value: int
    typed: str
    record: int


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item that ratings name. `outputs`: id and system of each, in the order of the batch."""

    pk: int
    key: str
    kind: str
    batch: Any
    is_open: bool
    outputs: tuple[tuple[int, str], ...]

    def find(self, system: str) -> int | None:
        """The number of the output of this system, from 0; None: the item has none."""
        names = [name for _, name in self.outputs]
        return names.index(system) if system in names else None

    @property
    def systems(self) -> str:
        return ", ".join(name for _, name in self.outputs)


@dataclass(slots=True)
class CheckedAnswer:
    """All that one participant said of one item, and where the file says it first."""

    participant: str
    item: FoundItem
    line: int
    record: int
    # by criterion, and the number of the output; None: of all of them
    ratings: dict[tuple[str, int | None], CheckedRating] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)
    order: tuple[int, ...] = ()
    time: str = ""
    note: str = ""
    order_shown: tuple[int, ...] = ()
    is_faulty: bool = False


class ValueReader:
    """Reads ratings as the scales allow them; ValidationError says what is wrong with a cell."""

    def __init__(self) -> None:
        self._fields: dict[str, forms.Field] = {}
        self._words: dict[str, dict[str, int]] = {}
        self._labels: dict[str, dict[str, int]] = {}

    def read(self, row: RatingRow) -> tuple[int, str]:
        """Return the value, and the text that was typed where the scale keeps it."""
        if row.criterion.scale.keeps_typed:
            return self._read_typed(row)
        value = self._read_value(row)
        self._check_label(row, value)
        return value, ""

    def _read_typed(self, row: RatingRow) -> tuple[int, str]:
        value = self.clean(row.criterion, row.value)
        if row.typed and self.clean(row.criterion, row.typed) != value:
            raise ValidationError(
                f"The value {value} is not what was typed: “{shorten(row.typed)}”. Correct one."
            )
        return value, row.typed or row.value

    def _read_value(self, row: RatingRow) -> int:
        criterion, text = row.criterion, row.value.strip()
        if criterion.key not in self._words:
            self._words[criterion.key] = criterion.scale.file_words()
        known = self._words[criterion.key].get(text.casefold())
        if known is not None:
            return known
        try:
            value: int = self.clean(criterion, text)
        except ValidationError:
            said = f"“{shorten(text)}” is" if text else "An empty cell is"
            choices = criterion.scale.describe_choices()
            raise ValidationError(f"{said} no answer on {criterion.key}. Use {choices}.") from None
        return value

    def clean(self, criterion: Criterion, entry: str) -> Any:
        """Return the answer that the page's own form would make of an entry."""
        if criterion.key not in self._fields:
            self._fields[criterion.key] = criterion.make_field("this output")
        return self._fields[criterion.key].clean(entry)

    def _check_label(self, row: RatingRow, value: int) -> None:
        """Words of another answer say that the scale was turned round, or a column is wrong."""
        said = row.label.strip().casefold()
        if not said:
            return
        criterion = row.criterion
        if criterion.key not in self._labels:
            answers = criterion.scale.list_answers()
            self._labels[criterion.key] = {label.casefold(): point for point, label in answers}
        meant = self._labels[criterion.key].get(said, value)
        if meant != value:
            raise ValidationError(
                f"The value is {value}, but “{shorten(row.label)}” is the label of {meant}. "
                "See whether the scale is the same."
            )


def read_preferred(row: RatingRow, item: FoundItem) -> int | None:
    """The number of the output preferred, from 0; None: a tie."""
    text = row.preferred
    if text.strip().casefold() == _TIE or (not text and row.is_tie):
        return None
    number = item.find(text)
    if number is not None:
        return number
    said = f"“{shorten(text)}” is not a system of this item" if text else "The cell is empty"
    raise ValidationError(f"{said}. Write {item.systems} or tie.", code="preferred")


def find_output(row: RatingRow, item: FoundItem) -> int:
    """The number of the output that the row is about, from 0."""
    if not row.system and len(item.outputs) == 1:
        return 0
    number = item.find(row.system)
    if number is not None:
        return number
    said = f"“{shorten(row.system)}” is not a system" if row.system else "Name the system"
    raise ValidationError(f"{said} of this item. It has {item.systems}.", code="system")


def read_order(text: str, item: FoundItem) -> tuple[int, ...]:
    """The numbers of the outputs, from 0, in the order shown: of numbers from 1, or systems."""
    parts = _PARTS.split(text) if _PARTS.search(text) else text.split()
    numbers = {str(number): number - 1 for number in range(1, len(item.outputs) + 1)}
    order = [found if (found := item.find(one)) is not None else numbers.get(one) for one in parts]
    known = [number for number in order if number is not None]
    if sorted(known) != list(range(len(item.outputs))) or len(known) != len(order):
        raise ValidationError(
            f"“{shorten(text)}” is no order of the outputs. Name each once, by its system or its "
            f"number in the batch, such as {', '.join(numbers)}."
        )
    return tuple(known)


def order_by_place(answer: CheckedAnswer) -> tuple[int, ...]:
    """The order in which the outputs were shown; nothing where the file does not tell it."""
    size = len(answer.item.outputs)
    if len(answer.places) < size:
        return answer.order
    by_place: Sequence[int] = sorted(answer.places, key=lambda number: answer.places[number])
    if answer.order and answer.order != tuple(by_place):
        raise ValidationError("The places are not those of the order that the file gives as well.")
    return tuple(by_place)
