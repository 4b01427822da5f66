"""Krippendorff's alpha at four levels, from counts that stay small for any scale.

Source: Krippendorff, Content Analysis (2004), chapter 11. The usual table of units by values by
values is never built: pairs of values that meet in a unit are kept, and the expected disagreement
comes from the marginal counts. For ordinal data the distance of two values is the square of the
difference of their mid-ranks in the marginal counts, which is Krippendorff's definition.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from evalsite.analysis.canonical_order import Coded, Floats, Ints, code, find_gap
from evalsite.analysis.figure import Figure, undefined
from evalsite.analysis.resample import DRAWS, SEED, spread

Level = Literal["nominal", "ordinal", "interval", "ratio"]
_METHOD = "Krippendorff's alpha, {}"
_TINY = 1e-12


def alpha(
    *, unit: ArrayLike, value: ArrayLike, level: Level, rater: ArrayLike | None = None,
    block: ArrayLike | None = None, transform: Literal["ln"] | None = None, draws: int = DRAWS,
    seed: int = SEED, name: str = "alpha",
) -> Figure:  # fmt: skip
    """Krippendorff's alpha with a bootstrap interval over blocks and, in details, the jackknife's.

    `unit`, `value`, and if known `rater`, are of length n, one row for each rating; values are
    numbers (codes at the nominal level). `block`: what is drawn as a whole (the group or cluster
    of a unit); default the unit. `transform`: take logarithms first. Units with one rating are
    left out and counted. Undefined: no_data, no_overlap, no_variation. ValueError: see `code`;
    a value of 0 or less at the ratio level or with logarithms.
    """
    data = code(unit=unit, value=value, rater=rater, block=block)
    pairable = data.overlapping()
    counted = data.counts_of_overlapping()
    method = _METHOD.format(level)
    details = {"level": level, "transform": transform or "none"}
    if reason := find_gap(data):
        return undefined(name, reason, method=method, n=counted, details=details)
    least = pairable.value.min()
    if (level == "ratio" and least < 0) or (transform and least <= 0):
        raise ValueError("The ratio level and logarithms need values above 0.")
    if transform:
        pairable = _take_logarithms(pairable)
    table = Coincidences.of(pairable, level)
    found = spread(table.alpha, table.n_blocks, draws=draws, seed=seed, width=table.width)
    if "jackknife_high" in found.details:  # a t interval knows no end, alpha ends at 1
        found.details["jackknife_high"] = min(1.0, float(found.details["jackknife_high"]))
    return Figure(
        name=name,
        method=method,
        value=float(table.alpha(np.ones((1, table.n_blocks)))[0]),
        low=found.low,
        high=found.high,
        n=counted,
        details=details | {"blocks": table.n_blocks} | found.details,
        seed=seed,
    )


def _take_logarithms(data: Coded) -> Coded:
    return Coded(
        unit=data.unit, value=np.log(data.value), block=data.block, rater=data.rater,
        raters=data.raters,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Coincidences:
    """Counts and coincidences of values in each block: all that alpha needs."""

    level: Level
    values: Floats  # the distinct values, ascending
    counts: sparse.csr_array  # blocks x values: ratings
    meets: sparse.csr_array  # blocks x pairs: coincidences of two unlike values, both ways
    first: Ints  # of each pair, the lower value's place
    second: Ints

    @classmethod
    def of(cls, data: Coded, level: Level) -> "Coincidences":
        """The counts of ratings whose every unit has two of them or more."""
        values, place = np.unique(data.value, return_inverse=True)
        n_units, n_blocks = int(data.unit.max()) + 1, data.n_blocks
        ones = np.ones(len(place))
        table = sparse.csr_array((ones, (data.unit, place)), shape=(n_units, len(values)))
        table.sum_duplicates()
        table.sort_indices()
        block_of = np.zeros(n_units, dtype=np.intp)
        block_of[data.unit] = data.block
        unit, first, second, weight = _find_meetings(table)
        pairs, column = np.unique(first * len(values) + second, return_inverse=True)
        return cls(
            level=level,
            values=values,
            counts=sparse.csr_array((ones, (data.block, place)), shape=(n_blocks, len(values))),
            meets=sparse.csr_array(
                (weight, (block_of[unit], column)), shape=(n_blocks, len(pairs))
            ),
            first=pairs // len(values),
            second=pairs % len(values),
        )

    @property
    def n_blocks(self) -> int:
        return int(self.counts.shape[0])

    @property
    def width(self) -> int:
        return max(len(self.values), len(self.first))

    def alpha(self, weights: Floats) -> Floats:
        """Alpha for each row of weights (draws, blocks); NaN without variation."""
        marginal = np.asarray(weights @ self.counts)
        total = marginal.sum(axis=1)
        if self.level == "ordinal":
            scores = np.cumsum(marginal, axis=1) - marginal / 2
            distance = (scores[:, self.first] - scores[:, self.second]) ** 2
            observed = (np.asarray(weights @ self.meets) * distance).sum(axis=1)
        else:
            observed = weights @ (self.meets @ self._distances())
            scores = np.broadcast_to(self.values - self.values.mean(), marginal.shape)
        expected = self._expect(marginal, total, scores)
        enough = expected > _TINY * np.maximum(total, 1) ** 2 * self._unit(scores)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = 1 - (total - 1) * observed / expected
        return np.where(enough, found, np.nan)

    def _distances(self) -> Floats:
        low, high = self.values[self.first], self.values[self.second]
        if self.level == "nominal":
            return np.ones(len(low))
        if self.level == "interval":
            return (high - low) ** 2
        return ((high - low) / (high + low)) ** 2

    def _expect(self, marginal: Floats, total: Floats, scores: Floats) -> Floats:
        """The sum over all ordered pairs of ratings of their distance, by draw."""
        if self.level == "nominal":
            return total**2 - (marginal**2).sum(axis=1)
        if self.level == "ratio":
            return _expect_ratio(marginal, self.values)
        sums = (marginal * scores).sum(axis=1)
        return 2 * (total * (marginal * scores**2).sum(axis=1) - sums**2)

    def _unit(self, scores: Floats) -> Floats | float:
        """Return the size of a distance, below which differences are rounding errors."""
        return np.ptp(scores, axis=1) ** 2 if self.level in ("ordinal", "interval") else 1.0


def _find_meetings(table: sparse.csr_array) -> tuple[Ints, Ints, Ints, Floats]:
    """Unit, lower value, higher value and weight of all pairs of unlike values of a unit."""
    ratings = np.asarray(table.sum(axis=1)).ravel()
    distinct = np.diff(table.indptr)
    empty = np.zeros(0, dtype=np.intp)
    found = [(empty, empty, empty, np.zeros(0))]
    for size in np.unique(distinct[distinct > 1]):
        units = np.flatnonzero(distinct == size)
        at = table.indptr[units][:, None] + np.arange(size)
        values, numbers = table.indices[at], table.data[at]
        one, two = np.triu_indices(size, 1)
        weight = 2 * numbers[:, one] * numbers[:, two] / (ratings[units] - 1)[:, None]
        unit = np.repeat(units, len(one))
        found.append((unit, values[:, one].ravel(), values[:, two].ravel(), weight.ravel()))
    unit, first, second, weight = (np.concatenate(one) for one in zip(*found, strict=True))
    return unit.astype(np.intp), first.astype(np.intp), second.astype(np.intp), weight


def _expect_ratio(marginal: Floats, values: Floats) -> Floats:
    """As `_expect` for ((a - b) / (a + b))^2, some values at a time to keep memory flat."""
    found = np.zeros(len(marginal))
    some = max(1, 2_000_000 // len(values))
    for start in range(0, len(values), some):
        here = values[start : start + some, None]
        total = here + values
        distance = ((here - values) / np.where(total == 0, 1, total)) ** 2
        found += ((marginal @ distance.T) * marginal[:, start : start + some]).sum(axis=1)
    return found
