"""How criteria hang together: Spearman per output, and Cronbach's alpha of their mean."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evalsite.analysis.canonical_order import Floats, canonical_order
from evalsite.analysis.correlation import correlate
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.resample import DRAWS, SEED, spread

TOO_ALIKE = 0.8
_CRONBACH = "Cronbach's alpha, raw"
_TINY = 1e-12


def correlate_criteria(
    outputs: pd.DataFrame, *, block: ArrayLike | None = None, draws: int = DRAWS, seed: int = SEED
) -> dict[tuple[str, str], Figure]:
    """Spearman of each pair of columns of `outputs` (one row for each output, its mean rating by
    criterion), with a bootstrap over blocks.

    Above .8 `details["too_alike"]` is true: raters may not tell the two apart. Undefined as for
    `correlate`.
    """
    found = {}
    for one, two in combinations(outputs.columns, 2):
        figure = correlate(x=outputs[one], y=outputs[two], kind="spearman", block=block,
                           draws=draws, seed=seed, name=f"{one}_{two}")  # fmt: skip
        alike = figure.value is not None and figure.value > TOO_ALIKE
        details = dict(figure.details) | {"too_alike": bool(alike)}
        found[(str(one), str(two))] = replace(figure, details=details)
    return found


def cronbach(
    outputs: pd.DataFrame, *, block: ArrayLike | None = None, draws: int = DRAWS, seed: int = SEED
) -> Figure:
    """Cronbach's alpha (1951) of the columns of `outputs` (n rows), with a bootstrap over blocks.

    Rows with a missing value are left out and counted. Undefined: no_data, too_few (fewer than 2
    columns or 3 rows), no_variation.
    """
    whole = outputs.to_numpy(dtype=np.float64)
    keep = ~np.isnan(whole).any(axis=1)
    table = whole[keep]
    rows, k = table.shape
    n = {"rows": rows, "criteria": k, "rows_left_out": int((~keep).sum())}
    reason = None
    if not rows:
        reason = Reason.NO_DATA
    elif k < 2 or rows < 3:
        reason = Reason.TOO_FEW
    elif np.ptp(table.sum(axis=1)) == 0:
        reason = Reason.NO_VARIATION
    if reason:
        return undefined("cronbach_alpha", reason, method=_CRONBACH, n=n)
    sums = _sum_up(table, np.arange(rows) if block is None else np.asarray(block)[keep])

    def find(weights: Floats) -> Floats:
        drawn = weights @ sums
        number = drawn[:, :1]
        variance = drawn[:, k + 2 :] / number - (drawn[:, 1 : k + 2] / number) ** 2
        total = variance[:, -1]
        flat = total <= _TINY
        parts = variance[:, :-1].sum(axis=1)
        return np.where(flat, np.nan, k / (k - 1) * (1 - parts / np.where(flat, 1, total)))

    found = spread(find, len(sums), draws=draws, seed=seed)
    value = float(find(np.ones((1, len(sums))))[0])
    details: dict[str, Any] = {"blocks": len(sums)} | found.details
    return Figure(name="cronbach_alpha", method=_CRONBACH, value=value, low=found.low,
                  high=found.high, n=n, details=details, seed=seed)  # fmt: skip


def _sum_up(table: Floats, block: Any) -> Floats:
    """By block: rows, sums and squares of each column and of the row sums."""
    centred = table - table.mean(axis=0)
    centred = np.column_stack([centred, centred.sum(axis=1)])
    codes = np.unique(np.asarray(block).astype(str), return_inverse=True)[1].astype(np.intp)
    content = np.unique(table, axis=0, return_inverse=True)[1].astype(np.float64).ravel()
    codes = canonical_order([codes], content)[0][codes]
    sums = np.zeros((int(codes.max()) + 1, 2 * centred.shape[1] + 1))
    order = np.lexsort((content, codes))
    each = np.column_stack([np.ones(len(table)), centred, centred**2])
    np.add.at(sums, codes[order], each[order])
    return sums


def mean_by_output(rows: pd.DataFrame) -> pd.DataFrame:
    """The mean rating of each output by criterion: outputs x criteria, from a Table's rows."""
    return rows.pivot_table(index="output", columns="criterion", values="value", aggfunc="mean")
