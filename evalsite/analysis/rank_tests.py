"""The classic rank and sign tests, for those who ask for them beside the crossed test.

None of them knows that ratings share raters: they generalise over items at most.
"""

from math import sqrt
from typing import Any

import numpy as np
from scipy import stats

from evalsite.analysis.effects import rounded
from evalsite.analysis.figure import Figure, Reason, undefined

_PRATT = "Wilcoxon signed-rank, zeros by Pratt, normal approximation"
_SIGN = "sign test, exact, zeros left out"
_FRIEDMAN = "Friedman test over items, corrected for ties"
_RANK_SUM = "rank-sum test on single ratings (ignores that ratings share items and raters)"


def wilcoxon_pratt(differences: Any) -> Figure:
    """The signed-rank sum of positive differences with the two-sided p value, zeros by Pratt.

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
        "interval": "none: a test",
        "ties": "mid-ranks, zeros ranked then dropped",
    }
    if not len(used):
        details |= {"p": 1.0, "note": str(Reason.NO_DIFFERENCE)}
        return Figure(name="wilcoxon", method=_PRATT, value=0.0, n=n, details=details)
    z = (positive - used.sum() / 2) / sqrt((used**2).sum() / 4)
    details |= {"z": float(z), "p": float(2 * stats.norm.sf(abs(z)))}
    details["sum_of_ranks"] = float(used.sum())
    return Figure(name="wilcoxon", method=_PRATT, value=positive, n=n, details=details)


def sign_test(differences: Any) -> Figure:
    """The share of positive among the differences that are not 0, with the exact p value."""
    d = rounded(differences)
    return sign_test_of_counts(int((d > 0).sum()), int((d < 0).sum()), int((d == 0).sum()))


def sign_test_of_counts(wins: int, losses: int, ties: int = 0) -> Figure:
    """The share won among the decided, with Wilson's interval and the exact two-sided p value."""
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
        details={"p": float(test.pvalue), "interval": "Wilson"},
    )


def friedman(table: Any) -> Figure:
    """Friedman's chi-square over items (rows) with all systems (columns); gaps drop the item."""
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
    details = {"df": df, "p": float(stats.chi2.sf(chi2, df)), "interval": "none: a test"}
    return Figure(name="friedman", method=_FRIEDMAN, value=chi2, n=n, details=details)
