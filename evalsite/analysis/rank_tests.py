"""The classic rank and sign tests, for those who want them beside the crossed test, and those of
yes/no outcomes: McNemar, Cochran's Q, and a share with Wilson's interval.

None of them allows for raters that ratings share: they generalise over items at most.
"""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from evalsite.analysis.effects import rounded
from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.resample import SEED

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

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

METHOD = "sign_flips"
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
        return undefined("difference", Reason.NO_DATA, method=METHOD, n=n)
    p, how, used = _p_value(d, seed)
    details: dict[str, Any] = {"p": p, "how": how, "interval": "test"}
    if not d.any():
        details["note"] = str(Reason.NO_DIFFERENCE)
    return Figure(
        name="difference", method=METHOD, value=float(d.mean()), n=n, seed=used, details=details
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
