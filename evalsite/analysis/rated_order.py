"""An order of raters and items that depends on what was rated, never on names or on row order."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalsite.analysis.canonical_order import canonical_order

Codes = NDArray[np.int64]


def factor_codes(values: Any) -> Codes:
    """Return integers from 0 for the distinct values, in the order of the values."""
    codes, _ = pd.factorize(pd.Series(values), sort=True)
    return np.asarray(codes, dtype=np.int64)


def canonical_rows(value: Any, *factors: Any) -> tuple[NDArray[np.int64], list[Codes]]:
    """Return the order of the rows, and the codes of each factor in it, by what was rated alone.

    `value`: (n,) numbers; `factors`: names or codes (n,) each, such as raters, items and systems.
    Levels that take part in the same ratings in the same way are interchangeable, so a sum or a
    bootstrap over the codes gives the same digits whatever the names and the order of rows are.
    """
    values = np.asarray(value, dtype=np.float64) + 0.0
    codes = [factor_codes(factor) for factor in factors]
    if not len(values):
        return np.zeros(0, dtype=np.int64), codes
    orders = canonical_order(codes, values)
    named = [
        np.asarray(order[code], dtype=np.int64) for order, code in zip(orders, codes, strict=True)
    ]
    rows = np.lexsort((values, *reversed(named)))
    return rows, [code[rows] for code in named]
