"""Plackett-Luce: strengths of systems from their order within one screen, with ties.

P(a before b before c) = product over places of strength / sum of strengths still left (Luce 1959,
Plackett 1975). A tie counts as the average log-likelihood over all orders of the tied systems: the
mean result of breaking ties at random. So a tie says that systems are alike, as half a win each way
does; with the sum of the probabilities of all orders, which some use, it would say nothing about
them. Fitted by maximum likelihood; the order of presentation isn't modelled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse, special
from scipy.sparse import csgraph

from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.intervals import (
    ALL_THE_SAME,
    SEED,
    certainly_above,
    describe_draws,
    draws_for,
    find_clusters,
    order_ranges,
    rank_ranges,
    two_way_sums,
)
from evalsite.analysis.intervals import METHOD as OVER_BOTH
from evalsite.analysis.intervals import METHOD_ITEMS as OVER_ITEMS
from evalsite.analysis.ratings import Ratings, canonical_rows
from evalsite.analysis.strengths import climb_tables

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
# The systems of one screen from best to worst; tied systems are grouped.
Order = tuple[tuple[int, ...], ...]

METHOD = "plackett_luce"
MOST_ORDERS = 720  # to which the ties of one screen may expand: six tied, or three and five
_NUMBERS = 500_000  # of one array of a step, at most
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


def read_rankings(ratings: Ratings) -> Rankings:
    """Return the orders within screens: the values of one rater on one block, highest first.

    Groups separate several screens of one rater and block. Screens with one system, or with more
    ties than MOST_ORDERS allows, are left out.
    """
    rater, screen = ratings.rater, ratings.group
    names = np.asarray(pd.Series(ratings.get("system")).astype(str))
    systems, place = np.unique(names, return_inverse=True)
    values = ratings.value
    page = pd.DataFrame(
        {
            "rater": 0 if rater is None else rater,
            "item": ratings.get("block"),
            "screen": 0 if screen is None else screen,
        }
    )
    unit = page.groupby(list(page)).ngroup().to_numpy(np.int64) if len(page) else page.index
    pages = page.groupby(list(page)).first().index.to_frame(index=False)
    levels = _levels(np.asarray(unit), place, values, (len(pages), len(systems)))
    kept = _usable(levels)
    distinct, inverse = np.unique(levels[kept], axis=0, return_inverse=True)
    code = inverse.ravel()
    rows, (who, items) = canonical_rows(code, pages["rater"][kept], pages["item"][kept])
    return Rankings(
        systems=[str(name) for name in systems],
        orders=[
            tuple(
                tuple(np.flatnonzero(row == level).tolist()) for level in range(int(row.max()) + 1)
            )
            for row in distinct
        ],
        rater=None if rater is None else who,
        item=items,
        order=np.asarray(code[rows], dtype=np.int64),
        screens=len(code),
        left_out=int((~kept).sum()),
    )


def _levels(unit: Codes, system: Codes, value: Floats, shape: tuple[int, int]) -> Codes:
    """Return the rank of each system on each screen (screens, systems): best 0, ties equal, absent
    -1."""
    cell = unit * shape[1] + system
    count = np.bincount(cell, minlength=shape[0] * shape[1])
    sums = np.bincount(cell, weights=value, minlength=shape[0] * shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.round(sums / count, 9).reshape(shape)
    ordered = -np.sort(-mean, axis=1)  # the highest first, absent ones (NaN) last
    levels = np.full(shape, -1, dtype=np.int64)
    step = np.zeros(shape[0], dtype=np.int64)
    for place in range(shape[1]):
        if place:
            step += ordered[:, place] < ordered[:, place - 1]
        rows, columns = np.nonzero(mean == ordered[:, place][:, None])
        levels[rows, columns] = step[rows]
    return levels


def _usable(levels: Codes) -> NDArray[np.bool_]:
    """Return which screens have two systems or more, and no more ties than can be expanded."""
    orders = np.ones(len(levels))
    for level in range(levels.shape[1]):
        orders *= special.factorial((levels == level).sum(axis=1))
    shown = (levels >= 0).sum(axis=1)
    return np.asarray((shown > 1) & (orders <= MOST_ORDERS))


@dataclass(frozen=True, kw_only=True)
class _Choices:
    """Orders as successive choices, each of a system from those that are left.

    A tie counts as all its orders in equal parts. So the log-likelihood of theta is the sum of
    `ranked` * theta minus the sum of `made` * log(sum of exp(theta) over the systems left).
    """

    ranked: Floats  # (orders, systems): 1 for the systems of the order
    left: NDArray[np.bool_]  # (sets, systems): the systems to choose from
    made: sparse.csr_matrix  # (orders, sets): how many choices an order makes from each set


def _list_choices(orders: Sequence[Order], systems: int) -> _Choices:
    sets: dict[tuple[int, ...], int] = {}
    cells: list[tuple[int, int, float]] = []
    for number, order in enumerate(orders):
        after = [system for level in order for system in level]
        for level in order:
            after = after[len(level) :]
            for size in range(1, len(level) + 1):
                subsets = [*combinations(level, size)]
                for subset in subsets:
                    place = sets.setdefault(tuple(sorted((*subset, *after))), len(sets))
                    cells.append((number, place, 1 / len(subsets)))
    left = np.zeros((len(sets), systems), dtype=bool)
    for members, place in sets.items():
        left[place, list(members)] = True
    row, column, share = (np.array(part) for part in zip(*cells, strict=True))
    return _Choices(
        ranked=(find_levels(orders, systems) >= 0).astype(np.float64),
        left=left,
        made=sparse.csr_matrix((share, (row, column)), shape=(len(orders), len(sets))),
    )


def _fit(counts: Floats, choices: _Choices, start: Floats) -> tuple[Floats, Floats]:
    """Return log strengths (draws, systems), the first at 0, and log-likelihoods (draws,).

    `counts` (draws, orders): how often each order was seen.
    """
    together = max(1, _NUMBERS // choices.left.size)
    parts = [
        _fit_together(counts[at : at + together], choices, start)
        for at in range(0, len(counts), together)
    ]
    theta, loglik = (np.concatenate(part) for part in zip(*parts, strict=True))
    return theta, loglik


def _fit_together(counts: Floats, choices: _Choices, start: Floats) -> tuple[Floats, Floats]:
    ranked, made = counts @ choices.ranked, counts @ choices.made

    def evaluate(free: Floats, tables: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        theta = np.pad(free, ((0, 0), (1, 0)))
        top = theta.max(axis=1, keepdims=True)
        weight = np.exp(theta - top)[:, None, :] * choices.left
        sums = weight.sum(axis=2, keepdims=True)
        share = weight / sums
        taken = share * made[tables][:, :, None]
        expected = taken.sum(axis=1)
        gradient = ranked[tables] - expected
        hessian = expected[:, :, None] * np.eye(theta.shape[1]) - share.transpose(0, 2, 1) @ taken
        logs = np.log(sums[:, :, 0]) + top
        loglik = (ranked[tables] * theta).sum(axis=1) - (made[tables] * logs).sum(axis=1)
        return gradient[:, 1:], hessian[:, 1:, 1:], loglik

    free, _, loglik = climb_tables(evaluate, start[1:], answers=counts.sum(axis=1))
    return np.pad(free, ((0, 0), (1, 0))), loglik


def find_fault(orders: Sequence[Order], systems: int) -> Reason | None:
    """Return why no finite strengths exist; None if they do."""
    if not orders:
        return Reason.NO_DATA
    if all(len(order) == 1 for order in orders):
        return Reason.NO_DECIDED_PAIRS
    level = find_levels(orders, systems)
    met = ((level[:, :, None] >= 0) & (level[:, None, :] >= 0)).any(axis=0)
    if csgraph.connected_components(sparse.csr_matrix(met), directed=False)[0] > 1:
        return Reason.DISCONNECTED
    seen = np.ones((1, len(orders)))
    return Reason.SEPARATED if _find_separated(level, seen)[0] else None


def find_levels(orders: Sequence[Order], systems: int) -> Codes:
    """Return the rank of each system in each order (orders, systems): best 0, absent -1."""
    levels = np.full((len(orders), systems), -1, dtype=np.int64)
    for number, order in enumerate(orders):
        for place, level in enumerate(order):
            levels[number, list(level)] = place
    return levels


def _find_separated(level: Codes, counts: Floats) -> NDArray[np.bool_]:
    """Return for each table (draws, orders) whether some systems are always above some others.

    If so, their strengths are infinite.
    """
    upper, lower = level[:, :, None], level[:, None, :]
    above = (upper >= 0) & (lower >= 0) & (upper <= lower)  # or tied
    systems = level.shape[1]
    links = (counts > 0) @ sparse.csr_matrix(above.reshape(len(level), -1).astype(np.float32))
    reached = (links > 0).reshape(-1, systems, systems).astype(np.float32)
    for _ in range(max(1, systems - 1).bit_length()):
        # twice as many steps from one system to another
        reached = (reached @ reached > 0).astype(np.float32)
    return np.asarray((reached == 0).any(axis=(1, 2)))


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
    """Return the strengths of all systems from the orders, with two-way bootstrap intervals.

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
            system: undefined("log_strength", fault, method=METHOD, n=n) for system in data.systems
        }
        return PlackettResult(
            strengths=figures, loglik=None, rank_ranges={}, clusters=[], screens=data.screens,
            left_out=data.left_out,
        )  # fmt: skip
    choices = _list_choices(data.orders, s)
    [theta], [loglik] = _fit(data.counts[None], choices, np.zeros(s))
    drawn = _draw(data, choices, theta, draws or min(draws_for(data.screens), 500), seed)
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
        loglik=float(loglik),
        rank_ranges=ranges,
        clusters=clusters,
        screens=data.screens,
        left_out=data.left_out,
    )


def _draw(data: Rankings, choices: _Choices, theta: Floats, draws: int, seed: int) -> Floats:
    """Return the strengths (draws, systems) of each draw; NaN where a draw has no finite ones."""
    seen = sparse.csc_matrix((np.ones(data.screens), (np.arange(data.screens), data.order)))
    tables = two_way_sums(data.rater, data.item, seen, draws=draws, seed=seed)
    has_end = ~_find_separated(find_levels(data.orders, len(data.systems)), tables)
    drawn = np.full((len(tables), len(data.systems)), np.nan)
    if has_end.any():
        drawn[has_end] = _fit(tables[has_end], choices, theta)[0]
    return drawn - drawn.mean(axis=1, keepdims=True)


def _figure(score: float, drawn: Floats, n: dict[str, int], seed: int) -> Figure:
    left_out = int(np.isnan(drawn).sum())
    known: dict[str, Any] = {"ties": "average_over_orders", "draws_separated": left_out}
    if n["items"] < 2 or not np.nanmax(np.abs(drawn - score), initial=0.0) > 0:
        known["interval"] = ALL_THE_SAME
        return Figure(name="log_strength", method=METHOD, value=score, n=n, details=known)
    if left_out > MOST_SEPARATED * len(drawn):
        known |= {"interval": str(Reason.SEPARATED), "draws": len(drawn)}
        return Figure(
            name="log_strength", method=METHOD, value=score, n=n, seed=seed, details=known
        )
    spread = describe_draws(drawn, score)
    over = OVER_BOTH if "raters" in n else OVER_ITEMS
    return Figure(
        name="log_strength", method=METHOD, value=score, low=spread.low, high=spread.high, n=n,
        seed=seed, details=spread.details | known | {"interval": over},
    )  # fmt: skip


def _rank(
    systems: list[str], scores: Floats, drawn: Floats
) -> tuple[dict[str, tuple[int, int]], list[list[str]]]:
    above = certainly_above(drawn)
    if above is None:
        return {}, []
    parts = [[systems[system] for system in part] for part in find_clusters(scores, above)]
    ranges = dict(zip(systems, rank_ranges(above), strict=True))
    return order_ranges(dict(zip(systems, scores.tolist(), strict=True)), ranges), parts
