"""Pearson, Spearman and Kendall's tau-b of two columns, and of each bootstrap draw of them.

Equal rows are stored once with their count, so a draw is a product of matrices: weighted mid-ranks
give Spearman, the table of both values gives tau-b.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, stats

from evalsite.analysis.canonical_order import Floats, Ints, canonical_order
from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.resample import MANY_DRAWS, Resampling, Spread, bootstrap, describe_draws

Kind = Literal["pearson", "spearman", "kendall"]
METHODS = {
    "pearson": "pearson",
    "spearman": "spearman",
    "kendall": "kendall",
}
_TINY = 1e-12
_MOST_CELLS = 20_000  # of the table of both values; above it tau-b has Fieller's interval
_FULL = 20_000  # cells of a table; smaller ones are faster when dense
_DIGITS = 10


def correlate(
    x: ArrayLike, y: ArrayLike, kind: Kind, *, block: ArrayLike | None = None,
    resampling: Resampling = MANY_DRAWS,
) -> Figure:  # fmt: skip
    """Return the correlation of two arrays of length n; rows with a missing value are left out.

    Interval: bootstrap over blocks (default: rows); of tau-b of many values, Fisher's z with the
    standard error of Fieller (1957). `details["p"]`: two-sided, from t, for independent rows (none
    for tau-b). Undefined: no_data, too_few (fewer than 3 rows), no_variation.
    """
    left, right, blocks = _align(x, y, block)
    n = {"rows": len(left)}
    name, method = kind, METHODS[kind]
    reason = None
    if len(left) < 3:
        reason = Reason.TOO_FEW if len(left) else Reason.NO_DATA
    elif np.ptp(left) == 0 or np.ptp(right) == 0:
        reason = Reason.NO_VARIATION
    if reason:
        return undefined(name, reason, method=method, n=n)
    cells = Cells.of(left, right, blocks)
    whole = cells.find(np.ones((1, cells.n_blocks)), kind)[0]
    if np.isnan(whole):
        return undefined(name, Reason.NO_VARIATION, method=method, n=n)
    value = float(np.clip(whole, -1, 1))
    details: dict[str, Any] = {"blocks": cells.n_blocks}
    if (p := find_p(value, len(left), kind)) is not None:
        details["p"] = p
    is_drawn = resampling.draws > 0 and not (kind == "kendall" and cells.n_cells > _MOST_CELLS)
    spread = _bound(cells, value, kind, resampling)
    return Figure(
        name=name, method=method, value=value, low=spread.low, high=spread.high, n=n,
        details=details | spread.details, seed=resampling.seed if is_drawn else None,
    )  # fmt: skip


def find_p(value: float, n: int, kind: Kind) -> float | None:
    """Return the two-sided p, by t, of a correlation of n independent rows; None for tau-b."""
    if kind == "kendall" or n < 3:
        return None
    if abs(value) >= 1:
        return 0.0
    t = value * ((n - 2) / (1 - value**2)) ** 0.5
    return float(2 * stats.t.sf(abs(t), n - 2))


def fisher_interval(value: float, n: int, kind: Kind) -> tuple[float | None, float | None]:
    """Return the interval by Fisher's z, for independent rows; None for a correlation of 1 or -1 or
    too few rows."""
    spare = n - (4 if kind == "kendall" else 3)
    if abs(value) >= 1 or spare < 1:
        return None, None
    variance = {"pearson": 1.0, "spearman": 1 + value**2 / 2, "kendall": 0.437}[kind] / spare
    reach = float(stats.norm.ppf((1 + LEVEL) / 2)) * variance**0.5
    middle = np.arctanh(value)
    return float(np.tanh(middle - reach)), float(np.tanh(middle + reach))


def _bound(cells: "Cells", value: float, kind: Kind, resampling: Resampling) -> Spread:
    if not resampling.draws:
        return Spread(low=None, high=None, details={"interval": "not_asked_for"})
    if kind == "kendall" and cells.n_cells > _MOST_CELLS:
        low, high = fisher_interval(value, int(cells.into.sum()), kind)
        return Spread(low=low, high=high, details={"interval": "fisher_z"})
    if cells.n_blocks < 2:
        return Spread(low=None, high=None, details={"interval": "one_block"})
    drawn = bootstrap(
        lambda weights: cells.find(weights, kind), cells.n_blocks, draws=resampling.draws,
        seed=resampling.seed,
        width=cells.n_cells if kind == "kendall" else len(cells.left),
    )  # fmt: skip
    return describe_draws(drawn, value)


def _align(x: ArrayLike, y: ArrayLike, block: ArrayLike | None) -> tuple[Floats, Floats, Ints]:
    left, right = (np.asarray(column, dtype=np.float64) for column in (x, y))
    if left.shape != right.shape or left.ndim != 1:
        raise ValueError("x and y must be flat arrays of one length.")
    blocks = np.arange(len(left)) if block is None else np.asarray(block)
    if len(blocks) != len(left):
        raise ValueError("block must be as long as x and y.")
    keep = ~np.isnan(left) & ~np.isnan(right)
    codes = np.unique(blocks[keep].astype(str), return_inverse=True)[1]
    return left[keep] + 0.0, right[keep] + 0.0, codes.astype(np.intp)


@dataclass(frozen=True, kw_only=True)
class Cells:
    """The distinct rows of two columns, and their counts in each block."""

    x: Floats  # the distinct values of the first column, ascending
    y: Floats
    left: Ints  # of each cell, its place in x
    right: Ints
    into: Any  # blocks x cells: rows; sparse, or dense where that is faster
    used: Ints | None = None  # the blocks of `into`, where they are not all

    @classmethod
    def of(cls, left: Floats, right: Floats, block: Ints, n_blocks: int = 0) -> "Cells":
        """Return the cells of two columns. Blocks are numbered by their content; with `n_blocks`
        they keep their numbers, and only those with rows are used."""
        x, at_x = np.unique(left, return_inverse=True)
        y, at_y = np.unique(right, return_inverse=True)
        cells, place = np.unique(at_x * len(y) + at_y, return_inverse=True)
        used = None
        if n_blocks:
            used, block = np.unique(block, return_inverse=True)
        else:
            block = canonical_order([block], place.astype(np.float64))[0][block]
        size = (int(block.max()) + 1, len(cells))
        into = _fill(block, place, size)
        return cls(x=x, y=y, left=cells // len(y), right=cells % len(y), into=into, used=used)

    @property
    def n_blocks(self) -> int:
        return int(self.into.shape[0])

    @property
    def n_cells(self) -> int:
        """Of the full table of both values."""
        return len(self.x) * len(self.y)

    def find(self, weights: Floats, kind: Kind) -> Floats:
        """Return the correlation for each row of weights (draws, blocks); NaN without variation."""
        weights = weights if self.used is None else weights[:, self.used]
        counts = np.asarray(weights @ self.into)
        if kind == "kendall":
            return self._kendall(counts)
        if kind == "pearson":
            rows = (self.x[self.left] - self.x.mean(), self.y[self.right] - self.y.mean())
            return _pearson(counts, *(np.broadcast_to(column, counts.shape) for column in rows))
        return _pearson(counts, self._rank(counts, self.left, len(self.x)),
                        self._rank(counts, self.right, len(self.y)))  # fmt: skip

    def _rank(self, counts: Floats, place: Ints, size: int) -> Floats:
        """Return the weighted mid-rank of each cell, centred."""
        levels = np.asarray(counts @ _fill(np.arange(len(place)), place, (len(place), size)))
        middle = np.cumsum(levels, axis=1) - levels / 2
        return (middle - levels.sum(axis=1, keepdims=True) / 2)[:, place]

    def _kendall(self, counts: Floats) -> Floats:
        table = np.zeros((len(counts), len(self.x), len(self.y)))
        table[:, self.left, self.right] = counts
        below = np.cumsum(np.cumsum(table, axis=1), axis=2)
        rows = table.sum(axis=2)
        columns = table.sum(axis=1)
        n = rows.sum(axis=1)
        concordant = (table[:, 1:, 1:] * below[:, :-1, :-1]).sum(axis=(1, 2))
        above = np.cumsum(np.cumsum(table[:, :, ::-1], axis=1), axis=2)[:, :, ::-1]
        discordant = (table[:, 1:, :-1] * above[:, :-1, 1:]).sum(axis=(1, 2))
        spread = np.sqrt((n**2 - (rows**2).sum(axis=1)) * (n**2 - (columns**2).sum(axis=1)))
        flat = spread <= _TINY * n**2
        return np.where(flat, np.nan, 2 * (concordant - discordant) / np.where(flat, 1, spread))


def _fill(row: Ints, column: Ints, size: tuple[int, int]) -> Any:
    """Return how often each cell of a table of this size occurs; dense where it is small."""
    if size[0] * size[1] > _FULL:
        return sparse.csr_array((np.ones(len(row)), (row, column)), size)
    table = np.zeros(size)
    np.add.at(table, (row, column), 1)
    return table


def _pearson(counts: Floats, x: Floats, y: Floats) -> Floats:
    n = np.maximum(counts.sum(axis=1), _TINY)
    mean_x, mean_y = (counts * x).sum(axis=1) / n, (counts * y).sum(axis=1) / n
    x, y = x - mean_x[:, None], y - mean_y[:, None]
    square_x, square_y = (counts * x**2).sum(axis=1), (counts * y**2).sum(axis=1)
    spread = np.sqrt(square_x * square_y)
    floor = n * np.abs(x).max(axis=1) * np.abs(y).max(axis=1) * _TINY
    flat = spread <= floor
    return np.where(flat, np.nan, (counts * x * y).sum(axis=1) / np.where(flat, 1, spread))


def steady(values: Floats) -> Floats:
    """Round means so that equal ones tie: sums of thirds differ in the sixteenth digit."""
    return np.round(values, _DIGITS)
