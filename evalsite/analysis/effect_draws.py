"""The effect sizes of one pair in many draws of the bootstrap at once, without copying any item.

Each gives what the function of its name in `effects` gives for the items repeated as often as they
were drawn.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evalsite.analysis.effects import rounded

Floats = NDArray[np.float64]

CELLS = 500_000  # held at once
_LEAST = 3  # items drawn, below which a draw tells no size


def effects_of_draws(
    first: Floats, second: Floats, times: Floats, *, cells: int = CELLS
) -> dict[str, Floats]:
    """`dz`, `gz`, `cliffs_delta` and `rank_biserial` in each draw (draws,), NaN: undefined there.

    All (draws, items): the means under either system, and how often each item was drawn; one that
    lacks a mean counts as not drawn. `cells`: how many of these numbers are worked on at once.
    """
    some = max(1, cells // max(1, first.shape[1]))
    parts = [
        _effects(first[at : at + some], second[at : at + some], times[at : at + some])
        for at in range(0, len(first), some)
    ]
    return {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}


def _effects(first: Floats, second: Floats, times: Floats) -> dict[str, Floats]:
    there = np.isfinite(first) & np.isfinite(second)
    times = np.where(there, times, 0.0)
    a, b = (rounded(np.where(times > 0, one, 0.0)) for one in (first, second))
    d = rounded(np.where(times > 0, second - first, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        dz = _dz(d, times)
        found = {
            "dz": dz,
            "gz": dz * _hedges_factors(times.sum(axis=1) - 1),
            "cliffs_delta": _cliffs_delta(a, b, times),
            "rank_biserial": _rank_biserial(d, times),
        }
    enough = times.sum(axis=1) >= _LEAST
    return {name: np.where(enough, one, np.nan) for name, one in found.items()}


def _dz(d: Floats, times: Floats) -> Floats:
    drawn = times > 0
    reach = np.where(drawn, d, -np.inf).max(axis=1) - np.where(drawn, d, np.inf).min(axis=1)
    total = times.sum(axis=1)
    mean = (times * d).sum(axis=1) / total
    spread = (times * (d - mean[:, None]) ** 2).sum(axis=1) / (total - 1)
    return np.where(reach > 0, mean / np.sqrt(spread), np.nan)


def _hedges_factors(df: Floats) -> Floats:
    log = special.gammaln(df / 2) - special.gammaln((df - 1) / 2) - np.log(df / 2) / 2
    return np.asarray(np.exp(log), dtype=np.float64)


def _cliffs_delta(a: Floats, b: Floats, times: Floats) -> Floats:
    none = np.zeros_like(times)
    values = np.concatenate([a, b], axis=1)
    weights = [np.concatenate(pair, axis=1) for pair in ((times, none), (none, times))]
    draw, (of_a, of_b) = _sum_ties(values, weights)
    total = times.sum(axis=1)
    below = _count_below(draw, of_a, total)
    above = total[draw] - below - of_a
    return np.bincount(draw, weights=of_b * (below - above), minlength=len(times)) / total**2


def _rank_biserial(d: Floats, times: Floats) -> Floats:
    times = np.where(d != 0, times, 0.0)
    draw, (count, signed) = _sum_ties(np.abs(d), [times, times * np.sign(d)])
    total = times.sum(axis=1)
    rank = _count_below(draw, count, total) + (count + 1) / 2
    ranks = total * (total + 1) / 2
    return np.bincount(draw, weights=signed * rank, minlength=len(times)) / ranks


def _sum_ties(values: Floats, weights: list[Floats]) -> tuple[NDArray[np.int64], list[Floats]]:
    """The draw of each run of equal values, from the lowest up, and its sum of each weight."""
    order = np.argsort(values, axis=1)
    values = np.take_along_axis(values, order, axis=1)
    begins = np.ones(values.shape, dtype=bool)
    begins[:, 1:] = values[:, 1:] != values[:, :-1]
    start = np.flatnonzero(begins)
    sums = [np.add.reduceat(np.take_along_axis(w, order, axis=1).ravel(), start) for w in weights]
    return start // values.shape[1], sums


def _count_below(draw: NDArray[np.int64], count: Floats, total: Floats) -> Floats:
    """How many of a draw are below each run of its equal values; `total`: all of each draw."""
    return np.asarray(count.cumsum() - count - (total.cumsum() - total)[draw], dtype=np.float64)
