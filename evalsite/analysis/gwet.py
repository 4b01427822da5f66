"""Agreement from counts by category: Gwet's AC1 and AC2, plain agreement, Fleiss' kappa.

Sources: Gwet (2008), Computing inter-rater reliability and its variance in the presence of high
agreement; Gwet, Handbook of Inter-Rater Reliability; Fleiss (1971). All sums are over blocks, so
that a bootstrap draw is one product of matrices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from evalsite.analysis.binary_tests import wilson_share
from evalsite.analysis.canonical_order import Coded, Floats, code, find_gap
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.resample import DRAWS, SEED, Spread, Statistic, spread

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
    rater: ArrayLike | None = None, block: ArrayLike | None = None, draws: int = DRAWS,
    seed: int = SEED, name: str = "",
) -> Figure:  # fmt: skip
    """AC1 (identity weights) or AC2, with a bootstrap interval over blocks.

    `unit`, `value`, `rater`, `block` as for `alpha`; `scale` holds all values allowed, used or
    not. Agreement is taken over units with 2 ratings or more, shares of categories over all.
    Undefined: no_data, no_overlap, no_variation. ValueError: a value is not on the scale.
    """
    data = code(unit=unit, value=value, rater=rater, block=block)
    name = name or ("ac1" if weights == "identity" else f"ac2_{weights}")
    method = "Gwet's AC1" if weights == "identity" else "Gwet's AC2"
    details = {"weights": weights, "scale": [float(one) for one in scale]}
    if reason := find_gap(data):
        return undefined(name, reason, method=method, n=data.counts(), details=details)
    near = make_weights(scale, weights)
    tally = Tally.of(data, scale)
    agreeing, shares = tally.agree(near), tally.shares
    chance = near.sum() / (len(scale) * (len(scale) - 1))

    def find(drawn: Floats) -> Floats:
        share = (drawn @ shares) / (drawn @ tally.units)[:, None]
        expected = chance * (share * (1 - share)).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            seen = (drawn @ agreeing) / (drawn @ tally.pairable)
            found = (seen - expected) / (1 - expected)
        return np.where(expected > _TINY, found, np.nan)

    return _finish(name, method, find, data, details, draws, seed)


def percent_agreement(
    *, unit: ArrayLike, value: ArrayLike, within: float = 0, rater: ArrayLike | None = None,
    block: ArrayLike | None = None, draws: int = DRAWS, seed: int = SEED, name: str = "",
) -> Figure:  # fmt: skip
    """The mean over units of the share of pairs of their ratings that differ by `within` at most.

    Interval: bootstrap over blocks; Wilson's over the units where all agree or none do. Defined
    also where all ratings are equal. Undefined: no_data, no_overlap.
    """
    data = code(unit=unit, value=value, rater=rater, block=block)
    name = name or ("percent_agreement" if within == 0 else f"within_{within:g}_agreement")
    method = "agreement of pairs of ratings, mean over units"
    details: dict[str, Any] = {"within": float(within)}
    reason = find_gap(data)
    counted = data.counts_of_overlapping()
    if reason and reason != Reason.NO_VARIATION:
        return undefined(name, reason, method=method, n=counted, details=details)
    scale = np.unique(data.value)
    tally = Tally.of(data, scale)
    agreeing = tally.agree((np.abs(scale[:, None] - scale) <= within).astype(np.float64))

    def find(drawn: Floats) -> Floats:
        units = drawn @ tally.pairable
        return np.where(units > 0, (drawn @ agreeing) / np.maximum(units, 1), np.nan)

    found = replace(_finish(name, method, find, data, details, draws, seed), n=counted)
    if found.value in (0.0, 1.0):
        units = int(tally.pairable.sum())
        share = wilson_share(round(found.value * units), units)
        details = details | {"interval": "Wilson, over units"}
        return Figure(name=name, method=method, value=found.value, low=share.low, high=share.high,
                      n=found.n, details=details)  # fmt: skip
    return found


def fleiss(
    *, unit: ArrayLike, value: ArrayLike, rater: ArrayLike | None = None,
    block: ArrayLike | None = None, draws: int = DRAWS, seed: int = SEED, name: str = "fleiss",
) -> Figure:  # fmt: skip
    """Fleiss' kappa with a bootstrap interval over blocks.

    Every unit must have the same number of ratings. Undefined: no_data, no_overlap,
    unequal_raters, no_variation.
    """
    data = code(unit=unit, value=value, rater=rater, block=block)
    method = "Fleiss' kappa"
    reason = find_gap(data)
    if reason in (None, Reason.NO_VARIATION) and np.ptp(data.sizes) > 0:
        reason = Reason.UNEQUAL_RATERS
    if reason:
        return undefined(name, reason, method=method, n=data.counts())
    scale = np.unique(data.value)
    tally = Tally.of(data, scale)
    agreeing = tally.agree(np.eye(len(scale)))

    def find(drawn: Floats) -> Floats:
        units = drawn @ tally.units
        expected = (((drawn @ tally.shares) / units[:, None]) ** 2).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = ((drawn @ agreeing) / units - expected) / (1 - expected)
        return np.where(1 - expected > _TINY, found, np.nan)

    details = {"ratings_per_unit": int(data.sizes[0])}
    return _finish(name, method, find, data, details, draws, seed)


def _finish(
    name: str, method: str, find: Statistic, data: Coded, details: dict[str, Any], draws: int,
    seed: int,
) -> Figure:  # fmt: skip
    """The figure of a statistic of block weights, with its interval."""
    n_blocks = data.n_blocks
    whole = float(find(np.ones((1, n_blocks)))[0])
    found: Spread = spread(find, n_blocks, draws=draws, seed=seed)
    return Figure(
        name=name,
        method=method,
        value=whole,
        low=found.low,
        high=found.high,
        n=data.counts(),
        details=details | {"blocks": n_blocks} | found.details,
        seed=seed,
    )


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How often each unit got each category, and sums of it by block."""

    counts: sparse.csr_array  # units x categories
    into: sparse.csr_array  # blocks x units: 1 where the unit is of the block
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
        block_of = np.zeros(n_units, dtype=np.intp)
        block_of[data.unit] = data.block
        into = sparse.csr_array(
            (np.ones(n_units), (block_of, np.arange(n_units))), shape=(data.n_blocks, n_units)
        )
        return cls(counts=counts, into=into, ratings=np.bincount(data.unit).astype(np.float64))

    @property
    def units(self) -> Floats:
        """Units of each block."""
        return np.asarray(self.into.sum(axis=1)).ravel()

    @property
    def pairable(self) -> Floats:
        """Units of each block with two ratings or more."""
        return self.into @ (self.ratings >= 2).astype(np.float64)

    @property
    def shares(self) -> Floats:
        """Blocks x categories: the sum over units of the share of their ratings."""
        each = sparse.diags_array(1 / self.ratings) @ self.counts
        return (self.into @ each).toarray()

    def agree(self, near: Floats) -> Floats:
        """By block: the sum over units of how far pairs of ratings agree, given weights."""
        weighted = np.asarray(self.counts @ near)
        met = np.asarray(self.counts.multiply(weighted - 1).sum(axis=1)).ravel()
        pairs = self.ratings * (self.ratings - 1)
        return self.into @ np.where(pairs > 0, met / np.maximum(pairs, 1), 0.0)
