"""Intervals of agreement that treat raters and inputs as samples: the two-way infinitesimal
jackknife.

Every rater has a weight and every input has one, all 1: a rating counts its rater's, a pair of
ratings of one unit the product of both, never a rating with itself, and all outputs of an input
share its weight. How a figure moves with the weights gives its variance (Efron 1982; two ways: Owen
2007).
"""

from dataclasses import dataclass, field
from math import exp, log, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from evalsite.analysis.canonical_order import Coded, Floats, Ints
from evalsite.analysis.figure import LEVEL

LEAST_RATERS = 3  # below it, raters tell nothing of how raters vary
BOTH = "over raters and inputs, infinitesimal jackknife"
INPUTS = "over inputs, for these raters, infinitesimal jackknife"
Shape = Literal["coefficient", "share"]


@dataclass(frozen=True, kw_only=True)
class Interval:
    """Where a figure may lie, and how that was found."""

    low: float | None = None
    high: float | None = None
    details: dict[str, Any] = field(default_factory=dict)


def find_interval(
    value: float,
    by_rating: Floats,
    by_unit: Floats,
    data: Coded,
    *,
    shape: Shape = "coefficient",
    has_few_df: bool = False,
) -> Interval:
    """The 95% interval of a figure on data without gaps in their codes.

    `by_rating` (ratings,): what each rating adds to the derivative of z in its rater's weight;
    `by_unit` (units,): the derivative of z in the unit's weight. z is -log(1 - value), of a share
    the logit. `has_few_df`: as many degrees of freedom as raters less 1. A figure of 1, or a share
    of 0, has none.
    """
    if value >= 1 or (shape == "share" and value <= 0):
        return Interval(details={"interval": "none: all ratings of every output agree"})
    of_unit = np.zeros(len(by_unit), dtype=np.intp)
    of_unit[data.unit] = data.block
    inputs = len(np.unique(of_unit))
    raters = 0 if data.rater is None else len(np.unique(data.rater))
    if inputs < 2:
        return Interval(details={"interval": "none: only one input"})
    over_inputs = _spread(by_unit, of_unit)
    has_raters = raters >= LEAST_RATERS and data.rater is not None
    over_raters = _spread(by_rating, data.rater) if has_raters else 0.0  # type: ignore[arg-type]
    variance = over_inputs + over_raters
    if not variance > 1e-24:
        return Interval(details={"interval": "none: nothing varies"})
    df = float(inputs - 1)
    if has_raters:
        df = variance**2 / (over_raters**2 / (raters - 1) + over_inputs**2 / (inputs - 1))
        df = float(raters - 1) if has_few_df else df
    reach = float(stats.t.ppf((1 + LEVEL) / 2, df)) * sqrt(variance)
    ends = [_take_back(_transform(value, shape) + by, shape) for by in (-reach, reach)]
    return Interval(
        low=ends[0],
        high=ends[1],
        details={
            "interval": BOTH if has_raters else INPUTS,
            "inputs": inputs,
            "v_raters": over_raters,
            "v_inputs": over_inputs,
            "df": df,
            "se_transformed": sqrt(variance),
        },
    )


def _spread(slopes: Floats, code: Ints) -> float:
    """The variance from the slopes, summed by level, of levels that are a sample."""
    total = np.bincount(code, weights=slopes)[np.bincount(code) > 0]
    return float(((total - total.mean()) ** 2).sum() * len(total) / (len(total) - 1))


def _transform(value: float, shape: Shape) -> float:
    return log(value / (1 - value)) if shape == "share" else -log(1 - value)


def _take_back(z: float, shape: Shape) -> float:
    if shape == "coefficient":
        return 1 - exp(-z) if z > -700 else -exp(700)
    return 1 / (1 + exp(-z)) if z > -700 else 0.0


def sum_by(code: NDArray[Any], values: Floats, levels: int = 0) -> Floats:
    """The sum of values by level."""
    return np.asarray(np.bincount(code, weights=values, minlength=levels), dtype=np.float64)
