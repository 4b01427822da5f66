"""Labelled points, low to high."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AliasChoices, Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Names, Numeric, Part, Words
from evalsite.instruments.scales.base import NA, join_choices
from evalsite.instruments.scales.points import NumberScale

# longer labels of points would not fit into a sentence
_SHORT_LABEL = 32
# in a fifth of a phone's width, and of a column's
_LONG_WORD, _LONGEST_WORD, _LONGEST_IN_COLUMN = 10, 12, 24
# numbers of points that the stylesheet has a row for
_ROWS = (5, 7)


class Point(Part):
    """One point: its number, its words, and the notes under it."""

    value: Numeric = Field(title="Value", json_schema_extra={"is_in_box": True})
    label: str = Field(title="Label", json_schema_extra={"is_in_box": True})
    notes: Names = Field([], title="Notes", description="Shown below it, one per line.")
    reserved: bool = Field(False, title="Reserved: the note on reserved points says for what")


class ShownPoint(NamedTuple):
    """A point as a page shows it: "5/5" and "(excellent):", or "5" and "excellent"."""

    value: float
    number: str
    label: str
    notes: list[str]
    reserved: bool


class Likert(NumberScale):
    """Numbered points, low to high. `reserved_note` is about the points that are reserved.

    `display`: on a page, the points are in a row or below one another, with their notes. `shown`:
    from which end a page lists them. `out_of`: a page calls them "5/5 (excellent):" instead of
    "5 excellent". What is stored is the same in any case.
    """

    kind: Literal["likert"] = Field(title="Points with labels")
    family: ClassVar[str] = "points"
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

    @property
    def has_decimals(self) -> bool:
        return any(isinstance(point.value, float) for point in self.points)

    @property
    def minimum(self) -> float:
        return self.points[0].value

    @property
    def maximum(self) -> float:
        return self.points[-1].value

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(point.value for point in self.points)

    def list_answers(self) -> tuple[tuple[float, str], ...]:
        return tuple((point.value, point.label) for point in self.points)

    def reserved_values(self) -> tuple[float, ...]:
        return tuple(point.value for point in self.points if point.reserved)

    # --- page

    @property
    def points_shown(self) -> tuple[ShownPoint, ...]:
        """Return the points in the order and with the words of a page."""
        shown = tuple(self._show_point(point) for point in self.points)
        return shown if self.shown == "rising" else shown[::-1]

    def _show_point(self, point: Point) -> ShownPoint:
        number, label = str(point.value), point.label
        if self.out_of:
            number, label = f"{number}/{self.maximum}", f"({label}):" if label else ""
        return ShownPoint(point.value, number, label, point.notes, point.reserved)

    @property
    def has_notes(self) -> bool:
        # "5/5 (excellent):" is only the beginning of its point: the rest of the sentence stays
        return not self.out_of and any(point.notes for point in self.points)

    @property
    def points_note(self) -> str:
        return self.reserved_note

    @property
    def row_classes(self) -> str:
        """Name the style of points side by side; "": one below the other.

        Four or five points with long words would not fit, or only where there is room; seven with
        long labels would be columns of single words.
        """
        count = len(self.points)
        longest = max(len(word) for point in self.points for word in point.label.split() or [""])
        if self.display == "stacked":
            return ""
        if count == 5 and longest >= _LONG_WORD:
            is_brief = all(
                len(point.label) <= _LONGEST_IN_COLUMN and not point.notes for point in self.points
            )
            return "fit" if is_brief and longest <= _LONGEST_WORD else ""
        if count == 7 and any(len(point.label) > _LONGEST_IN_COLUMN for point in self.points):
            return ""
        if count in _ROWS:
            return f"row n{count}"
        if count > 4:
            return "row any"
        is_wide = any(len(point.label) > _SHORT_LABEL for point in self.points)
        return "" if is_wide or (count == 4 and longest >= _LONG_WORD) else "row named"

    @property
    def is_listed(self) -> bool:
        """Tell whether its five points are a list, as those of its neighbours then are."""
        return len(self.points) == 5 and self.row_classes in ("", "fit")

    def first_control(self, name: str) -> str:
        return f"{name}-{self.points_shown[0].value}"

    def name_answer(self, value: Any) -> str:
        """Return the value with its label, where all labels are short enough to be read on."""
        if value == NA:
            return self.na_words
        if any(len(point.label) > _SHORT_LABEL for point in self.points):
            return str(value)
        label = self.label_of(value)
        return f"{value} ({label})" if label else str(value)

    # --- words

    def describe_choices(self) -> str:
        return join_choices(str(point.value) for point in self.points)

    def describe_values(self) -> str:
        return ", ".join(_join(point.value, " = ", point.label) for point in self.points)

    def write_markdown(self) -> str:
        lines = [line for point in self.points_shown for line in self._write_point(point)]
        lines += self.list_na()
        return "\n\n".join(part for part in ("\n".join(lines), self.reserved_note) if part)

    def _write_point(self, point: ShownPoint) -> list[str]:
        reserved = " (reserved)" if point.reserved else ""
        colon = "" if self.out_of or not point.label else ":"
        first = f"- {point.number}{colon} {point.label}{reserved}".rstrip()
        return [first, *(f"  - {note}" for note in point.notes)]

    def words(self) -> str:
        points = f"a rating scale of {len(self.points)}"
        if all(point.label for point in self.points):
            return f"{points} labelled points"
        return f"{points} points"


def _join(value: float, sign: str, label: str) -> str:
    """Return the point with its label; points between the ends may have none."""
    return f"{value}{sign}{label}" if label else str(value)
