"""The parts of the variance of ratings, and intraclass correlations by name, each only for designs
that fulfil its assumptions.

Parts are by REML, for ratings with gaps: value = mean + unit + rater + residual, all random and
crossed (as lme4's value ~ 1 + (1|unit) + (1|rater)). Their shares tell what kind of disagreement
there is: offsets of raters (a large share of raters), a narrow range of quality (a small share of
units) or noise (a large rest). Each calls for another remedy.

Sources: Shrout & Fleiss (1979); McGraw & Wong (1996) for the names A (absolute agreement) and C
(consistency). ICC(1,*) is for raters that differ from unit to unit; ICC(A,*) and ICC(C,*), that is
(2,*) and (3,*), are for crossed raters. (.,1) is the reliability of one rating, (.,k) that of the
mean of k, which is what a study reports.
"""

from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from evalsite.analysis.agreement_interval import (
    INPUTS,
    Draws,
    Interval,
    find_interval,
    find_k,
    guess_draws,
    step_up,
    step_up_interval,
)
from evalsite.analysis.effects_in_blocks import TooManyEffects
from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.ratings import Coded, Floats, Ratings, code, find_gap
from evalsite.analysis.reml import fit_reml


@dataclass(frozen=True, kw_only=True)
class Components:
    """The variances; 0 is a valid answer."""

    unit: float
    rater: float
    residual: float


def find_components(data: Coded, *, with_rater: bool) -> Components:
    """Return the variances of units, raters (0 if not `with_rater`) and the residual.

    Values must vary. Raises TooManyEffects if both factors have too many levels for the solver.
    """
    terms = {"unit": data.unit}
    if with_rater and data.rater is not None:
        terms["rater"] = data.rater
    fit = fit_reml(data.value, terms)
    return Components(
        unit=fit.variances["unit"],
        rater=fit.variances.get("rater", 0.0),
        residual=fit.residual,
    )


SHARES = ("share_of_units", "share_of_raters", "share_of_rest")
_METHOD = "variance_share"


def split_variance(ratings: Ratings) -> list[Figure]:
    """Return the shares of units, of raters and of the rest in the variance of ratings, which tell
    what kind of disagreement it is; they sum to 1.

    A share of 0 is a valid answer. Without raters, units and the rest alone. Undefined: no_data,
    no_overlap, no_variation, incomplete (too large).
    """
    data = code(replace(ratings, block=None))
    names = SHARES if data.rater is not None else (SHARES[0], SHARES[2])
    reason = find_gap(data)
    if reason is None:
        try:
            parts = find_components(data, with_rater=data.rater is not None)
        except TooManyEffects:
            reason = Reason.INCOMPLETE
    if reason:
        return [undefined(name, reason, method=_METHOD, n=data.counts()) for name in names]
    variance = dict(zip(SHARES, (parts.unit, parts.rater, parts.residual), strict=True))
    total = sum(variance.values())
    details: dict[str, Any] = {"interval": "see_icc"}
    return [
        Figure(name=name, method=_METHOD, value=variance[name] / total, n=data.counts(),
               details=details | {"variance": variance[name]})
        for name in names
    ]  # fmt: skip


# --- intraclass correlations -------------------------------------------------------------------

FORMS = ("ICC(1,1)", "ICC(A,1)", "ICC(C,1)", "ICC(1,k)", "ICC(A,k)", "ICC(C,k)")
_BY_MODEL = {
    False: ("ICC(1,1)", "ICC(1,k)"),  # whether raters have their own effect
    True: ("ICC(A,1)", "ICC(C,1)", "ICC(A,k)", "ICC(C,k)"),
}
_ANOVA = "ANOVA"
_REML = "variance_components"
_TINY = 1e-12  # of what varies: nothing but rounding


def icc(
    ratings: Ratings, *, transform: str = "none", draws: Draws | None = None
) -> dict[str, Figure]:
    """Return all six forms by name. `transform` names the transformation that the values already
    have; `draws` as for `alpha`.

    ICC(1,*): by the ANOVA of equal or unequal numbers. The others by ANOVA where the same raters
    rated all units, with gaps by REML, and a warning in `details` that raters are not crossed.
    Intervals are for other raters and inputs. Undefined: no_data, no_overlap, no_variation,
    raters_unknown, incomplete (too large for REML), too_few.
    """
    data = code(ratings)
    if reason := find_gap(data):
        return {
            name: undefined(name, reason, method=_ANOVA, n=data.counts(),
                            details={"transform": transform})
            for name in FORMS
        }  # fmt: skip
    counted = data.overlapping()
    raters = 0 if counted.rater is None else len(np.unique(counted.rater))
    if np.ptp(counted.sizes) == 0 and raters == counted.sizes[0]:
        matrix = counted.value.reshape(len(counted.sizes), -1)
        figures = icc_of_matrix(matrix, transform=transform)
    else:
        figures = _by_components(counted, transform)
    figures |= _one_way(counted, transform)
    draws = guess_draws(counted, "interval") if draws is None else draws
    for name in FORMS[:3]:
        interval = _find_interval(figures[name], draws, counted)
        of_mean = name.replace(",1)", ",k)")
        figures[name] = _add_interval(figures[name], interval)
        figures[of_mean] = _add_interval(
            figures[of_mean], step_up_interval(interval, figures[of_mean].details.get("k", 1.0))
        )
    return {name: replace(figures[name], n=counted.counts()) for name in FORMS}


def _find_interval(figure: Figure, draws: Draws, data: Coded) -> Interval:
    if figure.value is None:
        return Interval()
    key = "consistency" if figure.name == "ICC(C,1)" else "alpha_interval"
    is_one_way = figure.name == "ICC(1,1)"
    return find_interval(
        key, figure.value, draws, data, slope=(lambda: _slope(data)) if is_one_way else None
    )


def _add_interval(figure: Figure, interval: Interval) -> Figure:
    if figure.value is None:
        return figure
    details = {key: of for key, of in figure.details.items() if key != "over"} | interval.details
    low, high = interval.low, interval.high
    if low is None or high is None:
        return replace(figure, low=None, high=None, details=details)
    # both formulas may differ in the last digit
    low, high = min(low, figure.value), max(high, figure.value)
    return replace(figure, low=low, high=high, details=details)


def _one_way(data: Coded, transform: str) -> dict[str, Figure]:
    """Return ICC(1,1), and ICC(1,k) of the harmonic mean k, by the ANOVA of equal or unequal
    numbers."""
    k = find_k(data.sizes)
    names, details = _BY_MODEL[False], {"k": k, "transform": transform}
    value = _divide_mean_squares(_sum_by_unit(data).sum(axis=0))
    if reason := Reason.TOO_FEW if len(data.sizes) < 2 else _find_fault(value):
        return {name: undefined(name, reason, method=_ANOVA, details=details) for name in names}
    of_mean = step_up(value, k)
    return {
        names[0]: Figure(name=names[0], method=_ANOVA, value=value, details=details),
        names[1]: undefined(names[1], Reason.NO_VARIATION, method=_ANOVA, details=details)
        if of_mean is None
        else Figure(name=names[1], method=_ANOVA, value=of_mean, details=details),
    }


def _sum_by_unit(data: Coded) -> Floats:
    """Return by unit: ratings, units, squares, squares of sums over ratings, sums, squares of
    ratings."""
    value = data.value - data.value.mean()
    sums, squares = (np.bincount(data.unit, weights=of) for of in (value, value**2))
    size = data.sizes.astype(np.float64)
    return np.column_stack([size, np.ones_like(size), squares, sums**2 / size, sums, size**2])


def _divide_mean_squares(sums: Floats) -> float:
    """Return ICC(1,1) from sums over units; NaN: nothing varies."""
    n, units, squares, between, total, many = (float(of) for of in sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = (squares - between) / np.float64(n - units)
        middle = (between - total**2 / n) / np.float64(units - 1)
        k = (n - many / n) / np.float64(units - 1)
    floor = _TINY * max(squares, 1e-300)
    error = np.float64(0.0) if error * (n - units) <= floor else error
    below = middle + (k - 1) * error
    if not below > floor:
        return float("nan")
    return float((middle - error) / below)


def _slope(data: Coded) -> tuple[Floats, float]:
    """Return the slope of -log(1 - ICC(1,1)) in the weight of each unit, and ICC(1,1) with one unit
    more, all of the rarest value used."""
    by_unit = _sum_by_unit(data)
    sums = by_unit.sum(axis=0)
    slope = np.zeros(len(sums))
    for place in range(len(sums)):
        step = np.zeros(len(sums))
        step[place] = 1e-6 * max(abs(sums[place]), abs(sums[0]) * 1e-3)
        below, above = (1 - _divide_mean_squares(sums + sign * step) for sign in (-1, 1))
        has_slope = below > 0 and above > 0
        slope[place] = log(below / above) / (2 * step[place]) if has_slope else np.nan
    values, counts = np.unique(data.value, return_counts=True)
    rarest, size = values[np.argmin(counts)] - data.value.mean(), data.sizes.mean()
    more = np.array([size, 1, size * rarest**2, size * rarest**2, size * rarest, size**2])
    return by_unit @ slope, _divide_mean_squares(sums + more)


def icc_in_file_order(
    *, unit: ArrayLike, value: ArrayLike, transform: str = "none"
) -> dict[str, Figure]:  # fmt: skip
    """Return all six forms of the matrix whose columns are a unit's 1st, 2nd, ... rating in file
    order.

    Some published figures are of this kind, with raters that differ from unit to unit: there the
    (A,*) and (C,*) forms depend on the order of the file's rows. Undefined: no_data, no_overlap,
    unequal_raters, no_variation, too_few. Rows without a value are left out.
    """
    values = np.asarray(value, dtype=np.float64)
    keep = ~np.isnan(values)
    codes = np.unique(np.asarray(unit)[keep].astype(str), return_inverse=True)[1]
    sizes = np.bincount(codes) if codes.size else np.zeros(0, dtype=np.intp)
    reason = None
    if not sizes.size:
        reason = Reason.NO_DATA
    elif np.ptp(sizes) > 0:
        reason = Reason.UNEQUAL_RATERS
    elif sizes[0] < 2:
        reason = Reason.NO_OVERLAP
    if reason:
        n = {"units": len(sizes), "ratings": int(keep.sum())}
        figures = {name: undefined(name, reason, method=_ANOVA, n=n) for name in FORMS}
    else:
        ordered = values[keep][np.argsort(codes, kind="stable")]
        figures = icc_of_matrix(ordered.reshape(len(sizes), -1), transform=transform)
    order = {"columns": "order_of_file"}
    return {
        name: replace(figure, details=dict(figure.details) | order, group=(("order", "file"),))
        for name, figure in figures.items()
    }


def icc_of_matrix(matrix: ArrayLike, *, transform: str = "none") -> dict[str, Figure]:
    """Return all six forms of a complete matrix (n units, k ratings), n and k 2 or more.

    The intervals are from F, as in the literature: they treat units as independent. Undefined:
    too_few, no_variation.
    """
    table = np.asarray(matrix, dtype=np.float64)
    n, k = table.shape
    counted = {"units": n, "ratings": n * k}
    if n < 2 or k < 2 or np.ptp(table) == 0:
        reason = Reason.NO_VARIATION if table.size and np.ptp(table) == 0 else Reason.TOO_FEW
        return {name: undefined(name, reason, method=_ANOVA, n=counted) for name in FORMS}
    squares = _MeanSquares.of(table)
    values = _find_forms(squares)
    details: dict[str, Any] = {"k": float(k), "transform": transform}
    intervals = _by_f(squares, values["ICC(A,1)"])
    figures = {}
    for name in FORMS:
        if fault := _find_fault(values[name]):
            figures[name] = undefined(name, fault, method=_ANOVA, n=counted)
            continue
        interval = intervals[name]
        if interval.low is not None and interval.low == interval.high:
            interval = Interval(details={"interval": "no_residual"})
        figures[name] = Figure(
            name=name, method=_ANOVA, value=values[name], low=interval.low, high=interval.high,
            n=counted, details=details | interval.details,
        )  # fmt: skip
    return figures


def _find_fault(value: float) -> Reason | None:
    """Return why a coefficient is undefined: nothing varies, or raters differ more than all outputs
    do."""
    if np.isnan(value):
        return Reason.NO_VARIATION
    return Reason.NOT_COMPUTED if value > 1 + _TINY else None


@dataclass(frozen=True, kw_only=True)
class _MeanSquares:
    """The mean squares of units, within units, of raters, and residual, of n units and k raters."""

    n: int
    k: int
    units: float
    within: float
    raters: float
    rest: float

    @classmethod
    def of(cls, table: Floats) -> "_MeanSquares":
        n, k = table.shape
        centred = table - table.mean()
        middle = float(centred.sum() ** 2 / (n * k))
        of_units = float((centred.sum(axis=1) ** 2).sum() / k) - middle
        of_raters = float((centred.sum(axis=0) ** 2).sum() / n) - middle
        squares = float((centred**2).sum())
        whole = squares - middle
        whole = 0.0 if whole <= _TINY * squares else whole
        of_units, of_raters = (min(max(of, 0.0), whole) for of in (of_units, of_raters))
        within, rest = max(whole - of_units, 0.0), max(whole - of_units - of_raters, 0.0)
        within, rest, of_units = (
            0.0 if of <= _TINY * whole else of for of in (within, rest, of_units)
        )  # fmt: skip
        return cls(
            n=n, k=k, units=of_units / (n - 1), within=within / (n * (k - 1)),
            raters=of_raters / (k - 1), rest=rest / ((n - 1) * (k - 1)),
        )  # fmt: skip


def _find_forms(squares: _MeanSquares) -> dict[str, float]:
    """Return the six forms; NaN where nothing varies."""
    n, k, units, within = squares.n, squares.k, squares.units, squares.within
    raters, rest = squares.raters, squares.rest
    forms = {
        "ICC(1,1)": (units - within, units + (k - 1) * within),
        "ICC(A,1)": (units - rest, units + (k - 1) * rest + k * (raters - rest) / n),
        "ICC(C,1)": (units - rest, units + (k - 1) * rest),
        "ICC(1,k)": (units - within, units),
        "ICC(A,k)": (units - rest, units + (raters - rest) / n),
        "ICC(C,k)": (units - rest, units),
    }
    # rounding errors become 0, in numerator and denominator
    floor = _TINY * (units + within + raters + rest)
    values = {}
    for name, sides in forms.items():
        above, below = (0.0 if abs(side) <= floor else side for side in sides)
        values[name] = above / below if below else float("nan")
    return values


def _by_f(squares: _MeanSquares, absolute: float) -> dict[str, Interval]:
    """Return the intervals that F gives, with F and p (Shrout & Fleiss; McGraw & Wong); `absolute`
    is ICC(A,1)."""
    n, k, units, within, rest = squares.n, squares.k, squares.units, squares.within, squares.rest
    intervals = dict.fromkeys(FORMS, Interval(details={"interval": "no_residual"}))
    for single, mean, error, freedom in (
        ("ICC(1,1)", "ICC(1,k)", within, n * (k - 1)),
        ("ICC(C,1)", "ICC(C,k)", rest, (n - 1) * (k - 1)),
    ):
        if error > _TINY * units > 0:
            ratio = units / error
            low = ratio / float(stats.f.ppf((1 + LEVEL) / 2, n - 1, freedom))
            high = ratio * float(stats.f.ppf((1 + LEVEL) / 2, freedom, n - 1))
            details = _describe_f(ratio, n - 1, freedom)
            intervals[single] = Interval(
                low=(low - 1) / (low + k - 1), high=(high - 1) / (high + k - 1), details=details
            )
            intervals[mean] = Interval(low=1 - 1 / low, high=1 - 1 / high, details=details)
    if rest > _TINY * units > 0:
        details = _describe_f(units / rest, n - 1, (n - 1) * (k - 1))
        bounds = _bound_absolute(squares, absolute)
        if bounds is None:
            none = Interval(details=details | {"interval": "no_freedom"})
            return intervals | {"ICC(A,1)": none, "ICC(A,k)": none}
        intervals["ICC(A,1)"] = Interval(low=bounds[0], high=bounds[1], details=details)
        stepped = [step_up(end, k) for end in bounds]
        intervals["ICC(A,k)"] = (
            Interval(
                low=stepped[0],
                high=stepped[1],
                details=details,
            )
            if stepped[0] is not None
            else Interval(details=details | {"interval": "no_lower_bound"})
        )
    return intervals


def _describe_f(ratio: float, above: int, below: int) -> dict[str, Any]:
    p = float(stats.f.sf(ratio, above, below))
    known = {"interval": "f_over_outputs", "over": INPUTS}
    return {"F": ratio, "df": [above, below], "p": p, **known}


def _bound_absolute(squares: _MeanSquares, value: float) -> tuple[float, float] | None:
    """Return the interval of ICC(A,1) with Satterthwaite's degrees of freedom; None if they are
    below 1.

    Of a few units that agree less than by chance there may be next to none: the quantile of F
    grows without end, and the interval leaves out its own figure.
    """
    n, k, units, raters, rest = squares.n, squares.k, squares.units, squares.raters, squares.rest
    ratio = raters / rest
    inner = n * (1 + (k - 1) * value) - k * value
    freedom = ((k - 1) * (n - 1) * (k * value * ratio + inner) ** 2) / (
        (n - 1) * k**2 * value**2 * ratio**2 + inner**2
    )
    if freedom < 1:
        return None
    above = float(stats.f.ppf((1 + LEVEL) / 2, n - 1, freedom))
    below = float(stats.f.ppf((1 + LEVEL) / 2, freedom, n - 1))
    other = k * raters + (k * n - k - n) * rest
    low = n * (units - above * rest) / (above * other + n * units)
    high = n * (below * units - rest) / (other + n * below * units)
    return low, high


def _by_components(data: Coded, transform: str) -> dict[str, Figure]:
    """Return the forms by REML; k is the harmonic mean of the ratings per unit."""
    k = find_k(data.sizes)
    figures = {}
    reason, parts = None, None
    if data.rater is None:
        reason = Reason.RATERS_UNKNOWN
    else:
        try:
            parts = find_components(data, with_rater=True)
        except TooManyEffects:
            reason = Reason.INCOMPLETE
    for name in _BY_MODEL[True]:
        figures[name] = _of_parts(name, parts, k, transform, reason)
    return figures


def _of_parts(
    name: str, parts: Components | None, k: float, transform: str, reason: Reason | None
) -> Figure:
    """Return one form from variance components."""
    details: dict[str, Any] = {"k": k, "transform": transform, "warning": "not_crossed"}
    if parts is None:
        return undefined(name, reason or Reason.INCOMPLETE, method=_REML, details=details)
    details["variance"] = {"unit": parts.unit, "rater": parts.rater, "residual": parts.residual}
    many = k if name.endswith("k)") else 1.0
    error = ((parts.rater if name[4] == "A" else 0.0) + parts.residual) / many
    if parts.unit + error <= 0:
        return undefined(name, Reason.NO_VARIATION, method=_REML, details=details)
    return Figure(name=name, method=_REML, value=parts.unit / (parts.unit + error), details=details)
