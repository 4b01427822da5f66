"""What scales of whole numbers in a box have in common: sliders and numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from evalsite.fields import BoundedField, EntryInput
from evalsite.protocol import Criterion
from evalsite.protocol.scale import NA
from evalsite.scales.points import Parts, ScaleOfParts, parse_parts, parse_range


class BoundedOrNotField(BoundedField):
    """A whole number, or in place of it the tick that the question doesn't apply."""

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


@dataclass(frozen=True, kw_only=True)
class BoundedScale(ScaleOfParts):
    """Whole numbers from `minimum` to `maximum`, typed into a box.

    An entry is the text of the box, "na", or both where both were sent.
    """

    minimum: int
    maximum: int
    family: ClassVar[str] = "points"
    is_typed: ClassVar[bool] = True
    tests: ClassVar[frozenset[str]] = frozenset({"is", "at_least", "at_most"})
    needed: ClassVar[frozenset[str]] = frozenset({"minimum", "maximum"})

    @property
    def steps(self) -> int:
        return 1

    # --- page

    def read_entry(self, data: Mapping[str, Any], name: str) -> str:
        typed = str(data.get(name) or "")
        return f"{typed} {NA}".strip() if data.get(f"{name}.{NA}") == NA else typed

    def name_entry(self, entry: str) -> str:
        return self.not_applicable if entry == NA else entry

    def make_field(
        self, criterion: Criterion, output_name: str, *, is_one_of_several: bool = False
    ) -> BoundedField:
        name = f"{output_name[:1].lower()}{output_name[1:]}"
        missing = (
            _("Give a number for %(criterion)s of %(name)s")
            if is_one_of_several
            else _("Give a number for %(criterion)s")
        ) % {"criterion": criterion.label.lower(), "name": name}
        cls = BoundedOrNotField if self.not_applicable else BoundedField
        return cls(
            lowest=self.minimum,
            highest=self.maximum,
            step=self.steps,
            missing=missing,
            label=criterion.label,
            widget=EntryInput(self.read_entry),
        )

    # --- gold: a number ("80") or a range of numbers ("80..100") for each output

    def parse_gold(self, text: str, outputs: Sequence[str]) -> Parts:
        return parse_parts(
            text,
            len(outputs),
            lambda part: parse_range(part, self.minimum, self.maximum),
            may_be_na=bool(self.not_applicable),
        )

    def name_right(self, value: Any) -> str:
        return self.not_applicable if value == NA else str(value)

    def right_values(self, right: Parts, outputs: int, standard: int | None) -> list[Any | None]:
        middle = super().right_values(right, outputs, standard)
        return [
            value if value in (None, NA) else value - (value - self.minimum) % self.steps
            for value in middle
        ]

    # --- words

    def name_choices(self) -> tuple[str, ...]:
        return (f"{self.minimum} to {self.maximum}", *self.name_na())

    def write_markdown(self) -> str:
        return "\n".join([f"- A whole number from {self.minimum} to {self.maximum}",
                          *self.list_na()])  # fmt: skip

    # --- plain data
