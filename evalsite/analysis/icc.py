"""Intraclass correlations, each by its name, and only where its design holds.

Sources: Shrout & Fleiss (1979); McGraw & Wong (1996) for the names A (absolute agreement) and C
(consistency). ICC(1,*) is for raters that differ from unit to unit; ICC(A,*) and ICC(C,*), that is
(2,*) and (3,*), are for crossed raters. (.,1) is the reliability of one rating, (.,k) that of the
mean of k, which is what a study reports.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from evalsite.analysis.agreement_interval import Interval, find_interval
from evalsite.analysis.canonical_order import Coded, Floats, code, find_gap
from evalsite.analysis.components import Components, TooLarge, find_components
from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.resample import DRAWS, SEED, Spread, bootstrap, describe_draws

FORMS = ("ICC(1,1)", "ICC(A,1)", "ICC(C,1)", "ICC(1,k)", "ICC(A,k)", "ICC(C,k)")
_BY_MODEL = {
    False: ("ICC(1,1)", "ICC(1,k)"),  # whether raters have an effect of their own
    True: ("ICC(A,1)", "ICC(C,1)", "ICC(A,k)", "ICC(C,k)"),
}
_ANOVA = "ANOVA"
_REML = "variance components by REML"
_TINY = 1e-12  # of what varies: nothing but rounding
_MOST_UNDEFINED = 0.05  # of draws: with more there is no interval


def icc(
    *, unit: ArrayLike, value: ArrayLike, rater: ArrayLike | None, input: ArrayLike | None = None,
    transform: str = "none", draws: int = DRAWS, seed: int = SEED,
) -> dict[str, Figure]:  # fmt: skip
    """All six forms by name. Arguments as for `alpha`; values are taken as they are, `transform`
    is told.

    ICC(1,*): by the ANOVA of equal or unequal numbers, with an interval over raters and inputs. The
    others where the same raters rated all units: ANOVA with F intervals (bootstrap over inputs, for
    these raters, where inputs hold several units). With gaps by REML, with intervals from its
    curvature on the logit scale, and a warning in `details` that raters are not crossed. Undefined:
    no_data, no_overlap, no_variation, raters_unknown, incomplete (too large for REML), too_few.
    """
    data = code(unit=unit, value=value, rater=rater, block=input)
    if reason := find_gap(data):
        return _all(reason, data, transform)
    counted = data.overlapping()
    if np.ptp(counted.sizes) == 0 and _is_crossed(counted):
        matrix = counted.value.reshape(len(counted.sizes), -1)
        blocks = counted.block[:: matrix.shape[1]]
        found = icc_of_matrix(matrix, block=blocks, transform=transform, draws=draws, seed=seed)
    else:
        found = _by_components(counted, transform)
    found |= _one_way(counted, transform)
    return {name: _f_details(found[name], data) for name in FORMS}


def _one_way(data: Coded, transform: str) -> dict[str, Figure]:
    """ICC(1,1), and ICC(1,k) of the harmonic mean k, by the ANOVA of equal or unequal numbers."""
    k = float(len(data.sizes) / (1 / data.sizes).sum())
    names, details = _BY_MODEL[False], {"k": k, "transform": transform}
    value = data.value - data.value.mean()
    sums, squares = (np.bincount(data.unit, weights=one) for one in (value, value**2))
    size = data.sizes.astype(np.float64)
    # by unit: ratings, units, squares, squares of sums over ratings, sums, squares of ratings
    by_unit = np.column_stack([size, np.ones_like(size), squares, sums**2 / size, sums, size**2])
    whole = by_unit.sum(axis=0)
    found, is_exact = _divide_mean_squares(whole)
    if reason := Reason.TOO_FEW if len(size) < 2 else _find_fault(found):
        return {name: undefined(name, reason, method=_ANOVA, details=details) for name in names}
    interval = Interval(details={"interval": "none: no residual variation"})
    if not is_exact and found < 1:
        slope = _slope_of_ratio(whole)
        n, mean = size[data.unit], (sums / size)[data.unit]
        by_rating = np.column_stack(
            [np.ones_like(n), np.zeros_like(n), value**2, 2 * mean * value - mean**2, value, 2 * n]
        )
        interval = find_interval(found, by_rating @ slope, by_unit @ slope, data)
    below = 1 + found * (k - 1)
    ends = (interval.low, interval.high)
    has_ends = None not in ends and 1 + ends[0] * (k - 1) > _TINY  # type: ignore[operator]
    low, high = (
        one * k / (1 + one * (k - 1)) if has_ends and one is not None else None for one in ends
    )
    phrases = details | interval.details
    of_mean = phrases if has_ends or ends == (None, None) else (
        phrases | {"interval": "none: no lower bound"})  # fmt: skip
    return {
        names[0]: Figure(name=names[0], method=_ANOVA, value=found, low=ends[0], high=ends[1],
                         details=phrases),
        names[1]: undefined(names[1], Reason.NO_VARIATION, method=_ANOVA, details=details)
        if below <= _TINY
        else Figure(name=names[1], method=_ANOVA, value=found * k / below, low=low, high=high,
                    details=of_mean),
    }  # fmt: skip


def _divide_mean_squares(sums: Floats) -> tuple[float, bool]:
    """ICC(1,1) from sums over units (NaN: nothing varies), and whether nothing varies within."""
    n, units, squares, between, total, many = (float(one) for one in sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = (squares - between) / np.float64(n - units)
        middle = (between - total**2 / n) / np.float64(units - 1)
        k = (n - many / n) / np.float64(units - 1)
    floor = _TINY * max(squares, 1e-300)
    error = np.float64(0.0) if error * (n - units) <= floor else error
    below = middle + (k - 1) * error
    if not below > floor:
        return float("nan"), True
    return float((middle - error) / below), error == 0.0


def _slope_of_ratio(sums: Floats) -> Floats:
    """The slopes of -log(1 - ICC(1,1)) in the sums over units."""
    found = np.zeros(len(sums))
    for place in range(len(sums)):
        step = np.zeros(len(sums))
        step[place] = 1e-6 * max(abs(sums[place]), abs(sums[0]) * 1e-3)
        ends = [1 - _divide_mean_squares(sums + sign * step)[0] for sign in (-1, 1)]
        found[place] = np.log(ends[0] / ends[1]) / (2 * step[place])
    return found


def icc_in_file_order(
    *, unit: ArrayLike, value: ArrayLike, transform: str = "none"
) -> dict[str, Figure]:  # fmt: skip
    """All six forms of the matrix whose columns are a unit's 1st, 2nd, ... rating in file order.

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
        found = {name: undefined(name, reason, method=_ANOVA, n=n) for name in FORMS}
    else:
        ordered = values[keep][np.argsort(codes, kind="stable")]
        found = icc_of_matrix(ordered.reshape(len(sizes), -1), transform=transform)
    return {name: _rename(one) for name, one in found.items()}


def icc_of_matrix(
    matrix: ArrayLike, *, block: ArrayLike | None = None, transform: str = "none",
    draws: int = DRAWS, seed: int = SEED,
) -> dict[str, Figure]:  # fmt: skip
    """All six forms of a complete matrix (n units, k ratings), n and k 2 or more.

    `block`: of each unit its input; where inputs hold several units, the interval is the bootstrap
    over inputs, else the one that F gives. Undefined: too_few, no_variation.
    """
    table = np.asarray(matrix, dtype=np.float64)
    n, k = table.shape
    counted = {"units": n, "ratings": n * k}
    if n < 2 or k < 2 or np.ptp(table) == 0:
        reason = Reason.NO_VARIATION if table.size and np.ptp(table) == 0 else Reason.TOO_FEW
        return {name: undefined(name, reason, method=_ANOVA, n=counted) for name in FORMS}
    blocks = np.arange(n) if block is None else np.unique(block, return_inverse=True)[1]
    sums = _Sums.of(table, blocks)
    values = sums.find(np.ones((1, sums.cells.shape[0])))[0]
    details: dict[str, Any] = {"k": float(k), "transform": transform}
    intervals = _by_f(table, values)
    is_drawn = len(sums.cells) < n
    if is_drawn and len(sums.cells) > 1:
        drawn = bootstrap(sums.find, len(sums.cells), draws=draws, seed=seed)
    found = {}
    for place, name in enumerate(FORMS):
        own = intervals[name]
        phrases = details | own.details
        if fault := _find_fault(float(values[place])):
            found[name] = undefined(name, fault, method=_ANOVA, n=counted)
            continue
        low, high = own.low, own.high
        if low is not None and low == high:
            low = high = None
            phrases["interval"] = "none: no residual variation"
        if is_drawn:
            low = high = None
            phrases["interval"] = "none: only one block to draw"
            if len(sums.cells) > 1:
                spread = _describe(drawn[:, place])
                low, high, phrases = spread.low, spread.high, phrases | spread.details
        found[name] = Figure(
            name=name, method=_ANOVA, value=float(values[place]), low=low, high=high, n=counted,
            details=phrases, seed=seed if is_drawn else None,
        )  # fmt: skip
    return found


def _describe(drawn: Floats) -> Spread:
    """The interval of draws; none where too many of them leave the coefficient undefined."""
    spread = describe_draws(np.where(drawn > 1 + _TINY, np.nan, drawn))
    if spread.low is not None:
        spread.details["interval"] = "bootstrap over inputs, for these raters, percentile"
    undefined_draws = spread.details.get("draws_undefined", 0)
    if undefined_draws <= _MOST_UNDEFINED * len(drawn):
        return spread
    why = f"none: {undefined_draws:,} of {len(drawn):,} draws leave it undefined"
    return replace(spread, low=None, high=None, details=spread.details | {"interval": why})


def _find_fault(value: float) -> Reason | None:
    """Why a coefficient is none: nothing varies, or raters lie further apart than all outputs."""
    if np.isnan(value):
        return Reason.NO_VARIATION
    return Reason.NOT_COMPUTED if value > 1 + _TINY else None


@dataclass(frozen=True)
class _Sums:
    """Sums by block from which the mean squares of any draw follow."""

    cells: Floats  # blocks x (units, row sums, squares of row sums, squares, column sums...)
    k: int

    @classmethod
    def of(cls, table: Floats, block: ArrayLike) -> "_Sums":
        centred = table - table.mean()
        rows = centred.sum(axis=1)
        each = np.column_stack(
            [np.ones(len(table)), rows, rows**2, (centred**2).sum(axis=1), centred]
        )
        codes = np.asarray(block)
        cells = np.zeros((int(codes.max()) + 1, each.shape[1]))
        np.add.at(cells, codes, each)
        return cls(cells, table.shape[1])

    def squares(self, weights: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Units, and mean squares of units, within units, of raters, and residual, by draw."""
        sums = weights @ self.cells
        n, total, rows, squares, columns = (
            sums[:, 0], sums[:, 1], sums[:, 2], sums[:, 3], sums[:, 4:],
        )  # fmt: skip
        k = self.k
        middle = total**2 / (n * k)
        of_units = rows / k - middle
        of_raters = (columns**2).sum(axis=1) / n - middle
        whole = squares - middle
        whole = np.where(whole <= _TINY * squares, 0, whole)
        floor = _TINY * whole
        of_units, of_raters = (np.clip(one, 0, whole) for one in (of_units, of_raters))
        within = np.maximum(whole - of_units, 0)
        rest = np.maximum(whole - of_units - of_raters, 0)
        within, rest, of_units = (
            np.where(one <= floor, 0, one) for one in (within, rest, of_units)
        )
        return (
            n, of_units / (n - 1), within / (n * (k - 1)), of_raters / (k - 1),
            rest / ((n - 1) * (k - 1)),
        )  # fmt: skip

    def find(self, weights: Floats) -> Floats:
        """The six forms (draws, 6); NaN where a draw leaves them undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            n, units, within, raters, rest = self.squares(weights)
            k = self.k
            forms = [
                (units - within, units + (k - 1) * within),
                (units - rest, units + (k - 1) * rest + k * (raters - rest) / n),
                (units - rest, units + (k - 1) * rest),
                (units - within, units),
                (units - rest, units + (raters - rest) / n),
                (units - rest, units),
            ]
            # what is nothing but rounding is 0, above and below the line
            floor = _TINY * (units + within + raters + rest)
            above, below = (
                np.column_stack([np.where(np.abs(one) <= floor, 0, one) for one in side])
                for side in zip(*forms, strict=True)
            )
            found = above / below
        return np.where(np.isfinite(found), found, np.nan)


@dataclass(frozen=True, kw_only=True)
class _Interval:
    low: float | None
    high: float | None
    details: dict[str, Any]


def _by_f(table: Floats, values: Floats) -> dict[str, _Interval]:
    """The intervals that F gives, with F and p (Shrout & Fleiss; McGraw & Wong)."""
    n, k = table.shape
    sums = _Sums.of(table, np.zeros(n, dtype=np.intp))
    _, units, within, raters, rest = (float(one[0]) for one in sums.squares(np.ones((1, 1))))
    nothing = _Interval(low=None, high=None, details={"interval": "none: no residual variation"})
    found = dict.fromkeys(FORMS, nothing)
    for single, mean, error, freedom in (
        ("ICC(1,1)", "ICC(1,k)", within, n * (k - 1)),
        ("ICC(C,1)", "ICC(C,k)", rest, (n - 1) * (k - 1)),
    ):
        if error > _TINY * units > 0:
            ratio = units / error
            low = ratio / float(stats.f.ppf((1 + LEVEL) / 2, n - 1, freedom))
            high = ratio * float(stats.f.ppf((1 + LEVEL) / 2, freedom, n - 1))
            phrases = _describe_f(ratio, n - 1, freedom)
            found[single] = _Interval(
                low=(low - 1) / (low + k - 1), high=(high - 1) / (high + k - 1), details=phrases
            )
            found[mean] = _Interval(low=1 - 1 / low, high=1 - 1 / high, details=phrases)
    if rest > _TINY * units > 0:
        phrases = _describe_f(units / rest, n - 1, (n - 1) * (k - 1))
        bounds = _bound_absolute(n, k, units, raters, rest, float(values[1]))
        if bounds is None:
            phrases |= {"interval": "none: fewer than 1 degree of freedom"}
            none = _Interval(low=None, high=None, details=phrases)
            return found | {"ICC(A,1)": none, "ICC(A,k)": none}
        found["ICC(A,1)"] = _Interval(low=bounds[0], high=bounds[1], details=phrases)
        found["ICC(A,k)"] = _step_up(*bounds, k, phrases)
    return found


def _step_up(low: float, high: float, k: int, phrases: dict[str, Any]) -> _Interval:
    """The interval of a mean of k ratings from that of one (Spearman & Brown); none where its lower
    end has no bound."""
    if 1 + low * (k - 1) <= _TINY:
        return _Interval(
            low=None, high=None, details=phrases | {"interval": "none: no lower bound"}
        )
    return _Interval(
        low=low * k / (1 + low * (k - 1)), high=high * k / (1 + high * (k - 1)), details=phrases
    )


def _describe_f(ratio: float, above: int, below: int) -> dict[str, Any]:
    p = float(stats.f.sf(ratio, above, below))
    return {"F": ratio, "df": [above, below], "p": p, "interval": "F"}


def _bound_absolute(
    n: int, k: int, units: float, raters: float, rest: float, value: float
) -> tuple[float, float] | None:
    """The interval of ICC(A,1) with Satterthwaite's degrees of freedom; None below 1 of them.

    Of a few units that agree less than by chance there may be next to none: the quantile of F
    grows without end, and the interval leaves out its own figure.
    """
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
    """The forms by REML; k is the harmonic mean of the numbers of ratings of a unit."""
    k = float(len(data.sizes) / (1 / data.sizes).sum())
    found = {}
    reason, parts = None, None
    if data.rater is None:
        reason = Reason.RATERS_UNKNOWN
    else:
        try:
            parts = find_components(data, with_rater=True)
        except TooLarge:
            reason = Reason.INCOMPLETE
    for name in _BY_MODEL[True]:
        found[name] = _of_parts(name, parts, k, transform, reason)
    return found


def _of_parts(
    name: str, parts: Components | None, k: float, transform: str, reason: Reason | None
) -> Figure:
    """One form from variance components, with an interval on the logit scale."""
    details: dict[str, Any] = {"k": k, "transform": transform}
    if name[4] in "AC":
        details["warning"] = "raters are not crossed with units"
    if parts is None:
        return undefined(name, reason or Reason.INCOMPLETE, method=_REML, details=details)
    details["variance"] = {"unit": parts.unit, "rater": parts.rater, "residual": parts.residual}
    many = k if name.endswith("k)") else 1.0
    rater = parts.rater if name[4] == "A" else 0.0
    error = (rater + parts.residual) / many
    if parts.unit + error <= 0:
        return undefined(name, Reason.NO_VARIATION, method=_REML, details=details)
    value = parts.unit / (parts.unit + error)
    low = high = None
    details["interval"] = "none: a variance component is 0"
    if parts.covariance is not None and 0 < value < 1:
        slope = np.array([1.0, -rater / (rater + parts.residual)][: len(parts.covariance)])
        reach = float(stats.norm.ppf((1 + LEVEL) / 2))
        reach *= float(np.sqrt(slope @ parts.covariance @ slope))
        logit = float(np.log(value / (1 - value)))
        low, high = (float(special.expit(logit + by)) for by in (-reach, reach))
        details["interval"] = "REML curvature, logit scale, outputs taken as independent"
    return Figure(name=name, method=_REML, value=value, low=low, high=high, details=details)


def _is_crossed(data: Coded) -> bool:
    return data.rater is not None and len(np.unique(data.rater)) == data.sizes[0]


def _all(reason: Reason, data: Coded, transform: str) -> dict[str, Figure]:
    details = {"transform": transform}
    return {
        name: undefined(name, reason, method=_ANOVA, n=data.counts(), details=details)
        for name in FORMS
    }


def _f_details(figure: Figure, data: Coded) -> Figure:
    """The figure with all that went in counted."""
    return replace(figure, n=data.overlapping().counts())


def _rename(figure: Figure) -> Figure:
    order = {"columns": "ratings of a unit in the order of the file"}
    return replace(figure, name=f"file-order {figure.name}", details=dict(figure.details) | order)
