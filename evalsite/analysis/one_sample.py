"""The test of whether differences are 0 on average, over items or raters alone."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalsite.analysis.canonical_order import canonical_rows
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.intervals import Units, describe_equal_differences, t_figure

Floats = NDArray[np.float64]

METHOD_ITEMS = "t_over_items"
METHOD_RATERS = "t_over_raters"


def mean_test(
    rater: Any | None,
    item: Any,
    value: Any,
    *,
    name: str = "difference",
    units: Units = "inputs",
) -> Figure:
    """Test whether the mean of `value` is 0, over raters or items alone; return it with interval.

    All (n,): names or codes of raters (None: unknown, or not persons) and items, and a difference
    or an outcome of +1, 0, -1. The t test is over items, which says nothing about other raters;
    with one item and several raters it is over raters. `units`: what the items are, for the message
    if there is no spread.
    """
    values = np.asarray(value, dtype=np.float64)
    if not len(values):
        return undefined(name, Reason.NO_DATA, method=METHOD_ITEMS)
    alone = rater is None
    who = np.zeros(len(values), dtype=np.int64) if alone else rater
    rows, (who, item_code) = canonical_rows(values, who, item)
    values = values[rows]
    items = int(item_code.max()) + 1
    n = {"raters": int(who.max()) + 1, "items": items, "differences": len(values)}
    if alone:
        del n["raters"]
    if items < 2 and n.get("raters", 1) > 1:
        figure, units = _over_one(name, METHOD_RATERS, who, values, n), "raters"
    else:
        figure = _over_one(name, METHOD_ITEMS, item_code, values, n)
    if units == "clusters":
        figure = replace(
            figure, n={units if key == "items" else key: figure.n[key] for key in figure.n}
        )
    return describe_equal_differences(figure, units=units, is_of_means=bool(np.ptp(values) > 0))


def _over_one(
    name: str, method: str, item: NDArray[np.int64], value: Floats, n: dict[str, int]
) -> Figure:
    # With equal numbers of ratings this is the t test of the levels' means; else levels are
    # weighted by their numbers.
    count = np.bincount(item)
    if len(count) < 2:
        return undefined(name, Reason.TOO_FEW, method=method, n=n)
    mean, df = float(value.mean()), len(count) - 1
    off = np.bincount(item, weights=value - mean)
    se = float(np.sqrt((off**2).sum() * len(count) / df)) / len(value)
    return t_figure(name, (mean, se, df), method=method, n=n, units=len(count))
