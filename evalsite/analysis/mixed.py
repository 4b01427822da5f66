"""The mixed model of one criterion by restricted maximum likelihood (REML), with errors and degrees
of freedom after Kenward and Roger (1997).

value = mean of its system (or pair) + random effects + residual, all effects independent and
normal. Fitted by average-information steps (Gilmour, Thompson & Cullis 1995) on variances, which
stay at 0 or more; a variance at 0 becomes free again as soon as the criterion falls with it, so
that no optimum near 0 is missed. Agrees with lme4, pbkrtest and emmeans; degrees of freedom count
variances at 0 too, which lmerTest leaves out. Set the threads of the linear algebra to 1 in
workers.

Effects inside inputs (or raters) are integrated out block by block: V = I + sum of ratio_k Z_k
Z_k'. Inner terms have all rows of a level in one block, so their part of V is inverted block by
block, many small blocks at a time; the outer terms enter by Woodbury. No array is larger than the
number of outer effects squared.

A predicted mean (BLUP) is shrunk towards the mean of its system, the more the fewer ratings an
output has, and doesn't depend on which raters rated it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from math import exp, log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from evalsite.analysis.figure import REML, Figure, Reason, undefined
from evalsite.analysis.intervals import t_figure
from evalsite.analysis.ratings import Codes, Scores, factor_codes

# --- cross products of random effects, with the effects inside blocks integrated out

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Table = Any  # sparse, rows by levels

MOST_OUTER = 4000  # outer effects, whose dense matrix is inverted
_MOST_CELLS = 60_000_000  # numbers held of all blocks
_LEAST_RATIO = 1e-4  # of variances, below which differences of close numbers would lose digits
_AT_ONCE = 2_000_000  # numbers of blocks processed at once


class TooManyEffects(ValueError):
    """More random effects than the solver can handle in reasonable time."""


def one_hot(codes: Ints, levels: int = 0) -> Table:
    """Return the incidence matrix of rows (n,) in levels, sparse."""
    shape = (len(codes), max(levels, int(codes.max(initial=-1)) + 1))
    return sparse.csr_matrix((np.ones(len(codes)), (np.arange(len(codes)), codes)), shape=shape)


@dataclass(kw_only=True)
class Chunk:
    """Some blocks of similar shape: effects of inner terms in fixed slots, padded with 0."""

    gram: Floats  # (blocks, e, e)
    outer: Floats  # (blocks, e, q): cross products with the outer effects that a block meets
    fixed: Floats  # (blocks, e, p + 1): with the fixed effects and the values
    columns: Ints  # (blocks, q): the outer effects; the number after the last means none
    levels: list[Ints]  # of each inner term the levels (blocks, slots), -1: none
    slots: list[slice]


@dataclass(kw_only=True)
class Inverted:
    """V's inverse at some ratios, as far as estimates need it (residual variance 1)."""

    logdet: float
    fixed: Floats  # (p + 1, p + 1): [X y]' V^-1 [X y]
    kernels: list[Floats]  # of each chunk (blocks, e, e)
    g: Floats  # outer' B outer
    d: Floats  # of each outer effect the root of its ratio
    factor: Floats  # the lower root of I + d g d
    outer_fixed: Floats  # outer' B [X y]


@dataclass(kw_only=True)
class Traces:
    """What first and second derivatives need, by term (inner first), residual variance 1.

    `first[k]` = tr V^-1 V_k; `second[k, l]` = tr V^-1 V_k V^-1 V_l, None unless asked for;
    `middle[k, l]` = D_k' (Z_k' V^-1 Z_l) D_l with D = Z' V^-1 [X, residual], `ends[k]` = D_k' D_k;
    `sums[k]`: Z_k' V^-1 (y - X beta) by level.
    """

    first: Floats
    second: Floats | None
    middle: Floats
    ends: Floats
    sums: list[Floats]


class EffectsInBlocks:
    """Terms by name as sparse incidences (n, levels), and the fixed effects with the values."""

    def __init__(
        self, terms: Mapping[str, Table], fixed: Table, y: Floats, blocks: Sequence[Ints]
    ) -> None:
        code, self.inner = _choose_block(terms, [*blocks, np.zeros(len(y), dtype=np.int64)])
        self.names = [*self.inner, *(name for name in terms if name not in self.inner)]
        self.sizes = {name: int(terms[name].shape[1]) for name in self.names}
        outer = [terms[name] for name in self.names[len(self.inner) :]]
        self.ends = np.cumsum([0, *(table.shape[1] for table in outer)]).astype(int)
        self.parts = [slice(a, b) for a, b in pairwise(self.ends)]
        self.q = int(self.ends[-1])
        z = sparse.hstack(outer, format="csr") if outer else sparse.csr_matrix((len(y), 0))
        known = sparse.hstack([fixed, sparse.csr_matrix(y[:, None])], format="csr")
        self.gram = np.asarray((z.T @ z).todense())
        self.outer_fixed = np.asarray((z.T @ known).todense())
        self.fixed = np.asarray((known.T @ known).todense())
        self.chunks = _make_chunks([terms[name] for name in self.inner], z, known, code)

    def invert(self, ratios: Mapping[str, float]) -> Inverted:
        """Return V's inverse with the variance of each term over that of the residual."""
        logdet, kernels = 0.0, []
        g, outer_fixed, fixed = self.gram.copy(), self.outer_fixed.copy(), self.fixed.copy()
        for chunk in self.chunks:
            sizes = [slots.stop - slots.start for slots in chunk.slots]
            d = np.repeat([np.sqrt(ratios[name]) for name in self.inner], sizes)
            inside = d[:, None] * chunk.gram * d
            inside[:, np.arange(len(d)), np.arange(len(d))] += 1
            root = np.linalg.cholesky(inside)
            logdet += 2 * float(np.log(np.diagonal(root, axis1=1, axis2=2)).sum())
            kernel = d[:, None] * np.linalg.inv(inside) * d
            kernels.append(kernel)
            by_fixed = kernel @ chunk.fixed
            fixed -= _cross(chunk.fixed, by_fixed)
            if self.q:
                turned = chunk.outer.transpose(0, 2, 1)
                _add(g, -(turned @ (kernel @ chunk.outer)), chunk.columns)
                _add_rows(outer_fixed, -(turned @ by_fixed), chunk.columns)
        outer = self.names[len(self.inner) :]
        d = np.repeat([np.sqrt(ratios[name]) for name in outer], np.diff(self.ends))
        factor = np.zeros((self.q, self.q))
        if self.q:
            inside = d[:, None] * g * d
            inside[np.arange(self.q), np.arange(self.q)] += 1
            factor = linalg.cholesky(inside, lower=True, check_finite=False, overwrite_a=True)
            logdet += 2 * float(np.log(np.diag(factor)).sum())
            half = linalg.solve_triangular(
                factor, d[:, None] * outer_fixed, lower=True, check_finite=False
            )
            fixed -= half.T @ half
        return Inverted(
            logdet=logdet, fixed=fixed, kernels=kernels, g=g, d=d, factor=factor,
            outer_fixed=outer_fixed,
        )  # fmt: skip

    def trace(self, at: Inverted, beta: Floats, *, with_second: bool) -> Traces:
        """Return the derivatives at this inverse; `beta` (p,): the estimated fixed effects."""
        inner, total, p = len(self.inner), len(self.names), len(beta)
        turn = np.eye(p + 1)
        turn[:p, p] = -beta  # [X y] to [X, y - X beta]
        first, middle = np.zeros(total), np.zeros((total, total, p + 1, p + 1))
        ends = np.zeros((total, p + 1, p + 1))
        second = np.zeros((total, total)) if with_second else None
        sums = [np.zeros(self.sizes[name]) for name in self.names]
        met = [np.zeros((self.q, p + 1)) for _ in range(inner)]  # C_k' D_k
        squares = [np.zeros((self.q, self.q)) for _ in range(inner if with_second else 0)]
        inverse = _invert_root(at.factor)
        k_outer = at.d[:, None] * inverse * at.d
        kernel_fixed = k_outer @ at.outer_fixed
        padded = np.zeros((self.q + 1, self.q + 1))
        padded[:-1, :-1] = k_outer
        padded_fixed = np.vstack([kernel_fixed, np.zeros((1, p + 1))])
        for chunk, kernel in zip(self.chunks, at.kernels, strict=True):
            shrunk = chunk.gram @ kernel
            gram = chunk.gram - shrunk @ chunk.gram
            outer = chunk.outer - shrunk @ chunk.outer
            known = chunk.fixed - shrunk @ chunk.fixed - outer @ padded_fixed[chunk.columns]
            known = known @ turn
            within = padded[chunk.columns[:, :, None], chunk.columns[:, None, :]]
            across = outer @ within @ outer.transpose(0, 2, 1)
            for k, a in enumerate(chunk.slots):
                is_filled = chunk.levels[k] >= 0
                sums[k][chunk.levels[k][is_filled]] = known[:, a, p][is_filled]
                first[k] += np.trace(gram[:, a, a] - across[:, a, a], axis1=1, axis2=2).sum()
                ends[k] += _cross(known[:, a], known[:, a])
                if self.q:
                    turned = outer[:, a].transpose(0, 2, 1)
                    _add_rows(met[k], turned @ known[:, a], chunk.columns)
                    if with_second:
                        _add(squares[k], turned @ outer[:, a], chunk.columns)
                for m, b in enumerate(chunk.slots):
                    middle[k, m] += _cross(known[:, a], gram[:, a, b] @ known[:, b])
                    if second is not None:
                        part = gram[:, a, b]
                        second[k, m] += float((part * (part - 2 * across[:, a, b])).sum())
        traces = Traces(first=first, second=second, middle=middle, ends=ends, sums=sums)
        if self.q:
            left, h = _turn_outer(at, inverse)
            self._trace_outer(traces, met, left, h, left @ at.outer_fixed @ turn)
            kernel_met = [at.d[:, None] * (inverse @ (at.d[:, None] * part)) for part in met]
            for k, product in enumerate(met):
                for m, other in enumerate(kernel_met):
                    middle[k, m] -= product.T @ other
            if second is not None:
                self._square_outer(at.d, left, h, second, squares)
        return traces

    def _trace_outer(
        self, traces: Traces, met: list[Floats], left: Floats, h: Floats, known: Floats
    ) -> None:
        """Add the traces of the outer terms, alone and with the inner ones."""
        inner, middle = len(self.inner), traces.middle
        for j, a in enumerate(self.parts, start=inner):
            traces.sums[j] = known[a, -1].copy()
            traces.first[j] = np.trace(h[a, a])
            traces.ends[j] = known[a].T @ known[a]
            for i, b in enumerate(self.parts, start=inner):
                middle[j, i] = known[a].T @ h[a, b] @ known[b]
            for k in range(inner):
                middle[k, j] = met[k].T @ left[a].T @ known[a]
                middle[j, k] = middle[k, j].T

    def _square_outer(
        self, d: Floats, left: Floats, h: Floats, second: Floats, squares: list[Floats]
    ) -> None:
        """Add the part of the outer effects to the traces of products."""
        inner = len(self.inner)
        around = [left @ square for square in squares]
        # K A_k is d^2 (I - G K) A_k
        by_kernel = [d[:, None] ** 2 * product for product in around]
        for k in range(inner):
            for m in range(inner):
                second[k, m] += float((by_kernel[k] * by_kernel[m].T).sum())
        for j, a in enumerate(self.parts, start=inner):
            for i, b in enumerate(self.parts, start=inner):
                second[j, i] = (h[a, b] ** 2).sum()
            for k in range(inner):
                second[j, k] = second[k, j] = float((around[k][a] * left[a]).sum())


def _choose_block(terms: Mapping[str, Table], candidates: Sequence[Ints]) -> tuple[Ints, list[str]]:
    """Return the factor whose blocks are cheapest to integrate out, and the terms inside them."""
    best: tuple[float, Ints, list[str]] | None = None
    for code in candidates:
        inner, meets = list_inner(terms, code)
        outer = [name for name in terms if name not in inner]
        q = sum(terms[name].shape[1] for name in outer)
        e, qb = (sum((meets[name] for name in names), np.zeros(int(code.max()) + 1))
                 for names in (inner, outer))  # fmt: skip
        cells = float((e * (e + qb)).sum())
        work = 3.0 * q**3 + float((e**3 + 2 * e**2 * qb + 2 * e * qb**2).sum()) + 300.0 * len(e)
        is_possible = q <= MOST_OUTER and cells <= _MOST_CELLS and e.max(initial=0) <= MOST_OUTER
        if is_possible and (best is None or work < best[0]):
            best = work, code, inner
    if best is None:
        raise TooManyEffects("more random effects than the mixed model takes")
    return best[1], best[2]


def list_inner(terms: Mapping[str, Table], code: Ints) -> tuple[list[str], dict[str, Floats]]:
    """Return the terms that lie within blocks, and each term's number of levels in each block."""
    blocks = one_hot(code)
    inner: list[str] = []
    meets: dict[str, Floats] = {}
    for name, z in terms.items():
        met = (abs(z).T @ blocks).tocsr()
        if np.diff(met.indptr).max() <= 1:
            inner.append(name)
        meets[name] = np.diff(met.tocsc().indptr).astype(np.float64)
    return inner, meets


def _make_chunks(terms: list[Table], outer: Table, fixed: Table, code: Ints) -> list[Chunk]:
    """Group blocks of similar shapes, in chunks that keep memory flat."""
    if not terms:
        return []
    blocks = int(code.max()) + 1
    z = sparse.hstack(terms, format="csr")
    term_of = np.repeat(np.arange(len(terms)), [table.shape[1] for table in terms])
    level_of = np.concatenate([np.arange(table.shape[1]) for table in terms])
    row_of = np.asarray(abs(z).tocsc().indices)[np.asarray(z.tocsc().indptr[:-1])]
    block_of = code[row_of]
    place, counts = _number_within(block_of, term_of, blocks, len(terms))
    members = (abs(outer).T @ one_hot(code, blocks)).T.tocsr()
    members.sort_indices()
    shapes = np.column_stack([counts, np.diff(members.indptr)])
    # sizes rounded up in steps of about a fifth, so that there are few kinds of blocks
    steps = [0, 1, 2, 3, 4]
    while steps[-1] < shapes.max(initial=0):
        steps.append(max(steps[-1] + 1, int(steps[-1] * 1.25)))
    rounded = np.asarray(steps)[np.searchsorted(steps, shapes)]
    kinds, kind_of = np.unique(rounded, axis=0, return_inverse=True)
    gram, cross, known = ((z.T @ table).tocoo() for table in (z, outer, fixed))
    chunks: list[Chunk] = []
    chunk_of, at = np.zeros(blocks, dtype=np.int64), np.zeros(blocks, dtype=np.int64)
    for numbers in _split(kind_of.ravel(), len(kinds), shapes):
        chunk_of[numbers], at[numbers] = len(chunks), np.arange(len(numbers))
        chunks.append(_lay_out(numbers, shapes[numbers].max(axis=0), members, fixed.shape[1]))
    # the slot of every effect in its block
    first_slot = np.array([[s.start for s in chunk.slots] for chunk in chunks], dtype=np.int64)
    slot, owner = first_slot[chunk_of[block_of], term_of] + place, chunk_of[block_of]
    within = at[block_of]
    for chunk, rows in _sort_into(chunks, owner[gram.row]):
        row, column = gram.row[rows], gram.col[rows]
        chunk.gram[within[row], slot[row], slot[column]] = gram.data[rows]
    # the outer effects that each block meets, in order
    width = members.shape[1] + 1
    met = np.repeat(np.arange(members.shape[0]), np.diff(members.indptr)) * width + members.indices
    for chunk, rows in _sort_into(chunks, owner[cross.row]):
        row = cross.row[rows]
        block = block_of[row]
        column = np.searchsorted(met, block * width + cross.col[rows]) - members.indptr[block]
        chunk.outer[within[row], slot[row], column] = cross.data[rows]
    for chunk, rows in _sort_into(chunks, owner[known.row]):
        row = known.row[rows]
        chunk.fixed[within[row], slot[row], known.col[rows]] = known.data[rows]
    for chunk, rows in _sort_into(chunks, owner):
        for k, levels in enumerate(chunk.levels):
            of_term = rows[term_of[rows] == k]
            levels[within[of_term], place[of_term]] = level_of[of_term]
    return chunks


def _split(kind_of: Ints, kinds: int, shapes: NDArray[np.int64]) -> Iterator[Ints]:
    """Yield blocks of one kind, as many as keep memory flat."""
    for number in range(kinds):
        of_kind = np.flatnonzero(kind_of == number)
        size = int(shapes[of_kind].max(axis=0).sum())
        batch = max(1, _AT_ONCE // max(1, size**2))
        for begin in range(0, len(of_kind), batch):
            yield of_kind[begin : begin + batch]


def _sort_into(chunks: list[Chunk], owner: Ints) -> Iterator[tuple[Chunk, Ints]]:
    """Yield each chunk with the indices of what it owns."""
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner[order], np.arange(len(chunks) + 1))
    for number, chunk in enumerate(chunks):
        yield chunk, order[ends[number] : ends[number + 1]]


def _lay_out(block_numbers: Ints, shape: Ints, members: Table, fixed: int) -> Chunk:
    """Allocate blocks of at most this shape: effects of each inner term, then outer ones."""
    starts = np.cumsum([0, *shape[:-1]]).tolist()
    number, e, q = len(block_numbers), starts[-1], int(shape[-1])
    columns = np.full((number, q), members.shape[1], dtype=np.int64)
    for i, block in enumerate(block_numbers):
        met = members.indices[members.indptr[block] : members.indptr[block + 1]]
        columns[i, : len(met)] = met
    return Chunk(
        gram=np.zeros((number, e, e)),
        outer=np.zeros((number, e, q)),
        fixed=np.zeros((number, e, fixed)),
        columns=columns,
        levels=[np.full((number, int(slots)), -1, dtype=np.int64) for slots in shape[:-1]],
        slots=[slice(a, b) for a, b in pairwise(starts)],
    )


def _number_within(
    block: Ints, term: Ints, blocks: int, terms: int
) -> tuple[Ints, NDArray[np.int64]]:
    """Return the index of each effect among those of its block and term, and their counts."""
    cell = block * terms + term
    order = np.argsort(cell, kind="stable")
    counts = np.bincount(cell, minlength=blocks * terms)
    place = np.empty(len(cell), dtype=np.int64)
    place[order] = np.arange(len(cell)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place, counts.reshape(blocks, terms)


def _add(total: Floats, parts: Floats, columns: Ints) -> None:
    """Add squares of blocks (blocks, q, q) at the places of their outer effects."""
    size = len(total)
    if len(columns) and (columns == columns[0]).all() and columns[0].max(initial=0) < size:
        total[np.ix_(columns[0], columns[0])] += parts.sum(axis=0)
        return
    where = columns[:, :, None] * (size + 1) + columns[:, None, :]
    flat = np.bincount(where.ravel(), weights=parts.ravel(), minlength=(size + 1) ** 2)
    total += flat.reshape(size + 1, size + 1)[:-1, :-1]


def _add_rows(total: Floats, parts: Floats, columns: Ints) -> None:
    """Add rows of blocks (blocks, q, p) at the places of their outer effects."""
    padded = np.zeros((len(total) + 1, total.shape[1]))
    np.add.at(padded, columns.ravel(), parts.reshape(-1, total.shape[1]))
    total += padded[:-1]


def _cross(left: Floats, right: Floats) -> Floats:
    """Return the cross products of two arrays that are stored by block."""
    return np.asarray(np.tensordot(left, right, axes=([0, 1], [0, 1])))


def _invert_root(factor: Floats) -> Floats:
    """Return the inverse of a matrix from its lower Cholesky factor."""
    if not len(factor):
        return factor
    packed, _ = linalg.lapack.dpotri(factor, lower=True)
    low = np.tril(packed)
    return np.asarray(low + np.tril(low, -1).T)


def _turn_outer(at: Inverted, inverse: Floats) -> tuple[Floats, Floats]:
    """Return I - G K, and H = (I - G K) G, where `inverse` is that of I + d G d and K = d inverse
    d."""
    if at.d.min() ** 2 > _LEAST_RATIO:
        # both follow from the inverse alone, without a product of large squares
        difference = -inverse
        difference[np.arange(len(difference)), np.arange(len(difference))] += 1
        return inverse * at.d / at.d[:, None], difference / at.d / at.d[:, None]
    left = -(at.g @ (at.d[:, None] * inverse * at.d))
    left[np.arange(len(left)), np.arange(len(left))] += 1
    return left, left @ at.g


# --- the fit


# information about a variance, where that of all ratings is 1: below it the standard error of the
# variance exceeds 10,000
_LEAST_INFORMATION = 1e-8
_ROUNDS = 200
_LEAST_DF = 1.0
# times the model's own variance: above it a corrected error can't be relied on
MOST_CORRECTION = 2.0


@dataclass(frozen=True, kw_only=True)
class RemlFit:
    """A fitted model: variances by term, means of the systems, and what a contrast needs.

    `variances` are in squared units of the value; a term at 0 is listed in `singular` and is a
    valid answer. `effects` are the predicted random effects (BLUPs), in the order of the codes.
    `slopes` and `spread`: how the covariance of the means moves with each variance (residual last),
    and the expected covariance of these; `curvature`: second derivatives of the criterion.
    """

    variances: Mapping[str, float]
    residual: float
    means: Floats  # (systems,)
    covariance: Floats  # (systems, systems), variances taken as known
    adjusted: Floats  # the same by Kenward and Roger
    loglik: float
    converged: bool
    n: int
    effects: Mapping[str, Floats]
    slopes: Floats  # (variances, systems, systems)
    spread: Floats  # (variances, variances)
    curvature: Floats

    @property
    def singular(self) -> tuple[str, ...]:
        """The terms whose variance is 0."""
        return tuple(name for name, variance in self.variances.items() if variance == 0)

    def contrast(self, weights: Any) -> tuple[float, float, float]:
        """Return estimate, standard error and degrees of freedom of a contrast (Kenward-Roger)."""
        w = np.asarray(weights, dtype=np.float64)
        variance = float(w @ self.covariance @ w)
        slope = np.einsum("i,kij,j->k", w, self.slopes, w)
        spread = float(slope @ self.spread @ slope)
        df = 2 * variance**2 / spread if spread > 0 else _LEAST_DF
        error = max(float(w @ self.adjusted @ w), variance, 0.0)
        return float(w @ self.means), sqrt(error), max(df, _LEAST_DF)

    def is_overcorrected(self, weights: Any) -> bool:
        """Return whether the corrected error is too large to be relied on."""
        w = np.asarray(weights, dtype=np.float64)
        return bool(w @ self.adjusted @ w > MOST_CORRECTION * (w @ self.covariance @ w))


@dataclass(kw_only=True)
class _State:
    """One point of the search: variances (residual last) and what was computed there."""

    s: Floats
    deviance: float
    at: Inverted
    cov: Floats
    beta: Floats
    ypy: float


@dataclass(kw_only=True)
class _Slopes:
    gradient: Floats
    average: Floats
    expected: Floats | None
    ends: Floats  # T_k
    middle: Floats  # Q_kl
    sums: list[Floats]


class _Model:
    """The terms and values of one data set; y is centred so that no digits are lost."""

    def __init__(self, y: Floats, fixed: Table, terms: Mapping[str, Table], blocks: Any) -> None:
        self.shift = float(y.mean())
        self.products = EffectsInBlocks(terms, fixed, y - self.shift, blocks)
        self.names = self.products.names
        self.n, self.p = len(y), int(fixed.shape[1])
        self.variance = float(((y - self.shift) ** 2).mean())

    def at(self, s: Floats) -> _State:
        """Return the REML criterion (-2 times the restricted log-likelihood) at variances `s`."""
        p, rest = self.p, float(s[-1])
        inverted = self.products.invert(dict(zip(self.names, s[:-1] / rest, strict=True)))
        total = inverted.fixed / rest
        root = linalg.cholesky(total[:p, :p], lower=True)
        cov = linalg.cho_solve((root, True), np.eye(p))
        beta = cov @ total[:p, p]
        ypy = float(total[p, p] - total[:p, p] @ beta)
        deviance = self.n * log(rest) + inverted.logdet + 2 * float(np.log(np.diag(root)).sum())
        deviance += ypy + (self.n - p) * log(2 * pi)
        return _State(s=s, deviance=deviance, at=inverted, cov=cov, beta=beta, ypy=ypy)

    def derivatives(self, state: _State, *, with_expected: bool = False) -> _Slopes:
        """Return the gradient of the criterion, its average and, on request, expected information.

        Everything with the residual's own derivative follows from V = sum of s_k V_k.
        """
        s, k, p, cov = state.s, len(self.names), self.p, state.cov
        rest = float(s[k])
        traces = self.products.trace(state.at, state.beta, with_second=with_expected)
        ends, middle = np.zeros((k + 1, p + 1, p + 1)), np.zeros((k + 1, k + 1, p + 1, p + 1))
        ends[:k], middle[:k, :k] = traces.ends / rest**2, traces.middle / rest**3
        whole = np.zeros((p + 1, p + 1))  # [X, r]' V^-1 [X, r]
        whole[:p, :p], whole[p, p] = state.at.fixed[:p, :p] / rest, state.ypy
        ends[k] = (whole - np.tensordot(s[:k], ends[:k], 1)) / rest
        for i in range(k + 1):
            last = (ends[i] - np.tensordot(s[:k], middle[i, :k], 1)) / rest
            middle[i, k] = last
            middle[k, i] = last.T
        t, q = ends[:, :p, :p], middle[:, :, :p, :p]
        by_cov = cov @ t
        trace = np.zeros(k + 1)
        trace[:k] = traces.first / rest - np.trace(by_cov[:k], axis1=1, axis2=2)
        trace[k] = (self.n - p - s[:k] @ trace[:k]) / rest
        side = ends[:, :p, p]  # X' V^-1 V_k P y
        average = middle[:, :, p, p] - side @ cov @ side.T
        expected = None
        if traces.second is not None:
            expected = np.zeros((k + 1, k + 1))
            flat = by_cov.reshape(k + 1, p * p)
            expected[:k, :k] = traces.second / rest**2
            expected[:k, :k] -= 2 * np.einsum("ij,klji->kl", cov, q[:k, :k])
            expected[:k, :k] += flat[:k] @ by_cov[:k].transpose(0, 2, 1).reshape(k, p * p).T
            expected[k, :k] = expected[:k, k] = (trace[:k] - expected[:k, :k] @ s[:k]) / rest
            expected[k, k] = (trace[k] - expected[k, :k] @ s[:k]) / rest
        return _Slopes(
            gradient=trace - ends[:, p, p],
            average=average,
            expected=expected,
            ends=t,
            middle=q,
            sums=[sums / rest for sums in traces.sums],
        )


def _step(model: _Model, state: _State, slopes: _Slopes) -> _State | None:
    """Return a better point by an average-information step, shortened until it is better."""
    s, gradient, floor = state.s, slopes.gradient, 1e-10 * model.variance
    free = (s > 0) | (gradient < 0)
    free[-1] = True
    move = np.zeros_like(s)
    average = slopes.average[np.ix_(free, free)]
    # A ridge of the information's own size: two terms may be almost collinear.
    ridge = np.diag(1e-10 * np.diag(average) + 1e-300)
    move[free] = -np.linalg.lstsq(average + ridge, gradient[free], rcond=None)[0]
    for halving in range(30):
        new = s + move / 2**halving
        new[:-1] = np.maximum(new[:-1], 0.0)
        new[:-1][new[:-1] < floor] = 0.0
        new[-1] = max(new[-1], floor, s[-1] / 10)
        if abs(gradient @ (new - s)) < np.spacing(abs(state.deviance)):
            return None  # the possible gain is below the precision of the criterion
        try:
            point = model.at(new)
        except np.linalg.LinAlgError:
            continue
        if point.deviance < state.deviance:
            return point
    return None


def _towards_zero(model: _Model, state: _State, gradient: Floats) -> _State | None:
    """Return a better point with a single small variance set to 0, where the slope points there."""
    for i in np.argsort(state.s[:-1]):
        if state.s[i] > 0 and gradient[i] > 0:
            new = state.s.copy()
            new[i] = 0.0
            try:
                point = model.at(new)
            except np.linalg.LinAlgError:
                continue
            if point.deviance <= state.deviance:
                return point
    return None


def _search(model: _Model) -> tuple[_State, bool]:
    """Find the variances at which no step makes the criterion smaller."""
    k = len(model.names)
    state = model.at(np.full(k + 1, model.variance / (k + 1)))
    for _ in range(_ROUNDS):
        slopes = model.derivatives(state)
        gradient = slopes.gradient
        free = (state.s > 0) | (gradient < 0)
        if np.abs(gradient[free] * np.maximum(state.s[free], 1e-3 * model.variance)).max() < 1e-7:
            return state, True
        point = _step(model, state, slopes) or _towards_zero(model, state, gradient)
        if point is None:
            # the criterion can't improve by a digit; the slope says whether this is the optimum
            return state, bool(np.abs(gradient[free] * state.s[free]).max() < 1e-3)
        state = point
    return state, False


def _adjust(state: _State, slopes: _Slopes, spread: Floats) -> Floats:
    """Return the covariance of the means after Kenward and Roger (1997); V has no second
    derivatives."""
    t, q, cov = slopes.ends, slopes.middle, state.cov
    within = np.einsum("kl,klij->ij", spread, q)
    for k in range(len(t)):
        within -= t[k] @ cov @ np.tensordot(spread[k], t, 1)
    return cov + 2 * cov @ ((within + within.T) / 2) @ cov


def _invert_information(expected: Floats) -> Floats:
    """Return twice the inverse of the expected information; sums of inseparable variances are kept.

    A variance that the ratings say nothing about, such as that of raters who rate one system each,
    is practically unknown: its own variance is 2 / _LEAST_INFORMATION, where all ratings have 1.
    """
    known = expected.copy()
    unknown = np.diag(expected) < _LEAST_INFORMATION
    known[unknown] = known[:, unknown] = 0.0
    known[unknown, unknown] = _LEAST_INFORMATION
    size = np.sqrt(np.diag(known))
    return np.asarray(2 * np.linalg.pinv(known / np.outer(size, size), rcond=1e-11)
                      / np.outer(size, size))  # fmt: skip


def usable_terms(terms: Mapping[str, Any], n: int) -> tuple[dict[str, Codes], dict[str, list[str]]]:
    """Return the terms that the data can separate, as codes, and why each other one was left out.

    Left out: one level for each rating (merges with the residual), a single level (merges with the
    mean), the same levels as an earlier term (merges with that one).
    """
    kept: dict[str, Codes] = {}
    dropped: dict[str, list[str]] = {}
    for name, values in terms.items():
        code = factor_codes(values)
        levels = int(code.max()) + 1
        if levels == n:
            dropped[name] = ["like_residual"]
        elif levels == 1:
            dropped[name] = ["one_level"]
        else:
            for earlier, codes in kept.items():
                if int(codes.max()) + 1 == levels == len(np.unique(code * levels + codes)):
                    dropped[name] = ["like_term", earlier]
            if name not in dropped:
                kept[name] = code
    return kept, dropped


def signed(plus: Any, minus: Any) -> Table:
    """Return the incidence of a term that adds the effect of one level and subtracts that of
    another."""
    codes = factor_codes(np.concatenate([np.asarray(plus), np.asarray(minus)]))
    levels, n = int(codes.max(initial=-1)) + 1, len(codes) // 2
    return sparse.csr_matrix(one_hot(codes[:n], levels) - one_hot(codes[n:], levels))


def fit_reml(
    value: Any,
    terms: Mapping[str, Any],
    *,
    system: Any = None,
    blocks: Any = (),
    known: tuple[Mapping[str, float], float] | None = None,
) -> RemlFit:
    """Fit a model of `value` (n,) with independent effects of each term, by REML.

    `terms`: name -> codes or names (n,), or an incidence (n, levels) as of `signed`. `system`:
    codes 0..p-1 (n,) of the fixed means; None: one mean for all. `blocks`: codes (n,) of factors
    that terms may lie within, beside the terms themselves. `known`: the variances of the terms and
    of the residual, which are not estimated. Raises TooManyEffects, and ValueError if the values
    don't vary or there are no more rows than means.
    """
    y = np.asarray(value, dtype=np.float64)
    fixed = np.zeros(len(y), dtype=np.int64) if system is None else np.asarray(system)
    if len(y) <= int(fixed.max(initial=0)) + 1 or np.ptp(y) == 0:
        raise ValueError("REML needs values that vary, and more of them than systems.")
    tables: dict[str, Table] = {}
    factors = [factor_codes(block) for block in blocks]
    for name, term in terms.items():
        if sparse.issparse(term):
            tables[name] = sparse.csr_matrix(term)
            if tables[name].nnz == len(y):
                # one level for each rating: other terms may lie within it
                factors.append(factor_codes(tables[name].indices))
        else:
            factors.append(factor_codes(term))
            tables[name] = one_hot(factors[-1])
    scale = float(y.std())
    model = _Model(y / scale, one_hot(fixed), tables, factors)
    if known is None:
        state, converged = _search(model)
    else:
        variances = [*(known[0][name] for name in model.names), known[1]]
        state, converged = model.at(np.array(variances) / scale**2), True
    slopes = model.derivatives(state, with_expected=True)
    assert slopes.expected is not None
    spread = _invert_information(slopes.expected)
    s = state.s
    by_name = dict(zip(model.names, range(len(tables)), strict=True))
    order = [*(by_name[name] for name in terms), len(tables)]
    return RemlFit(
        variances={name: float(s[by_name[name]]) * scale**2 for name in terms},
        residual=float(s[-1]) * scale**2,
        means=(state.beta + model.shift) * scale,
        covariance=state.cov * scale**2,
        adjusted=_adjust(state, slopes, spread) * scale**2,
        loglik=-state.deviance / 2 - (model.n - model.p) * log(scale),
        converged=converged,
        n=len(y),
        effects={
            name: float(s[by_name[name]]) * slopes.sums[by_name[name]] * scale for name in terms
        },
        slopes=(state.cov @ slopes.ends @ state.cov)[order],
        spread=spread[np.ix_(order, order)] * scale**4,
        curvature=(2 * slopes.average - slopes.expected)[np.ix_(order, order)] / scale**4,
    )


# --- means of systems and predictions for outputs


# shares of a sum of squares that are only rounding
_TIED, _SWAYED = 1e-9, 1e-7
RESIDUAL = "residual"


@dataclass(frozen=True, kw_only=True)
class Sway:
    """What a tie does to estimated means: how the weights of ratings, and the covariance of the
    means, move along it; and the sizes relative to which that is rounding."""

    weights: Floats  # (ratings, systems), the means of systems taken out
    weight_sizes: Floats  # (systems,)
    covariance: Floats  # (systems, systems)
    covariance_sizes: Floats  # (systems,)

    def moves(self, contrast: Any) -> bool:
        """Return whether this contrast has another estimate or variance along the tie."""
        w = np.asarray(contrast, dtype=np.float64)
        used = np.flatnonzero(w)
        off = float(np.linalg.norm(self.weights[:, used] @ w[used]))
        spread = abs(float(w @ self.covariance @ w))
        return bool(
            off > _SWAYED * float(np.abs(w) @ self.weight_sizes)
            or spread > _SWAYED * float(w**2 @ self.covariance_sizes)
        )


@dataclass(frozen=True, kw_only=True)
class SeparatedTerms:
    """The terms that can be separated, why each other one can't, and what that leaves open."""

    terms: dict[str, Table]
    tied: dict[str, list[str]]
    sways: tuple[Sway, ...] = ()

    def determines(self, contrast: Any) -> bool:
        """Return whether the data determine estimate and variance of this contrast."""
        return not any(sway.moves(contrast) for sway in self.sways)


class _Design:
    """The cross products of effects and of systems."""

    def __init__(self, tables: Mapping[str, Table], system: Codes) -> None:
        self.tables, self.system = list(tables.values()), system
        self.x = one_hot(system)
        self.size = np.asarray(self.x.sum(axis=0), dtype=np.float64).ravel()
        # of each effect its share of each system's mean
        self.shares = [np.asarray((z.T @ self.x).todense()) / self.size for z in self.tables]
        self.counts = [np.asarray(z.multiply(z).sum(axis=0)).ravel() for z in self.tables]

    def gram(self) -> tuple[Floats, Floats]:
        """Return the Gram matrix (residual first) and the squared sizes before projection."""
        k, n, p = len(self.tables), len(self.system), len(self.size)
        gram, before = np.zeros((k + 1, k + 1)), np.zeros(k + 1)
        gram[0, 0], before[0] = n - p, n
        for i, (z, share) in enumerate(zip(self.tables, self.shares, strict=True), start=1):
            with_residual = self.counts[i - 1].sum() - float((share**2 @ self.size).sum())
            gram[0, i] = gram[i, 0] = with_residual
            for j in range(i, k + 1):
                other = self.shares[j - 1]
                cross = sparse.csr_matrix(z.T @ self.tables[j - 1])
                whole = float(cross.multiply(cross).sum())
                if i == j:
                    before[i] = whole
                taken = (share * self.size) * (cross @ other)
                both = (share.T @ share * self.size) @ (other.T @ other * self.size)
                gram[i, j] = gram[j, i] = whole - 2 * float(taken.sum()) + float(np.trace(both))
        return gram, before

    def sway(self, tie: Floats) -> Sway:
        """Return what moving the variances along `tie` (residual first) changes."""
        n, p = len(self.system), len(self.size)
        weight = 1 / self.size
        weights, covariance = np.zeros((n, p)), tie[0] * np.diag(weight)
        weights[np.arange(n), self.system] = tie[0] * weight[self.system]
        sizes, spread = abs(tie[0]) * np.sqrt(weight), abs(tie[0]) * weight
        terms = zip(tie[1:], self.tables, self.shares, self.counts, strict=True)
        for by, z, share, count in terms:
            if by:
                weights += by * np.asarray(z @ share)
                covariance = covariance + by * share.T @ share
                sizes = sizes + abs(by) * np.sqrt(count @ share**2)
                spread = spread + abs(by) * (share**2).sum(axis=0)
        weights -= (np.asarray(self.x.T @ weights) / self.size[:, None])[self.system]
        return Sway(
            weights=weights,
            weight_sizes=sizes,
            covariance=covariance,
            covariance_sizes=spread,
        )


def split_tied(tables: Mapping[str, Table], system: Codes) -> SeparatedTerms:
    """Leave out the terms that follow from the residual, the means and the terms before them.

    `tables`: of each term its incidence (n, levels), levels all of which occur; `system`: codes
    (n,).
    """
    if not tables:
        return SeparatedTerms(terms={}, tied={})
    design = _Design(tables, system)
    gram, before = design.gram()
    names, kept = [RESIDUAL, *tables], [0]
    tied: dict[str, list[str]] = {}
    ties = []
    for i in range(1, len(names)):
        tie = np.zeros(len(names))
        tie[i] = 1.0
        if gram[i, i] <= _TIED * before[i]:
            tied[names[i]] = ["like_means"]
            ties.append(tie)
            continue
        root = np.sqrt(np.diag(gram)[kept])
        within = gram[np.ix_(kept, kept)] / np.outer(root, root)
        by = np.linalg.lstsq(within, gram[kept, i] / root, rcond=None)[0]
        if gram[i, i] - by @ (gram[kept, i] / root) > _TIED * gram[i, i]:
            kept.append(i)
            continue
        tie[kept] = -by / root
        tie[np.abs(tie) < _SWAYED] = 0.0
        tied[names[i]] = ["tied", *(names[number] for number in kept if tie[number])]
        ties.append(tie)
    return SeparatedTerms(
        terms={name: code for name, code in tables.items() if name not in tied},
        tied=tied,
        sways=tuple(design.sway(tie) for tie in ties),
    )


_OF_OUTPUTS = ("group", "cluster", "group:system", "cluster:system")
# rater:group is kept where at least this share of ratings repeats a rater and an input
_LEAST_REPEATED = 0.2
_NO_RESIDUAL = 1e-8  # of the variance of values: less is only rounding


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """The fitted model, or why there is none; `facts` describe it on pages.

    `tables`: of each term its incidence of ratings, in the order of the scores.
    """

    fit: RemlFit | None = None
    reason: Reason | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    separated: SeparatedTerms | None = None

    def determines(self, contrast: Any) -> bool:
        """Return whether the data determine this contrast, and its error, by the model."""
        if self.fit is None:
            return False
        return self.separated is None or self.separated.determines(contrast)

    @property
    def separates_outputs(self) -> bool:
        """Whether outputs can be separated from chance: not where each has a single rating."""
        return self.fit is not None and any(term in self.tables for term in _OF_OUTPUTS)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Who rates what: the incidence of each term, the codes of the fixed means, and the contrast of
    these for each pair of systems."""

    tables: Mapping[str, Table]
    fixed: Codes
    blocks: Sequence[Codes]
    contrasts: Mapping[frozenset[str], Floats]


def lay_out_scores(data: Scores, rater: Codes) -> Layout:
    """Return the layout of the model of all systems, with every term it may have."""
    unit = np.eye(len(data.systems))
    return Layout(
        tables={
            name: one_hot(factor_codes(code)) for name, code in _list_terms(data, rater).items()
        },
        fixed=data.system,
        blocks=(),
        contrasts={
            frozenset((data.systems[i], data.systems[j])): unit[j] - unit[i]
            for i, j in combinations(range(len(data.systems)), 2)
        },
    )


def fit_mixed(data: Scores) -> Mixed:
    """Fit the mixed model of all systems, with every term that the data can separate."""
    if data.rater is None:
        return Mixed(reason=Reason.RATERS_UNKNOWN)
    if data.raters == 1 or len(data.value) <= len(data.systems):
        return Mixed(reason=Reason.TOO_FEW)
    if np.ptp(data.value) == 0:
        return Mixed(reason=Reason.NO_VARIATION)
    terms = _list_terms(data, data.rater)
    dropped: dict[str, list[str]] = {}
    levels = len(np.unique(terms["rater:group"]))
    if levels < len(data.value) < levels / (1 - _LEAST_REPEATED):
        dropped["rater:group"] = ["few_repeats"]
        del terms["rater:group"]
    kept, merged = usable_terms(terms, len(data.value))
    tables = {name: one_hot(code) for name, code in kept.items()}
    return fit_tables(data.value, tables, data.system, dropped=dropped | merged)


def fit_tables(
    value: Floats,
    tables: Mapping[str, Table],
    fixed: Codes,
    *,
    dropped: Mapping[str, list[str]],
    blocks: Sequence[Codes] = (),
) -> Mixed:
    """Fit the model of these terms; without rater:group where it doesn't converge with that, or
    where the correction of standard errors can't be relied on."""
    separated = split_tied(tables, fixed)
    dropped = {**dropped, **separated.tied}
    model = _fit(value, separated, fixed, dropped, blocks)
    if "rater:group" in separated.terms and (model.fit is None or _has_doubtful_error(model.fit)):
        fewer = {name: table for name, table in tables.items() if name != "rater:group"}
        separated = split_tied(fewer, fixed)
        why = ["poorly_known"]
        again = _fit(
            value, separated, fixed, {**dropped, **separated.tied, "rater:group": why}, blocks
        )
        model = again if again.fit is not None else model
    return model


def _fit(
    value: Floats,
    separated: SeparatedTerms,
    fixed: Codes,
    dropped: Mapping[str, list[str]],
    blocks: Sequence[Codes],
) -> Mixed:
    facts: dict[str, Any] = {
        "method": REML,
        "terms": list(separated.terms),
        "dropped": dict(dropped),
    }
    try:
        fit = fit_reml(value, separated.terms, system=fixed, blocks=blocks)
    except TooManyEffects:
        return Mixed(reason=Reason.TOO_LARGE, facts=facts | {"fallback": "too_large"})
    except np.linalg.LinAlgError:
        return Mixed(reason=Reason.NOT_CONVERGED, facts=facts | {"fallback": "no_answer"})
    facts |= {
        "variances": dict(fit.variances),
        "residual": fit.residual,
        "singular": list(fit.singular),
        "converged": fit.converged,
    }
    if fit.residual < _NO_RESIDUAL * float(value.var()):
        return Mixed(reason=Reason.NO_VARIATION, facts=facts | {"fallback": "nothing_varies"})
    if not fit.converged:
        return Mixed(reason=Reason.NOT_CONVERGED, facts=facts | {"fallback": "not_converged"})
    return Mixed(fit=fit, facts=facts, tables=separated.terms, separated=separated)


def _has_doubtful_error(fit: RemlFit) -> bool:
    """Return whether the corrected error of some difference is too large to be relied on."""
    plain, corrected = (
        np.add.outer(np.diag(covariance), np.diag(covariance)) - 2 * covariance
        for covariance in (fit.covariance, fit.adjusted)
    )
    return bool((corrected > MOST_CORRECTION * plain + 1e-300).any())


def _list_terms(data: Scores, rater: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    systems = len(data.systems)
    terms = {"rater": rater, "group": data.group}
    if data.has_clusters:
        terms["cluster"] = data.block
    terms["group:system"] = data.group * systems + data.system
    if data.has_clusters:
        terms["cluster:system"] = data.block * systems + data.system
    terms["rater:system"] = rater * systems + data.system
    terms["rater:group"] = rater * (int(data.group.max()) + 1) + data.group
    return terms


def mean_figures(data: Scores, mixed: Mixed) -> dict[str, Figure]:
    """Return each system's mean by the model, `model_mean`; of logarithms, its exponential."""
    figures = {}
    for place, system in enumerate(data.systems):
        n = data.take(data.system == place).counts()
        if mixed.fit is None:
            reason = mixed.reason or Reason.NO_DATA
            figures[system] = undefined("model_mean", reason, method=REML, n=n)
            continue
        weights = np.zeros(len(data.systems))
        weights[place] = 1.0
        if not mixed.determines(weights) or mixed.fit.is_overcorrected(weights):
            figures[system] = undefined("model_mean", Reason.TOO_FEW, method=REML, n=n)
            continue
        figure = t_figure("model_mean", mixed.fit.contrast(weights), method=REML, n=n)
        # a test of a mean against 0 says nothing
        details = {
            key: value for key, value in figure.details.items() if key not in ("p", "t", "test")
        }
        figure = replace(figure, details=details)
        figures[system] = _take_back(figure) if data.is_log else figure
    return figures


def list_from_average(data: Scores, mixed: Mixed) -> dict[str, Figure]:
    """Return for each system the difference of its mean from the average of all systems; of
    logarithms, the ratio.

    Its interval leaves out the variation that systems share, unlike that of the mean itself.
    """
    systems = len(data.systems)
    figures: dict[str, Figure] = {}
    if mixed.fit is None or systems < 2:
        return figures
    for place, system in enumerate(data.systems):
        weights = np.full(systems, -1 / systems)
        weights[place] += 1
        n = data.take(data.system == place).counts()
        if not mixed.determines(weights) or mixed.fit.is_overcorrected(weights):
            figures[system] = undefined("from_average", Reason.TOO_FEW, method=REML, n=n)
            continue
        figure = t_figure("from_average", mixed.fit.contrast(weights), method=REML, n=n)
        details = {
            key: value for key, value in figure.details.items() if key not in ("p", "t", "test")
        }
        figure = replace(figure, details=details)
        figures[system] = _take_back(figure) if data.is_log else figure
    return figures


def _take_back(figure: Figure) -> Figure:
    if figure.value is None:
        return figure
    low, high = (None if end is None else exp(end) for end in (figure.low, figure.high))
    details = {**figure.details, "transform": "exp_of_log_mean"}
    return replace(figure, value=exp(figure.value), low=low, high=high, details=details)


def predict_outputs(data: Scores, mixed: Mixed) -> Floats | None:
    """Return for each rating (n,) the model's prediction for its output: the mean of its system
    plus the effects of its input and of the two together. Logarithms are exponentiated. None if
    there is no model, or it can't separate outputs from chance."""
    if mixed.fit is None or not mixed.separates_outputs:
        return None
    predicted = mixed.fit.means[data.system]
    for term in _OF_OUTPUTS:
        if term in mixed.tables:
            predicted = predicted + mixed.tables[term] @ mixed.fit.effects[term]
    return np.exp(predicted) if data.is_log else predicted
