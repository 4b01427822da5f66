"""Intervals: by Student's t, by resampling, and of all differences between systems at once.

By resampling: the bootstrap and the jackknife over one factor, and the bootstrap over raters and
items separately ("pigeonhole", Owen 2007). Over one factor, a statistic is a function of weights:
it turns an array (draws, blocks) of how often each block counts into an array (draws,) or (draws,
figures), NaN where a draw leaves it undefined. Over two, a rating's weight in a draw is how often
its rater was drawn times how often its item was: right where both are samples; conservative with
few raters. The item is the group, or the cluster of groups where there are clusters.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special, stats

from evalsite.analysis.figure import LEVEL, Figure, Reason, finite_figure, undefined
from evalsite.analysis.ratings import Floats, Ratings

MANY = 1e8  # degrees of freedom beyond which t is the normal distribution
TINY = 1e-12  # a standard error that is nothing but rounding
ALWAYS_EQUAL = "always_equal"  # the note of differences that are all equal, but not 0
Units = Literal["inputs", "clusters", "raters"]
Estimate = tuple[float, float, float]  # value, standard error, degrees of freedom
_STEPS = 2000


def t_figure(
    name: str, estimate: Estimate, *, method: str, n: Mapping[str, int], units: int = 0
) -> Figure:
    """Return an estimate with its t interval; details hold se, df, t and the two-sided p value.

    With a standard error of 0 there is no interval: p = 1 and the note `no_difference` if the
    estimate is 0 as well; else the note `always_equal`, and p from sign flips of the `units`
    (inputs), whose differences are all equal.
    """
    value, se, df = estimate
    if not (isfinite(value) and isfinite(se) and se >= 0):
        return undefined(name, Reason.TOO_FEW, method=method, n=n)
    if se <= TINY * max(1.0, abs(value)):
        return _without_error(name, value, method, n, units)
    df = min(df, MANY)
    half = float(stats.t.ppf((1 + LEVEL) / 2, df)) * se
    ratio = value / se
    p = float(2 * stats.t.sf(abs(ratio), df))
    details = {"se": se, "df": df, "t": ratio, "p": p, "test": "t", "interval": "t"}
    return Figure(
        name=name, method=method, value=value, low=value - half, high=value + half, n=n,
        details=details,
    )  # fmt: skip


def _without_error(
    name: str, value: float, method: str, n: Mapping[str, int], units: int
) -> Figure:
    details: dict[str, Any] = {"se": 0.0}
    if abs(value) <= TINY:
        details |= {"p": 1.0, "note": str(Reason.NO_DIFFERENCE), "interval": "no_differences"}
        return Figure(name=name, method=method, value=0.0, n=n, details=details)
    details |= {"note": ALWAYS_EQUAL, "interval": "equal_differences"}
    if units:
        # of all flips only two make a mean as far from 0: no flip, and all
        details |= {"p": min(1.0, 2.0 ** (1 - units)), "test": "sign_flips", "units": units}
    return Figure(name=name, method=method, value=value, n=n, details=details)


def mean_with_t(name: str, values: Floats, *, method: str, n: dict[str, int]) -> Figure:
    """Return the mean of at least one value, with its t interval (none for a single value)."""
    mean = float(values.mean())
    if len(values) < 2:
        single = {"interval": "single_value"}
        return Figure(name=name, method=method, value=mean, n=n, details=single)
    if np.ptp(values) == 0:
        constant: dict[str, Any] = {"interval": "equal_values", "se": 0.0}
        return Figure(name=name, method=method, value=mean, n=n, details=constant)
    error = float(values.std(ddof=1) / len(values) ** 0.5)
    reach = float(stats.t.ppf((1 + LEVEL) / 2, len(values) - 1)) * error
    details: dict[str, Any] = {
        "interval": "t_of_values",
        "se": error,
        "df": len(values) - 1,
    }
    return finite_figure(name, method=method, value=mean, low=mean - reach, high=mean + reach, n=n,
                         details=details)  # fmt: skip


def has_no_spread(figure: Figure) -> bool:
    """Return whether all values that the figure averages are equal, so that it has no error."""
    return figure.details.get("note") in (ALWAYS_EQUAL, str(Reason.NO_DIFFERENCE))


def describe_equal_differences(figure: Figure, *, units: Units, is_of_means: bool) -> Figure:
    """Return the figure; where it has no spread, its details say what is equal: each difference, or
    only the means of `units`, while the values that these are means of vary."""
    if not has_no_spread(figure):
        return figure
    known = {"units_of": units} | ({"of_means": True} if is_of_means else {})
    return replace(figure, details={**figure.details, **known})


@lru_cache(maxsize=64)
def _errors(df: float) -> Floats:
    """Return standard errors over the true one, at even quantiles of their distribution."""
    middle = (np.arange(_STEPS) + 0.5) / _STEPS
    return np.asarray(np.sqrt(stats.chi2.ppf(middle, df) / df))


def power_of_t(difference: float, *, se: float, df: float) -> float:
    """Return the power of the two-sided t test against a true difference.

    The noncentral t is computed by its definition, a normal over the root of a chi-square, because
    scipy's fails for large shifts.
    """
    edge = float(stats.t.ppf((1 + LEVEL) / 2, df))
    return _power(difference / se, edge * _errors(df))


def _power(shift: float, edges: Floats) -> float:
    # ndtr rather than norm.cdf, which spends much of its time checking arguments
    chances = special.ndtr(shift - edges) + special.ndtr(-shift - edges)
    return float(chances.mean())


def detectable(*, se: float, df: float, power: float = 0.8) -> float:
    """Return the smallest true difference that the two-sided t test finds with this power."""
    edge = float(stats.t.ppf((1 + LEVEL) / 2, df))
    guess = edge + float(stats.t.ppf(max(power, 0.6), df))
    edges = edge * _errors(df)

    def gap(size: float) -> float:
        return _power(size, edges) - power

    return se * float(optimize.brentq(gap, 1e-6, 10 * guess, xtol=1e-6))


# --- the figures of a pair as a reader sees them: from one side, within what is possible; and the
# difference that a study like this one finds in 8 of 10 cases, after correction

_SHARES = frozenset(
    {
        "superiority", "win_share", "win_share_ties_half", "win_share_without_ties", "sign_test",
        "sign_test_of_majorities", "sign_within",
    }
)  # fmt: skip
_LOST = {"wins": "losses", "losses": "wins"}


def turn_figure(figure: Figure) -> Figure:
    """Return the figure from the side of the pair's other system.

    A ratio is inverted, a share becomes 1 minus the share, a sum of ranks that of the other sign;
    everything else changes its sign.
    """
    details = {
        key: -value if key in ("t", "z", "d") else value for key, value in figure.details.items()
    }
    for end, other in (("d_low", "d_high"), ("d_high", "d_low")):
        if (reached := figure.details.get(other)) is not None:
            details[end] = -reached

    def turn(value: float | None) -> float | None:
        if value is None:
            return None
        if figure.name in ("ratio", "ratio_of_geometric_means"):
            return 1 / value
        if figure.name in _SHARES:
            return 1 - value
        if figure.name == "wilcoxon":
            return float(figure.details.get("sum_of_ranks", 0.0)) - value
        return 0.0 - value

    return replace(
        figure,
        value=turn(figure.value),
        low=turn(figure.high),
        high=turn(figure.low),
        n={_LOST.get(unit, unit): number for unit, number in figure.n.items()},
        details=details,
    )


def keep_possible(figure: Figure, least: float, most: float) -> Figure:
    """Return the figure with an interval that holds only possible values.

    It is undefined if its value is impossible, as a model without ends can yield from few ratings.
    An end beyond `least` or `most` is cut there, which loses no possible value. An interval of all
    possible values, or of none, says nothing and is dropped as too_few.
    """
    slack = 1e-9 * max(1.0, abs(figure.value or 0.0))
    if figure.value is not None and not least - slack <= figure.value <= most + slack:
        return undefined(figure.name, Reason.TOO_FEW, method=figure.method, n=figure.n)
    if figure.low is None or figure.high is None:
        return figure
    if least <= figure.low and figure.high <= most:
        return figure
    details = dict(figure.details)
    is_all = figure.low <= least and most <= figure.high
    if is_all or figure.high <= least or most <= figure.low:
        details["interval"] = str(Reason.TOO_FEW)
        return replace(figure, low=None, high=None, details=details)
    details["interval"] = f"{details.get('interval', '')}+cut"
    return replace(figure, low=max(least, figure.low), high=min(most, figure.high), details=details)


def keep_detectable(figure: Figure | None, most: float) -> Figure | None:
    """Return the smallest difference that the design detects; too_few if it isn't possible."""
    if figure is None or figure.value is None:
        return figure
    if figure.value > most:
        return replace(figure, value=None, reason=Reason.TOO_FEW, low=None, high=None)
    high = None if figure.high is None else min(figure.high, most)
    return replace(figure, high=high)


# --- the difference that would be found --------------------------------------------------------

POWER = 0.8
_MOST_DF = 1e5  # beyond, the answer is the same to five digits
_METHOD = "detectable_difference"


def find_detectable(*, se: float, df: float, m: int) -> dict[str, float]:
    """Return `detectable`, se * ncp with P(T > t(1 - .05/(2m), df)) = .8 for a noncentral T with df
    and ncp; and `low` and `high`, its limits given the error of `se`, by the chi-square of df.

    A noncentral t is (Z + ncp) / S, with df S² a chi-square, so its chance is a mean over Z: of
    scipy, nct has no answer for the large shifts of few degrees of freedom.
    """
    df = min(df, _MOST_DF)
    edge = float(stats.t.isf((1 - LEVEL) / (2 * m), df))
    step = min(0.02, edge / sqrt(2 * df) / 8)
    z = np.arange(-9, 9 + step, step)
    weight = np.exp(-(z**2) / 2)
    weight /= weight.sum()

    def find_gap(ncp: float) -> float:
        chance = stats.chi2.cdf(df * (np.maximum(z + ncp, 0) / edge) ** 2, df)
        return float(weight @ chance) - POWER

    size = se * float(optimize.brentq(find_gap, 0, 20 * edge + 20, xtol=1e-9))
    low, high = (size * sqrt(df / float(stats.chi2.ppf(q, df))) for q in (0.975, 0.025))
    return {"detectable": size, "low": low, "high": high}


def describe_detectable(*, se: float, df: float, m: int, n: Mapping[str, int]) -> Figure:
    """Return the detectable difference as a figure, with what it rests on in its details."""
    sizes = find_detectable(se=se, df=df, m=m)
    details = {"power": POWER, "tests": m, "se": se, "df": df, "interval": "chi_square"}
    return Figure(
        name="detectable_difference", method=_METHOD, value=sizes["detectable"], low=sizes["low"],
        high=sizes["high"], n=n, details=details,
    )  # fmt: skip


def list_planned(pairs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the pairs that p values are corrected for, which a plan names or leaves open."""
    return [pair for pair in pairs if not pair["effect"].details.get("is_exploratory")]


def detect_in(pairs: Sequence[Mapping[str, Any]]) -> Figure | None:
    """Return what the study finds in the planned comparison with the largest standard error, as a
    test of its family; None where no error is known."""
    known: list[tuple[float, Mapping[str, Any]]] = [
        (pair["effect"].details["se"], pair)
        for pair in list_planned(pairs)
        if pair["effect"].details.get("se")
        and pair["effect"].details.get("df")
        # a pair that is compared on one input says nothing about others
        and "only" not in pair["effect"].details
    ]
    if not known:
        return None
    se, pair = max(known, key=lambda entry: entry[0])
    effect: Figure = pair["effect"]
    figure = describe_detectable(
        se=se, df=effect.details["df"], m=effect.details.get("family") or 1, n=effect.n
    )
    sides = {side: str(pair[side]) for side in ("system_1", "system_2")}
    return replace(figure, details={**figure.details, **sides})


# --- by resampling

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


# --- rank ranges and clusters of systems, from simultaneous intervals of their differences

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
