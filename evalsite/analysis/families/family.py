"""The plain facts that a family of analysis declares.

Pages read them, so nothing heavy is imported here: what is computed is in `numbers`, in the folder
of the family.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

_PARTS = ("rater", "item", "item_system", "rater_system", "residual")


@dataclass(frozen=True, kw_only=True)
class Source:
    """Standard deviations that a study can be planned with.

    `points`: for scales with points, how many the original scale had.
    """

    key: str
    parts: Mapping[str, float]
    points: int | None = None


@dataclass(frozen=True, kw_only=True)
class Planner:
    """How a study is planned whose main question belongs to this family.

    `simulation` names it in stored plans. `read_difference` takes what was entered and the width
    of the scale, and returns the difference as simulated; None: it is out of range.
    `shows_spread`: the results of a study show how much its ratings vary. `width`: the half-width
    of an interval is a number of units, a share, or a factor.
    """

    simulation: str
    example: str
    read_difference: Callable[[float, float], float | None]
    sources: tuple[Source, ...]
    width: Literal["units", "share", "factor"] = "units"
    parts: tuple[str, ...] = _PARTS  # the sources of variation in its simulation
    has_points: bool = False
    has_ties: bool = False
    shows_spread: bool = True
    first_items: int | None = None  # how many inputs to try first if there is no closed form


@dataclass(frozen=True, kw_only=True)
class Family:
    """A way to analyse the answers to a criterion.

    `is_scored`: answers are scores, so criteria can correlate and raters can be strict;
    `has_points`: on points at equal distances; `decides`: answers are yes or no, and can be
    compared with scores; `compares`: each is about two outputs. `is_log`: logarithms are analysed.
    """

    name: str
    is_scored: bool = False
    has_points: bool = False
    decides: bool = False
    compares: bool = False
    is_log: bool = False
    # figures of a rater, in a separate table on raters
    rater_columns: tuple[str, ...] = ()
    # there are statistics; a criterion for each option; a mean of several statements
    is_analysed: bool = True
    splits: bool = False
    averages: bool = False
    planner: Planner | None = None


def name_unit(criterion: Mapping[str, Any]) -> str:
    """Return the unit of a difference of scores; "" for numbers, which have none."""
    return "" if criterion["kind"] == "number" else "points"
