"""Agreement from counts by category: Gwet's AC1 and AC2, plain agreement, Fleiss' kappa.

Sources: Gwet (2008), Computing inter-rater reliability and its variance in the presence of high
agreement; Gwet, Handbook of Inter-Rater Reliability; Fleiss (1971).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from evalsite.analysis.agreement_interval import find_interval
from evalsite.analysis.binary_tests import wilson_share
from evalsite.analysis.canonical_order import Coded, Floats, Ints, code, find_gap
from evalsite.analysis.figure import Figure, Reason, undefined

Weights = Literal["identity", "linear", "quadratic"]
_TINY = 1e-12


def make_weights(scale: Sequence[float], weights: Weights) -> Floats:
    """How near two categories are, 0 to 1, over the whole scale: (categories, categories)."""
    points = np.asarray(scale, dtype=np.float64)
    if weights == "identity" or len(points) < 2:
        return np.eye(len(points))
    apart = np.abs(points[:, None] - points) / np.ptp(points)
    return 1 - (apart if weights == "linear" else apart**2)


def gwet(
    *, unit: ArrayLike, value: ArrayLike, scale: Sequence[float], weights: Weights,
    rater: ArrayLike | None = None, input: ArrayLike | None = None, name: str = "",
) -> Figure:  # fmt: skip
    """AC1 (identity weights) or AC2, with an interval over raters and inputs.

    `unit`, `value`, `rater`, `input` as for `alpha`; `scale` holds all values allowed, used or
    not. Agreement is taken over units with 2 ratings or more, shares of categories over all.
    Undefined: no_data, no_overlap, no_variation. ValueError: a value is not on the scale.
    """
    data = code(unit=unit, value=value, rater=rater, block=input)
    name = name or ("ac1" if weights == "identity" else f"ac2_{weights}")
    method = "Gwet's AC1" if weights == "identity" else "Gwet's AC2"
    details = {"weights": weights, "scale": [float(one) for one in scale]}
    if reason := find_gap(data):
        return undefined(name, reason, method=method, n=data.counts(), details=details)
    near = make_weights(scale, weights)
    tally = Tally.of(data, scale)
    chance = near.sum() / (len(scale) * (len(scale) - 1))
    share = tally.shares
    expected = float(chance * (share * (1 - share)).sum())
    if not expected > _TINY:
        reason = Reason.NO_VARIATION
        return undefined(name, reason, method=method, n=data.counts(), details=details)
    return _correct_for_chance(
        name, method, data, details, tally, near, expected, chance * (1 - 2 * share)
    )


def percent_agreement(
    *, unit: ArrayLike, value: ArrayLike, within: float = 0, rater: ArrayLike | None = None,
    input: ArrayLike | None = None, name: str = "",
) -> Figure:  # fmt: skip
    """The mean over units of the share of pairs of their ratings that differ by `within` at most.

    Interval over raters and inputs; Wilson's over the units where all agree or none do. Defined
    also where all ratings are equal. Undefined: no_data, no_overlap.
    """
    data = code(unit=unit, value=value, rater=rater, block=input)
    name = name or ("percent_agreement" if within == 0 else f"within_{within:g}_agreement")
    method = "agreement of pairs of ratings, mean over units"
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
        details = details | {"interval": "Wilson, over units"}
        return Figure(name=name, method=method, value=seen, low=share.low, high=share.high,
                      n=counted, details=details)  # fmt: skip
    by_rating, by_unit = tally.slope(near, agreeing)
    turn = 1 / (seen * (1 - seen))
    interval = find_interval(seen, by_rating * turn, by_unit * turn, data, shape="share")
    return Figure(
        name=name, method=method, value=seen, low=interval.low, high=interval.high, n=counted,
        details=details | interval.details,
    )  # fmt: skip


def fleiss(
    *, unit: ArrayLike, value: ArrayLike, rater: ArrayLike | None = None,
    input: ArrayLike | None = None, name: str = "fleiss",
) -> Figure:  # fmt: skip
    """Fleiss' kappa with an interval over raters and inputs.

    Every unit must have the same number of ratings. Undefined: no_data, no_overlap,
    unequal_raters, no_variation.
    """
    data = code(unit=unit, value=value, rater=rater, block=input)
    method = "Fleiss' kappa"
    reason = find_gap(data)
    if reason in (None, Reason.NO_VARIATION) and np.ptp(data.sizes) > 0:
        reason = Reason.UNEQUAL_RATERS
    if reason:
        return undefined(name, reason, method=method, n=data.counts())
    scale = np.unique(data.value)
    tally = Tally.of(data, scale)
    expected = float((tally.shares**2).sum())
    details = {"ratings_per_unit": int(data.sizes[0])}
    return _correct_for_chance(
        name, method, data, details, tally, np.eye(len(scale)), expected, 2 * tally.shares
    )


def _correct_for_chance(
    name: str, method: str, data: Coded, details: dict[str, Any], tally: "Tally", near: Floats,
    expected: float, by_share: Floats,
) -> Figure:  # fmt: skip
    """(seen - expected) / (1 - expected); `by_share`: the slope of the expected in each share."""
    agreeing = tally.agree(near)
    seen = tally.average(agreeing)
    found = (seen - expected) / (1 - expected)
    if seen >= 1:
        interval = find_interval(1.0, np.zeros(0), np.zeros(0), data)
    else:
        slopes = tally.slope(near, agreeing)
        shares = tally.slope_of_shares(by_share)
        by_rating, by_unit = (
            one / (1 - seen) - other / (1 - expected)
            for one, other in zip(slopes, shares, strict=True)
        )
        interval = find_interval(found, by_rating, by_unit, data, has_few_df=True)
    return Figure(
        name=name, method=method, value=found, low=interval.low, high=interval.high,
        n=data.counts(), details=details | interval.details,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How often each unit got each category."""

    unit: Ints  # of each rating
    category: Ints
    counts: sparse.csr_array  # units x categories
    ratings: Floats  # of each unit

    @classmethod
    def of(cls, data: Coded, scale: ArrayLike) -> "Tally":
        """The counts; ValueError where a value is not on the scale (sorted or not)."""
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
        return cls(unit=data.unit, category=category, counts=counts, ratings=ratings)

    @property
    def pairable(self) -> Floats:
        """Of each unit 1 if it has two ratings or more, else 0."""
        return (self.ratings >= 2).astype(np.float64)

    @property
    def shares(self) -> Floats:
        """The mean over units of the share of their ratings in each category."""
        return np.asarray((1 / self.ratings) @ self.counts) / len(self.ratings)

    def average(self, agreeing: Floats) -> float:
        """The mean over units with two ratings or more."""
        return float(agreeing.sum() / self.pairable.sum())

    def agree(self, near: Floats) -> Floats:
        """Of each unit how far pairs of its ratings agree, given weights; 0 without pairs."""
        weighted = np.asarray(self.counts @ near)
        met = np.asarray(self.counts.multiply(weighted - 1).sum(axis=1)).ravel()
        pairs = self.ratings * (self.ratings - 1)
        return np.where(pairs > 0, met / np.maximum(pairs, 1), 0.0)

    def slope(self, near: Floats, agreeing: Floats) -> tuple[Floats, Floats]:
        """The derivative of the mean agreement, by rating (in its rater's weight) and by unit."""
        units = self.pairable.sum()
        pairs = np.maximum(self.ratings * (self.ratings - 1), 1)
        own = np.asarray(self.counts @ near)[self.unit, self.category] - 1
        by_rating = (
            2 * own / pairs[self.unit] - (2 * agreeing / np.maximum(self.ratings, 1))[self.unit]
        )
        by_rating = np.where(self.pairable[self.unit] > 0, by_rating, 0.0) / units
        by_unit = self.pairable * (agreeing - agreeing.sum() / units) / units
        return by_rating, by_unit

    def slope_of_shares(self, by_share: Floats) -> tuple[Floats, Floats]:
        """The same of a figure of the shares whose slope in each is `by_share`."""
        units = len(self.ratings)
        mean = np.asarray(self.counts @ by_share) / self.ratings
        by_rating = (by_share[self.category] - mean[self.unit]) / self.ratings[self.unit] / units
        return by_rating, (mean - mean.mean()) / units
