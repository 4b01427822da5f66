"""Each rater against the mean of the others who rated the same units."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from evalsite.analysis.agreement_interval import INPUTS
from evalsite.analysis.canonical_order import Floats, code
from evalsite.analysis.correlation import METHODS, fisher_interval, steady
from evalsite.analysis.figure import Figure, Reason, finite_figure, undefined
from evalsite.analysis.intervals import mean_with_t
from evalsite.analysis.ratings import Ratings

_OFFSET = "offset"


@dataclass(frozen=True, kw_only=True)
class Against:
    """One rater compared with the others: agreement on the order, and offset."""

    rater: str
    spearman: Figure
    offset: Figure


def against_others(ratings: Ratings) -> list[Against]:
    """Return for each rater by name: Spearman correlation with, and mean difference from, the
    others' mean.

    Only units with another rating count. Intervals: Fisher's z (Bonett &
    Wright 2000) and t, both for independent units. Undefined: no_overlap, too_few (fewer than 3
    shared units), no_variation.
    """
    data = code(replace(ratings, block=None))
    if data.rater is None or not data.value.size:
        return []
    sizes = data.sizes[data.unit]
    sums = np.bincount(data.unit, weights=data.value)[data.unit]
    met = sizes > 1
    mean = steady((sums - data.value) / np.maximum(sizes - 1, 1))
    order = np.argsort(data.rater, kind="stable")
    edges = np.searchsorted(data.rater[order], np.arange(len(data.raters) + 1))
    compared = []
    for place, name in enumerate(data.raters):
        rows = order[edges[place] : edges[place + 1]]
        rows = rows[met[rows]]
        compared.append(_compare(name, data.value[rows], mean[rows]))
    return sorted(compared, key=lambda rater: rater.rater)


def _compare(rater: str, ratings: Floats, mean_of_rest: Floats) -> Against:
    n = {"units": len(ratings)}
    reason = None
    if len(ratings) < 3:
        reason = Reason.TOO_FEW if len(ratings) else Reason.NO_OVERLAP
    method = METHODS["spearman"]
    if reason:
        rho = undefined("loo_spearman", reason, method=method, n=n)
    elif np.ptp(ratings) == 0 or np.ptp(mean_of_rest) == 0:
        rho = undefined("loo_spearman", Reason.NO_VARIATION, method=method, n=n)
    else:
        ranks = stats.rankdata(ratings), stats.rankdata(mean_of_rest)
        value = float(np.clip(np.corrcoef(*ranks)[0, 1], -1, 1))
        low, high = fisher_interval(value, len(ratings), "spearman")
        rho = finite_figure("loo_spearman", method=method, value=value, low=low, high=high, n=n,
                            details={"interval": "fisher_z_over_inputs",
                                     "over": INPUTS})  # fmt: skip
    if not len(ratings):
        offset = undefined("loo_bias", Reason.NO_OVERLAP, method=_OFFSET, n=n)
    else:
        offset = mean_with_t("loo_bias", ratings - mean_of_rest, method=_OFFSET, n=n)
    return Against(rater=rater, spearman=rho, offset=offset)
