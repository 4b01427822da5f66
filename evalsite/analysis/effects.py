"""Paired differences (second minus first): effect sizes, and the classic rank and sign tests.

Differences are rounded to nine digits first: means of thirds differ in the sixteenth, and rank
statistics would count differences where there are none.

Effects in standard deviations of single ratings: the root of the sum of all variances of the mixed
model, the residual included (Westfall, Kenny and Judd 2014), so studies with other numbers of
raters compare.

The classic tests are for those who want them beside the crossed test; those of yes/no outcomes are
McNemar, Cochran's Q, and a share with Wilson's interval. None of them allows for raters that
ratings share: they generalise over items at most.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import exp, lgamma, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special, stats

from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.intervals import (
    METHOD,
    METHOD_ITEMS,
    SEED,
    describe_draws,
    two_way_sums,
    two_way_weights,
)
from evalsite.analysis.ratings import Scores, cell_means, item_means

Floats = NDArray[np.float64]

DIGITS = 9


def rounded(differences: Any) -> Floats:
    """Return the differences as numbers, rounded to nine digits."""
    return np.asarray(np.round(np.asarray(differences, dtype=np.float64), DIGITS), np.float64)


def hedges_factor(df: float) -> float:
    """Return the exact small-sample factor of a standardised difference (Hedges 1981)."""
    return exp(lgamma(df / 2) - lgamma((df - 1) / 2) - log(df / 2) / 2)


def cohen_dz(differences: Any) -> float | None:
    """Return mean over standard deviation of the paired differences; None where they don't vary."""
    d = rounded(differences)
    if len(d) < 2 or np.ptp(d) == 0:
        return None
    return float(d.mean() / d.std(ddof=1))


def hedges_gz(differences: Any) -> float | None:
    """Return d_z with Hedges' correction; None below three differences."""
    size = cohen_dz(differences)
    d = rounded(differences)
    return None if size is None or len(d) < 3 else size * hedges_factor(len(d) - 1)


def superiority(differences: Any) -> float | None:
    """Return P(second > first) + .5 P(equal) on the same item (and rater, if known)."""
    d = rounded(differences)
    return float((d > 0).mean() + (d == 0).mean() / 2) if len(d) else None


def cliffs_delta(first: Any, second: Any) -> float | None:
    """Return P(second > first) - P(second < first) over all pairs of values (Cliff 1993)."""
    a, b = np.sort(rounded(first)), rounded(second)
    if not len(a) or not len(b):
        return None
    above = np.searchsorted(a, b, side="left").sum()
    below = (len(a) - np.searchsorted(a, b, side="right")).sum()
    return float((above - below) / (len(a) * len(b)))


def rank_biserial(differences: Any) -> float | None:
    """Return the matched-pairs rank-biserial correlation, zeros left out (Kerby 2014)."""
    d = rounded(differences)
    d = d[d != 0]
    if not len(d):
        return None
    ranks = stats.rankdata(np.abs(d))
    return float((ranks * np.sign(d)).sum() / ranks.sum())


def ratio_of_geometric_means(log_difference: float) -> float:
    """Return the ratio of the second geometric mean to the first, from the difference of mean
    logarithms."""
    return exp(log_difference)


# --- effect sizes as figures --------------------------------------------------------------------

DRAWS = 300
FEW_DRAWS = 100
MANY_ITEMS = 1000
NAMES = {
    "dz": "dz",
    "gz": "gz",
    "superiority": "superiority_of_second",
    "cliffs_delta": "cliffs_delta",
    "rank_biserial": "rank_biserial",
}


def effect_figures(
    data: Scores, first: int, second: int, *, seed: int, draws: int = DRAWS
) -> dict[str, Figure]:
    """Return the effect sizes named in NAMES, second against first, on the items that both have.

    Undefined ones have `no_data` (no shared item), `no_overlap` (no rater with both), `too_few` or
    `no_variation`. Intervals are from `draws` draws of items and raters, at most FEW_DRAWS of them
    above MANY_ITEMS.
    """
    pair = data.take((data.system == first) | (data.system == second))
    means = [item_means(pair, system) for system in (first, second)]
    shared = np.isfinite(means[0]) & np.isfinite(means[1])
    n = {"items": int(shared.sum())}
    if not shared.any():
        return {
            name: undefined(name, Reason.NO_DATA, method=how, n=n) for name, how in NAMES.items()
        }
    draws = min(draws, FEW_DRAWS) if int(pair.group.max()) >= MANY_ITEMS else draws
    plain = _all_effects(means[0][shared], means[1][shared])
    plain["superiority"], drawn_superiority, met = _superiority(pair, first, second, seed, draws)
    drawn = _draw(pair, first, second, seed, draws) | {"superiority": drawn_superiority}
    counted = dict.fromkeys(NAMES, n) | ({"superiority": met} if met else {})
    over = METHOD if data.rater is not None else METHOD_ITEMS
    figures = [_figure(name, plain[name], drawn[name], counted[name], seed) for name in NAMES]
    return {
        figure.name: figure
        if figure.low is None
        else replace(figure, details={**figure.details, "interval": over})
        for figure in figures
    }


def _all_effects(first: Floats, second: Floats) -> dict[str, float | None]:
    d = rounded(second - first)
    dz = cohen_dz(d)
    return {
        "dz": dz,
        "gz": None if dz is None or len(d) < 3 else dz * hedges_factor(len(d) - 1),
        "cliffs_delta": cliffs_delta(first, second),
        "rank_biserial": rank_biserial(d),
    }


def _block_of_group(pair: Scores) -> NDArray[np.int64]:
    block = np.zeros(int(pair.group.max()) + 1, dtype=np.int64)
    block[pair.group] = pair.block
    return block


def _superiority(
    pair: Scores, first: int, second: int, seed: int, draws: int
) -> tuple[float | None, Floats, dict[str, int]]:
    """Return how often the second is rated higher by the same rater on the same item, its draws,
    and the numbers of items and raters; {}: none."""
    (a, n), (b, m) = (cell_means(pair, system) for system in (first, second))
    shared = sparse.coo_matrix(n.multiply(m))
    group, rater = shared.coords
    if not len(group):
        return None, np.full(draws, np.nan), {}
    place = (group, rater)
    before, after = (
        np.asarray(x.tocsr()[place] / y.tocsr()[place]).ravel() for x, y in ((a, n), (b, m))
    )
    d = rounded(after - before)
    points = (d > 0) + 0.5 * (d == 0)
    columns = np.column_stack([points, np.ones(len(d))])
    who = None if pair.rater is None else rater.astype(np.int64)
    sums = two_way_sums(who, _block_of_group(pair)[group], columns, draws=draws, seed=seed)
    n = {"items": len(np.unique(group))}
    if who is not None:
        n |= {"inputs_and_raters": len(d), "raters": len(np.unique(rater))}
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(points.mean()), sums[:, 0] / sums[:, 1], n


def _draw(pair: Scores, first: int, second: int, seed: int, draws: int) -> dict[str, Floats]:
    """Return each effect on item means in each draw; NaN where a draw leaves it undefined."""
    cells = [cell_means(pair, system) for system in (first, second)]
    block, raters = _block_of_group(pair), cells[0][0].shape[1]
    parts = []
    for by_rater, by_block in two_way_weights(raters, int(block.max()) + 1, draws=draws, seed=seed):
        with np.errstate(invalid="ignore", divide="ignore"):
            a, b = (((total @ by_rater.T) / (count @ by_rater.T)).T for total, count in cells)
        parts.append(effects_of_draws(a, b, by_block[:, block]))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _figure(name: str, value: float | None, drawn: Floats, n: dict[str, int], seed: int) -> Figure:
    how = NAMES[name]
    if value is None:
        reason = Reason.TOO_FEW if n["items"] < 3 else Reason.NO_VARIATION
        if name == "superiority":
            reason = Reason.NO_OVERLAP
        return undefined(name, reason, method=how, n=n)
    if n["items"] < 2:
        details: dict[str, Any] = {"interval": "needs_two_inputs"}
        return Figure(name=name, method=how, value=value, n=n, details=details)
    spread = describe_draws(drawn, value)
    return Figure(
        name=name, method=how, value=value, low=spread.low, high=spread.high, n=n, seed=seed,
        details=spread.details,
    )  # fmt: skip


CELLS = 500_000  # held at once
_LEAST = 3  # items drawn, below which a draw gives no size


def effects_of_draws(
    first: Floats, second: Floats, times: Floats, *, cells: int = CELLS
) -> dict[str, Floats]:
    """Return `dz`, `gz`, `cliffs_delta` and `rank_biserial` in each draw (draws,); NaN: undefined.

    All (draws, items): the means under either system, and how often each item was drawn; an item
    that lacks a mean counts as not drawn. `cells`: how many of these numbers are processed at once.
    """
    batch = max(1, cells // max(1, first.shape[1]))
    parts = [
        _effects(first[at : at + batch], second[at : at + batch], times[at : at + batch])
        for at in range(0, len(first), batch)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _effects(first: Floats, second: Floats, times: Floats) -> dict[str, Floats]:
    has_both = np.isfinite(first) & np.isfinite(second)
    times = np.where(has_both, times, 0.0)
    a, b = (rounded(np.where(times > 0, means, 0.0)) for means in (first, second))
    d = rounded(np.where(times > 0, second - first, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        dz = _dz(d, times)
        df = times.sum(axis=1) - 1
        # the factor of `hedges_factor` for each draw
        log_factor = special.gammaln(df / 2) - special.gammaln((df - 1) / 2) - np.log(df / 2) / 2
        sizes = {
            "dz": dz,
            "gz": dz * np.exp(log_factor),
            "cliffs_delta": _cliffs_delta(a, b, times),
            "rank_biserial": _rank_biserial(d, times),
        }
    enough = times.sum(axis=1) >= _LEAST
    return {name: np.where(enough, values, np.nan) for name, values in sizes.items()}


def _dz(d: Floats, times: Floats) -> Floats:
    drawn = times > 0
    reach = np.where(drawn, d, -np.inf).max(axis=1) - np.where(drawn, d, np.inf).min(axis=1)
    total = times.sum(axis=1)
    mean = (times * d).sum(axis=1) / total
    spread = (times * (d - mean[:, None]) ** 2).sum(axis=1) / (total - 1)
    return np.where(reach > 0, mean / np.sqrt(spread), np.nan)


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
    """Return the draw of each run of equal values, lowest first, and its sum of each weight."""
    order = np.argsort(values, axis=1)
    values = np.take_along_axis(values, order, axis=1)
    begins = np.ones(values.shape, dtype=bool)
    begins[:, 1:] = values[:, 1:] != values[:, :-1]
    start = np.flatnonzero(begins)
    sums = [np.add.reduceat(np.take_along_axis(w, order, axis=1).ravel(), start) for w in weights]
    return start // values.shape[1], sums


def _count_below(draw: NDArray[np.int64], count: Floats, total: Floats) -> Floats:
    """Count the values of a draw below each run of equal values; `total`: all of each draw."""
    return np.asarray(count.cumsum() - count - (total.cumsum() - total)[draw], dtype=np.float64)


# --- in standard deviations of single ratings, and the sources of their variance ---------------

RESIDUAL = "residual"


def share_variances(model: Mapping[str, Any], times: float = 1.0) -> dict[str, float]:
    """Return the share of each random effect, and of the residual, in the variance of a single
    rating. `times`: how often a rating counts each effect; 2 for a preference, which has the
    effects of two systems. {}: there is no model."""
    if not _is_used(model):
        return {}
    parts = {term: times * variance for term, variance in model["variances"].items()}
    parts |= {RESIDUAL: model["residual"]}
    total = sum(parts.values())
    return {term: part / total for term, part in parts.items()} if total > 0 else {}


def _is_used(model: Mapping[str, Any]) -> bool:
    return "variances" in model and "fallback" not in model


def find_total_sd(model: Mapping[str, Any]) -> float | None:
    """Return the standard deviation of single ratings of one system; None without a model."""
    if not _is_used(model):
        return None
    return sqrt(sum(model["variances"].values()) + model["residual"]) or None


def add_effect(difference: Figure, model: Mapping[str, Any]) -> Figure:
    """Return the difference with its standardised effect in the details: `d`, `d_low` and `d_high`,
    which leave out 0 where the difference does. Unchanged where there is no model."""
    sd = find_total_sd(model)
    if sd is None or difference.value is None:
        return difference
    sides = (difference.value, difference.low, difference.high)
    d, low, high = (None if end is None else end / sd for end in sides)
    return replace(difference, details={**difference.details, "d": d, "d_low": low, "d_high": high})


# --- classic tests

_PRATT = "wilcoxon_pratt"
_SIGN = "sign_test"
_FRIEDMAN = "friedman"
_RANK_SUM = "rank_sum"


def wilcoxon_pratt(differences: Any) -> Figure:
    """Return the signed-rank sum of positive differences with the two-sided p value, zeros by
    Pratt.

    `differences`: (items,), rounded to nine digits first. All 0: p = 1 and `no_difference`.
    """
    d = rounded(differences)
    n = {"items": len(d), "zeros": int((d == 0).sum())}
    if not len(d):
        return undefined("wilcoxon", Reason.NO_DATA, method=_PRATT, n=n)
    ranks = stats.rankdata(np.abs(d))
    positive = float(ranks[d > 0].sum())
    used = ranks[d != 0]
    details: dict[str, Any] = {
        "interval": "test",
        "ties": "mid_ranks",
    }
    if not len(used):
        details |= {"p": 1.0, "note": str(Reason.NO_DIFFERENCE)}
        return Figure(name="wilcoxon", method=_PRATT, value=0.0, n=n, details=details)
    z = (positive - used.sum() / 2) / sqrt((used**2).sum() / 4)
    details |= {"z": float(z), "p": float(2 * stats.norm.sf(abs(z)))}
    details["sum_of_ranks"] = float(used.sum())
    return Figure(name="wilcoxon", method=_PRATT, value=positive, n=n, details=details)


def sign_test(differences: Any) -> Figure:
    """Return the share of positive among the nonzero differences, with the exact p value."""
    d = rounded(differences)
    return sign_test_of_counts(int((d > 0).sum()), int((d < 0).sum()), int((d == 0).sum()))


def sign_test_of_counts(wins: int, losses: int, ties: int = 0) -> Figure:
    """Return the share won among the decided, with Wilson's interval and the exact two-sided p
    value."""
    n = {"wins": wins, "losses": losses, "ties": ties}
    if not wins + losses:
        reason = Reason.NO_DECIDED_PAIRS if ties else Reason.NO_DATA
        return undefined("win_share_without_ties", reason, method=_SIGN, n=n)
    test = stats.binomtest(wins, wins + losses)
    interval = test.proportion_ci(method="wilson")
    return Figure(
        name="win_share_without_ties",
        method=_SIGN,
        value=wins / (wins + losses),
        low=float(interval.low),
        high=float(interval.high),
        n=n,
        details={"p": float(test.pvalue), "interval": "wilson"},
    )


def friedman(table: Any) -> Figure:
    """Compute Friedman's chi-square over items (rows) with all systems (columns); items with gaps
    are dropped."""
    w = rounded(table)
    if w.ndim != 2 or not w.size:
        return undefined("friedman", Reason.NO_DATA, method=_FRIEDMAN)
    w = w[~np.isnan(w).any(axis=1)]
    n = {"items": len(w), "systems": w.shape[1]}
    if len(w) < 2 or w.shape[1] < 3:
        return undefined("friedman", Reason.TOO_FEW, method=_FRIEDMAN, n=n)
    if (np.ptp(w, axis=1) == 0).all():
        return undefined("friedman", Reason.NO_VARIATION, method=_FRIEDMAN, n=n)
    ranks = stats.rankdata(w, axis=1)
    middle = (w.shape[1] + 1) / 2
    between = ((ranks.sum(axis=0) - len(w) * middle) ** 2).sum()
    within = ((ranks - middle) ** 2).sum() / (w.shape[1] - 1)
    chi2, df = float(between / within), w.shape[1] - 1
    details = {"df": df, "p": float(stats.chi2.sf(chi2, df)), "interval": "test"}
    return Figure(name="friedman", method=_FRIEDMAN, value=chi2, n=n, details=details)


# --- sign flips ---------------------------------------------------------------------------------

Codes = NDArray[np.int64]

SIGN_FLIPS = "sign_flips"
EXACT_ITEMS = 20
RANDOM_FLIPS = 10_000
_COMMON_STEP = 60  # means of 1 to 6 whole ratings are multiples of 1/60
_MOST_STEPS = 2_000_000


def sign_flip_test(differences: Any, *, seed: int = SEED) -> Figure:
    """Return the mean item difference with the two-sided p value under exchange of the two systems.

    `differences`: (items,), second system minus first. Exact to 20 items by all flips, beyond that
    by counting where the differences are multiples of 1/60, else from random flips (p counts the
    data themselves as one flip). All differences 0: p = 1.
    """
    d = rounded(differences)
    n = {"items": len(d)}
    if not len(d):
        return undefined("difference", Reason.NO_DATA, method=SIGN_FLIPS, n=n)
    p, how, used = _p_value(d, seed)
    details: dict[str, Any] = {"p": p, "how": how, "interval": "test"}
    if not d.any():
        details["note"] = str(Reason.NO_DIFFERENCE)
    return Figure(
        name="difference", method=SIGN_FLIPS, value=float(d.mean()), n=n, seed=used, details=details
    )


def _p_value(d: Floats, seed: int) -> tuple[float, str, int | None]:
    d = d[d != 0]  # flipping a difference of 0 changes nothing
    if not len(d):
        return 1.0, "all_zero", None
    if len(d) <= EXACT_ITEMS:
        return flip_all(d), "all_flips", None
    steps = np.round(d * _COMMON_STEP)
    small = np.abs(steps).sum() * len(d) < _MOST_STEPS * 10
    if small and np.allclose(steps, d * _COMMON_STEP, atol=1e-6):
        return flip_by_counting(steps.astype(np.int64)), "by_counting", None
    rng = np.random.default_rng(seed)
    d = np.sort(d)  # the answer must not depend on the order of items
    observed, hits, done = abs(d.sum()), 0, 0
    while done < RANDOM_FLIPS:
        rows = min(1000, RANDOM_FLIPS - done)
        bits = np.unpackbits(rng.integers(0, 256, (rows, len(d) // 8 + 1), np.uint8), axis=1)
        sums = 2 * (bits[:, : len(d)].astype(np.float64) @ d) - d.sum()
        hits += int((np.abs(sums) >= observed - 1e-9 * len(d)).sum())
        done += rows
    return (hits + 1) / (RANDOM_FLIPS + 1), "random_flips", seed


def flip_all(d: Floats) -> float:
    """Return the exact p value over all 2**n flips of at most 20 differences."""
    sums = np.zeros(1)
    for difference in np.sort(d):
        sums = np.concatenate([sums + difference, sums - difference])
    return float((np.abs(sums) >= abs(d.sum()) - 1e-9 * len(d)).mean())


def flip_by_counting(steps: NDArray[np.int64]) -> float:
    """Return the exact p value for integer differences, from the probability of each sum."""
    size = np.sort(np.abs(steps))
    chance = np.ones(1)
    for step in size:
        wider = np.zeros(len(chance) + 2 * step)
        wider[: len(chance)] += chance / 2
        wider[2 * step :] += chance / 2
        chance = wider
    sums = np.arange(len(chance)) - size.sum()
    return float(min(1.0, chance[np.abs(sums) >= abs(steps.sum())].sum()))


def majority_sign(item: Codes, outcome: Floats) -> Figure:
    """Return the exact sign test on the majority of the answers to each item.

    `n` holds the items won, lost, tied, and those without a majority.
    """
    table = np.stack([np.bincount(item, weights=outcome == answer) for answer in (1, 0, -1)])
    total = table.sum(axis=0)
    wins, ties, losses = ((row * 2 > total).sum() for row in table)
    test = sign_test_of_counts(int(wins), int(losses), int(ties))
    none = int((total > 0).sum() - wins - ties - losses)
    n = {**test.n, "no_majority": none}
    return Figure(**{**test.__dict__, "method": f"{test.method}+majority_of_item", "n": n})


# --- of yes/no outcomes ------------------------------------------------------------------------

_WILSON = "wilson"
_MCNEMAR = "mcnemar"
_COCHRAN = "cochran_q"


def wilson_share(hits: int, total: int, *, name: str = "share", level: float = LEVEL) -> Figure:
    """Return the share of `hits` in `total` with Wilson's interval."""
    n = {"answers": total, "hits": hits}
    if not total:
        return undefined(name, Reason.NO_DATA, method=_WILSON, n=n)
    interval = stats.binomtest(hits, total).proportion_ci(level, method="wilson")
    return Figure(
        name=name,
        method=_WILSON,
        value=hits / total,
        low=float(interval.low),
        high=float(interval.high),
        level=level,
        n=n,
        details={"interval": "wilson"},
    )


def mcnemar(first: Any, second: Any) -> Figure:
    """Return the risk difference, second minus first, with McNemar's tests on the same items.

    `first`, `second`: 0 or 1 (items,), such as majorities. p is exact (binomial); chi2 and chi2_p
    are the form without continuity correction. No discordant item: p = 1.
    """
    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    up, down = int((~a & b).sum()), int((a & ~b).sum())
    n = {"items": len(a), "first_no_second_yes": up, "first_yes_second_no": down}
    if not len(a):
        return undefined("risk_difference", Reason.NO_DATA, method=_MCNEMAR, n=n)
    details: dict[str, Any] = {"interval": "test"}
    if not up + down:
        details |= {"p": 1.0, "note": str(Reason.NO_DIFFERENCE)}
    else:
        chi2 = (up - down) ** 2 / (up + down)
        details |= {"p": float(stats.binomtest(up, up + down).pvalue)}
        details |= {"chi2": chi2, "chi2_p": float(stats.chi2.sf(chi2, 1))}
    return Figure(
        name="risk_difference", method=_MCNEMAR, value=(up - down) / len(a), n=n, details=details
    )


def cochran_q(table: Any) -> Figure:
    """Compute Cochran's Q of 0/1 answers: items in rows, three or more systems in columns."""
    x = np.asarray(table, dtype=np.float64)
    if x.ndim != 2 or not x.size:
        return undefined("cochran_q", Reason.NO_DATA, method=_COCHRAN)
    x = x[~np.isnan(x).any(axis=1)]
    items, systems = x.shape
    n = {"items": items, "systems": systems}
    if systems < 2 or not items:
        return undefined("cochran_q", Reason.TOO_FEW, method=_COCHRAN, n=n)
    by_item, by_system = x.sum(axis=1), x.sum(axis=0)
    below = systems * by_item.sum() - (by_item**2).sum()
    if below == 0:
        return undefined("cochran_q", Reason.NO_VARIATION, method=_COCHRAN, n=n)
    spread = systems * (by_system**2).sum() - by_system.sum() ** 2
    q, df = float((systems - 1) * spread / below), systems - 1
    details = {"df": df, "p": float(stats.chi2.sf(q, df)), "interval": "test"}
    return Figure(name="cochran_q", method=_COCHRAN, value=q, n=n, details=details)
