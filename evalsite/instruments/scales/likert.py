"""Labelled points, low to high."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Names, Numeric, Part, Words
from evalsite.instruments.scales.base import NA, NumberScale


class Point(Part):
    value: Numeric
    label: str
    notes: Names = []
    reserved: bool = False


class Likert(NumberScale):
    kind: Literal["likert"]
    points: Annotated[list[Point], Field(min_length=2, max_length=21)]
    shown: Literal["rising", "falling"] = "rising"
    display: Literal["row", "stacked"] = "row"
    reserved_note: str = ""
    not_applicable: Words | None = None
    out_of: bool = Field(False, validation_alias=AliasChoices("out_of", "x_out_of"))

    def find_faults(self, at: str) -> Iterator[Fault]:
        values = [point.value for point in self.points]
        if values != sorted(set(values)):
            yield Fault("order", f"{at}.points", "must have values that rise")
        for end in (0, len(self.points) - 1):
            if not self.points[end].label.strip():
                yield Fault("empty_text", f"{at}.points.{end}.label", "must not be empty")

    def list_answers(self) -> list[Any]:
        return [point.value for point in self.points] + ([NA] if self.not_applicable else [])

    @property
    def has_decimals(self) -> bool:
        return any(isinstance(point.value, float) for point in self.points)
