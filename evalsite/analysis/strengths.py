"""Strengths of systems from preferences, with intervals, rank ranges and clusters.

Davidson's model of pairs with ties, with a term for position; Bradley-Terry without ties:
P(left wins) : P(right wins) : P(tie) = g pi_i : pi_j / g : nu sqrt(pi_i pi_j), where the left
system is i, the right one j, and g = exp(position / 2) (Davidson 1970; Davidson & Beaver 1977).
Without ties it is Bradley-Terry (1952); for two systems it is a share. Fitted by Newton steps on
counts, many tables at once, so that a bootstrap costs little.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.special import expit

from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.intervals import (
    certainly_above,
    describe_draws,
    find_clusters,
    order_ranges,
    rank_ranges,
)

# --- Newton steps up a concave log-likelihood, for many tables of counts at once

Floats = NDArray[np.float64]
# Gradient (batch, p), negative Hessian (batch, p, p) and log-likelihood (batch,) of some of the
# tables at their parameters (batch, p); the second argument holds the numbers of these tables.
Evaluate = Callable[[Floats, NDArray[np.intp]], tuple[Floats, Floats, Floats]]

FAR = 15.0  # a log strength or position beyond this is infinite
_ROUNDS = 60
_NEAR = 1e-10  # a step smaller than this ends the search


def climb_tables(
    evaluate: Evaluate, start: Floats, *, answers: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return parameters (draws, p), Hessians (draws, p, p) and log-likelihoods (draws,) of the best
    fit.

    `answers` (draws,): how many each table has. A table is done when its step is close to 0, or
    after 60 steps: infinite strengths would climb forever.
    """
    draws, p = len(answers), len(start)
    beta, hessian, loglik = np.tile(start, (draws, 1)), np.zeros((draws, p, p)), np.zeros(draws)
    climbing = np.arange(draws)
    for _ in range(_ROUNDS):
        gradient, curvature, loglik[climbing] = evaluate(beta[climbing], climbing)
        hessian[climbing] = curvature
        ridge: Any = 1e-9 * (1 + answers[climbing])[:, None, None] * np.eye(p)
        step = np.linalg.solve(curvature + ridge, gradient[:, :, None])[:, :, 0].clip(-2.0, 2.0)
        moves = np.abs(step).max(axis=1, initial=0.0) >= _NEAR
        if not moves.any():
            break
        climbing, step = climbing[moves], step[moves]
        beta[climbing] = np.clip(beta[climbing] + step, -2 * FAR, 2 * FAR)
    return beta, hessian, loglik


# --- Davidson's model --------------------------------------------------------------------------

Cells = NDArray[np.int64]  # (cells, 2): left and right system
# One parameter of each cell (-1: none), and its sign there.
_Term = tuple[NDArray[np.int64], Floats]

PRIOR = 0.1  # wins each way over each observed pair, in the penalised fit


@dataclass(frozen=True, kw_only=True)
class DavidsonFit:
    """Log strengths (first system at 0), log nu, position, and their covariance.

    `parameters`: strengths of all systems but the first, then log nu where ties are modelled, then
    position where it is. `covariance` is the inverse Hessian: it treats all answers as independent.
    """

    systems: int
    parameters: Floats
    covariance: Floats
    loglik: float
    has_ties: bool
    has_position: bool
    is_penalised: bool

    @property
    def strengths(self) -> Floats:
        """The log strengths, the first system at 0."""
        return np.concatenate([[0.0], self.parameters[: self.systems - 1]])

    @property
    def nu(self) -> float:
        """The tie parameter; 0 where no tie was seen."""
        return float(np.exp(self.parameters[self.systems - 1])) if self.has_ties else 0.0

    @property
    def position(self) -> float | None:
        """The log odds of the left system among equals; None where it is not modelled."""
        return float(self.parameters[-1]) if self.has_position else None


def count_pairs(
    left: NDArray[np.int64], right: NDArray[np.int64], outcome: Floats, systems: int
) -> Floats:
    """Return the counts (systems, systems, 3): left system, right system, then left wins, ties,
    right wins.

    `outcome`: 1 the left system was preferred, 0 a tie, -1 the right one.
    """
    place = (left * systems + right) * 3 + (1 - outcome.astype(np.int64))
    counted = np.bincount(place, minlength=systems * systems * 3)
    return counted.reshape(systems, systems, 3).astype(np.float64)


def drop_ties(counts: Floats) -> Floats:
    """Return the counts without ties."""
    return counts * np.array([1.0, 0.0, 1.0])


def find_fault(counts: Floats, *, has_position: bool = False) -> Reason | None:
    """Return why no finite strengths exist for these counts; None if they do.

    A win leads from winner to loser, a tie both ways: all systems must reach all others.
    """
    if not counts.sum():
        return Reason.NO_DATA
    decided = drop_ties(counts)
    if not decided.sum():
        return Reason.NO_DECIDED_PAIRS
    beats = counts[:, :, 0] + counts[:, :, 2].T
    ties = counts[:, :, 1] + counts[:, :, 1].T
    met = sparse.csr_matrix(beats + beats.T + ties)
    if csgraph.connected_components(met, directed=False)[0] > 1:
        return Reason.DISCONNECTED
    reach = sparse.csr_matrix(beats + ties)
    if csgraph.connected_components(reach, directed=True, connection="strong")[0] > 1:
        return Reason.SEPARATED
    if has_position and not (decided[:, :, 0].sum() and decided[:, :, 2].sum()):
        return Reason.SEPARATED
    return None


def _list_cells(counts: Floats) -> Cells:
    """Return the ordered pairs (cells, 2) that occur in a table (systems, systems, 3)."""
    return np.argwhere(counts.sum(axis=2) > 0)


def add_prior(counts: Floats) -> Floats:
    """Return the counts with PRIOR wins each way added to each observed pair, half on either
    side."""
    seen = counts.sum(axis=2) > 0
    seen = seen | seen.T
    out = counts.copy()
    out[seen, 0] += PRIOR / 2
    out[seen, 2] += PRIOR / 2
    return out


def fit_davidson(
    counts: Floats, *, has_position: bool = False, is_penalised: bool = False
) -> DavidsonFit | Reason:
    """Fit the model to counts (systems, systems, 3); return the reason if that is impossible.

    Ties are modelled where there are any. Penalised: PRIOR wins each way over each observed pair
    are added, so that separated strengths stay finite; parts that never met still have no order.
    """
    fault = find_fault(counts, has_position=has_position)
    if fault is not None and not (is_penalised and fault == Reason.SEPARATED):
        return fault
    table = add_prior(counts) if is_penalised else counts
    ties = bool(table[:, :, 1].sum() > 0)
    systems, cells = len(counts), _list_cells(table)
    design = make_design(cells, systems, has_ties=ties, has_position=has_position)
    data = table[cells[:, 0], cells[:, 1]][None]
    beta, hessian, loglik = climb(design, data, np.zeros(design.parameters))
    if np.abs(beta).max() > FAR:
        return Reason.SEPARATED
    return DavidsonFit(
        systems=systems,
        parameters=beta[0],
        covariance=np.linalg.pinv(hessian[0]),
        loglik=float(loglik[0]),
        has_ties=ties,
        has_position=has_position,
        is_penalised=is_penalised,
    )


def fit_draws(fit: DavidsonFit, counts: Floats, tables: Floats) -> Floats:
    """Return the parameters of many tables (draws, systems, systems, 3), in the order of `fit`.

    `counts`: the table that `fit` is of, and that the tables are draws of; a fit without ties
    ignores ties in them too. An infinite strength comes out beyond FAR; a tie or position parameter
    without data stays at the bound too, and moves no strength.
    """
    prior = add_prior(counts) - counts if fit.is_penalised else np.zeros_like(counts)
    cells = _list_cells(counts + prior)
    i, j = cells.T
    design = make_design(cells, fit.systems, has_ties=fit.has_ties, has_position=fit.has_position)
    kept = np.array([1.0, float(fit.has_ties), 1.0])
    parameters = [np.zeros((0, design.parameters))]
    for at in range(0, len(tables), design.together):
        data = tables[at : at + design.together, i, j] + prior[i, j]
        parameters.append(climb(design, data * kept, fit.parameters)[0])
    return np.concatenate(parameters)


def expect(fit: DavidsonFit, counts: Floats) -> Floats:
    """Return the counts (systems, systems, 3) that the model expects for the comparisons made."""
    total, theta = counts.sum(axis=2), fit.strengths
    shift = (fit.position or 0.0) / 2
    left, right = np.exp(theta + shift)[:, None], np.exp(theta - shift)[None, :]
    tie = fit.nu * np.exp((theta[:, None] + theta[None, :]) / 2)
    weights = np.stack([left + 0 * right, tie, right + 0 * left], axis=2)
    return np.asarray(weights / weights.sum(axis=2, keepdims=True) * total[:, :, None])


def fold(counts: Floats) -> Floats:
    """Return wins, ties and losses (..., pairs, 3) of the pairs in order, on either side."""
    i, j = np.triu_indices(counts.shape[-2], 1)
    return np.asarray(counts[..., i, j, :] + counts[..., j, i, ::-1])


def compare_with_fit(
    fit: DavidsonFit, counts: Floats, names: list[str], tables: Floats, drawn: Floats
) -> dict[str, Any]:
    """Return observed and expected wins, losses and ties for each pair, and Pearson's chi-square.

    Its p is the share of draws (`tables`, fitted by `drawn`) whose residuals move as far from the
    residuals here, because answers of one rater, or on one input, aren't independent. A small p
    says that one strength for each system isn't enough (because of a circle among systems, say, or
    ties that differ between pairs). Without degrees of freedom the model can't be checked.
    """
    seen, like = fold(counts), fold(expect(fit, counts))
    met, possible = seen.sum(axis=-1) > 0, like > 1e-12
    rest = seen - like
    chi2 = float((rest[possible] ** 2 / like[possible]).sum())
    df = int(possible.sum() - met.sum()) - (fit.systems - 1) - int(fit.has_ties)
    labels = ("wins", "ties", "losses")
    pairs = [
        {
            "first": names[i],
            "second": names[j],
            "observed": dict(zip(labels, map(float, seen[place]), strict=True)),
            "expected": dict(zip(labels, map(float, like[place]), strict=True)),
        }
        for place, (i, j) in enumerate(combinations(range(len(names)), 2))
        if met[place]
    ]
    p = _share_as_far(fit, rest, like, tables, drawn) if df > 0 else None
    return {"pairs": pairs, "chi2": chi2, "df": df, "p": p, "draws": len(tables)}


def _share_as_far(
    fit: DavidsonFit, rest: Floats, like: Floats, tables: Floats, drawn: Floats
) -> float | None:
    if not len(tables):
        return None
    possible = like > 1e-12

    def measure(off: Floats) -> float:
        return float((off[possible] ** 2 / like[possible]).sum())

    moved = [
        measure(fold(table) - fold(expect(replace(fit, parameters=row), table)) - rest)
        for table, row in zip(tables, drawn, strict=True)
    ]
    return (1 + int((np.array(moved) >= measure(rest)).sum())) / (1 + len(moved))


# --- Newton steps for many tables at once ---------------------------------------------------------
#
# A cell is an ordered pair of systems, left and right; cells without answers are not kept. An
# outcome moves only the strengths of the two systems of its cell, so the Hessian is summed from
# sparse tables: the work of a step grows with draws x cells, not with the square of the systems.

_TOGETHER = 250  # tables climbed at once
_NUMBERS = 500_000  # of one array of a step, at most


@dataclass(frozen=True, kw_only=True)
class Design:
    """The effects of p parameters in c cells: all systems but the first, then log nu where ties are
    modelled, then position where it is.

    Within a cell weights are defined up to a factor, so they are exp(u), nu and exp(-u), where 2u
    is the left strength less the right one plus the position. `moving` (p, c): the derivatives of
    2u; `tying` (p, c): those of log nu; `squares`, `crossed`, `ties` (p * p, c): the products of
    the first with itself, of both in either order, and of the second with itself.
    """

    moving: sparse.csr_matrix
    tying: sparse.csr_matrix
    squares: sparse.csr_matrix
    crossed: sparse.csr_matrix
    ties: sparse.csr_matrix
    has_ties: bool

    @property
    def parameters(self) -> int:
        """How many parameters there are."""
        return int(self.moving.shape[0])

    @property
    def together(self) -> int:
        """How many tables may be climbed at once, so that memory stays flat."""
        return max(1, min(_TOGETHER, _NUMBERS // max(self.squares.shape)))


def make_design(cells: Cells, systems: int, *, has_ties: bool, has_position: bool) -> Design:
    """Return the design matrices of these cells."""
    p, count = systems - 1 + has_ties + has_position, len(cells)
    every = np.ones(count)
    moving: list[_Term] = [(cells[:, 0] - 1, every), (cells[:, 1] - 1, -every)]
    if has_position:
        moving.append((np.full(count, p - 1), every))
    tying: list[_Term] = [(np.full(count, systems - 1 if has_ties else -1), every)]
    return Design(
        moving=_place(moving, p),
        tying=_place(tying, p),
        squares=_place(_multiply(moving, moving, p), p * p),
        crossed=_place(_multiply(moving, tying, p) + _multiply(tying, moving, p), p * p),
        ties=_place(_multiply(tying, tying, p), p * p),
        has_ties=has_ties,
    )


def _place(terms: list[_Term], rows: int) -> sparse.csr_matrix:
    """Return the sum of the terms as a matrix (rows, cells)."""
    row, sign = (np.concatenate(column) for column in zip(*terms, strict=True))
    count = len(terms[0][0])
    cell = np.tile(np.arange(count), len(terms))
    is_used = row >= 0
    return sparse.csr_matrix((sign[is_used], (row[is_used], cell[is_used])), shape=(rows, count))


def _multiply(left: list[_Term], right: list[_Term], p: int) -> list[_Term]:
    return [
        (np.where((a >= 0) & (b >= 0), a * p + b, -1), sign * turned)
        for a, sign in left
        for b, turned in right
    ]


def climb(design: Design, counts: Floats, start: Floats) -> tuple[Floats, Floats, Floats]:
    """Return parameters (draws, p), Hessians (draws, p, p) and log-likelihoods (draws,) of the best
    fit.

    `counts`: (draws, cells, 3), without ties where none are modelled.
    """
    cells = np.ascontiguousarray(counts.transpose(2, 1, 0))  # (3, cells, draws)

    def evaluate(beta: Floats, tables: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        batch = cells if len(tables) == len(counts) else cells[:, :, tables]
        return _evaluate(design, batch, beta)

    return climb_tables(evaluate, start, answers=cells.sum(axis=(0, 1)))


def _evaluate(design: Design, counts: Floats, beta: Floats) -> tuple[Floats, Floats, Floats]:
    """Return gradient, Hessian and log-likelihood of tables (3, cells, draws) at `beta`."""
    u = (design.moving.T @ beta.T) / 2
    log_nu = design.tying.T @ beta.T if design.has_ties else np.full_like(u, -np.inf)
    top = np.maximum(np.abs(u), log_nu)
    share = np.exp(np.stack([u - top, log_nu - top, -u - top]))
    share /= share.sum(axis=0)
    total = counts.sum(axis=0)
    rest = counts - total * share
    gradient = design.moving @ ((rest[0] - rest[2]) / 2) + design.tying @ rest[1]
    # variances and covariance of who won (1, 0, -1) and of whether it was a tie
    won, tied = share[0] - share[2], share[1]
    hessian = design.squares @ (total * (share[0] + share[2] - won**2) / 4)
    if design.has_ties:
        hessian += design.crossed @ (total * -won * tied / 2)
        hessian += design.ties @ (total * tied * (1 - tied))
    p = design.parameters
    loglik = (counts * np.log(np.maximum(share, 1e-300))).sum(axis=(0, 1))
    return gradient.T, hessian.T.reshape(-1, p, p), loglik


# --- the strengths of a criterion --------------------------------------------------------------


DAVIDSON = "davidson"
PENALISED = "penalised_davidson"
BRADLEY_TERRY = "bradley_terry"


@dataclass(frozen=True, kw_only=True)
class Strengths:
    """The fitted models as figures.

    `strengths`: log strengths that sum to 0, with the share won among decided answers against a
    system of average strength in the details. `penalised` is filled only where the plain model has
    no finite answer, and `bradley_terry` drops the ties. Rank ranges and clusters come from the
    plain model, from simultaneous intervals, and never claim more than the tests of pairs do: see
    `find_strengths`. `expected` compares the plain model with what was observed.
    """

    strengths: dict[str, Figure]
    penalised: dict[str, Figure]
    bradley_terry: dict[str, Figure]
    tie: Figure
    position: Figure
    rank_ranges: dict[str, tuple[int, int]]
    clusters: list[list[str]]
    expected: dict[str, Any]
    fault: Reason | None


@dataclass(frozen=True, kw_only=True)
class _Drawn:
    """A fit and its bootstrap draws: log strengths that sum to 0."""

    fit: DavidsonFit
    method: str
    scores: Floats
    errors: Floats
    drawn: Floats  # (draws, systems)
    parameters: Floats  # (draws, parameters)


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """How often each pair of systems had each outcome: counts (systems, systems, 3), and those of
    each bootstrap draw (draws, ... , 3). `has_position`: the first system was on the left."""

    systems: Sequence[str]
    counts: Floats
    tables: Floats
    has_position: bool


def find_strengths(
    outcomes: Outcomes, is_upheld: NDArray[np.bool_], *, n: Mapping[str, int], seed: int
) -> Strengths:
    """Fit the models.

    Separated or disconnected comparisons: every strength has that reason. `is_upheld[i, j]`: the
    test of this pair finds i above j. A system ranks certainly above another where the simultaneous
    interval of their strengths says so and the test of the pair confirms it. If the two were never
    compared directly, the interval is enough, but only if the model can be checked and fits.
    """
    systems, counts, tables = outcomes.systems, outcomes.counts, outcomes.tables
    has_position = outcomes.has_position
    plain = _fit(counts, tables, has_position=has_position, method=DAVIDSON)
    soft = None
    if plain == Reason.SEPARATED:
        soft = _fit(counts, tables, has_position=has_position, method=PENALISED)
    bare = _fit(drop_ties(counts), tables, has_position=False, method=BRADLEY_TERRY)
    expected: dict[str, Any] = {}
    if not isinstance(plain, Reason):
        expected = compare_with_fit(plain.fit, counts, list(systems), tables, plain.parameters)
    may_claim = _may_claim(counts, expected, is_upheld)
    ranges, clusters = _rank(systems, plain, may_claim)
    return Strengths(
        strengths=_figures(systems, plain, DAVIDSON, n, seed),
        penalised={} if soft is None else _figures(systems, soft, PENALISED, n, seed),
        bradley_terry=_figures(systems, bare, BRADLEY_TERRY, n, seed),
        tie=_tie(plain, n, seed),
        position=_position(plain, has_position, n, seed),
        rank_ranges=ranges,
        clusters=clusters,
        expected=expected,
        fault=plain if isinstance(plain, Reason) else None,
    )


def _fit(counts: Floats, tables: Floats, *, has_position: bool, method: str) -> _Drawn | Reason:
    fit = fit_davidson(counts, has_position=has_position, is_penalised=method == PENALISED)
    if isinstance(fit, Reason):
        return fit
    s = fit.systems
    turn = np.eye(s) - 1 / s
    covariance = np.zeros((s, s))
    covariance[1:, 1:] = fit.covariance[: s - 1, : s - 1]
    parameters = fit_draws(fit, counts, tables)
    strengths = np.hstack([np.zeros((len(tables), 1)), parameters[:, : s - 1]])
    return _Drawn(
        fit=fit,
        method=method,
        scores=turn @ fit.strengths,
        errors=np.sqrt(np.diag(turn @ covariance @ turn)),
        drawn=strengths - strengths.mean(axis=1, keepdims=True),
        parameters=parameters,
    )


def _figures(
    systems: Sequence[str], model: _Drawn | Reason, method: str, n: Mapping[str, int], seed: int
) -> dict[str, Figure]:
    if isinstance(model, Reason):
        return {system: undefined("log_strength", model, method=method, n=n) for system in systems}
    figures = {}
    for place, system in enumerate(systems):
        score = float(model.scores[place])
        low, high, details = _interval(model.drawn[:, place], score)
        details["beats_average"] = float(expit(score))
        details["se_hessian"] = float(model.errors[place])
        figures[system] = Figure(
            name="log_strength", method=method, value=score, low=low, high=high, n=n, seed=seed,
            details=details,
        )  # fmt: skip
    return figures


def _interval(drawn: Floats, value: float) -> tuple[float | None, float | None, dict[str, object]]:
    """Return the percentile interval; an end at which draws have no finite strength is None."""
    interval = describe_draws(drawn, value)
    details: dict[str, object] = dict(interval.details)
    endless = int((np.abs(drawn) > FAR).sum())
    if endless:
        details["draws_without_end"] = endless
        details.pop("se_bootstrap", None)
    low, high = (None if e is None or abs(e) > FAR else e for e in (interval.low, interval.high))
    return low, high, details


def _describe_drawn(
    name: str, value: float, drawn: Floats, n: Mapping[str, int], seed: int, **known: object
) -> Figure:
    low, high, details = _interval(drawn, value)
    return Figure(
        name=name, method=DAVIDSON, value=value, low=low, high=high, n=n, seed=seed,
        details=details | known,
    )  # fmt: skip


def _tie(model: _Drawn | Reason, n: Mapping[str, int], seed: int) -> Figure:
    """Return the probability of a tie between equals, from nu."""
    if isinstance(model, Reason):
        return undefined("tie_chance", model, method=DAVIDSON, n=n)
    if not model.fit.has_ties:
        details = {"nu": 0.0, "interval": "no_tie_seen"}
        return Figure(name="tie_chance", method=DAVIDSON, value=0.0, n=n, details=details)
    nu, drawn = model.fit.nu, np.exp(model.parameters[:, model.fit.systems - 1])
    return _describe_drawn("tie_chance", nu / (2 + nu), drawn / (2 + drawn), n, seed, nu=nu)


def _position(
    model: _Drawn | Reason, has_position: bool, n: Mapping[str, int], seed: int
) -> Figure:
    """Return the probability that the left of two equals wins among decided answers."""
    if not has_position:
        reason = Reason.PLACES_UNKNOWN
        return undefined("left_chance", reason, method="positions_not_modelled", n=n)
    if isinstance(model, Reason):
        return undefined("left_chance", model, method=DAVIDSON, n=n)
    log_odds = float(model.fit.position or 0.0)
    chances = expit(model.parameters[:, -1])
    return _describe_drawn(
        "left_chance", float(expit(log_odds)), chances, n, seed, log_odds=log_odds
    )


def _may_claim(
    counts: Floats, expected: Mapping[str, Any], is_upheld: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    met = counts.sum(axis=2) > 0
    is_compared = met | met.T
    upheld = is_compared & is_upheld
    return np.asarray(upheld | ~is_compared if does_fit(expected) else upheld)


def does_fit(expected: Mapping[str, Any]) -> bool:
    """Return whether the model was checked and not rejected."""
    p = expected.get("p")
    return p is not None and p >= 1 - LEVEL


def _rank(
    systems: Sequence[str], model: _Drawn | Reason, may_claim: NDArray[np.bool_]
) -> tuple[dict[str, tuple[int, int]], list[list[str]]]:
    if isinstance(model, Reason):
        return {}, []
    above = certainly_above(model.drawn)
    if above is None:
        return {}, []
    above &= may_claim
    clusters = find_clusters(model.scores, above)
    ranges = dict(zip(systems, rank_ranges(above), strict=True))
    return (
        order_ranges(dict(zip(systems, model.scores.tolist(), strict=True)), ranges),
        [[systems[system] for system in part] for part in clusters],
    )
