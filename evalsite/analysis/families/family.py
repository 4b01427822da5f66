"""The words and plain facts that a family of analysis declares.

Pages read them, so nothing heavy is imported here: what is computed is in `numbers`, in the folder
of the family.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

GUESS = "an informed guess of the usual size, to be replaced by results of your own"
RANKME = "what this site's analysis finds in the published ratings of RankME (Novikova, Dušek and "
_PARTS = ("rater", "item", "item_system", "rater_system", "residual")


@dataclass(frozen=True, kw_only=True)
class Source:
    """Standard deviations that a study can be planned with, and where they come from.

    `points`: for scales with points, how many the original scale had.
    """

    key: str
    label: str
    origin: str
    parts: Mapping[str, float]
    points: int | None = None


@dataclass(frozen=True, kw_only=True)
class Planner:
    """How a study is planned whose main question belongs to this family.

    `simulation` names it in stored plans. `read_difference` takes what was entered and the width
    of the scale, and returns the difference as simulated; ValueError: a sentence for the form.
    `width`: the half-width of an interval is a number of units, a share, or a factor.
    """

    simulation: str
    question: str
    example: str
    unit: str
    difference: str  # with {asked} and {label}
    read_difference: Callable[[float, float], float]
    sources: tuple[Source, ...]
    width: Literal["units", "share", "factor"] = "units"
    parts: tuple[str, ...] = _PARTS  # the sources of variation in its simulation
    has_points: bool = False
    has_ties: bool = False
    note: str = ""  # with {ties}
    note_on_design: str = ""  # with {points} and {difference}, those of a simulated design
    no_results: str = ""  # why a study's results don't show how much its ratings vary
    first_items: int | None = None  # how many inputs to try first if there is no closed form


@dataclass(frozen=True, kw_only=True)
class Family:
    """A way to analyse the answers to a criterion.

    `is_scored`: answers are scores, so criteria can correlate and raters can be strict;
    `has_points`: on points at equal distances; `decides`: answers are yes or no, and can be
    compared with scores; `compares`: each is about two outputs. `is_log`: logarithms are analysed.
    """

    name: str
    headline: str  # how the figure of a system is computed, as a sentence
    score: str  # what a replication compares of each system
    human: str  # the score that automatic metrics are compared with
    people: str  # the same in a word or two
    is_scored: bool = False
    has_points: bool = False
    decides: bool = False
    compares: bool = False
    is_log: bool = False
    # the title of a separate table on raters, and a rater's figures with their labels
    rater_part: str = ""
    rater_columns: Mapping[str, str] = field(default_factory=dict)
    # there are statistics; a criterion for each option; a mean of several statements
    is_analysed: bool = True
    splits: bool = False
    averages: bool = False
    planner: Planner | None = None
    unplanned: str = ""  # what to do without a planner


def name_unit(criterion: Mapping[str, Any]) -> str:
    """Return the unit of a difference of scores; "" for numbers, which have none."""
    return "" if criterion["kind"] == "number" else "points"
