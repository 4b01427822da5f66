"""A place on a line between two ends, such as 0 to 100."""

from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Names, Numeric, Part, Words
from evalsite.instruments.scales.base import find_twice
from evalsite.instruments.scales.bounded import Bounded


class Mark(Part):
    """A labelled place on the line, with notes under it."""

    value: Numeric = Field(title="Value")
    label: Words = Field(title="Label")
    notes: Names = Field([], title="Notes", description="Shown below it, one per line.")


class Stop(NamedTuple):
    """A place of the line as a page shows it: a mark, or an end."""

    value: float
    label: str
    notes: list[str]


class Slider(Bounded):
    """A line with a box; it has no value before it is set.

    `marks` are labelled places of the line; `low` and `high` are words at its ends.
    """

    kind: Literal["slider"] = Field(title="Slider")
    step: Numeric = Field(1, title="Step")
    not_applicable: Words | None = Field(
        None, title="Words for “not applicable”", description="Empty: it isn’t offered."
    )
    low: Words | None = Field(None, title="Words at the low end")
    high: Words | None = Field(None, title="Words at the high end")
    marks: Annotated[list[Mark], Field(max_length=21)] = Field(
        [],
        title="Labelled marks",
        description="Words at some of the values.",
        json_schema_extra={"noun": "mark"},
    )

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

    @property
    def steps(self) -> float:
        return self.step

    def label_of(self, value: float) -> str:
        return next((mark.label for mark in self.stops if mark.value == value), "")

    @property
    def has_notes(self) -> bool:
        return any(mark.notes for mark in self.marks)

    @property
    def stops(self) -> list[Stop]:
        """Return what a page prints under the line: the marks, and words at its ends."""
        stops = {mark.value: Stop(mark.value, mark.label, mark.notes) for mark in self.marks}
        for value, label in ((self.minimum, self.low), (self.maximum, self.high)):
            stops.setdefault(value, Stop(value, label or "", []))
        return [stops[value] for value in sorted(stops)]

    # --- words

    def words(self) -> str:
        return f"a slider from {self.minimum} to {self.maximum}"

    def describe_values(self) -> str:
        labelled = [f"{mark.value} = {mark.label}" for mark in self.stops if mark.label]
        return ", ".join([f"{self.minimum} to {self.maximum}", *labelled])

    def write_markdown(self) -> str:
        lines = [super().write_markdown()]
        lines += [f"  - {mark.value}: {mark.label}" for mark in self.stops if mark.label]
        return "\n".join(lines)

    def name_choices(self) -> tuple[str, ...]:
        labelled = (f"{mark.value}: {mark.label}" for mark in self.stops if mark.label)
        return (f"{self.minimum} to {self.maximum}", *labelled, *self.name_na())
