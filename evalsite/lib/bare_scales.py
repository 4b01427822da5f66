"""What the numbers of a bare file are: points of a scale, places on a slider, numbers, decisions.

This is decided from the values, and from the ends of the scale if the file or the command names
them. No file is refused because its values have decimals.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Ends = tuple[float, float]
Kind = Literal["likert", "slider", "number", "decision"]
MOST_POINTS = 11  # different values that still count as points
MOST_STEPS = 21  # of half a point, between the ends
_WIDEST = 20  # from the first to the last of whole points


@dataclass(frozen=True, kw_only=True)
class BareScale:
    """How the values of a criterion are read.

    `ends`: None for numbers without bounds. `step`: 1 or a half, between points. `is_range_found`:
    the ends are the lowest and highest value in the file.
    """

    kind: Kind
    ends: Ends | None = None
    step: float = 1.0
    is_range_found: bool = False

    @property
    def decides(self) -> bool:
        return self.kind == "decision"

    def describe_reading(self) -> tuple[str, dict[str, Any]]:
        """Return the code of a note on how the values were read, and its facts."""
        if self.decides:
            return "read_as_decisions", {}
        low, high = self.ends or (None, None)
        facts: dict[str, Any] = {"low": low, "high": high}
        if self.kind == "number":
            return "read_as_numbers", facts
        facts["is_range_found"] = self.is_range_found
        if self.kind == "slider":
            return "read_as_slider", facts
        return "read_as_points", facts | {"step": self.step}

    def list_points(self) -> list[float]:
        if self.kind != "likert" or self.ends is None:
            return []
        low, high = self.ends
        return [low + number * self.step for number in range(round((high - low) / self.step) + 1)]


def read_scale(key: str, value: Iterable[float], *, ends: Ends | None, kind: str = "") -> BareScale:
    """Return how the values of a criterion are read.

    A known `kind` is kept as far as the values allow. ValueError: a value lies outside the ends.
    """
    values = sorted(set(map(float, value)))
    if ends is not None and values and not ends[0] <= values[0] <= values[-1] <= ends[1]:
        raise ValueError(
            f"The values of {key} go from {values[0]:g} to {values[-1]:g}, outside the scale from "
            f"{ends[0]:g} to {ends[1]:g}. Name their scale with --scale."
        )
    is_binary = bool(values) and values[0] == 0 and {*values} <= {0.0, 1.0}
    if kind == "decision" or (not kind and ends is None and is_binary):
        return BareScale(kind="decision", ends=(0.0, 1.0))
    reach = ends or ((values[0], values[-1]) if values else (0.0, 0.0))
    is_found = ends is None
    if kind == "slider":
        return BareScale(kind="slider", ends=reach, is_range_found=is_found)
    step = _find_step(values, reach, is_chosen=kind == "likert")
    # with values below 0, the values don't show where the scale ends
    if kind != "number" and step and (kind == "likert" or ends is not None or reach[0] >= 0):
        return BareScale(kind="likert", ends=reach, step=step, is_range_found=is_found)
    if ends is None or kind == "number":
        return BareScale(kind="number", ends=ends)
    return BareScale(kind="slider", ends=ends)


def _find_step(values: Sequence[float], reach: Ends, *, is_chosen: bool) -> float | None:
    """Return the distance between points, 1 or a half; None if the values aren't points.

    `is_chosen`: the file or the command says that they are, however many there are.
    """
    width = reach[1] - reach[0]
    if _are_whole([*values, *reach]):
        is_short = len(values) <= MOST_POINTS and width <= _WIDEST
        return 1.0 if is_short or (is_chosen and width <= 5 * _WIDEST) else None
    is_half = _are_whole(2 * value for value in [*values, *reach])
    return 0.5 if is_half and 2 * width <= MOST_STEPS else None


def _are_whole(values: Iterable[float]) -> bool:
    return all(value % 1 == 0 for value in values)
