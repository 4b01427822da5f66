"""Plackett-Luce: strengths of systems from their order within one screen, with ties.

P(a before b before c) = product over places of strength / sum of strengths still left (Luce 1959,
Plackett 1975). A tie counts as the average over all orders of the systems tied: what breaking ties
by chance gives, over and over, without the chance. So a tie says that systems are alike, as half a
win each way does; the sum of the chances of all orders, which some use, would let it say nothing of
them. Fitted by maximum likelihood; no order of presentation enters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, sparse, special
from scipy.sparse import csgraph

from evalsite.analysis.bootstrap import METHOD as OVER_BOTH
from evalsite.analysis.bootstrap import METHOD_ITEMS as OVER_ITEMS
from evalsite.analysis.bootstrap import draws_for, two_way_sums
from evalsite.analysis.clusters import certainly_above, find_clusters, order_ranges, rank_ranges
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.rated_order import canonical_rows
from evalsite.analysis.resample import ALL_THE_SAME, SEED, describe_draws

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
# The systems of one screen from best to worst; tied systems are grouped.
Order = tuple[tuple[int, ...], ...]

METHOD = "Plackett-Luce on the order within a page, a tie as the average over its orders"
MOST_ORDERS = 720  # to which the ties of one screen may expand: six tied, or three and five
FAR = 15.0
MOST_SEPARATED = 0.05  # of the draws; with more of them without strengths there is no interval


@dataclass(frozen=True, kw_only=True)
class Rankings:
    """Distinct orders and how often each was seen; rows of (rater, item, order) beside them."""

    systems: list[str]
    orders: list[Order]
    rater: Codes | None
    item: Codes
    order: Codes  # (screens,)
    screens: int
    left_out: int  # screens with one system, or with too many ties

    @property
    def counts(self) -> Floats:
        """How often each order was seen."""
        return np.bincount(self.order, minlength=len(self.orders)).astype(np.float64)


def read_rankings(
    *,
    rater: Any | None,
    item: Any,
    system: Any,
    value: Any,
    keep_ties: bool = True,
    screen: Any | None = None,
) -> Rankings:
    """The orders within screens: the values of one rater on one item, highest first.

    All (n,); `screen` parts several screens of one rater and item. Without `keep_ties` screens with
    a tie are left out, as are screens with one system or with more ties than MOST_ORDERS allows.
    """
    systems, place = np.unique(np.asarray(pd.Series(system).astype(str)), return_inverse=True)
    values = np.asarray(value, dtype=np.float64)
    page = pd.DataFrame(
        {
            "rater": 0 if rater is None else np.asarray(rater),
            "item": np.asarray(item),
            "screen": 0 if screen is None else np.asarray(screen),
        }
    )
    unit = page.groupby(list(page)).ngroup().to_numpy(np.int64) if len(page) else page.index
    pages = page.groupby(list(page)).first().index.to_frame(index=False)
    levels = _levels(np.asarray(unit), place, values, (len(pages), len(systems)))
    kept = _usable(levels, keep_ties)
    distinct, inverse = np.unique(levels[kept], axis=0, return_inverse=True)
    code = inverse.ravel()
    rows, (who, what) = canonical_rows(code, pages["rater"][kept], pages["item"][kept])
    return Rankings(
        systems=[str(one) for one in systems],
        orders=[_order(row) for row in distinct],
        rater=None if rater is None else who,
        item=what,
        order=np.asarray(code[rows], dtype=np.int64),
        screens=len(code),
        left_out=int((~kept).sum()),
    )


def _levels(unit: Codes, system: Codes, value: Floats, shape: tuple[int, int]) -> Codes:
    """The place of each system on each screen (screens, systems): best 0, ties equal, absent -1."""
    cell = unit * shape[1] + system
    count = np.bincount(cell, minlength=shape[0] * shape[1])
    sums = np.bincount(cell, weights=value, minlength=shape[0] * shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.round(sums / count, 9).reshape(shape)
    ordered = -np.sort(-mean, axis=1)  # the highest first, absent ones (NaN) last
    found = np.full(shape, -1, dtype=np.int64)
    step = np.zeros(shape[0], dtype=np.int64)
    for place in range(shape[1]):
        if place:
            step += ordered[:, place] < ordered[:, place - 1]
        rows, columns = np.nonzero(mean == ordered[:, place][:, None])
        found[rows, columns] = step[rows]
    return found


def _usable(levels: Codes, keep_ties: bool) -> NDArray[np.bool_]:
    """The screens with two systems or more, and no more of them tied than can be taken."""
    orders = np.ones(len(levels))
    for level in range(levels.shape[1]):
        orders *= special.factorial((levels == level).sum(axis=1))
    shown = (levels >= 0).sum(axis=1)
    return np.asarray((shown > 1) & (orders <= (MOST_ORDERS if keep_ties else 1)))


def _order(levels: Codes) -> Order:
    return tuple(
        tuple(int(one) for one in np.flatnonzero(levels == level))
        for level in range(int(levels.max()) + 1)
    )


@dataclass(frozen=True, kw_only=True)
class _Paths:
    """Every strict order behind the orders, as rows of choices to be summed."""

    first: list[Codes]  # by place: the system chosen, -1 past the end
    left: list[NDArray[np.bool_]]  # by place: (paths, systems) still to choose from
    order: Codes  # (paths,) which order the path belongs to


def _paths(orders: Sequence[Order], systems: int) -> _Paths:
    rows: list[tuple[int, ...]] = []
    owner = []
    for number, order in enumerate(orders):
        strict: list[tuple[int, ...]] = [()]
        for level in order:
            strict = [before + more for before in strict for more in permutations(level)]
        rows += strict
        owner += [number] * len(strict)
    longest = max((len(row) for row in rows), default=0)
    left = np.zeros((len(rows), systems), dtype=bool)
    for k, row in enumerate(rows):
        left[k, list(row)] = True
    first, remaining = [], []
    for place in range(longest - 1):
        chosen = np.array([row[place] if place < len(row) - 1 else -1 for row in rows])
        first.append(chosen)
        remaining.append(left.copy())
        there = chosen >= 0
        left[np.flatnonzero(there), chosen[there]] = False
    return _Paths(first=first, left=remaining, order=np.array(owner, dtype=np.int64))


def _log_likelihoods(theta: Floats, paths: _Paths, orders: int) -> tuple[Floats, Floats]:
    """The log chance of each order (orders,), averaged over its paths, and its slope."""
    chance, slope = np.zeros(len(paths.order)), np.zeros((len(paths.order), len(theta)))
    for chosen, left in zip(paths.first, paths.left, strict=True):
        there = np.flatnonzero(chosen >= 0)
        weight = np.where(left[there], np.exp(theta - theta.max()), 0.0)
        share = weight / weight.sum(axis=1, keepdims=True)
        chance[there] += np.log(share[np.arange(len(there)), chosen[there]])
        slope[there] -= share
        slope[there, chosen[there]] += 1
    each = np.bincount(paths.order, minlength=orders)
    mean = np.zeros((orders, len(theta)))
    np.add.at(mean, paths.order, slope)
    return np.bincount(paths.order, weights=chance, minlength=orders) / each, mean / each[:, None]


def _fit(counts: Floats, paths: _Paths, start: Floats) -> tuple[Floats, float]:
    """Log strengths, the first at 0, and the log-likelihood."""

    def loss(free: Floats) -> tuple[float, Floats]:
        theta = np.concatenate([[0.0], free])
        chance, slope = _log_likelihoods(theta, paths, len(counts))
        return -float(counts @ chance), -(counts @ slope)[1:]

    bounds = [(-FAR, FAR)] * (len(start) - 1)
    options = {"ftol": 1e-13, "gtol": 1e-8, "maxiter": 500}
    found = optimize.minimize(
        loss, start[1:], jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    return np.concatenate([[0.0], found.x]), -float(found.fun)


def find_fault(orders: Sequence[Order], systems: int) -> Reason | None:
    """Say why no finite strengths exist: some system is never above, or never below, others."""
    if not orders:
        return Reason.NO_DATA
    if all(len(order) == 1 for order in orders):
        return Reason.NO_DECIDED_PAIRS
    level = find_levels(orders, systems)
    met = ((level[:, :, None] >= 0) & (level[:, None, :] >= 0)).any(axis=0)
    if csgraph.connected_components(sparse.csr_matrix(met), directed=False)[0] > 1:
        return Reason.DISCONNECTED
    return Reason.SEPARATED if _is_separated(_find_above(level)) else None


def find_levels(orders: Sequence[Order], systems: int) -> Codes:
    """The place of each system in each order (orders, systems): best 0, absent -1."""
    found = np.full((len(orders), systems), -1, dtype=np.int64)
    for number, order in enumerate(orders):
        for place, level in enumerate(order):
            found[number, list(level)] = place
    return found


def _find_above(level: Codes) -> NDArray[np.bool_]:
    """Return whether a system is above another, or tied with it, in each order."""
    one, other = level[:, :, None], level[:, None, :]
    return np.asarray((one >= 0) & (other >= 0) & (one <= other))


def _is_separated(above: NDArray[np.bool_]) -> bool:
    """Return whether some systems are always above some others (orders, systems, systems), so that
    strengths have no end."""
    links = sparse.csr_matrix(above.any(axis=0))
    parts = csgraph.connected_components(links, connection="strong")[0]
    return bool(parts > 1)


@dataclass(frozen=True, kw_only=True)
class PlackettResult:
    """Log strengths that sum to 0, rank ranges and clusters; `loglik` None where undefined."""

    strengths: dict[str, Figure]
    loglik: float | None
    rank_ranges: dict[str, tuple[int, int]]
    clusters: list[list[str]]
    screens: int
    left_out: int


def rank_within_screens(
    data: Rankings, *, seed: int = SEED, draws: int | None = None
) -> PlackettResult:
    """Strengths of all systems from the orders, with two-way bootstrap intervals.

    Draws in which some systems are always above others have no finite strengths: they are left
    out and counted. Where they are more than 5% of all, there are no intervals and no ranks.
    """
    s = len(data.systems)
    n = {"pages": data.screens, "items": len(set(data.item.tolist()))}
    if data.rater is not None:
        n["raters"] = len(set(data.rater.tolist()))
    fault = find_fault(data.orders, s)
    if fault is not None:
        figures = {
            one: undefined("log_strength", fault, method=METHOD, n=n) for one in data.systems
        }
        return PlackettResult(
            strengths=figures, loglik=None, rank_ranges={}, clusters=[], screens=data.screens,
            left_out=data.left_out,
        )  # fmt: skip
    paths = _paths(data.orders, s)
    theta, loglik = _fit(data.counts, paths, np.zeros(s))
    drawn = _draw(data, paths, theta, draws or min(draws_for(data.screens), 500), seed)
    scores = theta - theta.mean()
    separated = np.isnan(drawn).any(axis=1)
    figures = {
        system: _figure(float(scores[k]), drawn[:, k], n, seed)
        for k, system in enumerate(data.systems)
    }
    is_known = separated.mean() <= MOST_SEPARATED
    ranges, clusters = _rank(data.systems, scores, drawn[~separated]) if is_known else ({}, [])
    return PlackettResult(
        strengths=figures,
        loglik=loglik,
        rank_ranges=ranges,
        clusters=clusters,
        screens=data.screens,
        left_out=data.left_out,
    )


def _draw(data: Rankings, paths: _Paths, theta: Floats, draws: int, seed: int) -> Floats:
    """The strengths (draws, systems) of each draw; NaN where a draw has none that are finite."""
    one = sparse.csc_matrix((np.ones(data.screens), (np.arange(data.screens), data.order)))
    tables = two_way_sums(data.rater, data.item, one, draws=draws, seed=seed)
    above = _find_above(find_levels(data.orders, len(data.systems)))
    drawn = np.full((len(tables), len(data.systems)), np.nan)
    for number, table in enumerate(tables):
        if not _is_separated(above[table > 0]):
            drawn[number] = _fit(table, paths, theta)[0]
    return drawn - drawn.mean(axis=1, keepdims=True)


def _figure(score: float, drawn: Floats, n: dict[str, int], seed: int) -> Figure:
    left_out = int(np.isnan(drawn).sum())
    known: dict[str, Any] = {"ties": "average over all orders", "draws_separated": left_out}
    if n["items"] < 2 or not np.nanmax(np.abs(drawn - score), initial=0.0) > 0:
        known["interval"] = ALL_THE_SAME
        return Figure(name="log_strength", method=METHOD, value=score, n=n, details=known)
    if left_out > MOST_SEPARATED * len(drawn):
        known |= {"interval": f"none: {Reason.SEPARATED}", "draws": len(drawn)}
        return Figure(
            name="log_strength", method=METHOD, value=score, n=n, seed=seed, details=known
        )
    spread = describe_draws(drawn)
    over = OVER_BOTH if "raters" in n else OVER_ITEMS
    return Figure(
        name="log_strength", method=METHOD, value=score, low=spread.low, high=spread.high, n=n,
        seed=seed, details=spread.details | known | {"interval": f"{over}, percentile"},
    )  # fmt: skip


def _rank(
    systems: list[str], scores: Floats, drawn: Floats
) -> tuple[dict[str, tuple[int, int]], list[list[str]]]:
    above = certainly_above(drawn)
    if above is None:
        return {}, []
    parts = [[systems[one] for one in part] for part in find_clusters(scores, above)]
    ranges = dict(zip(systems, rank_ranges(above), strict=True))
    return order_ranges(dict(zip(systems, scores.tolist(), strict=True)), ranges), parts
