"""Agreement from counts by category: Gwet's AC1 and AC2, plain agreement, Fleiss' kappa.

Sources: Gwet (2008), Computing inter-rater reliability and its variance in the presence of high
agreement; Gwet, Handbook of Inter-Rater Reliability; Fleiss (1971).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from evalsite.analysis.binary_tests import wilson_share
from evalsite.analysis.canonical_order import Coded, Floats, code, find_gap
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.ratings import Ratings

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


def fleiss(ratings: Ratings, *, draws: Draws | None = None, name: str = "fleiss") -> Figure:
    """Return Fleiss' kappa with an interval for other raters and inputs, `draws` as for `alpha`.

    Every unit must have the same number of ratings. Undefined: no_data, no_overlap,
    unequal_raters, no_variation.
    """
    data = code(ratings)
    method = "fleiss_kappa"
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
