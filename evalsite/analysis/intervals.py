"""Figures from an estimate and its standard error, by Student's t."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from math import isfinite
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from evalsite.analysis.figure import LEVEL, Figure, Reason, finite_figure, undefined

Floats = NDArray[np.float64]

MANY = 1e8  # degrees of freedom beyond which t is the normal distribution
TINY = 1e-12  # a standard error that is nothing but rounding
ALWAYS_EQUAL = "always_equal"  # the note of differences that are all equal, but not 0
Units = Literal["inputs", "clusters", "raters"]
Estimate = tuple[float, float, float]  # value, standard error, degrees of freedom
_STEPS = 2000


def t_figure(
    name: str, estimate: Estimate, *, method: str, n: Mapping[str, int], units: int = 0
) -> Figure:
    """Return an estimate with its t interval; details hold se, df, t and the two-sided p value.

    With a standard error of 0 there is no interval: p = 1 and the note `no_difference` if the
    estimate is 0 as well; else the note `always_equal`, and p from sign flips of the `units`
    (inputs), whose differences are all equal.
    """
    value, se, df = estimate
    if not (isfinite(value) and isfinite(se) and se >= 0):
        return undefined(name, Reason.TOO_FEW, method=method, n=n)
    if se <= TINY * max(1.0, abs(value)):
        return _without_error(name, value, method, n, units)
    df = min(df, MANY)
    half = float(stats.t.ppf((1 + LEVEL) / 2, df)) * se
    ratio = value / se
    p = float(2 * stats.t.sf(abs(ratio), df))
    details = {"se": se, "df": df, "t": ratio, "p": p, "test": "t", "interval": "t"}
    return Figure(
        name=name, method=method, value=value, low=value - half, high=value + half, n=n,
        details=details,
    )  # fmt: skip


def _without_error(
    name: str, value: float, method: str, n: Mapping[str, int], units: int
) -> Figure:
    details: dict[str, Any] = {"se": 0.0}
    if abs(value) <= TINY:
        details |= {"p": 1.0, "note": str(Reason.NO_DIFFERENCE), "interval": "no_differences"}
        return Figure(name=name, method=method, value=0.0, n=n, details=details)
    details |= {"note": ALWAYS_EQUAL, "interval": "equal_differences"}
    if units:
        # of all flips only two make a mean as far from 0: no flip, and all
        details |= {"p": min(1.0, 2.0 ** (1 - units)), "test": "sign_flips", "units": units}
    return Figure(name=name, method=method, value=value, n=n, details=details)


def mean_with_t(name: str, values: Floats, *, method: str, n: dict[str, int]) -> Figure:
    """Return the mean of at least one value, with its t interval (none for a single value)."""
    mean = float(values.mean())
    if len(values) < 2:
        single = {"interval": "single_value"}
        return Figure(name=name, method=method, value=mean, n=n, details=single)
    if np.ptp(values) == 0:
        constant: dict[str, Any] = {"interval": "equal_values", "se": 0.0}
        return Figure(name=name, method=method, value=mean, n=n, details=constant)
    error = float(values.std(ddof=1) / len(values) ** 0.5)
    reach = float(stats.t.ppf((1 + LEVEL) / 2, len(values) - 1)) * error
    details: dict[str, Any] = {
        "interval": "t_of_values",
        "se": error,
        "df": len(values) - 1,
    }
    return finite_figure(name, method=method, value=mean, low=mean - reach, high=mean + reach, n=n,
                         details=details)  # fmt: skip


def has_no_spread(figure: Figure) -> bool:
    """Return whether all values that the figure averages are equal, so that it has no error."""
    return figure.details.get("note") in (ALWAYS_EQUAL, str(Reason.NO_DIFFERENCE))


def describe_equal_differences(figure: Figure, *, units: Units, is_of_means: bool) -> Figure:
    """Return the figure; where it has no spread, its details say what is equal: each difference, or
    only the means of `units`, while the values that these are means of vary."""
    if not has_no_spread(figure):
        return figure
    known = {"units_of": units} | ({"of_means": True} if is_of_means else {})
    return replace(figure, details={**figure.details, **known})


@lru_cache(maxsize=64)
def _errors(df: float) -> Floats:
    """Return standard errors over the true one, at even quantiles of their distribution."""
    middle = (np.arange(_STEPS) + 0.5) / _STEPS
    return np.asarray(np.sqrt(stats.chi2.ppf(middle, df) / df))


def power_of_t(difference: float, *, se: float, df: float) -> float:
    """Return the power of the two-sided t test against a true difference.

    The noncentral t is computed by its definition, a normal over the root of a chi-square, because
    scipy's fails for large shifts.
    """
    edge = float(stats.t.ppf((1 + LEVEL) / 2, df))
    return _power(difference / se, edge * _errors(df))


def _power(shift: float, edges: Floats) -> float:
    # ndtr rather than norm.cdf, which spends much of its time checking arguments
    chances = special.ndtr(shift - edges) + special.ndtr(-shift - edges)
    return float(chances.mean())


def detectable(*, se: float, df: float, power: float = 0.8) -> float:
    """Return the smallest true difference that the two-sided t test finds with this power."""
    edge = float(stats.t.ppf((1 + LEVEL) / 2, df))
    guess = edge + float(stats.t.ppf(max(power, 0.6), df))
    edges = edge * _errors(df)

    def gap(size: float) -> float:
        return _power(size, edges) - power

    return se * float(optimize.brentq(gap, 1e-6, 10 * guess, xtol=1e-6))
