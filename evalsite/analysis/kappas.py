"""Agreement from counts by category: Gwet's AC1 and AC2, plain agreement, the kappas of Fleiss and
Cohen, and the matrix of quadratic kappas of all pairs of raters.

Sources: Gwet (2008), Computing inter-rater reliability and its variance in the presence of high
agreement; Gwet, Handbook of Inter-Rater Reliability; Fleiss (1971); Cohen (1960, 1968). Weights go
over the whole scale, used or not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from evalsite.analysis.agreement_interval import (
    INPUTS,
    Draws,
    Slope,
    find_interval,
    make_draws,
)
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.rank_tests import wilson_share
from evalsite.analysis.ratings import Coded, Floats, Ints, Ratings, code, find_gap

Weights = Literal["identity", "linear", "quadratic"]
_TINY = 1e-12


def make_weights(scale: Sequence[float], weights: Weights) -> Floats:
    """Return the weights (categories, categories) of pairs of categories: 1 equal, 0 furthest."""
    points = np.asarray(scale, dtype=np.float64)
    if weights == "identity" or len(points) < 2:
        return np.eye(len(points))
    apart = np.abs(points[:, None] - points) / np.ptp(points)
    return 1 - (apart if weights == "linear" else apart**2)


def gwet(
    ratings: Ratings, *, scale: Sequence[float], weights: Weights, draws: Draws | None = None,
    name: str = "",
) -> Figure:  # fmt: skip
    """Return AC1 (identity weights) or AC2, with an interval for other raters and inputs.

    `scale` holds all values allowed, used or not; `draws` as for `alpha`. Agreement is over units
    with 2 ratings or more, shares of categories over all. Undefined: no_data, no_overlap,
    no_variation. ValueError: a value is not on the scale.
    """
    data = code(ratings)
    name = name or ("ac1" if weights == "identity" else f"ac2_{weights}")
    method = "gwet_ac1" if weights == "identity" else "gwet_ac2"
    details = {"weights": weights, "scale": [float(point) for point in scale]}
    if reason := find_gap(data):
        return undefined(name, reason, method=method, n=data.counts(), details=details)
    near = make_weights(scale, weights)
    tally = Tally.of(data, scale)
    chance = near.sum() / (len(scale) * (len(scale) - 1))

    def expect(share: Floats) -> float:
        return float(chance * (share * (1 - share)).sum())

    if not expect(tally.shares) > _TINY:
        reason = Reason.NO_VARIATION
        return undefined(name, reason, method=method, n=data.counts(), details=details)
    coefficient, slope = _correct_for_chance(tally, near, expect, chance * (1 - 2 * tally.shares))
    if draws is None:
        draws = make_draws(data, "categories" if weights == "identity" else "points", scale)
    key = {"identity": "ac1", "linear": "ac2_linear", "quadratic": "ac2"}[weights]
    interval = find_interval(key, coefficient, draws, data, slope=slope)
    return Figure(name=name, method=method, value=coefficient, low=interval.low, high=interval.high,
                  n=data.counts(), details=details | interval.details)  # fmt: skip


def percent_agreement(
    ratings: Ratings, *, within: float = 0, draws: Draws | None = None, name: str = ""
) -> Figure:
    """Return the mean over units of the share of pairs of their ratings that differ by at most
    `within`.

    Interval for other raters and inputs, `draws` as for `alpha`; Wilson's over the units if all
    agree or none do, for these raters only. Also defined if all ratings are equal. Undefined:
    no_data, no_overlap.
    """
    data = code(ratings)
    name = name or ("percent_agreement" if within == 0 else f"within_{within:g}_agreement")
    method = "pair_agreement"
    details: dict[str, Any] = {"within": float(within)}
    reason = find_gap(data)
    counted = data.counts_of_overlapping()
    if reason and reason != Reason.NO_VARIATION:
        return undefined(name, reason, method=method, n=counted, details=details)
    scale = np.unique(data.value)
    tally = Tally.of(data, scale)
    near = (np.abs(scale[:, None] - scale) <= within).astype(np.float64)
    agreeing = tally.agree(near)
    seen = tally.average(agreeing)
    if seen in (0.0, 1.0):
        units = int(tally.pairable.sum())
        share = wilson_share(round(seen * units), units)
        details = details | {"interval": "wilson_over_units", "over": INPUTS}
        return Figure(name=name, method=method, value=seen, low=share.low, high=share.high,
                      n=counted, details=details)  # fmt: skip

    def slope() -> tuple[Floats, float]:
        units = tally.pairable.sum()
        return tally.slope(agreeing) / (seen * (1 - seen)), (seen * units + 1) / (units + 1)

    draws = make_draws(data, "points") if draws is None else draws
    key = {0.0: "percent_agreement", 1.0: "within_1"}.get(within, "within")
    interval = find_interval(key, seen, draws, data, slope=slope)
    return Figure(
        name=name, method=method, value=seen, low=interval.low, high=interval.high, n=counted,
        details=details | interval.details,
    )  # fmt: skip


def fleiss(ratings: Ratings, *, draws: Draws | None = None) -> Figure:
    """Return Fleiss' kappa with an interval for other raters and inputs, `draws` as for `alpha`.

    Every unit must have the same number of ratings. Undefined: no_data, no_overlap,
    unequal_raters, no_variation.
    """
    data = code(ratings)
    name, method = "fleiss", "fleiss_kappa"
    reason = find_gap(data)
    if reason in (None, Reason.NO_VARIATION) and np.ptp(data.sizes) > 0:
        reason = Reason.UNEQUAL_RATERS
    if reason:
        return undefined(name, reason, method=method, n=data.counts())
    scale = np.unique(data.value)
    tally = Tally.of(data, scale)
    coefficient, slope = _correct_for_chance(
        tally, np.eye(len(scale)), lambda share: float((share**2).sum()), 2 * tally.shares
    )
    draws = make_draws(data, "categories") if draws is None else draws
    interval = find_interval("alpha_nominal", coefficient, draws, data, slope=slope)
    return Figure(
        name=name, method=method, value=coefficient, low=interval.low, high=interval.high,
        n=data.counts(), details={"ratings_per_unit": int(data.sizes[0])} | interval.details,
    )  # fmt: skip


def _correct_for_chance(
    tally: "Tally", near: Floats, expect: Callable[[Floats], float], by_share: Floats
) -> tuple[float, Slope]:
    """Return (observed - expected) / (1 - expected), and its slope as `find_interval` takes it.

    `by_share`: the slope of the expected in the share of each category.
    """
    agreeing = tally.agree(near)
    seen, expected = tally.average(agreeing), expect(tally.shares)

    def slope() -> tuple[Floats, float]:
        by_unit = tally.slope(agreeing) / (1 - seen)
        by_unit -= tally.slope_of_shares(by_share) / (1 - expected)
        # with one unit more, all of the rarest category used
        pairable, units = tally.pairable.sum(), len(tally.ratings)
        used = np.asarray(tally.counts.sum(axis=0)).ravel()
        rarest = np.argmin(np.where(used > 0, used, np.inf))
        shares = (tally.shares * units + (np.arange(len(used)) == rarest)) / (units + 1)
        more = (seen * pairable + 1) / (pairable + 1)
        return by_unit, (more - expect(shares)) / (1 - expect(shares))

    return (seen - expected) / (1 - expected), slope


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How often each unit got each category."""

    counts: sparse.csr_array  # units x categories
    ratings: Floats  # of each unit

    @classmethod
    def of(cls, data: Coded, scale: ArrayLike) -> "Tally":
        """Count the ratings; ValueError if a value is not on the scale (sorted or not)."""
        points = np.asarray(scale, dtype=np.float64)
        order = np.argsort(points)
        place = np.minimum(np.searchsorted(points[order], data.value), len(points) - 1)
        category = order[place]
        if not np.array_equal(points[category], data.value):
            off = np.unique(data.value[points[category] != data.value])
            raise ValueError(f"{off[0]:g} is not on the scale.")
        n_units = int(data.unit.max()) + 1
        ones = np.ones(len(category))
        counts = sparse.csr_array((ones, (data.unit, category)), shape=(n_units, len(points)))
        counts.sum_duplicates()
        ratings = np.bincount(data.unit).astype(np.float64)
        return cls(counts=counts, ratings=ratings)

    @property
    def pairable(self) -> Floats:
        """Of each unit 1 if it has two ratings or more, else 0."""
        return (self.ratings >= 2).astype(np.float64)

    @property
    def shares(self) -> Floats:
        """The mean over units of the share of their ratings in each category."""
        return np.asarray((1 / self.ratings) @ self.counts) / len(self.ratings)

    def average(self, agreeing: Floats) -> float:
        """Return the mean over units with two ratings or more."""
        return float(agreeing.sum() / self.pairable.sum())

    def agree(self, near: Floats) -> Floats:
        """Return for each unit how far pairs of its ratings agree, by these weights; 0 without
        pairs."""
        weighted = np.asarray(self.counts @ near)
        met = np.asarray(self.counts.multiply(weighted - 1).sum(axis=1)).ravel()
        pairs = self.ratings * (self.ratings - 1)
        return np.where(pairs > 0, met / np.maximum(pairs, 1), 0.0)

    def slope(self, agreeing: Floats) -> Floats:
        """Return the derivative of the mean agreement in the weight of each unit."""
        units = self.pairable.sum()
        return np.asarray(self.pairable * (agreeing - agreeing.sum() / units) / units)

    def slope_of_shares(self, by_share: Floats) -> Floats:
        """Return the same of a figure of the shares whose slope in each is `by_share`."""
        mean = np.asarray(self.counts @ by_share) / self.ratings
        return np.asarray((mean - mean.mean()) / len(self.ratings))


# --- of two raters, and of every two -----------------------------------------------------------

SHARED = 5  # fewer shared units than this: no figure for a pair of raters


def cohen(
    *, first: ArrayLike, second: ArrayLike, scale: Sequence[float], weights: Weights = "identity",
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
    name, method = "cohen", "kappa"
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
