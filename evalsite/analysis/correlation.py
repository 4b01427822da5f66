"""Pearson, Spearman and Kendall's tau-b of two columns, and of each bootstrap draw of them.

Equal rows are stored once with their count, so a draw is a product of matrices: weighted mid-ranks
give Spearman, the table of both values gives tau-b.

How similarly raters order outputs: Kendall's W, and the correlations of pairs of raters.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse, stats

from evalsite.analysis.agreement import BOTH, INPUTS
from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.intervals import (
    DRAWS,
    MANY_DRAWS,
    METHOD,
    SEED,
    Resampling,
    Spread,
    bootstrap,
    describe_draws,
    two_way_weights,
)
from evalsite.analysis.ratings import (
    Coded,
    Floats,
    Ints,
    Ratings,
    canonical_order,
    canonical_rows,
    code,
    find_gap,
)

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


# --- Kendall's W, and pairs of raters ----------------------------------------------------------

SHARED = 5  # fewer shared units than this: no figure for a pair of raters
_MOST_PAIRS = 400
_WORK = 20_000_000  # cells of all pairs and draws; more: fewer draws
_LEAST_DRAWS = 500
_W = "kendall_w"


def kendall_w(matrix: ArrayLike) -> Figure:
    """Return Kendall's W of a complete matrix (n units, m raters) of values.

    `details`: chi2, df and p of Friedman's test (Kendall & Babington Smith 1939). Undefined:
    no_data, incomplete (a value is missing), no_overlap (one rater), too_few, no_variation.
    """
    table = np.asarray(matrix, dtype=np.float64)
    n, m = table.shape if table.ndim == 2 else (0, 0)
    counted = {"units": n, "raters": m}
    reason = None
    if not table.size:
        reason = Reason.NO_DATA
    elif np.isnan(table).any():
        reason = Reason.INCOMPLETE
    elif m < 2:
        reason = Reason.NO_OVERLAP
    elif n < 2:
        reason = Reason.TOO_FEW
    elif (np.ptp(table, axis=0) == 0).all():
        reason = Reason.NO_VARIATION
    if reason:
        return undefined(_W, reason, method=_W, n=counted)
    ranks = stats.rankdata(table, axis=0)
    ties = sum(
        float((np.unique(column, return_counts=True)[1] ** 3.0).sum()) - n for column in ranks.T
    )
    squares = float(((ranks.sum(axis=1) - m * (n + 1) / 2) ** 2).sum())
    value = 12 * squares / (m**2 * (n**3 - n) - m * ties)
    chi2 = m * (n - 1) * value
    details = {"chi2": chi2, "df": n - 1, "p": float(stats.chi2.sf(chi2, n - 1)),
               "ties": "mean_rank", "interval": "one_set_of_units"}  # fmt: skip
    return Figure(name=_W, method=_W, value=value, n=counted, details=details)


def kendall_w_of_sets(ratings: Ratings, *, draws: int = DRAWS, seed: int = SEED) -> Figure:
    """Return the mean of Kendall's W over groups whose systems are ranked together.

    A rater counts for a group, a set, if they rated all of it; a set counts if two raters do. Sets
    in which every rater tied everything have no W and are counted. Interval: bootstrap over raters
    and sets; a rater who is drawn twice doesn't count as agreeing with themselves. Undefined:
    no_data, raters_unknown, no_overlap, no_variation.
    """
    name, method = _W, f"{_W}+over_sets"
    if ratings.rater is None:
        return undefined(name, Reason.RATERS_UNKNOWN, method=method)
    rows = pd.DataFrame(
        {"group": ratings.get("group"), "rater": ratings.rater, "object": ratings.get("system"),
         "value": ratings.value}
    ).dropna()  # fmt: skip
    if rows.empty:
        return undefined(name, Reason.NO_DATA, method=method)
    sets = _rank_sets(rows)
    if sets.empty:
        return undefined(name, Reason.NO_OVERLAP, method=method)
    each = np.sort(sets.w.dropna().to_numpy())
    n = {"sets": len(each), "ratings": int(sets.ratings[sets.w.notna()].sum()),
         "sets_all_tied": int(sets.w.isna().sum())}  # fmt: skip
    if not each.size:
        return undefined(name, Reason.NO_VARIATION, method=method, n=n)
    if len(each) < 2:
        return Figure(name=name, method=method, value=float(each.mean()), n=n,
                      details={"interval": "one_set"}, seed=seed)  # fmt: skip
    drawn = _draw_sets(rows, draws, seed)
    spread = describe_draws(drawn, float(each.mean()))
    details = dict(spread.details)
    if spread.low is not None:
        details |= {"interval": METHOD, "over": BOTH}
    return Figure(name=name, method=method, value=float(each.mean()), low=spread.low,
                  high=spread.high, n=n, details=details, seed=seed)  # fmt: skip


def _draw_sets(rows: pd.DataFrame, draws: int, seed: int) -> Floats:
    """Return the mean of W over sets in each draw; NaN where none has two raters.

    W is (1 + (m - 1) r) / m of m raters whose ranks agree by r, a mean over pairs of raters.
    """
    whole = _keep_whole(rows)
    order, (group, rater, object_) = canonical_rows(
        whole.value, whole.group, whole.rater, whole.object
    )
    value = whole.value.to_numpy()[order]
    table = pd.DataFrame({"group": group, "rater": rater, "object": object_, "value": value})
    by_rater = table.groupby(["group", "rater"]).value
    centred = (by_rater.rank() - (by_rater.transform("size") + 1) / 2).to_numpy()
    cell = table.groupby(["group", "object"]).ngroup().to_numpy()
    set_of_cell = np.zeros(cell.max() + 1, dtype=np.intp)
    set_of_cell[cell] = group
    shape = (int(group.max()) + 1, int(rater.max()) + 1)
    ranks = sparse.csr_array((centred, (cell, rater)), shape=(len(set_of_cell), shape[1]))
    squares = sparse.csr_array((centred**2, (group, rater)), shape=shape)
    squares.sum_duplicates()
    one_each = table.drop_duplicates(["group", "rater"])
    present = sparse.csr_array(
        (np.ones(len(one_each)), (one_each.group, one_each.rater)), shape=shape
    )
    cells = np.arange(len(set_of_cell))
    to_set = sparse.csr_array(
        (np.ones(len(cells)), (set_of_cell, cells)), shape=(shape[0], len(cells))
    )
    m = np.asarray(present.sum(axis=1)).ravel()[:, None]
    drawn = []
    for of_raters, of_sets in two_way_weights(shape[1], shape[0], draws=draws, seed=seed):
        weights = of_raters.T
        number = present @ weights
        pairs = number**2 - present @ weights**2
        alike = to_set @ (ranks @ weights) ** 2 - squares @ weights**2
        spread = squares @ weights
        is_defined = (pairs > 0) & (spread > 0)
        share = np.where(is_defined, alike * number / np.where(is_defined, pairs * spread, 1), 0)
        each = np.where(is_defined, share + (1 - share) / m, 0)
        total = (is_defined * of_sets.T).sum(axis=0)
        sums = (each * of_sets.T).sum(axis=0)
        drawn.append(np.where(total > 0, sums / np.where(total > 0, total, 1), np.nan))
    # a rater who is drawn twice isn't compared with themselves, which may lead below 0
    return np.clip(np.concatenate(drawn), 0, 1)


def _keep_whole(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the ratings of sets that two raters ranked whole, by those raters."""
    size = rows.groupby("group").object.transform("nunique")
    ranked = rows.groupby(["group", "rater"]).object.transform("nunique")
    whole = rows[(size == ranked) & (size > 1)]
    raters = whole.groupby("group").rater.transform("nunique")
    return whole[raters > 1]


def _rank_sets(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each set that two raters ranked whole: its W (missing where all is tied), its
    ratings."""
    whole = _keep_whole(rows)
    if whole.empty:
        return pd.DataFrame({"w": [], "ratings": []})
    ranks = whole.groupby(["group", "rater"]).value.rank()
    sums = ranks.groupby([whole.group, whole.object]).sum()
    per_set = whole.groupby("group").agg(n=("object", "nunique"), m=("rater", "nunique"))
    tied = whole.groupby(["group", "rater", "value"]).size()
    ties = (tied**3 - tied).groupby("group").sum()
    n, m = per_set.n.astype(float), per_set.m.astype(float)
    middle = (m * (n + 1) / 2).reindex(sums.index.get_level_values(0)).to_numpy()
    squares = ((sums - middle) ** 2).groupby("group").sum()
    below = m**2 * (n**3 - n) - m * ties
    return pd.DataFrame({"w": 12 * squares / below.where(below > 0), "ratings": n * m})


def pairwise_correlation(
    ratings: Ratings, kind: Kind, *, shared: int = SHARED, draws: int = DRAWS, seed: int = SEED
) -> Figure:
    """Return the mean correlation of pairs of raters that share `shared` units or more.

    A pair in which one rater never varies has none and is counted apart
    from the "rater_pairs" that the mean is of. Of more than 400 pairs those that share most are
    used. Interval: bootstrap over inputs, for these raters, with fewer draws where pairs are many
    (see details). Undefined: no_data, raters_unknown, no_overlap, no_variation.
    """
    data = code(ratings)
    name = "pairwise_tau_b" if kind == "kendall" else f"pairwise_{kind}"
    method = f"{METHODS[kind]}+over_rater_pairs"
    reason = find_gap(data)
    if data.rater is None and reason is not Reason.NO_DATA:
        reason = Reason.RATERS_UNKNOWN
    n = data.counts_of_overlapping()
    if reason:
        return undefined(name, reason, method=method, n=n)
    pairs = _pair_up(data, shared)
    details: dict[str, Any] = {"pairs": len(pairs), "shared_units_at_least": shared}
    if not pairs:
        return undefined(name, Reason.NO_OVERLAP, method=method, n=n, details=details)

    def find(weights: Floats) -> Floats:
        each = np.stack([pair.find(weights, kind) for pair in pairs])
        defined = ~np.isnan(each)
        number = defined.sum(axis=0)
        total = np.where(defined, each, 0).sum(axis=0)
        return np.where(number > 0, total / np.maximum(number, 1), np.nan)

    ones = np.ones((1, data.n_blocks))
    whole = float(find(ones)[0])
    flat = sum(bool(np.isnan(pair.find(ones, kind)[0])) for pair in pairs)
    details["pairs_without_variation"] = flat
    n["rater_pairs"] = len(pairs) - flat
    if np.isnan(whole):
        return undefined(name, Reason.NO_VARIATION, method=method, n=n, details=details)
    low = high = None
    if draws and data.n_blocks > 1:
        work = sum(_weigh(pair, kind) for pair in pairs)
        draws = min(draws, max(_LEAST_DRAWS, _WORK // work))
        width = max(_weigh(pair, kind) for pair in pairs)
        drawn = bootstrap(find, data.n_blocks, draws=draws, seed=seed, width=width)
        spread = describe_draws(drawn, whole)
        low, high, details = spread.low, spread.high, details | spread.details
        if details["interval"] == "bootstrap":
            interval = "bootstrap_of_inputs"
            details |= {"interval": interval, "over": INPUTS}
    return Figure(name=name, method=method, value=whole, low=low, high=high, n=n,
                  details=details, seed=seed)  # fmt: skip


def _weigh(pair: Cells, kind: Kind) -> int:
    return pair.n_cells if kind == "kendall" else len(pair.left)


def _pair_up(data: Coded, least: int) -> list[Cells]:
    """Return for each pair of raters with enough shared units the values of both there."""
    rater = data.rater
    assert rater is not None
    shares = _find_shared(data.unit, rater, least)
    rows = {int(number): np.flatnonzero(rater == number) for number in np.unique(shares[:, :2])}
    pairs = []
    for first, second, _ in shares:
        left, right = rows[int(first)], rows[int(second)]
        _, at_left, at_right = np.intersect1d(
            data.unit[left], data.unit[right], return_indices=True
        )
        left, right = left[at_left], right[at_right]
        pairs.append(Cells.of(data.value[left], data.value[right], data.block[left],
                              data.n_blocks))  # fmt: skip
    return pairs


def _find_shared(unit: Ints, rater: Ints, least: int) -> Ints:
    """Return (pairs, 3): two raters and how many units they share, most first."""
    meet = pd.DataFrame({"unit": unit, "rater": rater})
    both = meet.merge(meet, on="unit", suffixes=("", "_2"))
    both = both[both.rater < both.rater_2]
    number = both.groupby(["rater", "rater_2"]).size()
    number = number[number >= least].reset_index(name="n")
    number = number.sort_values(["n", "rater", "rater_2"], ascending=[False, True, True])
    return number.head(_MOST_PAIRS).to_numpy(dtype=np.intp).reshape(-1, 3)
