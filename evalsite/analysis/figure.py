"""The shape of every result: a number with its interval and method, or a reason why it is
undefined."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum, StrEnum
from math import isfinite
from typing import Any, Literal, get_args

# Raised whenever a method changes in a way that may change a number.
METHODS_VERSION = "7"
LEVEL = 0.95
# what a value is measured in, which decides how it is written
Unit = Literal[
    "points", "share", "difference in shares", "coefficient", "p", "statistic", "count", "seconds",
    "money", "ratio",
]  # fmt: skip
UNITS: tuple[Unit, ...] = get_args(Unit)
# of what a figure is: ("criterion", "fluency"), ("system", "alpha")
Group = tuple[tuple[str, str], ...]
# what can't be claimed about a criterion: facts by code
Cautions = dict[str, dict[str, Any]]
# the method of comparisons by the model of all systems
REML = "reml"
# the method of comparisons where all ratings are equal
ALL_EQUAL = "all_equal"


class Reason(StrEnum):
    """Why a figure is undefined. Never NaN, 0 or 1 instead."""

    NO_DATA = "no_data"
    NO_VARIATION = "no_variation"
    NO_OVERLAP = "no_overlap"
    NO_DIFFERENCE = "no_difference"
    RATERS_UNKNOWN = "raters_unknown"
    UNEQUAL_RATERS = "unequal_raters"
    INCOMPLETE = "incomplete"
    TOO_FEW = "too_few"
    SEPARATED = "separated"
    DISCONNECTED = "disconnected"
    NO_DECIDED_PAIRS = "no_decided_pairs"
    PLACES_UNKNOWN = "places_unknown"
    NOT_CONVERGED = "not_converged"
    TOO_LARGE = "too_large"
    TOO_MANY_PAIRS = "too_many_pairs"
    NOTHING_IN_COMMON = "nothing_in_common"
    OTHER_SCALE = "other_scale"
    NOT_COMPUTED = "not_computed"
    MIXED_DIRECTIONS = "mixed_directions"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure: `value` or, where it is undefined, None and the reason.

    `name` is a code. `unit`: where the name doesn't decide it (units.py). `group`: what it is of.
    `low` and `high` bound the interval at `level`; None: the figure has no interval, and
    `details["interval"]` says how it was made or why there is none. `n` counts what went in, such
    as {"items": 30, "raters": 6, "ratings": 180}. `details` names form, weights, transform, tie
    rule, test, degrees of freedom, p value, the unit that `n` counts if it isn't an output: plain
    data that JSON can hold, never NaN.
    """

    name: str
    method: str
    value: float | None = None
    reason: Reason | None = None
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    n: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    version: str = field(default=METHODS_VERSION)
    unit: Unit | None = None
    group: Group = ()

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None):
            raise ValueError(f"{self.name}: a figure has either a value or a reason.")
        for number in (self.value, self.low, self.high):
            if number is not None and not isfinite(number):
                raise ValueError(f"{self.name}: {number} is no figure; give the reason.")

    @property
    def t(self) -> float | None:
        return self.details.get("t")

    @property
    def p(self) -> float | None:
        return self.details.get("p")

    @property
    def p_corrected(self) -> float | None:
        return self.details.get("p_corrected")

    @property
    def df(self) -> float | None:
        return self.details.get("df")

    @property
    def why(self) -> str:
        """Return the code of the reason, if there is no value."""
        return str(self.reason or "")

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as plain data, in a fixed order."""
        known: dict[str, Any] = {} if self.unit is None else {"unit": self.unit}
        if self.group:
            known["group"] = dict(self.group)
        return known | {
            "name": self.name,
            "value": self.value,
            "reason": None if self.reason is None else str(self.reason),
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "n": dict(self.n),
            "method": self.method,
            "details": dict(self.details),
            "seed": self.seed,
            "version": self.version,
        }


def finite_figure(
    name: str, *, method: str, value: float, low: float | None, high: float | None, **known: Any
) -> Figure:
    """Return a figure, without an interval where its ends aren't finite; `not_computed` if the
    value isn't.

    For figures of single raters, which must not stop the report of a study.
    """
    if not isfinite(value):
        return undefined(name, Reason.NOT_COMPUTED, method=method, **known)
    if low is None or high is None or not (isfinite(low) and isfinite(high)):
        known["details"] = {**known.get("details", {}), "interval": "unknown_error"}
        return Figure(name=name, method=method, value=value, **known)
    return Figure(name=name, method=method, value=value, low=low, high=high, **known)


def undefined(name: str, reason: Reason, *, method: str, **known: Any) -> Figure:
    """Return a figure that can't be computed, with the reason."""
    return Figure(name=name, method=method, reason=reason, **known)


def make_note(code: str, criterion: str | None = None, **facts: Any) -> dict[str, Any]:
    """Return a note as it is stored: a code and plain facts, which
    results/report/sections/words.py words."""
    return {"code": code, "criterion": criterion, "facts": facts}


def leave_open(figure: Figure, comparison: Figure) -> Figure:
    """Return the figure of a pair if the two are compared; else leave it undefined like
    `comparison`, so that no other test or effect size claims what that comparison refuses to."""
    if comparison.value is not None:
        return figure
    reason = comparison.reason or Reason.TOO_FEW
    return undefined(figure.name, reason, method=figure.method, n=figure.n)


def write_coefficient(value: float) -> str:
    """Write a figure that lies between -1 and 1 as papers do: .57, and −.12 with a real minus."""
    text = f"{abs(value):.2f}"
    text = text.removeprefix("0") if abs(value) < 1 else text
    return f"−{text}" if value <= -0.005 else text


# --- as plain data


def to_plain(result: Any) -> Any:
    """Return the result as plain data, figures as by `Figure.to_dict`; a number that isn't finite
    becomes None."""
    if isinstance(result, Figure):
        return {key: to_plain(value) for key, value in result.to_dict().items()}
    if is_dataclass(result) and not isinstance(result, type):
        return {field.name: to_plain(getattr(result, field.name)) for field in fields(result)}
    if isinstance(result, Mapping):
        return {str(key): to_plain(value) for key, value in result.items()}
    if isinstance(result, list | tuple):
        return [to_plain(value) for value in result]
    if hasattr(result, "tolist"):  # of numpy
        return to_plain(result.tolist())
    if isinstance(result, Enum):
        return str(result.value)
    return None if isinstance(result, float) and not isfinite(result) else result
