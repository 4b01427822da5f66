"""What sliders and numbers have in common: two ends."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Numeric, is_number
from evalsite.instruments.scales.base import NA, NumberScale


class Bounded(NumberScale):
    """Numbers between two ends."""

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
