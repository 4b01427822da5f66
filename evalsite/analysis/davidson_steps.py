"""Newton steps for Davidson's model, of many tables of counts at once.

A cell is an ordered pair of systems, left and right; cells without answers are not kept. An
outcome moves only the strengths of the two systems of its cell, so the Hessian is summed from
sparse tables: the work of a step grows with draws x cells, not with the square of the systems.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evalsite.analysis import newton

Floats = NDArray[np.float64]
Cells = NDArray[np.int64]  # (cells, 2): left and right system
# One parameter of each cell (-1: none), and its sign there.
_Term = tuple[NDArray[np.int64], Floats]

_TOGETHER = 250  # tables climbed at once
_NUMBERS = 500_000  # of one array of a step, at most


@dataclass(frozen=True, kw_only=True)
class Design:
    """What p parameters do in c cells: all systems but the first, then log nu where ties are
    modelled, then position where it is.

    Within a cell weights count up to a factor, so they are exp(u), nu and exp(-u), where 2u is the
    left strength less the right one plus the position. `moving` (p, c): what moves 2u; `tying`
    (p, c): what moves log nu; `squares`, `crossed`, `ties` (p * p, c): the products of the first
    with itself, of both either way round, and of the second with itself.
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


def _multiply(left: list[_Term], other: list[_Term], p: int) -> list[_Term]:
    return [
        (np.where((a >= 0) & (b >= 0), a * p + b, -1), sign * turned)
        for a, sign in left
        for b, turned in other
    ]


def climb(design: Design, counts: Floats, start: Floats) -> tuple[Floats, Floats, Floats]:
    """Return parameters (draws, p), Hessians (draws, p, p) and log-likelihoods (draws,) of the best
    fit.

    `counts`: (draws, cells, 3), without ties where none are modelled.
    """
    left = np.ascontiguousarray(counts.transpose(2, 1, 0))  # (3, cells, draws)

    def evaluate(beta: Floats, tables: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        counted = left if len(tables) == len(counts) else left[:, :, tables]
        return _evaluate(design, counted, beta)

    return newton.climb(evaluate, start, answers=left.sum(axis=(0, 1)))


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
