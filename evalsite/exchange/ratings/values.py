"""What one cell of a file of ratings says, read by the protocol's own scale."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from evalsite.exchange.ratings.rows import RatingRow, shorten
from evalsite.protocol import Criterion
from evalsite.scales.decision import Decision
from evalsite.scales.likert import Likert
from evalsite.scales.magnitude import Magnitude

_TIE = "tie"
_PARTS = re.compile(r"\s*[,|]\s*")


@dataclass(frozen=True, slots=True)
class CheckedRating:
    """One rating as a checked file gives it: `output_id` None is a tie."""

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

    def read(self, row: RatingRow) -> tuple[int, str]:
        """The value, and the text that was typed where the protocol keeps it."""
        scale = row.criterion.scale
        match scale:
            case Magnitude():
                return self._read_magnitude(row)
            case Decision():
                value = self._read_point(row, {scale.yes.casefold(): 1, scale.no.casefold(): 0})
            case _:
                value = self._read_point(row, {})
        if isinstance(scale, (Likert, Decision)):
            _check_label(row, value)
        return value, ""

    def _read_magnitude(self, row: RatingRow) -> tuple[int, str]:
        value = self._clean(row.criterion, row.value)
        if row.typed and self._clean(row.criterion, row.typed) != value:
            raise ValidationError(
                f"The value {value} is not what was typed: “{shorten(row.typed)}”. Correct one."
            )
        return value, row.typed or row.value

    def _read_point(self, row: RatingRow, words: dict[str, int]) -> int:
        text = row.value.strip()
        if text.casefold() in words:
            return words[text.casefold()]
        try:
            return self._clean(row.criterion, text)
        except ValidationError:
            said = f"“{shorten(text)}” is" if text else "An empty cell is"
            raise ValidationError(
                f"{said} no answer on {row.criterion.key}. Use {_list_answers(row.criterion)}."
            ) from None

    def _clean(self, criterion: Criterion, text: str) -> int:
        if criterion.key not in self._fields:
            self._fields[criterion.key] = criterion.make_field("this output")
        value: int = self._fields[criterion.key].clean(text)
        return value


def _list_answers(criterion: Criterion) -> str:
    scale = criterion.scale
    if isinstance(scale, Likert):
        words = [str(point.value) for point in scale.points]
    elif isinstance(scale, Decision):
        words = [scale.yes, scale.no, "1", "0"]
    else:
        words = []
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _check_label(row: RatingRow, value: int) -> None:
    """Words that are of another point say that the scale was turned round, or a column wrong."""
    scale, said = row.criterion.scale, row.label.strip().casefold()
    points = range(scale.minimum, scale.maximum + 1)
    labels = {scale.label_of(point).casefold(): point for point in points}
    meant = labels.get(said, value) if said else value
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
