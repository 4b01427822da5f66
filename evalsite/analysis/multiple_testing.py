"""Corrections of p values for a family of tests: Holm, Benjamini-Hochberg, Benjamini-Yekutieli."""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Correction = Literal["holm", "bh", "by", "none"]
NAMES = get_args(Correction)


def correct(p_values: Any, method: Correction = "holm") -> NDArray[np.float64]:
    """Return the corrected p values (m,), in the same order; NaN marks no test and is left out.

    Holm (1979) keeps the chance of any false claim in the family; BH (1995) and BY (2001) keep the
    expected share of false claims, BY under any dependence.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if method not in NAMES:
        raise ValueError(f"{method} is no correction; choose one of {', '.join(NAMES)}.")
    is_test = ~np.isnan(p)
    out = np.full(len(p), np.nan)
    out[is_test] = _correct(p[is_test], method)
    return out


def _correct(p: NDArray[np.float64], method: str) -> NDArray[np.float64]:
    m = len(p)
    if not m or method == "none":
        return p
    order = np.argsort(p, kind="stable")
    rank = np.arange(1, m + 1)
    corrected = np.empty(m)
    if method == "holm":
        corrected[order] = np.maximum.accumulate((m - rank + 1) * p[order])
    else:
        factor = (1.0 / rank).sum() if method == "by" else 1.0
        grown = factor * m / rank * p[order]
        corrected[order] = np.minimum.accumulate(grown[::-1])[::-1]
    return np.minimum(corrected, 1.0)
