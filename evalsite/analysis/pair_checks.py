"""What preferences show in addition to strengths: position, ties by rater, and circles."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.resample import SEED, describe_draws, draws_for, two_way_sums

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_POSITION = "share_of_left"
_CIRCLES = "share_of_circles"


def position_bias(rater: Codes | None, item: Codes, outcome: Floats, *, seed: int = SEED) -> Figure:
    """Return the share of "left" among decided answers, and p of the exact test against one half.

    `outcome` (n,): 1 left, 0 tie, -1 right, as shown. The p value takes answers as independent;
    the interval doesn't.
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
        spread = describe_draws(sums[:, 0] / sums[:, 1], left / total)
    p = float(stats.binomtest(left, total).pvalue)
    return Figure(
        name="left_share",
        method=_POSITION,
        value=left / total,
        low=spread.low,
        high=spread.high,
        n=n,
        seed=seed,
        details=spread.details | {"p": p, "test": "exact_binomial"},
    )


def tie_shares(rater: Codes, outcome: Floats) -> list[dict[str, Any]]:
    """Return each rater's answers, share of ties, and whether there are none or only ties."""
    total = np.bincount(rater)
    ties = np.bincount(rater, weights=outcome == 0)
    return [
        {
            "rater": code,
            "answers": int(total[code]),
            "tie_share": float(ties[code] / total[code]),
            "never_ties": bool(ties[code] == 0),
            "always_ties": bool(ties[code] == total[code]),
        }
        for code in np.flatnonzero(total)
    ]


@dataclass(frozen=True, kw_only=True)
class _Edges:
    """The decided pairs (edges,) of the units, in order of unit, lower and higher system."""

    unit: Codes
    low: Codes
    high: Codes
    sign: Floats  # 1: the lower system is preferred, -1: the higher one


def _find_preferred(
    unit: Codes, first: Codes, second: Codes, outcome: Floats, systems: int
) -> _Edges:
    """Return which of two systems each unit prefers over all its answers; no edge if neither."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    cell, place = np.unique((unit * systems + low) * systems + high, return_inverse=True)
    net = np.bincount(place, weights=np.where(first < second, outcome, -outcome))
    cell, sign = cell[net != 0], np.sign(net[net != 0])
    return _Edges(
        unit=cell // systems**2, low=cell // systems % systems, high=cell % systems, sign=sign
    )


def _count_triples(edges: _Edges, systems: int) -> tuple[int, Codes]:
    """Return how many triples have all three pairs decided, and the unit of each that is a circle.

    Pairs that meet in the middle system of a triple are joined, one middle system at a time: the
    work grows with the number of answers, not with the number of possible triples.
    """
    cells = (edges.unit * systems + edges.low) * systems + edges.high
    triples, circular = 0, [np.zeros(0, dtype=np.int64)]
    for middle in range(1, systems - 1):
        below, above = np.flatnonzero(edges.high == middle), np.flatnonzero(edges.low == middle)
        start, end = (
            np.searchsorted(edges.unit[above], edges.unit[below], side=side)
            for side in ("left", "right")
        )
        number = end - start
        lower = np.repeat(below, number)
        within = np.arange(len(lower)) - np.repeat(number.cumsum() - number, number)
        upper = above[np.repeat(start, number) + within]
        closing = (edges.unit[lower] * systems + edges.low[lower]) * systems + edges.high[upper]
        third = np.minimum(np.searchsorted(cells, closing), len(cells) - 1)
        is_closed = cells[third] == closing
        triples += int(is_closed.sum())
        x, y, z = edges.sign[lower], edges.sign[upper], -edges.sign[third]
        circular.append(edges.unit[lower[is_closed & (x == y) & (y == z)]])
    return triples, np.concatenate(circular)


def circular_triads(
    unit: Codes, first: Codes, second: Codes, outcome: Floats, systems: int
) -> Figure:
    """Return how often a rater's answers on an item go in a circle, a > b > c > a.

    After Kendall and Babington Smith. `unit` (n,): codes of rater-and-item; `outcome`: 1 the first
    is preferred, -1 the second, 0 a tie. Only triples with all three pairs decided count. Details:
    zeta (1 = no circle, 0 = as many as possible), for the units that decided all pairs of systems.
    """
    edges = _find_preferred(unit, first, second, outcome, systems)
    triples, circular = _count_triples(edges, systems)
    circles = len(circular)
    n = {"triples": triples, "circular": circles}
    if not triples:
        return undefined("circular_share", Reason.TOO_FEW, method=_CIRCLES, n=n)
    full = np.flatnonzero(np.bincount(edges.unit) == systems * (systems - 1) // 2)
    odd = systems**3 - systems if systems % 2 else systems**3 - 4 * systems
    by_unit = np.bincount(circular, minlength=int(edges.unit.max()) + 1)
    zeta = float(1 - 24 * by_unit[full].mean() / odd) if len(full) else None
    why = "describes_answers"
    details = {"zeta": zeta, "complete_units": len(full), "interval": why}
    return Figure(
        name="circular_share", method=_CIRCLES, value=circles / triples, n=n, details=details
    )
