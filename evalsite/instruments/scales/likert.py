"""Labelled points, low to high."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Names, Numeric, Part, Words
from evalsite.instruments.scales.base import NA, NumberScale


class Point(Part):
    value: Numeric = Field(title="Value", json_schema_extra={"is_in_box": True})
    label: str = Field(title="Label", json_schema_extra={"is_in_box": True})
    notes: Names = Field([], title="Notes", description="Shown below it, one per line.")
    reserved: bool = Field(False, title="Reserved: the note on reserved points says for what")


class Likert(NumberScale):
    kind: Literal["likert"] = Field(title="Points with labels")
    points: Annotated[list[Point], Field(min_length=2, max_length=21)] = Field(
        title="Points, from low to high, one per line",
        description="A line may start with its value: “0 Not at all”.",
        examples=[
            [
                {"value": 1, "label": "Very bad"},
                {"value": 2, "label": "Bad"},
                {"value": 3, "label": "Fair"},
                {"value": 4, "label": "Good"},
                {"value": 5, "label": "Very good"},
            ]
        ],
        json_schema_extra={"is_in_sight": True, "noun": "point"},
    )
    shown: Literal["rising", "falling"] = Field(
        "rising",
        title="Order on the page",
        json_schema_extra={"words": {"rising": "low to high", "falling": "high to low"}},
    )
    display: Literal["row", "stacked"] = Field(
        "row",
        title="Arrangement",
        json_schema_extra={"words": {"row": "in a row", "stacked": "one below the other"}},
    )
    reserved_note: str = Field(
        "", title="Note on reserved points", description="Says when those points are to be used."
    )
    not_applicable: Words | None = Field(
        None, title="Words for “not applicable”", description="Empty: it isn’t offered."
    )
    out_of: bool = Field(
        False,
        title="Write answers as “4 out of 5”",
        validation_alias=AliasChoices("out_of", "x_out_of"),
    )

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
