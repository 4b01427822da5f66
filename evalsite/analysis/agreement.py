"""Agreement of raters: alpha, kappas and intraclass correlations, with intervals.

Krippendorff's alpha at four levels (Content Analysis, 2004, chapter 11) is computed from counts
that stay small for any scale: the usual table of units by values by values is never built.
Disagreement within units comes from sums of each unit, expected disagreement from the marginal
counts. For ordinal data the distance of two values is the square of the difference of their
mid-ranks in the marginal counts, which is Krippendorff's definition.

Coefficients from counts by category: Gwet's AC1 and AC2 (Computing inter-rater reliability and its
variance in the presence of high agreement, 2008; Handbook of Inter-Rater Reliability), plain
agreement, the kappas of Fleiss (1971) and Cohen (1960, 1968). Weights go over the whole scale, used
or not.

Intraclass correlations by name, each only for designs that fulfil its assumptions: Shrout & Fleiss
(1979); McGraw & Wong (1996) for the names A (absolute agreement) and C (consistency). ICC(1,*) is
for raters that differ from unit to unit; ICC(A,*) and ICC(C,*), that is (2,*) and (3,*), are for
crossed raters. (.,1) is the reliability of one rating, (.,k) that of the mean of k, which is what a
study reports.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, stats
from scipy.special import ndtr, ndtri

from evalsite.analysis.effects import wilson_share
from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.mixed import TooManyEffects, fit_reml
from evalsite.analysis.ratings import Coded, Floats, Ints, Ratings, Table, code, find_gap

# --- intervals: one set of draws for a criterion
#
# Ratings of points are cuts of a normal score: strictness of the rater + unit + noise. The
# variances of the three are estimated from mean distances of ratings and drawn 1,000 times, each
# draw gives a table of two ratings of a unit, and every coefficient follows from this table. So the
# intervals of a criterion agree with one another, and their ends are possible values. The draws are
# a Halton sequence, which needs no seed. Their measured coverage is in docs/results.md.

DRAWS = 1000
MOST_POINTS = 11  # with more values than this, distances are those of the values, without cuts
# what an interval treats as samples, in the details of a figure as `over`
BOTH, INPUTS = "raters_and_inputs", "inputs"
ALL_EQUAL = "all_equal"
Kind = Literal["points", "decision", "values", "categories"]
Shape = Literal["coefficient", "share"]
Slope = Callable[[], tuple[Floats, float]]
SHARES = ("percent_agreement", "within_1", "within")  # the others are coefficients
SHOW_LITTLE_UP_TO = 3  # raters, who show little about others
_BOTH = "crossed_draws"
_INPUTS = "over_inputs"
_TAIL, _WIDE_TAIL = (1 - LEVEL) / 2, (1 - LEVEL) / 4
_PSEUDO = 0.2  # of one unit more, all of the rarest value
_FEWEST = 0.25  # ratings beyond the outermost cut
_MOST_EXPONENT = 300.0
_TINY = 1e-12
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_GRID = np.concatenate([np.linspace(0, 0.9, 46), np.linspace(0.91, 0.99, 9)])


def _list_halton(base: int) -> Floats:
    drawn, rest, share = np.zeros(DRAWS), np.arange(1, DRAWS + 1), 1.0
    while rest.any():
        share /= base
        drawn += share * (rest % base)
        rest //= base
    return drawn


_UNITS, _STRICTNESS, _SHIFT, _SPREAD, _NOISE = (_list_halton(base) for base in (2, 3, 5, 7, 11))


@dataclass(frozen=True, kw_only=True)
class Interval:
    """Where a figure may lie, and how that was found."""

    low: float | None = None
    high: float | None = None
    details: dict[str, Any] = field(default_factory=dict)


# of a value below -1, to which the formula leads where there are two raters of two inputs
_BELOW = Interval(details={"interval": "too_few_raters_or_inputs"})


@dataclass(frozen=True, kw_only=True)
class Draws:
    """Draws of coefficients for other raters and inputs, by name; empty where they can't be drawn.

    `wide`: the names of those that don't move in one direction with strictness, so that their ends
    lie further out. `parts` are the estimates from the ratings.
    """

    figures: Mapping[str, Floats] = field(default_factory=dict)
    wide: frozenset[str] = frozenset()
    parts: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    def find_interval(self, name: str, value: float) -> Interval | None:
        """Return the 95% interval of a coefficient, which holds its value; None if it wasn't
        drawn."""
        if value < -1:
            return _BELOW
        drawn = self.figures.get(name, np.zeros(0))
        drawn = drawn[np.isfinite(drawn)]
        if not drawn.size:
            return None
        tail = _WIDE_TAIL if name in self.wide else _TAIL
        low, high = (float(end) for end in np.quantile(drawn, [tail, 1 - tail]))
        low, high = min(low, value) + 0.0, max(high, value) + 0.0
        if high - low <= _TINY:
            return Interval(details={"interval": "no_draw_differs"})
        details = {"interval": _BOTH, "over": BOTH, "draws": DRAWS, **self.counts}
        return Interval(low=low, high=high, details=details)


def draw_agreement(
    ratings: Ratings, kind: Kind, *, scale: Sequence[float] | None = None, is_log: bool = False
) -> Draws:
    """Return the draws of a criterion.

    `kind`: ordered points (more than 11 are treated as values), decisions, values without points,
    or categories without an order, numbered in the order of their keys. `scale`: all points, used
    or not; default the values used. `is_log`: values are logarithms of magnitudes.
    """
    return make_draws(code(ratings), kind, scale, is_log=is_log)


def make_draws(
    data: Coded, kind: Kind, scale: Sequence[float] | None = None, *, is_log: bool = False
) -> Draws:
    """Return the draws for coded ratings; empty if raters are unknown or too few."""
    data = data.overlapping()
    if data.rater is None or len(np.unique(data.block)) < 2:
        return Draws()
    used = np.unique(data.value)
    points = used if scale is None else np.unique(np.asarray(scale, dtype=np.float64))
    if off := sorted(set(used.tolist()) - set(points.tolist())):
        raise ValueError(f"{off[0]:g} is not on the scale.")
    design = _Design.of(data)
    if kind == "categories" and len(points) > 2:
        return _draw_categories(design, np.searchsorted(points, data.value), len(points))
    if kind == "values":
        return _draw_values(design, data.value, is_log=is_log)
    if len(points) > MOST_POINTS:
        return _draw_many_points(design, data.value, points)
    return _draw_points(design, np.searchsorted(points, data.value), points)


def guess_draws(data: Coded, level: str) -> Draws:
    """Return the draws for one alpha, whose kind of values isn’t stated."""
    used = np.unique(data.overlapping().value)
    if level == "nominal":
        return make_draws(data, "categories")
    if level == "ratio":
        if not (used > 0).all():
            return Draws()
        return make_draws(replace(data, value=np.log(data.value)), "values", is_log=True)
    steps = np.diff(used)
    is_even = len(used) <= MOST_POINTS and np.allclose(steps, steps[:1])
    if level == "ordinal":
        return make_draws(data, "points")
    return make_draws(data, "points" if is_even else "values")


def find_interval(
    name: str, value: float, draws: Draws, data: Coded, *, slope: Slope | None = None
) -> Interval:
    """Return the 95% interval of a coefficient of these ratings, for other raters where they can be
    drawn.

    `slope`: gives the derivative of z in the weight of each unit of `data`, and the coefficient
    with one unit more, all of the rarest value used, for the interval of these raters. It is the
    interval where raters can't be drawn; with 2 or 3 raters it is in the details. A figure of 1, or
    a share of 0, has none.
    """
    shape: Shape = "share" if name in SHARES else "coefficient"
    if value >= 1 or (shape == "share" and value <= 0):
        details = {"interval": "exactly_1", "none": ALL_EQUAL}
        return Interval(details=details)
    if value < -1:
        return _BELOW
    drawn = draws.find_interval(name, value)
    if slope is None:
        return drawn or Interval(details={"interval": "too_few_raters_or_inputs"})
    if drawn is not None and (drawn.low is None or draws.counts["raters"] > SHOW_LITTLE_UP_TO):
        return drawn
    of_these = find_over_inputs(value, *slope(), data, shape=shape)
    if drawn is None or of_these.low is None:
        return drawn or of_these
    ends = {"these_raters": {"low": of_these.low, "high": of_these.high}}
    return replace(drawn, details=drawn.details | ends)


def find_over_inputs(
    value: float, by_unit: Floats, more: float, data: Coded, *, shape: Shape = "coefficient"
) -> Interval:
    """Return the interval for these raters: t over inputs of -log(1 - value), or of a share's
    logit.

    `by_unit`, `more`: see `find_interval`.
    """
    of_unit = np.zeros(len(by_unit), dtype=np.intp)
    of_unit[data.unit] = data.block
    inputs = len(np.unique(of_unit))
    if inputs < 2:
        return Interval(details={"interval": "one_input"})
    z = _transform(value, shape)
    variance = _spread(sum_by(of_unit, by_unit)[np.unique(of_unit)])
    if np.isfinite(more) and more < 1:
        variance += _PSEUDO**2 * (_transform(more, shape) - z) ** 2
    if not _TINY**2 < variance < np.inf:
        return Interval(details={"interval": "nothing_varies"})
    reach = float(stats.t.ppf((1 + LEVEL) / 2, inputs - 1)) * sqrt(variance)
    ends = (min(max(z + by, -_MOST_EXPONENT), _MOST_EXPONENT) for by in (-reach, reach))
    low, high = (1 / (1 + exp(-end)) if shape == "share" else 1 - exp(-end) for end in ends)
    if shape == "coefficient":
        sizes = data.sizes[data.sizes > 1]
        low = max(low, -1 / (find_k(sizes) - 1))
    details = {"interval": _INPUTS, "over": INPUTS, "inputs": inputs, "df": inputs - 1,
               "v_inputs": variance}  # fmt: skip
    return Interval(low=min(low, value), high=max(high, value), details=details)


def _transform(value: float, shape: Shape) -> float:
    return log(value / (1 - value)) if shape == "share" else -log(1 - value)


def step_up(value: float, k: float) -> float | None:
    """Return the reliability of a mean of k ratings from that of one (Spearman & Brown); None if
    there is none, because raters agree less than by chance."""
    below = 1 + (k - 1) * value
    return k * value / below if below > _TINY else None


def step_up_interval(interval: Interval, k: float) -> Interval:
    """Return the interval of the reliability of a mean of k ratings from that of one: not below 0,
    which is where raters agree by chance alone."""
    details = {key: value for key, value in interval.details.items() if key != "these_raters"}
    if interval.low is None or interval.high is None:
        return Interval(details=details)
    low, high = (max(step_up(end, k) or 0.0, 0.0) for end in (interval.low, interval.high))
    return Interval(low=low, high=high, details=details)


def find_k(sizes: Any) -> float:
    """Return the harmonic mean of units' numbers of ratings."""
    return round(len(sizes) / float((1 / sizes).sum()), 12)


def sum_by(levels: Any, values: Floats, size: int = 0) -> Floats:
    """Return the sum of values by level."""
    return np.asarray(np.bincount(levels, weights=values, minlength=size), dtype=np.float64)


def _spread(slopes: Floats) -> float:
    """Return the variance from the slopes of levels that are a sample."""
    return float(((slopes - slopes.mean()) ** 2).sum() * len(slopes) / (len(slopes) - 1))


# --- what is found in the ratings ---------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Design:
    """Who rated what, in units with two ratings or more."""

    unit: Ints  # of each rating
    rater: Ints
    block: Ints
    cell: Ints  # rater and input
    size: Floats  # of each unit its ratings
    block_of_unit: Ints
    df: float  # effective degrees of freedom of raters

    @classmethod
    def of(cls, data: Coded) -> "_Design":
        assert data.rater is not None
        rater = np.unique(data.rater, return_inverse=True)[1]
        block = np.unique(data.block, return_inverse=True)[1]
        size = data.sizes.astype(np.float64)
        block_of_unit = np.zeros(len(size), dtype=np.intp)
        block_of_unit[data.unit] = block
        cell = np.unique(rater * (int(block.max()) + 1) + block, return_inverse=True)[1]
        # pairs of raters who met, as a graph whose Laplacian says how many they are in effect
        met = sparse.csr_array((np.ones(len(rater)), (data.unit, rater)))
        pairs = sparse.csr_array(met.T @ (met / (size - 1)[:, None]))
        pairs.setdiag(0)
        degree = np.asarray(pairs.sum(axis=1)).ravel()
        squares = float((degree**2).sum() + pairs.multiply(pairs).sum())
        return cls(unit=data.unit, rater=rater, block=block, cell=cell, size=size,
                   block_of_unit=block_of_unit, df=float(degree.sum()) ** 2 / squares)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Parts:
    """Mean distances of ratings, and how far those of single raters and inputs move figures."""

    within: float  # S1: of two ratings of a unit
    of_rater: float  # S2: by one rater, of two inputs
    apart: float  # S3: by two raters, of two inputs
    v_inputs: float  # of z = -log(1 - alpha)
    v_raters: float
    v_inputs_of_within: float  # of the logarithm of S1
    v_raters_of_within: float
    counts: Floats  # of each value
    n: int
    raters: int
    inputs: int
    df: float
    k: float  # ratings of a unit, harmonic mean
    mean_k: float
    ratings_of_rater: float  # harmonic mean
    concentration: float  # sum of raters' squared shares of ratings

    @property
    def is_usable(self) -> bool:
        return self.within > 0 and self.apart > _TINY * self.within

    def to_dict(self) -> dict[str, float]:
        return {
            "S1": self.within, "S2": self.of_rater, "S3": self.apart, "nu": self.df, "k": self.k,
            "v_inputs": self.v_inputs, "v_inputs_o": self.v_inputs_of_within,
            "v_raters": self.v_raters, "v_raters_o": self.v_raters_of_within,
        }  # fmt: skip


def _summarise(design: _Design, columns: Sequence[Floats], places: Ints, values: int) -> _Parts:
    """Return the parts for squared distances, summed over the columns that stand for a rating.

    `places`: the number of each rating's value, from 0 to `values` - 1.
    """
    unit, size, n = design.unit, design.size, len(design.unit)

    def sum_pairs(group: Ints) -> tuple[float, float]:
        """Return the sum of distances and the number of ordered pairs within groups, self-pairs
        included."""
        number = np.bincount(group)
        total = 0.0
        for column in columns:
            squares, sums = sum_by(group, column**2), sum_by(group, column)
            total += 2 * float((number * squares - sums**2).sum())
        return total, float((number.astype(np.float64) ** 2).sum())

    in_all, pairs = sum_pairs(np.zeros(n, dtype=np.intp))
    (in_rater, pairs_of_rater), (in_input, pairs_of_input), (in_cell, pairs_of_cell) = (
        sum_pairs(group) for group in (design.rater, design.block, design.cell)
    )
    near, far = np.zeros(n), np.zeros(n)  # of each rating: distances in its unit, and from all
    for column in columns:
        squares, sums = (sum_by(unit, of)[unit] for of in (column**2, column))
        near += size[unit] * column**2 - 2 * column * sums + squares
        far += n * column**2 - 2 * column * column.sum() + (column**2).sum()
    near, far = np.maximum(near, 0), np.maximum(far, 0)
    by_unit = sum_by(unit, near) / (size - 1)
    counts = np.bincount(places, minlength=values).astype(np.float64)
    number = np.bincount(design.rater).astype(np.float64)
    seen, mean_k = float(by_unit.sum()), float(size.mean())
    apart = (in_all - in_rater - in_input + in_cell) / (
        pairs - pairs_of_rater - pairs_of_input + pairs_of_cell
    )
    known: dict[str, Any] = {
        "within": seen / n,
        "of_rater": (in_rater - in_cell) / (pairs_of_rater - pairs_of_cell)
        if pairs_of_rater > pairs_of_cell
        else apart,
        "apart": max(apart, 0.0),
        "counts": counts,
        "n": n,
        "raters": len(number),
        "inputs": int(design.block.max()) + 1,
        "df": design.df,
        "k": find_k(size),
        "mean_k": mean_k,
        "ratings_of_rater": len(number) / float((1 / number).sum()),
        "concentration": float(((number / n) ** 2).sum()),
    }
    if not seen > _TINY * in_all / n:
        known["within"] = 0.0
        return _Parts(
            v_inputs=0.0, v_raters=0.0, v_inputs_of_within=0.0, v_raters_of_within=0.0, **known
        )  # fmt: skip
    # slopes of z: the marginal counts move with pairs of ratings, not with single ratings
    by_value = 2 * far / in_all - 1 / (n - 1)
    whole, m = sum_by(unit, by_value), size[unit]
    inside = (2 * near / (m - 1) - by_unit[unit] / m) / seen
    by_rating = by_value * (m - 2) / (m - 1) + whole[unit] / (m * (m - 1)) - inside
    of_within = inside - 1 / n
    # what one more unit of the rarest value used changes
    rarest = int(np.argmin(np.where(counts > 0, counts, np.inf)))
    widened = in_all + 2 * mean_k * float(far[np.argmax(places == rarest)])
    change = log((n + mean_k - 1) / (n - 1)) + log(in_all / widened)
    block, rater = design.block_of_unit, design.rater
    return _Parts(
        **known,
        v_inputs=_spread(sum_by(block, whole - by_unit / seen)) + _PSEUDO**2 * change**2,
        v_raters=_spread(sum_by(rater, by_rating)) - float((by_rating**2).sum()),
        v_inputs_of_within=_spread(sum_by(block, (by_unit - seen / n * size) / seen)),
        v_raters_of_within=_spread(sum_by(rater, of_within)) - float((of_within**2).sum()),
    )


# --- draws --------------------------------------------------------------------------------


def _draw_variances(
    parts: _Parts, latent: tuple[float, float, float], to_latent: Any
) -> tuple[Floats, Floats, Floats]:
    """Return the variances of units, strictness and noise in each draw, on the scale of `latent`.

    `to_latent`: gives the correlation of two scores of a unit from an alpha.
    """
    units, strictness, noise = latent
    within, total, df, k = parts.within, parts.apart / 2, parts.df, parts.k
    within = max(within, parts.apart * _FEWEST / parts.n)
    v_units, v_raters = (parts.apart - within) / 2, max((parts.apart - parts.of_rater) / 2, 0)
    v_noise = max((within + parts.of_rater - parts.apart) / 2, 0)
    overlap = (parts.mean_k - 1) / (parts.raters - 1)
    error = (v_noise + (1 - overlap) * max(v_units, 0)) / parts.ratings_of_rater
    # what strictness alone explains of how raters differ, and one standard error more
    explained = ((v_raters + error) / (within / 2)) ** 2 * 2 / df * (1 + sqrt(2 / df))
    alpha = 1 - within / parts.apart
    more = max(0.0, parts.v_raters - explained * alpha**2)
    more_of_within = max(0.0, parts.v_raters_of_within - explained)

    least = max(alpha, -0.5 / (k - 1), -0.5)
    step = ndtri(_UNITS) * sqrt(parts.v_inputs + more) * k / (1 + (k - 1) * least)
    ratio = (1 + (k - 1) * least) / (1 - least)
    ratio = ratio * np.exp(np.clip(step, -_MOST_EXPONENT, _MOST_EXPONENT))
    correlation = np.clip(to_latent(np.clip((ratio - 1) / (ratio + k - 1), 0, 0.999)), 0, 0.99)

    error *= (units + strictness + noise) / total
    drawn = (strictness + error) * df / stats.chi2.ppf(_STRICTNESS, df) - error
    drawn = np.clip(drawn, 0, max(units + noise, 2 * strictness))

    def widen(variance: float) -> float:
        return min(sqrt(variance) * (strictness + noise) / noise, 1.0)

    width = noise * np.exp(ndtri(_NOISE) * widen(parts.v_inputs_of_within))
    spread = width * np.exp(ndtri(_SPREAD) * widen(more_of_within))
    return correlation / (1 - correlation) * (strictness + width), drawn, spread


def _tabulate(cuts: Floats, correlation: Floats) -> Floats:
    """Return tables (draws, points, points) of two ratings whose normal scores correlate so, by
    cuts (draws, points - 1)."""
    rho = np.clip(correlation, 0, 0.9999)[:, None, None]
    below = ndtr((cuts[:, None, :] - np.sqrt(rho) * _NODES[None, :, None]) / np.sqrt(1 - rho))
    ends = np.ones((*below.shape[:-1], 1))
    share = np.diff(np.concatenate([0 * ends, below, ends], axis=-1), axis=-1)
    return np.asarray(np.matmul((share * _WEIGHTS[:, None]).transpose(0, 2, 1), share))


@dataclass(frozen=True, kw_only=True)
class _Latent:
    """Points as cuts of a normal score, and its variances."""

    cuts: Floats
    variances: tuple[float, float, float]  # of units, strictness, noise
    distances: Floats  # mean distance of two ratings, by the correlation on the grid

    @classmethod
    def of(cls, parts: _Parts, d: Floats) -> "_Latent":
        share, edge = parts.counts.cumsum()[:-1] / parts.n, _FEWEST / parts.n
        cuts = ndtri(np.clip(share, edge, 1 - edge))
        by_grid = (_tabulate(np.broadcast_to(cuts, (len(_GRID), len(cuts))), _GRID) * d).sum((1, 2))

        def correlate(distance: float) -> float:
            if distance > by_grid[0]:
                return -float(np.interp(distance - 2 * by_grid[0], -by_grid, _GRID))
            return float(np.interp(-distance, -by_grid, _GRID))

        of_unit, of_rater, of_none = map(correlate, (parts.within, parts.of_rater, parts.apart))
        units, strictness = max(of_unit - of_none, 0.0), max(of_rater - of_none, 0.0)
        noise = max(1 - of_none - units - strictness, 0.05)
        return cls(cuts=cuts, variances=(units, strictness, noise), distances=by_grid)

    def draw(self, parts: _Parts, shift: Floats) -> tuple[Floats, Floats]:
        """Draw tables of two ratings of a unit, and of two by a rater; `shift`: how far all cuts
        move, as standard normal scores."""
        units, _, noise = self.variances
        by_alpha = -self.distances / self.distances[0]
        u, r, e = _draw_variances(
            parts, self.variances, lambda alpha: np.interp(alpha - 1, by_alpha, _GRID)
        )
        total = u + r + e
        moved = np.sqrt(r * parts.concentration + units / parts.inputs + noise / parts.n) * shift
        cuts = (self.cuts[None] - moved[:, None]) / np.sqrt(total)[:, None]
        return _tabulate(cuts, u / total), _tabulate(cuts, r / total)


def _draw_points(design: _Design, places: Ints, points: Floats) -> Draws:
    k = len(points)
    x = np.arange(k, dtype=np.float64)
    parts = _summarise(design, [places - places.mean()], places, k)
    if not parts.is_usable:
        return Draws()
    apart = np.abs(x[:, None] - x)
    latent = _Latent.of(parts, apart**2)
    table, by_rater = latent.draw(parts, ndtri(_SHIFT))
    share = table.sum(axis=-1)
    chance = share[:, :, None] * share[:, None, :]
    middle = share.cumsum(axis=1) - share / 2
    distances = {
        "nominal": 1 - np.eye(k),
        "ordinal": (middle[:, :, None] - middle[:, None, :]) ** 2,
        "interval": apart**2,
        "linear": apart,
    }
    near = {"ac1": np.eye(k), "ac2_linear": 1 - apart / (k - 1), "ac2": 1 - (apart / (k - 1)) ** 2}
    spread = (share * (1 - share)).sum(axis=1) / (k * (k - 1))
    sizes = np.abs(points[:, None] - points)
    with np.errstate(divide="ignore", invalid="ignore"):
        figures = {
            f"alpha_{level}": 1 - (table * d).sum((1, 2)) / (chance * d).sum((1, 2))
            for level, d in distances.items()
        }
        for name, weights in near.items():
            expected = weights.sum() * spread
            figures[name] = ((table * weights).sum((1, 2)) - expected) / (1 - expected)
        d = distances["interval"]
        more = ((chance - table) * d).sum((1, 2))
        figures["consistency"] = np.minimum(more / (by_rater * d).sum((1, 2)), 1)
    figures["percent_agreement"] = np.trace(table, axis1=1, axis2=2)
    figures["within_1"] = (table * (sizes <= 1)).sum((1, 2))
    wide = {"consistency"} | ({*near, "percent_agreement", "within_1"} if k > 2 else set())
    names = ("latent_units", "latent_raters", "latent_noise")
    return _describe(parts, figures, wide, dict(zip(names, latent.variances, strict=True)))


def _draw_values(design: _Design, values: Floats, *, is_log: bool) -> Draws:
    """Draw without cuts; alpha at the ratio level is that of logarithms, which are normal."""
    used, places = np.unique(values, return_inverse=True)
    parts = _summarise(design, [values - values.mean()], places, len(used))
    if not parts.is_usable:
        return Draws()
    total = parts.apart / 2
    units = max((parts.apart - parts.within) / 2, 0) / total
    strictness = max((parts.apart - parts.of_rater) / 2, 0) / total
    noise = max(1 - units - strictness, 0.02)
    u, r, e = _draw_variances(parts, (units, strictness, noise), lambda alpha: alpha)
    figures = {
        "alpha_interval": u / (u + r + e),
        "consistency": u / (u + e),
        "distance": 2 * total * (r + e),  # of two ratings of a unit
    }
    if is_log:
        # ((a - b) / (a + b))² is tanh² of half the difference of logarithms
        within, apart = (
            np.tanh(np.sqrt(2 * total * part)[:, None] * _NODES / 2) ** 2 @ _WEIGHTS
            for part in (r + e, u + r + e)
        )
        figures["alpha_ratio"] = 1 - within / apart
    return _describe(parts, figures, set(figures))


def _draw_many_points(design: _Design, values: Floats, points: Floats) -> Draws:
    """Draw for more points than can be cut: AC2 with the shares of points as they are, and ordinal
    alpha as the alpha of mid-ranks."""
    draws = _draw_values(design, values, is_log=False)
    if not draws.figures:
        return draws
    counts = np.bincount(np.searchsorted(points, values), minlength=len(points))
    ranks = (counts.cumsum() - counts / 2)[np.searchsorted(points, values)]
    of_ranks = _draw_values(design, ranks, is_log=False).figures
    figures = dict(draws.figures)
    if of_ranks:
        figures["alpha_ordinal"] = of_ranks["alpha_interval"]
    share, apart = counts / counts.sum(), (points[:, None] - points) / np.ptp(points)
    k = len(points)
    chance = float((1 - apart**2).sum() / (k * (k - 1)) * (share * (1 - share)).sum())
    seen = 1 - np.minimum(figures.pop("distance") / np.ptp(points) ** 2, 1)
    figures["ac2"] = (seen - chance) / (1 - chance)
    return replace(draws, figures=figures, wide=frozenset(figures))


def _draw_categories(design: _Design, places: Ints, categories: int) -> Draws:
    """Draw for categories without an order: a normal score for each against all the rest."""
    picked = [(places == category).astype(np.float64) for category in range(categories)]
    halved = [(column - column.mean()) * sqrt(0.5) for column in picked]
    parts = _summarise(design, halved, places, categories)
    if not parts.is_usable:
        return Draws()
    distance, shares = np.zeros(DRAWS), np.zeros((DRAWS, categories))
    for category, column in enumerate(picked):
        if not column.any():
            continue
        binary = _summarise(design, [column - column.mean()], column.astype(np.intp), 2)
        binary = replace(binary, v_inputs=parts.v_inputs, v_raters=parts.v_raters)
        if not binary.apart > 0:
            continue
        shift = (_SHIFT + category / sqrt(2)) % 1 * 0.9998 + 0.0001
        table, _ = _Latent.of(binary, 1 - np.eye(2)).draw(binary, ndtri(shift))
        distance += table[:, 0, 1]  # half of both cells
        shares[:, category] = table[:, 1].sum(axis=-1)
    shares = shares / shares.sum(axis=1, keepdims=True)
    expected = 1 - (shares**2).sum(axis=1)
    # each category has its own score, so the sum may exceed what chance gives; agreement can't
    distance = np.minimum(distance, expected)
    chance = expected / (categories - 1)
    figures = {
        "alpha_nominal": 1 - distance / expected,
        "ac1": (1 - distance - chance) / (1 - chance),
        "percent_agreement": 1 - distance,
    }
    return _describe(parts, figures, {"ac1", "percent_agreement"})


def _describe(
    parts: _Parts,
    figures: Mapping[str, Floats],
    wide: set[str],
    latent: Mapping[str, float] | None = None,
) -> Draws:
    return Draws(
        figures=figures,
        wide=frozenset(wide),
        parts=parts.to_dict() | dict(latent or {}),
        counts={"raters": parts.raters, "inputs": parts.inputs},
    )


# --- Krippendorff's alpha

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Transform = Literal["ln", "ln(1+x)"]


def alpha(
    ratings: Ratings, level: Level, *, transform: Transform | None = None,
    draws: Draws | None = None, name: str = "alpha",
) -> Figure:  # fmt: skip
    """Krippendorff's alpha with an interval for other raters and inputs (see above).

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
    parts = _AlphaParts.of(pairable, level)
    coefficient = parts.alpha
    if not np.isfinite(coefficient):
        return undefined(name, Reason.NO_VARIATION, method=method, n=counted, details=details)

    def slope() -> tuple[Floats, float]:
        rarest = np.argmin(parts.counts)
        more = np.where(np.arange(len(parts.counts)) == rarest, parts.size.mean(), 0.0)
        return parts.slope(), _AlphaParts.of(pairable, level, more=more).alpha

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
class _AlphaParts:
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
    def of(cls, data: Coded, level: Level, *, more: Floats | float = 0.0) -> "_AlphaParts":
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


# --- from counts by category

Weights = Literal["identity", "linear", "quadratic"]


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


# --- parts of the variance, and intraclass correlations
#
# Parts are by REML, for ratings with gaps: value = mean + unit + rater + residual, all random and
# crossed (as lme4's value ~ 1 + (1|unit) + (1|rater)). Their shares tell what kind of disagreement
# there is: offsets of raters (a large share of raters), a narrow range of quality (a small share of
# units) or noise (a large rest). Each calls for another remedy.


@dataclass(frozen=True, kw_only=True)
class Components:
    """The variances; 0 is a valid answer."""

    unit: float
    rater: float
    residual: float


def find_components(data: Coded, *, with_rater: bool) -> Components:
    """Return the variances of units, raters (0 if not `with_rater`) and the residual.

    Values must vary. Raises TooManyEffects if both factors have too many levels for the solver.
    """
    terms = {"unit": data.unit}
    if with_rater and data.rater is not None:
        terms["rater"] = data.rater
    fit = fit_reml(data.value, terms)
    return Components(
        unit=fit.variances["unit"],
        rater=fit.variances.get("rater", 0.0),
        residual=fit.residual,
    )


VARIANCE_SHARES = ("share_of_units", "share_of_raters", "share_of_rest")
_METHOD = "variance_share"


def split_variance(ratings: Ratings) -> list[Figure]:
    """Return the shares of units, of raters and of the rest in the variance of ratings, which tell
    what kind of disagreement it is; they sum to 1.

    A share of 0 is a valid answer. Without raters, units and the rest alone. Undefined: no_data,
    no_overlap, no_variation, incomplete (too large).
    """
    data = code(replace(ratings, block=None))
    names = VARIANCE_SHARES if data.rater is not None else (VARIANCE_SHARES[0], VARIANCE_SHARES[2])
    reason = find_gap(data)
    if reason is None:
        try:
            parts = find_components(data, with_rater=data.rater is not None)
        except TooManyEffects:
            reason = Reason.INCOMPLETE
    if reason:
        return [undefined(name, reason, method=_METHOD, n=data.counts()) for name in names]
    variance = dict(zip(VARIANCE_SHARES, (parts.unit, parts.rater, parts.residual), strict=True))
    total = sum(variance.values())
    details: dict[str, Any] = {"interval": "see_icc"}
    return [
        Figure(name=name, method=_METHOD, value=variance[name] / total, n=data.counts(),
               details=details | {"variance": variance[name]})
        for name in names
    ]  # fmt: skip


# --- intraclass correlations -------------------------------------------------------------------

FORMS = ("ICC(1,1)", "ICC(A,1)", "ICC(C,1)", "ICC(1,k)", "ICC(A,k)", "ICC(C,k)")
_BY_MODEL = {
    False: ("ICC(1,1)", "ICC(1,k)"),  # whether raters have their own effect
    True: ("ICC(A,1)", "ICC(C,1)", "ICC(A,k)", "ICC(C,k)"),
}
_ANOVA = "ANOVA"
_REML = "variance_components"


def icc(
    ratings: Ratings, *, transform: str = "none", draws: Draws | None = None
) -> dict[str, Figure]:
    """Return all six forms by name. `transform` names the transformation that the values already
    have; `draws` as for `alpha`.

    ICC(1,*): by the ANOVA of equal or unequal numbers. The others by ANOVA where the same raters
    rated all units, with gaps by REML, and a warning in `details` that raters are not crossed.
    Intervals are for other raters and inputs. Undefined: no_data, no_overlap, no_variation,
    raters_unknown, incomplete (too large for REML), too_few.
    """
    data = code(ratings)
    if reason := find_gap(data):
        return {
            name: undefined(name, reason, method=_ANOVA, n=data.counts(),
                            details={"transform": transform})
            for name in FORMS
        }  # fmt: skip
    counted = data.overlapping()
    raters = 0 if counted.rater is None else len(np.unique(counted.rater))
    if np.ptp(counted.sizes) == 0 and raters == counted.sizes[0]:
        matrix = counted.value.reshape(len(counted.sizes), -1)
        figures = icc_of_matrix(matrix, transform=transform)
    else:
        figures = _by_components(counted, transform)
    figures |= _one_way(counted, transform)
    draws = guess_draws(counted, "interval") if draws is None else draws
    for name in FORMS[:3]:
        interval = _find_interval(figures[name], draws, counted)
        of_mean = name.replace(",1)", ",k)")
        figures[name] = _add_interval(figures[name], interval)
        figures[of_mean] = _add_interval(
            figures[of_mean], step_up_interval(interval, figures[of_mean].details.get("k", 1.0))
        )
    return {name: replace(figures[name], n=counted.counts()) for name in FORMS}


def _find_interval(figure: Figure, draws: Draws, data: Coded) -> Interval:
    if figure.value is None:
        return Interval()
    key = "consistency" if figure.name == "ICC(C,1)" else "alpha_interval"
    is_one_way = figure.name == "ICC(1,1)"
    return find_interval(
        key, figure.value, draws, data, slope=(lambda: _slope(data)) if is_one_way else None
    )


def _add_interval(figure: Figure, interval: Interval) -> Figure:
    if figure.value is None:
        return figure
    details = {key: of for key, of in figure.details.items() if key != "over"} | interval.details
    low, high = interval.low, interval.high
    if low is None or high is None:
        return replace(figure, low=None, high=None, details=details)
    # both formulas may differ in the last digit
    low, high = min(low, figure.value), max(high, figure.value)
    return replace(figure, low=low, high=high, details=details)


def _one_way(data: Coded, transform: str) -> dict[str, Figure]:
    """Return ICC(1,1), and ICC(1,k) of the harmonic mean k, by the ANOVA of equal or unequal
    numbers."""
    k = find_k(data.sizes)
    names, details = _BY_MODEL[False], {"k": k, "transform": transform}
    value = _divide_mean_squares(_sum_by_unit(data).sum(axis=0))
    if reason := Reason.TOO_FEW if len(data.sizes) < 2 else _find_fault(value):
        return {name: undefined(name, reason, method=_ANOVA, details=details) for name in names}
    of_mean = step_up(value, k)
    return {
        names[0]: Figure(name=names[0], method=_ANOVA, value=value, details=details),
        names[1]: undefined(names[1], Reason.NO_VARIATION, method=_ANOVA, details=details)
        if of_mean is None
        else Figure(name=names[1], method=_ANOVA, value=of_mean, details=details),
    }


def _sum_by_unit(data: Coded) -> Floats:
    """Return by unit: ratings, units, squares, squares of sums over ratings, sums, squares of
    ratings."""
    value = data.value - data.value.mean()
    sums, squares = (np.bincount(data.unit, weights=of) for of in (value, value**2))
    size = data.sizes.astype(np.float64)
    return np.column_stack([size, np.ones_like(size), squares, sums**2 / size, sums, size**2])


def _divide_mean_squares(sums: Floats) -> float:
    """Return ICC(1,1) from sums over units; NaN: nothing varies."""
    n, units, squares, between, total, many = (float(of) for of in sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = (squares - between) / np.float64(n - units)
        middle = (between - total**2 / n) / np.float64(units - 1)
        k = (n - many / n) / np.float64(units - 1)
    floor = _TINY * max(squares, 1e-300)
    error = np.float64(0.0) if error * (n - units) <= floor else error
    below = middle + (k - 1) * error
    if not below > floor:
        return float("nan")
    return float((middle - error) / below)


def _slope(data: Coded) -> tuple[Floats, float]:
    """Return the slope of -log(1 - ICC(1,1)) in the weight of each unit, and ICC(1,1) with one unit
    more, all of the rarest value used."""
    by_unit = _sum_by_unit(data)
    sums = by_unit.sum(axis=0)
    slope = np.zeros(len(sums))
    for place in range(len(sums)):
        step = np.zeros(len(sums))
        step[place] = 1e-6 * max(abs(sums[place]), abs(sums[0]) * 1e-3)
        below, above = (1 - _divide_mean_squares(sums + sign * step) for sign in (-1, 1))
        has_slope = below > 0 and above > 0
        slope[place] = log(below / above) / (2 * step[place]) if has_slope else np.nan
    values, counts = np.unique(data.value, return_counts=True)
    rarest, size = values[np.argmin(counts)] - data.value.mean(), data.sizes.mean()
    more = np.array([size, 1, size * rarest**2, size * rarest**2, size * rarest, size**2])
    return by_unit @ slope, _divide_mean_squares(sums + more)


def icc_in_file_order(
    *, unit: ArrayLike, value: ArrayLike, transform: str = "none"
) -> dict[str, Figure]:  # fmt: skip
    """Return all six forms of the matrix whose columns are a unit's 1st, 2nd, ... rating in file
    order.

    Some published figures are of this kind, with raters that differ from unit to unit: there the
    (A,*) and (C,*) forms depend on the order of the file's rows. Undefined: no_data, no_overlap,
    unequal_raters, no_variation, too_few. Rows without a value are left out.
    """
    values = np.asarray(value, dtype=np.float64)
    keep = ~np.isnan(values)
    codes = np.unique(np.asarray(unit)[keep].astype(str), return_inverse=True)[1]
    sizes = np.bincount(codes) if codes.size else np.zeros(0, dtype=np.intp)
    reason = None
    if not sizes.size:
        reason = Reason.NO_DATA
    elif np.ptp(sizes) > 0:
        reason = Reason.UNEQUAL_RATERS
    elif sizes[0] < 2:
        reason = Reason.NO_OVERLAP
    if reason:
        n = {"units": len(sizes), "ratings": int(keep.sum())}
        figures = {name: undefined(name, reason, method=_ANOVA, n=n) for name in FORMS}
    else:
        ordered = values[keep][np.argsort(codes, kind="stable")]
        figures = icc_of_matrix(ordered.reshape(len(sizes), -1), transform=transform)
    order = {"columns": "order_of_file"}
    return {
        name: replace(figure, details=dict(figure.details) | order, group=(("order", "file"),))
        for name, figure in figures.items()
    }


def icc_of_matrix(matrix: ArrayLike, *, transform: str = "none") -> dict[str, Figure]:
    """Return all six forms of a complete matrix (n units, k ratings), n and k 2 or more.

    The intervals are from F, as in the literature: they treat units as independent. Undefined:
    too_few, no_variation.
    """
    table = np.asarray(matrix, dtype=np.float64)
    n, k = table.shape
    counted = {"units": n, "ratings": n * k}
    if n < 2 or k < 2 or np.ptp(table) == 0:
        reason = Reason.NO_VARIATION if table.size and np.ptp(table) == 0 else Reason.TOO_FEW
        return {name: undefined(name, reason, method=_ANOVA, n=counted) for name in FORMS}
    squares = _MeanSquares.of(table)
    values = _find_forms(squares)
    details: dict[str, Any] = {"k": float(k), "transform": transform}
    intervals = _by_f(squares, values["ICC(A,1)"])
    figures = {}
    for name in FORMS:
        if fault := _find_fault(values[name]):
            figures[name] = undefined(name, fault, method=_ANOVA, n=counted)
            continue
        interval = intervals[name]
        if interval.low is not None and interval.low == interval.high:
            interval = Interval(details={"interval": "no_residual"})
        figures[name] = Figure(
            name=name, method=_ANOVA, value=values[name], low=interval.low, high=interval.high,
            n=counted, details=details | interval.details,
        )  # fmt: skip
    return figures


def _find_fault(value: float) -> Reason | None:
    """Return why a coefficient is undefined: nothing varies, or raters differ more than all outputs
    do."""
    if np.isnan(value):
        return Reason.NO_VARIATION
    return Reason.NOT_COMPUTED if value > 1 + _TINY else None


@dataclass(frozen=True, kw_only=True)
class _MeanSquares:
    """The mean squares of units, within units, of raters, and residual, of n units and k raters."""

    n: int
    k: int
    units: float
    within: float
    raters: float
    rest: float

    @classmethod
    def of(cls, table: Floats) -> "_MeanSquares":
        n, k = table.shape
        centred = table - table.mean()
        middle = float(centred.sum() ** 2 / (n * k))
        of_units = float((centred.sum(axis=1) ** 2).sum() / k) - middle
        of_raters = float((centred.sum(axis=0) ** 2).sum() / n) - middle
        squares = float((centred**2).sum())
        whole = squares - middle
        whole = 0.0 if whole <= _TINY * squares else whole
        of_units, of_raters = (min(max(of, 0.0), whole) for of in (of_units, of_raters))
        within, rest = max(whole - of_units, 0.0), max(whole - of_units - of_raters, 0.0)
        within, rest, of_units = (
            0.0 if of <= _TINY * whole else of for of in (within, rest, of_units)
        )  # fmt: skip
        return cls(
            n=n, k=k, units=of_units / (n - 1), within=within / (n * (k - 1)),
            raters=of_raters / (k - 1), rest=rest / ((n - 1) * (k - 1)),
        )  # fmt: skip


def _find_forms(squares: _MeanSquares) -> dict[str, float]:
    """Return the six forms; NaN where nothing varies."""
    n, k, units, within = squares.n, squares.k, squares.units, squares.within
    raters, rest = squares.raters, squares.rest
    forms = {
        "ICC(1,1)": (units - within, units + (k - 1) * within),
        "ICC(A,1)": (units - rest, units + (k - 1) * rest + k * (raters - rest) / n),
        "ICC(C,1)": (units - rest, units + (k - 1) * rest),
        "ICC(1,k)": (units - within, units),
        "ICC(A,k)": (units - rest, units + (raters - rest) / n),
        "ICC(C,k)": (units - rest, units),
    }
    # rounding errors become 0, in numerator and denominator
    floor = _TINY * (units + within + raters + rest)
    values = {}
    for name, sides in forms.items():
        above, below = (0.0 if abs(side) <= floor else side for side in sides)
        values[name] = above / below if below else float("nan")
    return values


def _by_f(squares: _MeanSquares, absolute: float) -> dict[str, Interval]:
    """Return the intervals that F gives, with F and p (Shrout & Fleiss; McGraw & Wong); `absolute`
    is ICC(A,1)."""
    n, k, units, within, rest = squares.n, squares.k, squares.units, squares.within, squares.rest
    intervals = dict.fromkeys(FORMS, Interval(details={"interval": "no_residual"}))
    for single, mean, error, freedom in (
        ("ICC(1,1)", "ICC(1,k)", within, n * (k - 1)),
        ("ICC(C,1)", "ICC(C,k)", rest, (n - 1) * (k - 1)),
    ):
        if error > _TINY * units > 0:
            ratio = units / error
            low = ratio / float(stats.f.ppf((1 + LEVEL) / 2, n - 1, freedom))
            high = ratio * float(stats.f.ppf((1 + LEVEL) / 2, freedom, n - 1))
            details = _describe_f(ratio, n - 1, freedom)
            intervals[single] = Interval(
                low=(low - 1) / (low + k - 1), high=(high - 1) / (high + k - 1), details=details
            )
            intervals[mean] = Interval(low=1 - 1 / low, high=1 - 1 / high, details=details)
    if rest > _TINY * units > 0:
        details = _describe_f(units / rest, n - 1, (n - 1) * (k - 1))
        bounds = _bound_absolute(squares, absolute)
        if bounds is None:
            none = Interval(details=details | {"interval": "no_freedom"})
            return intervals | {"ICC(A,1)": none, "ICC(A,k)": none}
        intervals["ICC(A,1)"] = Interval(low=bounds[0], high=bounds[1], details=details)
        stepped = [step_up(end, k) for end in bounds]
        intervals["ICC(A,k)"] = (
            Interval(
                low=stepped[0],
                high=stepped[1],
                details=details,
            )
            if stepped[0] is not None
            else Interval(details=details | {"interval": "no_lower_bound"})
        )
    return intervals


def _describe_f(ratio: float, above: int, below: int) -> dict[str, Any]:
    p = float(stats.f.sf(ratio, above, below))
    known = {"interval": "f_over_outputs", "over": INPUTS}
    return {"F": ratio, "df": [above, below], "p": p, **known}


def _bound_absolute(squares: _MeanSquares, value: float) -> tuple[float, float] | None:
    """Return the interval of ICC(A,1) with Satterthwaite's degrees of freedom; None if they are
    below 1.

    Of a few units that agree less than by chance there may be next to none: the quantile of F
    grows without end, and the interval leaves out its own figure.
    """
    n, k, units, raters, rest = squares.n, squares.k, squares.units, squares.raters, squares.rest
    ratio = raters / rest
    inner = n * (1 + (k - 1) * value) - k * value
    freedom = ((k - 1) * (n - 1) * (k * value * ratio + inner) ** 2) / (
        (n - 1) * k**2 * value**2 * ratio**2 + inner**2
    )
    if freedom < 1:
        return None
    above = float(stats.f.ppf((1 + LEVEL) / 2, n - 1, freedom))
    below = float(stats.f.ppf((1 + LEVEL) / 2, freedom, n - 1))
    other = k * raters + (k * n - k - n) * rest
    low = n * (units - above * rest) / (above * other + n * units)
    high = n * (below * units - rest) / (other + n * below * units)
    return low, high


def _by_components(data: Coded, transform: str) -> dict[str, Figure]:
    """Return the forms by REML; k is the harmonic mean of the ratings per unit."""
    k = find_k(data.sizes)
    figures = {}
    reason, parts = None, None
    if data.rater is None:
        reason = Reason.RATERS_UNKNOWN
    else:
        try:
            parts = find_components(data, with_rater=True)
        except TooManyEffects:
            reason = Reason.INCOMPLETE
    for name in _BY_MODEL[True]:
        figures[name] = _of_parts(name, parts, k, transform, reason)
    return figures


def _of_parts(
    name: str, parts: Components | None, k: float, transform: str, reason: Reason | None
) -> Figure:
    """Return one form from variance components."""
    details: dict[str, Any] = {"k": k, "transform": transform, "warning": "not_crossed"}
    if parts is None:
        return undefined(name, reason or Reason.INCOMPLETE, method=_REML, details=details)
    details["variance"] = {"unit": parts.unit, "rater": parts.rater, "residual": parts.residual}
    many = k if name.endswith("k)") else 1.0
    error = ((parts.rater if name[4] == "A" else 0.0) + parts.residual) / many
    if parts.unit + error <= 0:
        return undefined(name, Reason.NO_VARIATION, method=_REML, details=details)
    return Figure(name=name, method=_REML, value=parts.unit / (parts.unit + error), details=details)


# --- as several families of analysis report it

RELIABILITY = "reliability_of_mean"
_RELIABILITY = "spearman_brown_of_alpha"


def find_reliability(figure: Figure) -> Figure:
    """Return the reliability of the mean of an output's ratings, from the alpha of single ratings;
    k is the harmonic mean of their numbers."""
    if figure.value is None:
        return undefined(RELIABILITY, figure.reason or Reason.NO_DATA, method=_RELIABILITY,
                         n=figure.n)  # fmt: skip
    k = float(figure.details["k"])
    value = step_up(figure.value, k)
    if value is None:
        return undefined(RELIABILITY, Reason.NOT_COMPUTED, method=_RELIABILITY, n=figure.n)
    single = Interval(low=figure.low, high=figure.high, details={**figure.details})
    interval = step_up_interval(single, k)
    low, high = interval.low, interval.high
    return replace(
        figure, name=RELIABILITY, method=_RELIABILITY, value=value,
        low=None if low is None else min(low, value),
        high=None if high is None else max(high, value), details=interval.details,
    )  # fmt: skip


def agree_on_categories(
    table: Table, value: Any, scale: list[float], *, unit: str, is_ordered: bool = False
) -> list[Figure]:
    """Return the agreement on decisions or on the outcomes of comparisons."""
    ratings = table.ratings(value, unit)
    draws = draw_agreement(ratings, "points", scale=scale)
    figures = [
        alpha(ratings, "nominal", draws=draws, name="alpha_nominal"),
        gwet(ratings, scale=scale, weights="identity", draws=draws),
        percent_agreement(ratings, draws=draws),
        fleiss(ratings, draws=draws),
    ]
    if is_ordered:
        figures.insert(1, alpha(ratings, "ordinal", draws=draws, name="alpha_ordinal"))
    else:
        figures.append(find_reliability(figures[0]))
    return figures if unit == "output" else [count_units(figure, unit) for figure in figures]


def count_units(figure: Figure, unit: str) -> Figure:
    """Return the figure with the word for the units that its `n` counts; by default outputs."""
    return replace(figure, details={**figure.details, "unit": unit})
