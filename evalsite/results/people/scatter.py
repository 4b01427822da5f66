"""Pace and agreement of each person, as points of one chart."""

from collections.abc import Collection
from dataclasses import dataclass
from math import ceil
from typing import Any

from evalsite.analysis.figure import write_coefficient
from evalsite.quality.person_measures import Measures

# with more people, those who aren't flagged are shown as the area that holds them
MOST_POINTS = 300
_STEPS = (5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, kw_only=True)
class Point:
    """One person: where they are in the chart, in percent, and whether to look at them."""

    pseudonym: str
    seconds: str
    agreement: str
    x: str
    y: str
    kind: str  # flagged, excluded, or ""
    is_right: bool  # its name stands before it


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """The points, the lines of the axes with their labels, and the area of the others."""

    points: list[Point]
    across: list[tuple[str, str]]
    up: list[tuple[str, str]]
    area: tuple[str, str, str, str] | None
    others: int


def draw_scatter(
    people: Collection[Measures], *, flagged: Collection[str], excluded: Collection[str]
) -> Scatter | None:
    """Draw everybody whose pace and agreement are known; None of fewer than two."""
    found = {
        one.pseudonym: (one.seconds, one.agreement)
        for one in people
        if one.seconds is not None and one.agreement is not None
    }
    if len(found) < 2:
        return None
    step = next((one for one in _STEPS if max(x for x, _ in found.values()) <= 6 * one), 2000)
    most = step * ceil(max(x for x, _ in found.values()) / step)
    least = -1.0 if min(y for _, y in found.values()) < -0.2 else -0.2

    def place(x: float, y: float) -> tuple[str, str]:
        # room for the labels at the left and below
        return f"{5 + 93 * x / most:.1f}", f"{4 + 84 * (1 - (y - least) / (1 - least)):.1f}"

    others = {
        name: one for name, one in found.items() if name not in flagged and name not in excluded
    }
    shown = found if len(found) <= MOST_POINTS else {k: found[k] for k in found if k not in others}
    points = [
        Point(
            pseudonym=name,
            seconds=f"{x:.0f}",
            agreement=write_coefficient(y),
            x=place(x, y)[0],
            y=place(x, y)[1],
            kind="excluded" if name in excluded else "flagged" if name in flagged else "",
            is_right=x > most * 0.75,
        )
        for name, (x, y) in shown.items()
    ]
    ticks = [-1.0, -0.5, 0.0, 0.5, 1.0] if least == -1 else [0.0, 0.25, 0.5, 0.75, 1.0]
    return Scatter(
        # the flagged last, so that nothing hides them
        points=sorted(points, key=lambda point: (point.kind == "flagged", point.pseudonym)),
        across=[(place(x, 0)[0], f"{x} s") for x in range(0, most + 1, step)],
        up=[(place(0, y)[1], write_coefficient(y)) for y in ticks],
        area=_find_area(list(others.values()), place) if len(others) > 1 else None,
        others=len(others),
    )


def _find_area(others: list[tuple[float, float]], place: Any) -> tuple[str, str, str, str]:
    """Return the left, the top, the width and the height of what holds the others."""
    left, top = place(min(x for x, _ in others), max(y for _, y in others))
    right, bottom = place(max(x for x, _ in others), min(y for _, y in others))
    return left, top, f"{float(right) - float(left):.1f}", f"{float(bottom) - float(top):.1f}"
