"""Cohen's kappa of two raters, and the matrix of quadratic kappas of all pairs of raters.

Sources: Cohen (1960, 1968). Weights go over the whole scale, used or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from evalsite.analysis.agreement_interval import Draws, find_interval
from evalsite.analysis.canonical_order import Coded, Floats, Ints, code
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.gwet import Weights, make_weights
from evalsite.analysis.ratings import Ratings

SHARED = 5  # fewer shared units than this: no figure for a pair of raters
_TINY = 1e-12


def cohen(
    *, first: ArrayLike, second: ArrayLike, scale: Sequence[float], weights: Weights = "identity",
    name: str = "cohen",
) -> Figure:  # fmt: skip
    """Return Cohen's kappa of two arrays of length n; plain, linear or quadratic.

    Undefined: no_data, no_variation (one of the two never varies in a way that chance could
    miss). ValueError: lengths differ, or a value is not on the scale.
    """
    left, right = (np.asarray(side, dtype=np.float64) for side in (first, second))
    if left.shape != right.shape:
        raise ValueError("first and second must be of one length.")
    both = ~np.isnan(left) & ~np.isnan(right)
    left, right = left[both], right[both]
    method = "kappa"
    details = {"weights": weights, "scale": [float(point) for point in scale],
               "interval": "not_to_be_reported"}  # fmt: skip
    if not left.size:
        return undefined(name, Reason.NO_DATA, method=method, details=details)
    apart = 1 - make_weights(scale, weights)
    table = np.zeros_like(apart)
    np.add.at(table, (_place(left, scale), _place(right, scale)), 1 / len(left))
    expected = (np.outer(table.sum(axis=1), table.sum(axis=0)) * apart).sum()
    n = {"units": len(left), "ratings": 2 * len(left)}
    if expected <= _TINY:
        return undefined(name, Reason.NO_VARIATION, method=method, n=n, details=details)
    kappa = 1 - float((table * apart).sum() / expected)
    return Figure(name=name, method=method, value=kappa, n=n, details=details)


def _place(values: Floats, scale: Sequence[float]) -> Ints:
    points = np.asarray(scale, dtype=np.float64)
    places = np.argmax(values[:, None] == points, axis=1)
    if not np.array_equal(points[places], values):
        raise ValueError("A value is not on the scale.")
    return places.astype(np.intp)


@dataclass(frozen=True, kw_only=True)
class KappaMatrix:
    """Quadratic kappas of pairs of raters: for a heat map. NaN means no figure."""

    raters: list[str]
    first: Ints  # of each pair, its place in `raters`
    second: Ints
    kappa: Floats
    shared: Ints  # units that both rated
    mean: Figure


def kappa_matrix(
    ratings: Ratings, *, shared: int = SHARED, draws: Draws | None = None
) -> KappaMatrix:
    """Return the quadratic kappa of every pair of raters with `shared` units in common or more.

    Quadratic kappa is 1 - mean squared difference / that expected by chance, so it needs no table
    and no scale: sums over the shared units are enough. The pairs are in a canonical order. The
    mean has an interval from the `draws` of the criterion, if any. Undefined mean: no_data,
    raters_unknown, no_overlap, no_variation.
    """
    data = code(replace(ratings, block=None))
    method = "quadratic_kappa_of_pairs"
    first, second, kappa, common = _pair_up(data, shared)
    details = {"weights": "quadratic", "pairs": len(first), "shared_units_at_least": shared}
    if reason := _find_gap(data, kappa):
        mean = undefined("mean_kappa", reason, method=method, n=data.counts(), details=details)
    else:
        mean_kappa = float(np.nanmean(kappa))
        interval = find_interval("alpha_interval", mean_kappa, draws or Draws(), data)
        mean = Figure(name="mean_kappa", method=method, value=mean_kappa, low=interval.low,
                      high=interval.high, n=data.counts(),
                      details=details | interval.details)  # fmt: skip
    return KappaMatrix(
        raters=data.raters, first=first, second=second, kappa=kappa, shared=common, mean=mean
    )


def _find_gap(data: Coded, kappa: Floats) -> Reason | None:
    if not data.value.size:
        return Reason.NO_DATA
    if data.rater is None:
        return Reason.RATERS_UNKNOWN
    if not kappa.size:
        return Reason.NO_OVERLAP
    return Reason.NO_VARIATION if np.isnan(kappa).all() else None


def _pair_up(data: Coded, least: int) -> tuple[Ints, Ints, Floats, Ints]:
    nothing = np.zeros(0, dtype=np.intp)
    if data.rater is None or not data.value.size:
        return nothing, nothing, np.zeros(0), nothing
    shape = (int(data.unit.max()) + 1, len(data.raters))
    centred = data.value - data.value.mean()

    def table(cells: Floats) -> sparse.csr_array:
        return sparse.csr_array((cells, (data.unit, data.rater)), shape=shape)

    ones, centred_values, squares = table(np.ones_like(centred)), table(centred), table(centred**2)
    common = sparse.triu(ones.T @ ones, k=1).tocoo()
    enough = common.data >= least
    first, second = common.row[enough].astype(np.intp), common.col[enough].astype(np.intp)
    n = common.data[enough]

    def pick(product: sparse.csr_array) -> tuple[Floats, Floats]:
        full = sparse.csr_array(product)
        return np.asarray(full[first, second]).ravel(), np.asarray(full[second, first]).ravel()

    if not first.size:
        return nothing, nothing, np.zeros(0), nothing
    mean_one, mean_two = (side / n for side in pick(centred_values.T @ ones))
    square_one, square_two = (side / n for side in pick(squares.T @ ones))
    product = pick(centred_values.T @ centred_values)[0] / n
    chance = square_one + square_two - 2 * mean_one * mean_two
    flat = chance <= _TINY * max(1.0, float(np.ptp(data.value)) ** 2)
    seen = square_one + square_two - 2 * product
    kappa = np.where(flat, np.nan, 1 - seen / np.where(flat, 1, chance))
    return first, second, kappa, n.astype(np.intp)
