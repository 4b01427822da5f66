"""Intervals by resampling blocks: the bootstrap and the jackknife over one factor.

A statistic is a function of weights: it turns an array (draws, blocks) of how often each block
counts into an array (draws,) or (draws, figures), NaN where a draw leaves it undefined.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from evalsite.analysis.canonical_order import Floats
from evalsite.analysis.figure import LEVEL

DRAWS = 2000
SEED = 1
MANY_BLOCKS = 20_000
FEW_DRAWS = 500  # with so many blocks; an interval's ends are as good as with more
_CELLS = 4_000_000  # weights held at once
_ROUNDING = 1e-12
ALL_THE_SAME = "no_draw_differs_much"
_DELETED_ONE_BY_ONE = 1000  # above so many blocks the jackknife deletes groups of them
_GROUPS = 500

Statistic = Callable[[Floats], Floats]


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How often to draw, and from which seed; no draws: no interval."""

    draws: int = DRAWS
    seed: int = SEED


MANY_DRAWS, NO_DRAWS = Resampling(), Resampling(draws=0)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """What the draws of one figure say: a percentile interval and standard errors."""

    low: float | None
    high: float | None
    details: dict[str, Any]


def draw_weights(
    n_blocks: int, *, draws: int, seed: int, width: int = 0
) -> Iterator[Floats]:  # fmt: skip
    """Yield bootstrap weights in batches of draws: arrays (batch, n_blocks), each row of sum
    n_blocks. `width`: how many columns the statistic makes of a draw, to keep memory flat."""
    rng = np.random.default_rng(seed)
    batch = max(1, min(draws, _CELLS // max(n_blocks, width, 1)))
    for start in range(0, draws, batch):
        rows = min(batch, draws - start)
        drawn = rng.integers(0, n_blocks, size=(rows, n_blocks), dtype=np.int32)
        flat = drawn + (np.arange(rows, dtype=np.int64) * n_blocks)[:, None]
        counted = np.bincount(flat.ravel(), minlength=rows * n_blocks)
        yield counted.reshape(rows, n_blocks).astype(np.float64)


def bootstrap(
    statistic: Statistic, n_blocks: int, *, draws: int = DRAWS, seed: int = SEED, width: int = 0
) -> Floats:
    """Return the statistic of every draw: (draws,) or (draws, figures); at most 500 draws above
    20,000 blocks."""
    if n_blocks > MANY_BLOCKS:
        draws = min(draws, FEW_DRAWS)
    weights = draw_weights(n_blocks, draws=draws, seed=seed, width=width)
    return np.concatenate([statistic(batch) for batch in weights])


def jackknife(statistic: Statistic, n_blocks: int, *, width: int = 0) -> tuple[Floats, int]:
    """Return the statistic with each block left out in turn, and how many parts were left out.

    Above 1000 blocks they are left out in 500 groups of nearly equal size.
    """
    parts = n_blocks if n_blocks <= _DELETED_ONE_BY_ONE else _GROUPS
    part = np.arange(n_blocks) % parts
    batch = max(1, _CELLS // max(n_blocks, width, 1))
    drawn = []
    for start in range(0, parts, batch):
        out = np.arange(start, min(start + batch, parts))
        drawn.append(statistic((part[None, :] != out[:, None]).astype(np.float64)))
    return np.concatenate(drawn), parts


def percentiles(drawn: Floats) -> tuple[float | None, float | None]:
    """Return the percentile interval of the defined draws; None where there are none."""
    defined = drawn[~np.isnan(drawn)]
    if not defined.size:
        return None, None
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def describe_draws(drawn: Floats, value: float) -> Spread:
    """Return interval and standard error of a figure from its value and its draws (a flat array).

    Draws that are all, or nearly all, equal don't tell how far off the figure may be: then there is
    no interval. Draws of a handful of ratings may all be on one side of the value: then the
    interval ends at it.
    """
    low, high = percentiles(drawn)
    defined = drawn[~np.isnan(drawn)]
    details: dict[str, Any] = {"interval": "bootstrap", "draws": len(drawn)}
    if low is not None and high is not None and high - low <= _ROUNDING * max(1.0, abs(low)):
        low = high = None
        details["interval"] = ALL_THE_SAME
    elif low is not None and high is not None:
        low, high = min(low, float(value)), max(high, float(value))
    if len(defined) < len(drawn):
        details["draws_undefined"] = len(drawn) - len(defined)
    if len(defined) > 1:
        details["se_bootstrap"] = float(defined.std(ddof=1))
    return Spread(low=low, high=high, details=details)


def spread(statistic: Statistic, n_blocks: int, *, draws: int, seed: int, width: int = 0) -> Spread:
    """Return the bootstrap interval of a figure, and the jackknife's for comparison.

    Hughes (2022) finds the bootstrap of alpha short at small samples and the jackknife's variance
    near its nominal coverage; so both are given. No draws: no interval.
    """
    if n_blocks < 2 or not draws:
        why = "one_block" if draws else "not_asked_for"
        return Spread(low=None, high=None, details={"interval": why})
    whole = float(statistic(np.ones((1, n_blocks)))[0])
    interval = describe_draws(
        bootstrap(statistic, n_blocks, draws=draws, seed=seed, width=width), whole
    )
    left, parts = jackknife(statistic, n_blocks, width=width)
    left = left[~np.isnan(left)]
    if len(left) == parts:
        error = float(np.sqrt((parts - 1) / parts * ((left - left.mean()) ** 2).sum()))
        if error <= _ROUNDING:
            return interval
        reach = float(stats.t.ppf((1 + LEVEL) / 2, parts - 1)) * error
        interval.details.update(
            se_jackknife=error, jackknife_low=whole - reach, jackknife_high=whole + reach,
            jackknife_parts=parts,
        )  # fmt: skip
    return interval
