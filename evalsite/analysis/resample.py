"""Intervals by resampling: the bootstrap and the jackknife over one factor, and the bootstrap over
raters and items separately ("pigeonhole", Owen 2007).

Over one factor, a statistic is a function of weights: it turns an array (draws, blocks) of how
often each block counts into an array (draws,) or (draws, figures), NaN where a draw leaves it
undefined. Over two, a rating's weight in a draw is how often its rater was drawn times how often
its item was: right where both are samples; conservative with few raters. The item is the group, or
the cluster of groups where there are clusters.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse, stats

from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.ratings import Floats, Ratings

DRAWS = 2000
SEED = 1
MANY_BLOCKS = 20_000
FEW_DRAWS = 500  # with so many blocks or ratings; an interval's ends are as good as with more
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


# --- over raters and items ---------------------------------------------------------------------


METHOD = "bootstrap_of_items_and_raters"
METHOD_ITEMS = "bootstrap_of_items"
MANY_RATINGS = 100_000
_ROWS = 500_000  # weights of rows held at once
# what a figure is, whether or not it could be resampled
_HOW = {
    "mean": "mean",
    "geometric_mean": "geometric_mean",
    "arithmetic_mean": "mean",
    "median": "median",
    "trimmed_mean": "trimmed_mean",
    "mode_share": "share_of_mode",
    "top_box": "share_at_top",
    "bottom_box": "share_at_bottom",
    "mean_z": "mean_of_z",
    "mean_centred": "centred_mean",
    "geo_mean": "geometric_mean",
    "geo_mean_ratio": "geometric_mean_ratio",
    "geo_mean_ratio_rater_centred": "centred_geometric_mean_ratio",
    "mean_log_z": "mean_of_log_z",
    "geo_mean_winsorised": "winsorised_geometric_mean",
    "mean_rank": "mean_rank_on_page",
    "share_best": "share_best_on_page",
    "net_win_share": "net_wins",
    "win_share_ties_half": "wins_and_half_ties",
}


def draws_for(ratings: int) -> int:
    """Return the default number of draws for so many ratings."""
    return FEW_DRAWS if ratings > MANY_RATINGS else DRAWS


def _weights(rng: np.random.Generator, levels: int, rows: int) -> Floats:
    drawn = rng.integers(0, levels, size=(rows, levels), dtype=np.int64)
    flat = (drawn + np.arange(rows)[:, None] * levels).ravel()
    return np.bincount(flat, minlength=rows * levels).reshape(rows, levels).astype(np.float64)


def two_way_weights(
    raters: int, items: int, *, draws: int, seed: int
) -> Iterator[tuple[Floats, Floats]]:
    """Yield weights of raters (batch, raters) and items (batch, items), in batches of draws."""
    rng_rater, rng_item = (np.random.default_rng([seed, side]) for side in (0, 1))
    batch = max(1, min(draws, _CELLS // max(raters, items, 1)))
    for start in range(0, draws, batch):
        rows = min(batch, draws - start)
        yield _weights(rng_rater, raters, rows), _weights(rng_item, items, rows)


def two_way_sums(
    rater: Any, item: Any, columns: Any, *, draws: int = DRAWS, seed: int = SEED
) -> Floats:
    """Return the weighted sum of each column in each draw: (draws, columns).

    `rater`, `item`: codes (n,) from 0 (see `canonical_rows`); rater None: items alone are drawn.
    `columns`: (n, c) numbers, or a sparse table. Every figure made of weighted sums (a mean, a
    share, a table of wins) follows from them. Time grows with draws x filled cells; for numbers
    that aren't integers, with draws x columns x items.
    """
    table = sparse.csc_matrix(columns, dtype=np.float64)
    item = np.asarray(item)
    left = np.zeros(len(item), dtype=np.int64) if rater is None else np.asarray(rater)
    shape = (int(left.max()) + 1, int(item.max()) + 1)
    weights = two_way_weights(*shape, draws=draws, seed=seed)
    if not (table.data % 1).any():
        # sums of integers are the same in any order, so the rows may be weighted first
        return _sum_rows(left, item, table, draws, weights)
    cells = []
    for begin, end in zip(table.indptr[:-1], table.indptr[1:], strict=True):
        rows, numbers = table.indices[begin:end], table.data[begin:end]
        where = (item[rows], left[rows])
        cells.append(sparse.csr_matrix((numbers, where), shape=shape[::-1]))
    parts = []
    for by_rater, by_item in weights:
        sums = np.empty((len(by_item), len(cells)))
        for place, cell in enumerate(cells):
            sums[:, place] = np.einsum("di,di->d", np.asarray((cell @ by_rater.T).T), by_item)
        parts.append(sums)
    return np.concatenate(parts)


def _sum_rows(
    rater: Any,
    item: Any,
    table: sparse.csc_matrix,
    draws: int,
    weights: Iterator[tuple[Floats, Floats]],
) -> Floats:
    """Return the sum of each column (draws, columns), rows weighted by their rater and item."""
    sums = np.empty((draws, table.shape[1]))
    turned, batch, at = table.T.tocsr(), max(1, _ROWS // max(table.shape)), 0
    for by_rater, by_item in weights:
        for start in range(0, len(by_item), batch):
            part = slice(start, start + batch)
            weight = by_rater[part].T[rater] * by_item[part].T[item]
            sums[at : at + weight.shape[1]] = (turned @ weight).T
            at += weight.shape[1]
    return sums


def two_way_means(
    ratings: Ratings, *, draws: int = DRAWS, seed: int = SEED
) -> tuple[Floats, Floats]:
    """Return the mean of each system (systems,) and in each draw of raters and blocks (draws,
    systems).

    Raters, blocks and systems are codes from 0. NaN in a draw that holds no rating of a system.
    """
    system, value = ratings.get("system"), ratings.value
    systems = int(system.max()) + 1
    indicator = np.zeros((len(value), systems))
    indicator[np.arange(len(value)), system] = 1.0
    centre = float(value.mean())  # sums of centred values keep their digits
    columns = np.hstack([indicator * (value - centre)[:, None], indicator])
    sums = two_way_sums(ratings.rater, ratings.block, columns, draws=draws, seed=seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = centre + sums[:, :systems] / sums[:, systems:]
    count = np.bincount(system, minlength=systems)
    means = centre + np.bincount(system, weights=value - centre, minlength=systems) / count
    return means, np.where(np.isfinite(drawn), drawn, np.nan)


def drawn_figure(
    name: str, value: float, drawn: Floats, *, n: Mapping[str, int], seed: int
) -> Figure:
    """Return a figure with the percentile interval of its draws (draws,), NaN where undefined.

    Raters are drawn where `n` counts them. With fewer than two items (or two raters where raters
    are drawn), or draws that are all equal, the interval would be a point, so there is none, and
    the details say so. The method names the statistic.
    """
    over = METHOD if "raters" in n else METHOD_ITEMS
    method = _HOW.get(name, over)
    if not np.isfinite(value):
        return undefined(name, Reason.NO_DATA, method=method, n=n)
    if lacking := _find_lacking(n):
        details = {"interval": lacking}
        return Figure(name=name, method=method, value=float(value), n=n, seed=seed, details=details)
    spread = describe_draws(drawn, value)
    details = spread.details if spread.low is None else spread.details | {"interval": over}
    return Figure(name=name, method=method, value=float(value), low=spread.low, high=spread.high,
                  n=n, seed=seed, details=details)  # fmt: skip


def drawn_test(
    name: str, value: float, drawn: Floats, *, n: Mapping[str, int], seed: int
) -> Figure:
    """Return the same as a test: the details hold the p value of 0, if there is an interval, and
    the method is the bootstrap."""
    figure = drawn_figure(name, value, drawn, n=n, seed=seed)
    figure = replace(figure, method=METHOD if "raters" in n else METHOD_ITEMS)
    if figure.value is None or _find_lacking(n):
        return figure
    return replace(figure, details={**figure.details, "p": bootstrap_p(drawn)})


def _find_lacking(n: Mapping[str, int]) -> str:
    """Return why there is no interval over so few; "" if there is one."""
    if n.get("raters", 2) < 2:
        return "needs_two_raters"
    drawn, why = (
        ("clusters", "needs_two_clusters") if "clusters" in n else ("items", "needs_two_inputs")
    )
    return why if n.get(drawn, 2) < 2 else ""


def bootstrap_p(drawn: Floats) -> float:
    """Return the two-sided p value that agrees with the percentile interval about 0."""
    defined = drawn[~np.isnan(drawn)]
    below, above = (defined <= 0).sum(), (defined >= 0).sum()
    return float(min(1.0, 2 * (min(below, above) + 1) / (len(defined) + 1)))
