"""Plackett-Luce: strengths of systems from their order within one screen, with ties.

P(a before b before c) = product over places of strength / sum of strengths still left (Luce 1959,
Plackett 1975). A tie counts as the average log-likelihood over all orders of the tied systems: the
mean result of breaking ties at random. So a tie says that systems are alike, as half a win each way
does; with the sum of the probabilities of all orders, which some use, it would say nothing about
them. Systems that were shown without a place come after all that have one, in no order.

Of best and worst, P(b, w) is the sum over all orders of the others of P(b, these, w). On a screen
of more than six systems it is that of the best one, times that of the worst of the others where all
is turned round. Fitted by maximum likelihood; the order of presentation isn't modelled.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, Protocol

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
# The systems of one screen from best to worst; tied systems are grouped. Last are those without a
# place, if there are any: a group that nothing is known of but that all others come before it.
Order = tuple[tuple[int, ...], ...]

METHOD = "plackett_luce"
MOST_ORDERS = 720  # to which the ties of one screen may expand: six tied, or three and five
_NUMBERS = 500_000  # of one array of a step, at most
MOST_SEPARATED = 0.05  # of the draws; with more of them without strengths there is no interval
_MOST_SUMMED = 6  # systems of a screen whose orders are summed where best and worst are known
_ABSENT, _OPEN, _WORST = -1, 98, 99  # levels beside those of places


@dataclass(frozen=True, kw_only=True)
class Rankings:
    """Distinct orders and how often each was seen; rows of (rater, item, order) beside them.

    `levels` (orders, systems): the place of each system, from 0; _ABSENT if it wasn't shown, _OPEN
    without a place. Where only the best and the worst are known (`are_ends`): 0, _WORST and, of all
    others, _OPEN.
    """

    systems: list[str]
    levels: Codes
    are_ends: bool
    rater: Codes | None
    item: Codes
    order: Codes  # (screens,)
    screens: int
    left_out: int  # screens with one system, or with too many ties

    @property
    def counts(self) -> Floats:
        """How often each order was seen."""
        return np.bincount(self.order, minlength=len(self.levels)).astype(np.float64)


def read_rankings(
    ratings: Ratings,
    shown: Sequence[Collection[str]] = (),
    *,
    are_ends: bool = False,
    most_orders: float = MOST_ORDERS,
) -> Rankings:
    """Return the orders within screens: the values of one rater on one block, highest first.

    Groups separate several screens of one rater and block. `shown`: for each rating the systems of
    its screen, those without a rating among them. `are_ends`: 1 is the best, -1 the worst. Left out
    are screens with one system, with ties that expand to more orders than `most_orders`, or without
    both ends.
    """
    rater, screen = ratings.rater, ratings.group
    names = np.asarray(pd.Series(ratings.get("system")).astype(str))
    systems = np.unique([*names, *(name for listed in shown for name in listed)])
    place = np.searchsorted(systems, names)
    page = pd.DataFrame(
        {
            "rater": 0 if rater is None else rater,
            "item": ratings.get("block"),
            "screen": 0 if screen is None else screen,
        }
    )
    unit = page.groupby(list(page)).ngroup().to_numpy(np.int64) if len(page) else page.index
    pages = page.groupby(list(page)).first().index.to_frame(index=False)
    levels = _levels(np.asarray(unit), place, ratings.value, (len(pages), len(systems)))
    for number, listed in zip(unit, shown, strict=False):
        at = np.searchsorted(systems, list(listed))
        levels[number, at[levels[number, at] == _ABSENT]] = _OPEN
    if are_ends:
        levels[levels == 1] = _WORST
    kept = _usable(levels, are_ends=are_ends, most_orders=most_orders)
    distinct, inverse = np.unique(levels[kept], axis=0, return_inverse=True)
    code = inverse.ravel()
    rows, (who, items) = canonical_rows(code, pages["rater"][kept], pages["item"][kept])
    return Rankings(
        systems=[str(name) for name in systems],
        levels=distinct,
        are_ends=are_ends,
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


def _usable(levels: Codes, *, are_ends: bool, most_orders: float) -> NDArray[np.bool_]:
    """Return which screens have two systems or more, and no more ties than can be expanded."""
    if are_ends:
        ends = ((levels == 0).sum(axis=1) == 1) & ((levels == _WORST).sum(axis=1) == 1)
        return np.asarray(ends)
    orders = np.ones(len(levels))
    for level in range(levels.shape[1]):
        orders *= special.factorial((levels == level).sum(axis=1))
    shown = (levels >= 0).sum(axis=1)
    return np.asarray((shown > 1) & (orders <= most_orders))


class Likelihood(Protocol):
    """What the strengths of systems are fitted by, for many tables of counts at once."""

    size: int  # numbers of one table at each step

    def evaluate(self, theta: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
        """Return gradient, curvature and log-likelihood at log strengths (tables, systems)."""
        ...


class _Choices:
    """Orders as successive choices, each of a system from those that are left.

    A tie counts as all its orders in equal parts. So the log-likelihood of theta is the sum of
    `ranked` * theta minus the sum of `made` * log(sum of exp(theta) over the systems left).
    """

    def __init__(self, levels: Codes) -> None:
        sets: dict[tuple[int, ...], int] = {}
        cells: list[tuple[int, int, float]] = []
        for number, row in enumerate(levels):
            after = np.flatnonzero(row != _ABSENT).tolist()
            for at in range(int(row[row < _OPEN].max(initial=-1)) + 1):
                level = np.flatnonzero(row == at).tolist()
                after = [system for system in after if system not in level]
                for size in range(1, len(level) + 1):
                    subsets = [*combinations(level, size)]
                    for subset in subsets:
                        place = sets.setdefault(tuple(sorted((*subset, *after))), len(sets))
                        cells.append((number, place, 1 / len(subsets)))
        row_of, column, share = (np.array(part) for part in zip(*cells, strict=True))
        self.left = _mark(sets, levels.shape[1])
        self.size = self.left.size
        self._ranked = ((levels != _ABSENT) & (levels < _OPEN)).astype(np.float64)
        shape = (len(levels), len(sets))
        self._made = sparse.csr_matrix((share, (row_of, column)), shape=shape)

    def evaluate(self, theta: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
        ranked, made = counts @ self._ranked, counts @ self._made
        share, logs = _share(theta, self.left)
        taken = share * made[:, :, None]
        expected = taken.sum(axis=1)
        hessian = expected[:, :, None] * np.eye(theta.shape[1]) - share.transpose(0, 2, 1) @ taken
        loglik = (ranked * theta).sum(axis=1) - (made * logs).sum(axis=1)
        return ranked - expected, hessian, loglik


class _Ends:
    """The best and the worst of a screen, summed over the orders of all others.

    The curvature is that of orders as if they were known, which no step overshoots.
    """

    def __init__(self, levels: Codes) -> None:
        sets: dict[tuple[int, ...], int] = {}
        cells: list[tuple[int, int]] = []
        of: list[int] = []  # of each order, the answer that it belongs to
        turned: dict[tuple[int, ...], int] = {}
        self._reduced = np.zeros((len(levels), 2), dtype=np.int64) - 1
        for number, row in enumerate(levels):
            best, worst = int(np.flatnonzero(row == 0)[0]), int(np.flatnonzero(row == _WORST)[0])
            middle = np.flatnonzero(row == _OPEN).tolist()
            if len(middle) + 2 > _MOST_SUMMED:
                rest = tuple(sorted((*middle, worst)))
                self._reduced[number] = worst, turned.setdefault(rest, len(turned))
                cells.append((len(of), sets.setdefault(tuple(sorted((best, *rest))), len(sets))))
                of.append(number)
                continue
            for order in permutations(middle):
                whole = (best, *order, worst)
                for at in range(len(whole) - 1):
                    left = tuple(sorted(whole[at:]))
                    cells.append((len(of), sets.setdefault(left, len(sets))))
                of.append(number)
        rows, columns = (np.array(part) for part in zip(*cells, strict=True))
        self._sets = sparse.csr_matrix((np.ones(len(cells)), (rows, columns)))
        self._of, self._first = np.array(of), np.unique(of, return_index=True)[1]
        is_whole = self._reduced[:, :1] < 0
        chosen = np.where(is_whole, (levels != _ABSENT) & (levels != _WORST), levels == 0)
        self._chosen = chosen.astype(np.float64)
        self.left, self._turned = _mark(sets, levels.shape[1]), _mark(turned, levels.shape[1])
        self.size = self.left.size + len(of)

    def evaluate(self, theta: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
        share, logs = _share(theta, self.left)
        each = -(self._sets @ logs.T).T  # log-likelihood of each order, but for what was chosen
        most = np.maximum.reduceat(each, self._first, axis=1)
        weight = np.exp(each - most[:, self._of])
        total = np.add.reduceat(weight, self._first, axis=1)
        weight *= (counts / total)[:, self._of]
        taken = (self._sets.T @ weight.T).T
        gradient = counts @ self._chosen - (share * taken[:, :, None]).sum(axis=1)
        hessian = _curve(share, taken)
        answers = (self._chosen @ theta.T).T + most + np.log(total)
        if len(self._turned):
            more = self._turn(theta, counts)
            gradient, hessian, answers = gradient + more[0], hessian + more[1], answers + more[2]
        return gradient, hessian, (counts * answers).sum(axis=1)

    def _turn(self, theta: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the part of the worst of those that the best one leaves, where all is turned."""
        share, logs = _share(-theta, self._turned)
        numbers = np.flatnonzero(self._reduced[:, 0] >= 0)
        worst, sets = self._reduced[numbers].T
        is_worst = np.eye(theta.shape[1])[worst]
        into = np.eye(len(self._turned))[sets]
        made = counts[:, numbers] @ into
        gradient = (share * made[:, :, None]).sum(axis=1) - counts[:, numbers] @ is_worst
        answers = np.zeros_like(counts)
        answers[:, numbers] = -theta[:, worst] - logs[:, sets]
        return gradient, _curve(share, made), answers


def _mark(sets: Mapping[tuple[int, ...], int], systems: int) -> NDArray[np.bool_]:
    """Return the members of sets as a table (sets, systems)."""
    marked = np.zeros((len(sets), systems), dtype=bool)
    for members, place in sets.items():
        marked[place, list(members)] = True
    return marked


def _share(theta: Floats, left: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return each system's share of the strength in each set, and the logarithm of all of it."""
    top = theta.max(axis=1, keepdims=True)
    weight = np.exp(theta - top)[:, None, :] * left
    sums = weight.sum(axis=2, keepdims=True)
    return weight / sums, np.log(sums[:, :, 0]) + top


def _curve(share: Floats, made: Floats) -> Floats:
    taken = share * made[:, :, None]
    spread = taken.sum(axis=1)[:, :, None] * np.eye(share.shape[2])
    return np.asarray(spread - share.transpose(0, 2, 1) @ taken)


def _fit(counts: Floats, choices: Likelihood, start: Floats) -> tuple[Floats, Floats]:
    """Return log strengths (draws, systems), the first at 0, and log-likelihoods (draws,).

    `counts` (draws, orders): how often each order was seen.
    """
    together = max(1, _NUMBERS // choices.size)
    parts = [
        _fit_together(counts[at : at + together], choices, start)
        for at in range(0, len(counts), together)
    ]
    theta, loglik = (np.concatenate(part) for part in zip(*parts, strict=True))
    return theta, loglik


def _fit_together(counts: Floats, choices: Likelihood, start: Floats) -> tuple[Floats, Floats]:
    def evaluate(free: Floats, tables: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        theta = np.pad(free, ((0, 0), (1, 0)))
        gradient, hessian, loglik = choices.evaluate(theta, counts[tables])
        return gradient[:, 1:], hessian[:, 1:, 1:], loglik

    free, _, loglik = climb_tables(evaluate, start[1:], answers=counts.sum(axis=1))
    return np.pad(free, ((0, 0), (1, 0))), loglik


def find_fault(levels: Codes) -> Reason | None:
    """Return why no finite strengths exist; None if they do."""
    if not len(levels):
        return Reason.NO_DATA
    if not _list_above(levels, or_tied=False).any():
        return Reason.NO_DECIDED_PAIRS
    seen = levels != _ABSENT
    met = (seen[:, :, None] & seen[:, None, :]).any(axis=0)
    if csgraph.connected_components(sparse.csr_matrix(met), directed=False)[0] > 1:
        return Reason.DISCONNECTED
    return Reason.SEPARATED if _find_separated(levels, np.ones((1, len(levels))))[0] else None


def _list_above(levels: Codes, *, or_tied: bool) -> NDArray[np.bool_]:
    """Return which system comes before which in each order (orders, systems, systems).

    `or_tied`: or shares its place. Nothing is known of two without a place.
    """
    upper, lower = levels[:, :, None], levels[:, None, :]
    before = upper < lower
    if or_tied:
        before = before | ((upper == lower) & (upper != _OPEN))
    return np.asarray((upper != _ABSENT) & (lower != _ABSENT) & before)


def _find_separated(levels: Codes, counts: Floats) -> NDArray[np.bool_]:
    """Return for each table (draws, orders) whether some systems are always above some others.

    If so, their strengths are infinite.
    """
    above = _list_above(levels, or_tied=True)
    systems = levels.shape[1]
    links = (counts > 0) @ sparse.csr_matrix(above.reshape(len(levels), -1).astype(np.float32))
    reached = (links > 0).reshape(-1, systems, systems).astype(np.float32)
    reached = np.maximum(reached, np.eye(systems, dtype=np.float32))
    for _ in range(max(1, systems - 1).bit_length()):
        # twice as many steps from one system to another
        reached = (reached @ reached > 0).astype(np.float32)
    return np.asarray((reached == 0).any(axis=(1, 2)))


@dataclass(frozen=True, kw_only=True)
class PlackettResult:
    """Log strengths that sum to 0, rank ranges and clusters; `loglik` None where undefined.

    `drawn` (draws, systems): the strengths of each draw that has finite ones.
    """

    strengths: dict[str, Figure]
    drawn: Floats
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
    fault = find_fault(data.levels)
    if fault is not None:
        figures = {
            system: undefined("log_strength", fault, method=METHOD, n=n) for system in data.systems
        }
        return PlackettResult(
            strengths=figures, drawn=np.zeros((0, s)), loglik=None, rank_ranges={}, clusters=[],
            screens=data.screens, left_out=data.left_out,
        )  # fmt: skip
    choices = _Ends(data.levels) if data.are_ends else _Choices(data.levels)
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
        drawn=drawn[~separated],
        loglik=float(loglik),
        rank_ranges=ranges,
        clusters=clusters,
        screens=data.screens,
        left_out=data.left_out,
    )


def _draw(data: Rankings, choices: Likelihood, theta: Floats, draws: int, seed: int) -> Floats:
    """Return the strengths (draws, systems) of each draw; NaN where a draw has no finite ones."""
    seen = sparse.csc_matrix((np.ones(data.screens), (np.arange(data.screens), data.order)))
    tables = two_way_sums(data.rater, data.item, seen, draws=draws, seed=seed)
    has_end = ~_find_separated(data.levels, tables)
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
