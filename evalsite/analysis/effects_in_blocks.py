"""Cross products of random effects, with the effects inside blocks (such as inputs) integrated out.

V = I + sum of ratio_k Z_k Z_k'. Inner terms have all rows of a level in one block, so their part of
V is inverted block by block, many small blocks at a time; the outer terms enter by Woodbury. No
array is larger than the number of outer effects squared.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

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
    kinds, kind_of = np.unique(_round_up(shapes), axis=0, return_inverse=True)
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
    for chunk, rows in _sort_into(chunks, owner[cross.row]):
        row = cross.row[rows]
        column = _find_local(members, block_of[row], cross.col[rows])
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


def _round_up(shapes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Round sizes up in steps of about a fifth, so that there are few kinds of blocks."""
    steps = [0, 1, 2, 3, 4]
    while steps[-1] < shapes.max(initial=0):
        steps.append(max(steps[-1] + 1, int(steps[-1] * 1.25)))
    return np.asarray(steps)[np.searchsorted(steps, shapes)]


def _find_local(members: Table, block: Ints, column: Ints) -> Ints:
    """Return the indices of outer effects among those that their block meets."""
    width = members.shape[1] + 1
    rows = np.repeat(np.arange(members.shape[0]), np.diff(members.indptr))
    keys = rows * width + members.indices
    return np.asarray(np.searchsorted(keys, block * width + column) - members.indptr[block])


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
