"""Whether differences by rater and item are 0 on average, by the method that the design allows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalsite.analysis.bootstrap import drawn_figure, draws_for, two_way_means
from evalsite.analysis.crossed import METHOD as CROSSED
from evalsite.analysis.crossed import crossed_test
from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.intervals import Units, describe_equal_differences, t_figure
from evalsite.analysis.rated_order import canonical_rows
from evalsite.analysis.reml import METHOD as REML
from evalsite.analysis.reml import TooManyEffects, fit_reml, usable_terms
from evalsite.analysis.resample import SEED

Floats = NDArray[np.float64]

METHOD_ITEMS = "t test over items (generalises over items, not raters)"
METHOD_RATERS = "t test over raters (generalises over raters, not items)"


def grid(rater: NDArray[np.int64], item: NDArray[np.int64], value: Floats) -> Floats | None:
    """The (raters, items) table of cell means where all cells are as full, else None."""
    shape = (int(rater.max()) + 1, int(item.max()) + 1)
    cell = rater * shape[1] + item
    count = np.bincount(cell, minlength=shape[0] * shape[1])
    if count.min() == 0 or count.min() < count.max():
        return None
    sums = np.bincount(cell, weights=value, minlength=shape[0] * shape[1])
    return np.asarray((sums / count).reshape(shape))


def mean_test(
    rater: Any | None,
    item: Any,
    value: Any,
    *,
    name: str = "difference",
    seed: int = SEED,
    level: float = LEVEL,
    details: Mapping[str, Any] | None = None,
    units: Units = "inputs",
) -> Figure:
    """The mean of `value` with interval and p against 0, raters and items both as samples.

    All (n,): names or codes of raters (None: unknown, or not persons) and items, and a difference
    or an outcome of +1, 0, -1. Every rater with every item: the crossed test. Gaps: a mixed model
    (REML) with raters and items; too large for it or not converged: the two-way bootstrap. No or
    one rater: a t test over items, which says nothing about other raters; one item: over raters.
    `units`: what the items are, for the message if there is no spread.
    """
    values = np.asarray(value, dtype=np.float64)
    if not len(values):
        return undefined(name, Reason.NO_DATA, method=CROSSED)
    alone = rater is None
    who = np.zeros(len(values), dtype=np.int64) if alone else rater
    rows, (who, what) = canonical_rows(values, who, item)
    values = values[rows]
    items = int(what.max()) + 1
    n = {"raters": int(who.max()) + 1, "items": items, "differences": len(values)}
    if alone:
        del n["raters"]
    if alone or n["raters"] == 1:
        found = _over_one(name, METHOD_ITEMS, what, values, n, level, details)
    elif items < 2:
        found, units = _over_one(name, METHOD_RATERS, who, values, n, level, details), "raters"
    elif (table := grid(who, what, values)) is not None:
        found = crossed_test(table, name=name, level=level, details=details)
    else:
        found = _with_gaps(name, who, what, values, n, seed, level, details)
    if units == "clusters":
        found = replace(
            found, n={units if key == "items" else key: found.n[key] for key in found.n}
        )
    return describe_equal_differences(found, units=units, is_of_means=bool(np.ptp(values) > 0))


def _over_one(
    name: str,
    method: str,
    item: NDArray[np.int64],
    value: Floats,
    n: dict[str, int],
    level: float,
    details: Mapping[str, Any] | None,
) -> Figure:
    # As many ratings for each level: the t test of their means. Else levels count by theirs.
    count = np.bincount(item)
    if len(count) < 2:
        return undefined(name, Reason.TOO_FEW, method=method, n=n)
    mean, df = float(value.mean()), len(count) - 1
    off = np.bincount(item, weights=value - mean)
    se = float(np.sqrt((off**2).sum() * len(count) / df)) / len(value)
    return t_figure(
        name, estimate=mean, se=se, df=df, method=method, n=n, level=level,
        details=details, units=len(count),
    )  # fmt: skip


def _with_gaps(
    name: str,
    rater: NDArray[np.int64],
    item: NDArray[np.int64],
    value: Floats,
    n: dict[str, int],
    seed: int,
    level: float,
    details: Mapping[str, Any] | None,
) -> Figure:
    known = dict(details or {})
    if np.ptp(value) == 0:
        return t_figure(
            name, estimate=float(value[0]), se=0.0, df=1.0, method=REML, n=n, details=known,
            units=n["items"],
        )  # fmt: skip
    pairs = len(np.unique(rater * n["items"] + item))
    terms: dict[str, Any] = {"rater": rater, "item": item}
    if pairs < len(value):
        terms["rater:item"] = rater * n["items"] + item
    kept, dropped = usable_terms(terms, len(value))
    if dropped:
        known["dropped"] = dropped
    try:
        fit = fit_reml(value, kept)
    except TooManyEffects:
        known["fallback"] = "too many random effects for the mixed model"
    else:
        if fit.converged:
            estimate, se, df = fit.contrast([1.0])
            known["variances"] = {**fit.variances, "residual": fit.residual}
            known["singular"] = list(fit.singular)
            return t_figure(
                name, estimate=estimate, se=se, df=df, method=REML, n=n, level=level, details=known
            )
        known["fallback"] = "the mixed model did not converge"
    zero = np.zeros(len(value), dtype=np.int64)
    means, drawn = two_way_means(rater, item, zero, value, draws=draws_for(len(value)), seed=seed)
    return drawn_figure(
        name, float(means[0]), drawn[:, 0], n=n, seed=seed, level=level, test=True, details=known
    )
