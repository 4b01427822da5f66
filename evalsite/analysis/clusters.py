"""Rank ranges and clusters of systems, from simultaneous intervals of their differences."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from evalsite.analysis.figure import LEVEL
from evalsite.analysis.intervals import MANY

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

_NUMBERS = 500_000  # differences held at once, of all draws


def max_t(scores: Floats, drawn: Floats) -> float | None:
    """Return the simultaneous critical value for all pairs, in standard errors of a difference.

    `scores`: (systems,), `drawn`: (draws, systems) by a bootstrap. The quantile of the largest
    studentised difference (Westfall & Young 1993); None where no draw holds all systems.
    """
    complete = drawn[np.isfinite(drawn).all(axis=1)]
    if len(complete) < 2:
        return None
    largest = np.zeros(len(complete))
    for i, j in _split_pairs(len(scores), len(complete)):
        off = (complete[:, j] - complete[:, i]) - (scores[j] - scores[i])
        se = off.std(axis=0, ddof=1)
        moved = se > 1e-12
        studentised = np.abs(off[:, moved] / se[moved]).max(axis=1, initial=0.0)
        largest = np.maximum(largest, studentised)
    return float(np.quantile(largest, LEVEL)) if largest.any() else None


def _split_pairs(systems: int, draws: int) -> Iterator[tuple[Places, Places]]:
    """Yield the pairs of systems, lower and higher number, in batches that keep memory flat."""
    i, j = np.triu_indices(systems, 1)
    batch = max(1, _NUMBERS // max(draws, 1))
    for at in range(0, len(i), batch):
        yield i[at : at + batch], j[at : at + batch]


def certainly_above(drawn: Floats) -> NDArray[np.bool_] | None:
    """Return which system is above which, by simultaneous percentile intervals of all differences.

    `drawn`: (draws, systems) log strengths. The intervals are as wide, in ranks of draws, as needed
    to hold in LEVEL of the draws simultaneously (Besag, Green, Higdon & Mengersen 1995), so a few
    draws without finite strengths do no harm. None where the draws don't vary.
    """
    draws, systems = drawn.shape
    outermost, varies = np.zeros(draws), False
    for i, j in _split_pairs(systems, draws) if draws else ():
        apart = drawn[:, i] - drawn[:, j]
        rank = stats.rankdata(apart, method="average", axis=0)
        outermost = np.maximum(outermost, np.maximum(rank, draws + 1 - rank).max(axis=1))
        varies = varies or bool(np.ptp(apart, axis=0).any())
    if not varies:
        return None
    share = float(np.quantile(outermost, LEVEL)) / (draws + 1)
    above = np.zeros((systems,) * 2, dtype=bool)
    for i, j in _split_pairs(systems, draws):
        low, high = np.quantile(drawn[:, i] - drawn[:, j], [1 - share, share], axis=0)
        above[i, j], above[j, i] = low > 0, high < 0
    return above


def simultaneous_reach(critical: float, df: Any) -> Floats:
    """Convert the max-t value to t with few degrees of freedom, at the same tail probability."""
    tail = stats.norm.sf(critical)
    return np.asarray(stats.t.isf(tail, np.minimum(np.asarray(df, dtype=np.float64), MANY)))


def rank_ranges(above: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the best and worst rank of each system.

    `above[i, j]`: system i is certainly above system j. Best = 1 + those certainly above it; worst
    = all systems less those certainly below.
    """
    table = np.asarray(above, dtype=bool)
    best, worst = 1 + table.sum(axis=0), len(table) - table.sum(axis=1)
    return list(zip(best.tolist(), worst.tolist(), strict=True))


def order_ranges(
    scores: Mapping[str, float], ranges: Mapping[str, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    """Make the rank ranges monotone in the order of the scores, by widening only.

    With few comparisons the weakest system may get a better rank than the second weakest. So each
    range begins no later than those of lower systems, and ends no earlier than those of higher
    ones.
    """
    widened = dict(ranges)
    order = sorted(ranges, key=lambda name: -scores[name])
    worst = 0
    for name in order:
        worst = max(worst, ranges[name][1])
        widened[name] = (widened[name][0], worst)
    best = len(ranges)
    for name in reversed(order):
        best = min(best, ranges[name][0])
        widened[name] = (best, widened[name][1])
    return widened


def find_clusters(scores: Any, above: NDArray[np.bool_]) -> list[list[int]]:
    """Return the systems from best to worst, split where all before beat all after (as WMT does).

    `scores`: (systems,); `above[i, j]`: i beats j at the corrected level. A part says nothing about
    the order within it.
    """
    score, table = np.asarray(scores, dtype=np.float64), np.asarray(above, dtype=bool)
    order = np.argsort(-score, kind="stable")
    parts: list[list[int]] = [[]]
    for place, system in enumerate(order):
        if place and table[np.ix_(order[:place], order[place:])].all():
            parts.append([])
        parts[-1].append(int(system))
    return [part for part in parts if part]
