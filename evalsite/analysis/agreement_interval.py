"""Intervals of agreement for other raters and other inputs: one set of draws for a criterion.

Ratings of points are cuts of a normal score: strictness of the rater + unit + noise. The variances
of the three are estimated from mean distances of ratings and drawn 1,000 times, each draw gives a
table of two ratings of a unit, and every coefficient follows from this table. So the intervals of a
criterion agree with one another, and their ends are possible values. The draws are a Halton
sequence, which needs no seed. Their measured coverage is in docs/analysis.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log, sqrt
from typing import Any, Literal

import numpy as np
from scipy import sparse, stats
from scipy.special import ndtr, ndtri

from evalsite.analysis.figure import LEVEL
from evalsite.analysis.ratings import Coded, Floats, Ints, Ratings, code

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
    """Return the draws for an alpha by itself, for which nobody said what its values are."""
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
