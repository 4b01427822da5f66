"""Krippendorff's alpha at four levels, from counts that stay small for any scale.

Source: Krippendorff, Content Analysis (2004), chapter 11. The usual table of units by values by
values is never built: disagreement within units comes from sums of each unit, expected disagreement
from the marginal counts. For ordinal data the distance of two values is the square of the
difference of their mid-ranks in the marginal counts, which is Krippendorff's definition.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from evalsite.analysis.agreement_interval import (
    Draws,
    find_interval,
    find_k,
    guess_draws,
    sum_by,
)
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.ratings import Coded, Floats, Ints, Ratings, code, find_gap

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Transform = Literal["ln", "ln(1+x)"]
_TINY = 1e-12


def alpha(
    ratings: Ratings, level: Level, *, transform: Transform | None = None,
    draws: Draws | None = None, name: str = "alpha",
) -> Figure:  # fmt: skip
    """Krippendorff's alpha with an interval for other raters and inputs (see `agreement_interval`).

    At the nominal level, values are codes. Without blocks, each unit is weighted by itself.
    `transform`: take logarithms first. `draws`: those of the criterion; default those for these
    values alone. Units with one rating are left out and counted. Undefined: no_data, no_overlap,
    no_variation. ValueError: see `code`; a value of 0 or less at the ratio level or with
    logarithms.
    """
    data = code(ratings)
    pairable = data.overlapping()
    counted = data.counts_of_overlapping()
    method = f"alpha_{level}"
    details: dict[str, Any] = {"level": level, "transform": transform or "none"}
    if reason := find_gap(data):
        return undefined(name, reason, method=method, n=counted, details=details)
    least = pairable.value.min()
    if (level == "ratio" and least < 0) or (transform == "ln" and least <= 0):
        raise ValueError("The ratio level and logarithms need values above 0.")
    if transform:
        logs = np.log(pairable.value) if transform == "ln" else np.log1p(pairable.value)
        pairable = replace(pairable, value=logs)
    parts = _Parts.of(pairable, level)
    coefficient = parts.alpha
    if not np.isfinite(coefficient):
        return undefined(name, Reason.NO_VARIATION, method=method, n=counted, details=details)

    def slope() -> tuple[Floats, float]:
        rarest = np.argmin(parts.counts)
        more = np.where(np.arange(len(parts.counts)) == rarest, parts.size.mean(), 0.0)
        return parts.slope(), _Parts.of(pairable, level, more=more).alpha

    details["k"] = find_k(parts.size)
    draws = guess_draws(pairable, level) if draws is None else draws
    interval = find_interval(f"alpha_{level}", coefficient, draws, pairable, slope=slope)
    return Figure(
        name=name,
        method=method,
        value=coefficient,
        low=interval.low,
        high=interval.high,
        n=counted,
        details=details | interval.details,
    )


@dataclass(frozen=True, kw_only=True)
class _Parts:
    """The components of alpha, for units with two ratings or more."""

    level: Level
    unit: Ints
    place: Ints  # of each rating its value's place
    size: Floats  # of each unit its ratings
    scores: Floats  # of each value: mid-ranks, or the value
    counts: Floats  # of each value its ratings
    observed: Floats  # of each unit the weighted sum of distances within it
    distances: Floats  # of each value the sum of its distances from all ratings
    expected: float

    @classmethod
    def of(cls, data: Coded, level: Level, *, more: Floats | float = 0.0) -> "_Parts":
        """Return the parts; `more`: how often each value is in a further unit without distances."""
        values, place = np.unique(data.value, return_inverse=True)
        counts = np.asarray(np.bincount(place) + more, dtype=np.float64)
        size = data.sizes.astype(np.float64)
        scores = values - values.mean() if level != "ordinal" else counts.cumsum() - counts / 2
        apart = _sum_distances(data, place, values, scores, level)
        observed = sum_by(data.unit, apart) / (size - 1)
        distances = _sum_over_all(values, scores, counts, level)
        return cls(
            level=level, unit=data.unit, place=place, size=size, scores=scores, counts=counts,
            observed=observed, distances=distances, expected=float(counts @ distances),
        )  # fmt: skip

    @property
    def alpha(self) -> float:
        """The coefficient; NaN where nothing varies but by rounding."""
        total = float(self.counts.sum())
        unit = 1.0 if self.level in ("nominal", "ratio") else float(np.ptp(self.scores)) ** 2
        if not self.expected > _TINY * total**2 * unit:
            return float("nan")
        seen = (total - 1) * float(self.observed.sum()) / self.expected
        return 1 - seen if seen > _TINY else 1.0

    def slope(self) -> Floats:
        """Return what each unit adds to the derivative of -log(1 - alpha)."""
        total, seen = float(self.counts.sum()), float(self.observed.sum())
        size = self.size[self.unit]
        # of one rating more of a value: in the expected and, by mid-ranks, in both disagreements
        by_value = 2 * self.distances / self.expected - 1 / (total - 1)
        if self.level == "ordinal":
            sums = sum_by(self.unit, self.scores[self.place])[self.unit]
            pull = (size * self.scores[self.place] - sums) / (size - 1)
            within = 4 * sum_by(self.place, pull, len(self.counts))
            whole = float(self.counts @ self.scores)
            between = 4 * self.counts * (total * self.scores - whole)
            by_value += _of_ranks(between) / self.expected - _of_ranks(within) / seen
        return np.asarray(sum_by(self.unit, by_value[self.place]) - self.observed / seen)


def _of_ranks(pull: Floats) -> Floats:
    """Return how one more rating of each value moves a sum through the mid-ranks of all values."""
    above = pull[::-1].cumsum()[::-1] - pull
    return np.asarray(above + pull / 2)


def _sum_distances(
    data: Coded, place: Ints, values: Floats, scores: Floats, level: Level
) -> Floats:
    """Return of each rating the sum of its distances from the others of its unit."""
    unit, size = data.unit, data.sizes.astype(np.float64)
    if level == "nominal":
        cell = unit * len(values) + place
        cells, where = np.unique(cell, return_inverse=True)
        return np.asarray(size[unit] - np.bincount(where, minlength=len(cells))[where])
    if level == "ratio":
        return _sum_ratio_distances(unit, values[place], size)
    by_rating = scores[place]
    sums, squares = sum_by(unit, by_rating), sum_by(unit, by_rating**2)
    distances = size[unit] * by_rating**2 - 2 * by_rating * sums[unit] + squares[unit]
    return np.asarray(np.maximum(distances, 0.0))


def _sum_ratio_distances(unit: Ints, value: Floats, size: Floats) -> Floats:
    """Return the sum for ((a - b) / (a + b))^2; ratings are sorted by unit."""
    distances = np.zeros(len(value))
    starts = np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.intp)
    for number in np.unique(size).astype(int):
        at = starts[size == number][:, None] + np.arange(number)
        ratings = value[at]
        total = ratings[:, :, None] + ratings[:, None, :]
        apart = ratings[:, :, None] - ratings[:, None, :]
        distances[at] = ((apart / np.where(total == 0, 1, total)) ** 2).sum(axis=2)
    return distances


def _sum_over_all(values: Floats, scores: Floats, counts: Floats, level: Level) -> Floats:
    """Return for each value the sum of its distances from all ratings."""
    total = counts.sum()
    if level == "nominal":
        return np.asarray(total - counts)
    if level == "ratio":
        return _sum_ratio_over_all(values, counts)
    sums, squares = counts @ scores, counts @ scores**2
    return np.asarray(total * scores**2 - 2 * scores * sums + squares)


def _sum_ratio_over_all(values: Floats, counts: Floats) -> Floats:
    """Return the same at the ratio level, in batches that keep memory flat."""
    distances = np.zeros(len(values))
    batch = max(1, 2_000_000 // len(values))
    for start in range(0, len(values), batch):
        chunk = values[start : start + batch, None]
        total = chunk + values
        distance = ((chunk - values) / np.where(total == 0, 1, total)) ** 2
        distances[start : start + batch] = distance @ counts
    return distances
