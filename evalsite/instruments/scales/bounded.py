"""What sliders and numbers have in common: a number between two ends, typed into a box."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from pydantic import Field

from evalsite.instruments.answer import count_units, round_value
from evalsite.instruments.faults import Fault
from evalsite.instruments.fields import BoundedField, EntryInput
from evalsite.instruments.parts import Numeric, is_number
from evalsite.instruments.scales.base import NA, QuestionWords
from evalsite.instruments.scales.points import NumberScale, Parts


class BoundedOrNotField(BoundedField):
    """A number, or in place of it the tick that the question doesn't apply."""

    def clean(self, value: Any) -> Any:
        words = str(value or "").split()
        if words == [NA]:
            return NA
        if NA in words:
            raise ValidationError(
                _("%(missing)s, or say that it doesn’t apply, but not both")
                % {"missing": self.missing},
                code="both",
            )
        return super().clean(value)


class Bounded(NumberScale):
    """Numbers from `minimum` to `maximum`, typed into a box.

    An entry is the text of the box, "na", or both where both were sent.
    """

    family: ClassVar[str] = "points"
    is_typed: ClassVar[bool] = True
    minimum: Numeric = Field(
        title="Lowest value", examples=[0], json_schema_extra={"is_in_sight": True}
    )
    maximum: Numeric = Field(
        title="Highest value", examples=[100], json_schema_extra={"is_in_sight": True}
    )

    def find_faults(self, at: str) -> Iterator[Fault]:
        if self.minimum >= self.maximum:
            yield Fault("order", at, "must have a minimum below its maximum")

    def is_answer(self, answer: Any, outputs: int) -> bool:
        if answer == NA:
            return self.has_na
        return (
            is_number(answer)
            and (self.has_decimals or isinstance(answer, int))
            and self.minimum <= answer <= self.maximum
        )

    @property
    def has_decimals(self) -> bool:
        return isinstance(self.minimum, float) or isinstance(self.maximum, float)

    def find_step(self, value: float) -> float:
        """Return the answer at this value, or the next one below."""
        units = count_units(value - self.minimum) // count_units(self.steps)
        return round_value(self.minimum + units * self.steps)

    # --- page

    @property
    def input_mode(self) -> str:
        """Name the keyboard of a phone; those with digits alone lack a minus sign."""
        return "text" if self.minimum < 0 else "decimal" if self.has_decimals else "numeric"

    def read_entry(self, data: Mapping[str, Any], name: str) -> str:
        typed = str(data.get(name) or "")
        return f"{typed} {NA}".strip() if data.get(f"{name}.{NA}") == NA else typed

    def make_field(
        self, criterion: QuestionWords, output_name: str, *, is_one_of_several: bool = False
    ) -> BoundedField:
        name = f"{output_name[:1].lower()}{output_name[1:]}"
        missing = (
            _("Give a number for %(criterion)s of %(name)s")
            if is_one_of_several
            else _("Give a number for %(criterion)s")
        ) % {"criterion": criterion.label.lower(), "name": name}
        cls = BoundedOrNotField if self.na_words else BoundedField
        return cls(
            lowest=self.minimum,
            highest=self.maximum,
            step=self.steps,
            missing=missing,
            label=criterion.label,
            widget=EntryInput(self.read_entry),
        )

    def right_values(self, right: Parts, outputs: int, standard: int | None) -> list[Any | None]:
        middle = super().right_values(right, outputs, standard)
        return [value if value in (None, NA) else self.find_step(value) for value in middle]

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        entry = super().answer_as_bot(felt, number)
        return entry if entry == NA else str(self.find_step(max(float(entry), self.minimum)))
