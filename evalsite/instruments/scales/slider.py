"""A place on a line between two ends, such as 0 to 100."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Names, Numeric, Part, Words
from evalsite.instruments.scales.base import find_twice
from evalsite.instruments.scales.bounded import Bounded


class Mark(Part):
    value: Numeric
    label: Words
    notes: Names = []


class Slider(Bounded):
    kind: Literal["slider"]
    step: Numeric = 1
    not_applicable: Words | None = None
    low: Words | None = None
    high: Words | None = None
    marks: Annotated[list[Mark], Field(max_length=21)] = []

    def find_faults(self, at: str) -> Iterator[Fault]:
        yield from super().find_faults(at)
        length = self.maximum - self.minimum
        if length > 0 and not 0 < self.step <= length:
            words = f"must be above 0, and at most {length}"
            yield Fault("out_of_range", f"{at}.step", words)
        for number, mark in enumerate(self.marks):
            if not self.minimum <= mark.value <= self.maximum:
                words = f"must be from {self.minimum} to {self.maximum}"
                yield Fault("out_of_range", f"{at}.marks.{number}.value", words)
        yield from find_twice(self.marks, f"{at}.marks", "value")

    @property
    def has_decimals(self) -> bool:
        values = [self.step, *(mark.value for mark in self.marks)]
        return super().has_decimals or any(isinstance(value, float) for value in values)
