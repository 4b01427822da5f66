"""A place on a line between two ends, such as 0 to 100."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from evalsite.scales.bounded import BoundedScale


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A labelled place on the line, with notes under it."""

    value: int
    label: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Slider(BoundedScale):
    """A line with a box; it has no value before it is set.

    `marks` are labelled places of the line; `low` and `high` are words at its ends.
    """

    step: int = 1
    marks: tuple[Mark, ...] = ()
    low: str = ""
    high: str = ""
    kind: ClassVar[str] = "slider"
    optional: ClassVar[frozenset[str]] = frozenset(
        {"step", "marks", "low", "high", "not_applicable"}
    )

    @property
    def steps(self) -> int:
        return self.step

    def label_of(self, value: int) -> str:
        return next((mark.label for mark in self.stops if mark.value == value), "")

    @property
    def has_notes(self) -> bool:
        return any(mark.notes for mark in self.marks)

    @property
    def stops(self) -> tuple[Mark, ...]:
        """Return what a page prints under the line: the marks, and words at its ends."""
        ends = ((self.minimum, self.low), (self.maximum, self.high))
        marked = {mark.value: mark for mark in self.marks}
        for value, label in ends:
            marked.setdefault(value, Mark(value=value, label=label))
        return tuple(marked[value] for value in sorted(marked))

    def answer_as_bot(self, felt: Any, number: int) -> str:
        entry = super().answer_as_bot(felt, number)
        if not entry.lstrip("-").isdigit():
            return entry
        return str(int(entry) - (int(entry) - self.minimum) % self.step)

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

    # --- plain data

    def to_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "kind": self.kind, "minimum": self.minimum, "maximum": self.maximum,
        }  # fmt: skip
        if self.step != 1:
            data["step"] = self.step
        if self.marks:
            data["marks"] = [_mark_to_data(mark) for mark in self.marks]
        data |= {name: text for name in ("low", "high") if (text := getattr(self, name))}
        return data | self.na_to_data()

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        marks = tuple(
            Mark(value=one["value"], label=one["label"], notes=tuple(one.get("notes", ())))
            for one in data.get("marks", ())
        )
        names = ("minimum", "maximum", "step", "low", "high", "not_applicable")
        return cls(marks=marks, **{name: data[name] for name in names if name in data})


def _mark_to_data(mark: Mark) -> dict[str, Any]:
    data: dict[str, Any] = {"value": mark.value, "label": mark.label}
    return data | ({"notes": list(mark.notes)} if mark.notes else {})
