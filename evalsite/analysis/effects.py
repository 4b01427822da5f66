"""Effect sizes of one system against another, on paired differences (second minus first).

Differences are rounded to nine digits first: means of thirds differ in the sixteenth, and rank
figures would see differences where there are none.
"""

from math import exp, lgamma, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

DIGITS = 9


def rounded(differences: Any) -> Floats:
    """The differences as numbers, rounded to nine digits."""
    return np.asarray(np.round(np.asarray(differences, dtype=np.float64), DIGITS), np.float64)


def hedges_factor(df: float) -> float:
    """The exact small-sample factor of a standardised difference (Hedges 1981)."""
    return exp(lgamma(df / 2) - lgamma((df - 1) / 2) - log(df / 2) / 2)


def cohen_dz(differences: Any) -> float | None:
    """Mean over standard deviation of the paired differences; None where they do not vary."""
    d = rounded(differences)
    if len(d) < 2 or np.ptp(d) == 0:
        return None
    return float(d.mean() / d.std(ddof=1))


def hedges_gz(differences: Any) -> float | None:
    """Cohen's dz with Hedges' correction; None below three differences."""
    size = cohen_dz(differences)
    d = rounded(differences)
    return None if size is None or len(d) < 3 else size * hedges_factor(len(d) - 1)


def superiority(differences: Any) -> float | None:
    """P(second > first) + .5 P(equal) on the same item (and rater, where given so)."""
    d = rounded(differences)
    return float((d > 0).mean() + (d == 0).mean() / 2) if len(d) else None


def cliffs_delta(first: Any, second: Any) -> float | None:
    """P(second > first) - P(second < first) over all pairs of values, -1 to 1 (Cliff 1993)."""
    a, b = np.sort(rounded(first)), rounded(second)
    if not len(a) or not len(b):
        return None
    above = np.searchsorted(a, b, side="left").sum()
    below = (len(a) - np.searchsorted(a, b, side="right")).sum()
    return float((above - below) / (len(a) * len(b)))


def rank_biserial(differences: Any) -> float | None:
    """The matched-pairs rank-biserial correlation (Kerby 2014), zeros left out; None: all 0."""
    d = rounded(differences)
    d = d[d != 0]
    if not len(d):
        return None
    ranks = stats.rankdata(np.abs(d))
    return float((ranks * np.sign(d)).sum() / ranks.sum())


def ratio_of_geometric_means(log_difference: float) -> float:
    """How many times the first system's geometric mean the second's is, from mean logarithms."""
    return exp(log_difference)
