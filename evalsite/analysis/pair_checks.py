"""What preferences show beside strengths: position, ties by rater, and circles."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from evalsite.analysis.bootstrap import draws_for, two_way_sums
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.resample import SEED, describe_draws

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_POSITION = "share of decided answers for the left system; bootstrap over items and raters"
_CIRCLES = (
    "share of three decided answers of one rater on one item that go in a circle; .25 by chance"
)


def position_bias(rater: Codes | None, item: Codes, outcome: Floats, *, seed: int = SEED) -> Figure:
    """The share of "left" among decided answers; p of the exact test against one half.

    `outcome` (n,): 1 left, 0 tie, -1 right, as shown. The p value takes answers as independent;
    the interval does not.
    """
    decided = outcome != 0
    left, total = int((outcome > 0).sum()), int(decided.sum())
    n = {"left": left, "right": total - left, "ties": int((~decided).sum())}
    if not total:
        reason = Reason.NO_DECIDED_PAIRS if len(outcome) else Reason.NO_DATA
        return undefined("left_share", reason, method=_POSITION, n=n)
    columns = np.column_stack([outcome > 0, decided]).astype(np.float64)
    sums = two_way_sums(rater, item, columns, draws=draws_for(len(item)), seed=seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = describe_draws(sums[:, 0] / sums[:, 1])
    p = float(stats.binomtest(left, total).pvalue)
    return Figure(
        name="left_share",
        method=_POSITION,
        value=left / total,
        low=spread.low,
        high=spread.high,
        n=n,
        seed=seed,
        details=spread.details | {"p": p, "test": "exact binomial, of answers as independent"},
    )


def tie_shares(rater: Codes, outcome: Floats) -> list[dict[str, Any]]:
    """For each rater: answers, share of ties, and whether there are none or only ties."""
    total = np.bincount(rater)
    ties = np.bincount(rater, weights=outcome == 0)
    return [
        {
            "rater": one,
            "answers": int(total[one]),
            "tie_share": float(ties[one] / total[one]),
            "never_ties": bool(ties[one] == 0),
            "always_ties": bool(ties[one] == total[one]),
        }
        for one in np.flatnonzero(total)
    ]


def circular_triads(
    unit: Codes, first: Codes, second: Codes, outcome: Floats, systems: int
) -> Figure:
    """How often a > b > c > a in the answers of one rater on one item (Kendall & Babington Smith).

    `unit` (n,): codes of rater-and-item; `outcome`: 1 the first is preferred, -1 the second, 0 a
    tie. Only triples with all three decided count. Details: zeta (1 = no circle, 0 = as many as
    can be), of the units in which all systems met all others without a tie.
    """
    size = int(unit.max()) + 1 if len(unit) else 0
    table = np.zeros((size, systems, systems))
    np.add.at(table, (unit, first, second), outcome)
    table = np.sign(table - table.transpose(0, 2, 1))
    triples, circles, by_unit = 0, 0, np.zeros(size)
    for a, b, c in combinations(range(systems), 3):
        x, y, z = table[:, a, b], table[:, b, c], table[:, c, a]
        triples += int((x * y * z != 0).sum())
        circular = (x == y) & (y == z) & (x != 0)
        circles += int(circular.sum())
        by_unit += circular
    n = {"triples": triples, "circular": circles}
    if not triples:
        return undefined("circular_share", Reason.TOO_FEW, method=_CIRCLES, n=n)
    full = (table != 0).sum(axis=(1, 2)) == systems * (systems - 1)
    odd = systems**3 - systems if systems % 2 else systems**3 - 4 * systems
    zeta = float(1 - 24 * by_unit[full].mean() / odd) if full.any() else None
    why = "none: it describes what was answered"
    details = {"zeta": zeta, "complete_units": int(full.sum()), "interval": why}
    return Figure(
        name="circular_share", method=_CIRCLES, value=circles / triples, n=n, details=details
    )
