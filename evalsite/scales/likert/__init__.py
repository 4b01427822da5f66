"""Labelled points, low to high."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _

from evalsite.fields import PointField
from evalsite.protocol import Criterion
from evalsite.protocol.scale import NA, join_choices
from evalsite.scales.points import (
    Parts,
    ScaleOfParts,
    parse_parts,
    parse_range,
    quote,
)

# longer labels of points would not fit into a sentence
_SHORT_LABEL = 32
# in a fifth of a phone's width, and of a column's
_LONG_WORD, _LONGEST_WORD, _LONGEST_IN_COLUMN = 10, 12, 24
# numbers of points that the stylesheet has a row for
_ROWS = (5, 7)


@dataclass(frozen=True, kw_only=True)
class Point:
    """One point: its number, its words, and the notes under it."""

    value: int
    label: str
    notes: tuple[str, ...] = ()
    reserved: bool = False


@dataclass(frozen=True)
class ShownPoint:
    """A point as a page shows it: "5/5" and "(excellent):", or "5" and "excellent"."""

    value: int
    number: str
    label: str
    notes: tuple[str, ...]
    reserved: bool


@dataclass(frozen=True, kw_only=True)
class Likert(ScaleOfParts):
    """Numbered points, low to high. `reserved_note` is about the points that are reserved.

    `stacked`: the points are below one another on the page, with their notes. `shown`: from
    which end a page lists them. `is_out_of`: a page calls them "5/5 (excellent):" instead of
    "5 excellent". What is stored is the same in any case.
    """

    points: tuple[Point, ...]
    shown: Literal["rising", "falling"] = "rising"
    is_out_of: bool = False
    stacked: bool = False
    reserved_note: str = ""
    tests: ClassVar[frozenset[str]] = frozenset({"is", "at_least", "at_most"})
    kind: ClassVar[str] = "likert"
    title: ClassVar[str] = "Likert scale"
    family: ClassVar[str] = "points"
    needed: ClassVar[frozenset[str]] = frozenset({"points"})
    optional: ClassVar[frozenset[str]] = frozenset(
        {"shown", "display", "reserved_note", "not_applicable"}
    )

    @property
    def minimum(self) -> int:
        return self.points[0].value

    @property
    def maximum(self) -> int:
        return self.points[-1].value

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(point.value for point in self.points)

    def name_entry(self, entry: str) -> str:
        return self.not_applicable if entry == NA else entry

    def label_of(self, value: int) -> str:
        return next((point.label for point in self.points if point.value == value), "")

    def list_answers(self) -> tuple[tuple[int, str], ...]:
        return tuple((point.value, point.label) for point in self.points)

    def reserved_values(self) -> tuple[int, ...]:
        return tuple(point.value for point in self.points if point.reserved)

    def is_row(self, value: int, *, has_output: bool) -> bool:
        return has_output and any(value == point.value for point in self.points)

    def select_rows(self) -> Q:
        return super().select_rows() & (Q(value__in=self.values) | Q(value__isnull=True))

    # --- page

    @property
    def points_shown(self) -> tuple[ShownPoint, ...]:
        """Return the points in the order and with the words of a page."""
        shown = tuple(self._show_point(point) for point in self.points)
        return shown if self.shown == "rising" else shown[::-1]

    def _show_point(self, point: Point) -> ShownPoint:
        number, label = str(point.value), point.label
        if self.is_out_of:
            number, label = f"{number}/{self.maximum}", f"({label}):" if label else ""
        return ShownPoint(point.value, number, label, point.notes, point.reserved)

    @property
    def has_notes(self) -> bool:
        # "5/5 (excellent):" is only the beginning of its point: the rest of the sentence stays
        return not self.is_out_of and any(point.notes for point in self.points)

    @property
    def points_note(self) -> str:
        return self.reserved_note

    @property
    def row_classes(self) -> str:
        """Name the style of points side by side; "": one below the other.

        Five points with long words would not fit, or only where there is room.
        """
        count = len(self.points)
        longest = max(len(word) for point in self.points for word in point.label.split() or [""])
        if self.stacked:
            return ""
        if count == 5 and longest >= _LONG_WORD:
            is_brief = all(
                len(point.label) <= _LONGEST_IN_COLUMN and not point.notes for point in self.points
            )
            return "fit" if is_brief and longest <= _LONGEST_WORD else ""
        if count in _ROWS:
            return f"row n{count}"
        if count > 4:
            return "row any"
        return "" if any(len(point.label) > _SHORT_LABEL for point in self.points) else "row named"

    @property
    def is_listed(self) -> bool:
        """Tell whether its five points are a list, as those of its neighbours then are."""
        return len(self.points) == 5 and self.row_classes in ("", "fit")

    def first_control(self, name: str) -> str:
        return f"{name}-{self.points_shown[0].value}"

    def make_field(
        self, criterion: Criterion, output_name: str, *, is_one_of_several: bool = False
    ) -> PointField:
        name = f"{output_name[:1].lower()}{output_name[1:]}"
        return PointField(
            values={str(value): value for value in self.values} | self.na_entry,
            missing=(
                _("Choose a score for %(criterion)s of %(name)s")
                if is_one_of_several
                else _("Choose a score for %(criterion)s")
            )
            % {"criterion": criterion.label.lower(), "name": name},
            label=criterion.label,
        )

    # --- gold: a point ("5") or a range of points ("4..6") for each output

    def parse_gold(self, text: str, outputs: Sequence[str]) -> Parts:
        return parse_parts(
            text, len(outputs), self._parse_points, may_be_na=bool(self.not_applicable)
        )

    def _parse_points(self, part: str) -> range:
        found = parse_range(part, self.minimum, self.maximum)
        known = {point.value for point in self.points}
        if not {found[0], found[-1]} <= known:
            raise ValidationError(
                f"{quote(part)} is outside the scale. "
                f"Use points from {self.minimum} to {self.maximum}."
            )
        return found

    def name_right(self, value: Any) -> str:
        return self.not_applicable if value == NA else str(value)

    def name_given(self, value: Any) -> str:
        """Return the value with its label, where all labels are short enough to be read on."""
        if not isinstance(value, int):
            return self.not_applicable
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
        colon = "" if self.is_out_of or not point.label else ":"
        first = f"- {point.number}{colon} {point.label}{reserved}".rstrip()
        return [first, *(f"  - {note}" for note in point.notes)]

    def words(self) -> str:
        points = f"a rating scale of {len(self.points)}"
        if all(point.label for point in self.points):
            return f"{points} labelled points"
        return f"{points} points"

    def name_choices(self) -> tuple[str, ...]:
        named = (_join(point.value, ": ", point.label) for point in self.points)
        return (*named, *self.name_na())

    # --- plain data

    def to_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "kind": self.kind,
            "points": [_point_to_data(p) for p in self.points],
        }
        if self.shown != "rising":
            data["shown"] = self.shown
        if self.is_out_of:
            data["out_of"] = True
        if self.stacked:
            data["display"] = "stacked"
        if self.reserved_note:
            data["reserved_note"] = self.reserved_note
        return data | self.na_to_data()

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            points=tuple(_read_point(point) for point in data["points"]),
            shown=data.get("shown", "rising"),
            is_out_of=data.get("out_of", data.get("x_out_of", False)),
            stacked=data.get("display") == "stacked",
            reserved_note=data.get("reserved_note", ""),
            not_applicable=data.get("not_applicable", ""),
        )

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        return cls(**{**fields, "points": tuple(_read_point(point) for point in fields["points"])})


def _join(value: int, sign: str, label: str) -> str:
    """Return the point with its label; points between the ends may have none."""
    return f"{value}{sign}{label}" if label else str(value)


def _point_to_data(point: Point) -> dict[str, Any]:
    data: dict[str, Any] = {"value": point.value, "label": point.label}
    if point.notes:
        data["notes"] = list(point.notes)
    if point.reserved:
        data["reserved"] = True
    return data


def _read_point(data: Mapping[str, Any]) -> Point:
    return Point(
        value=data["value"],
        label=data["label"],
        notes=tuple(data.get("notes", ())),
        reserved=data.get("reserved", False),
    )
