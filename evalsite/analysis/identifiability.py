"""Which variances ratings can tell apart, and which differences of systems rest on none they can't.

REML sees the covariance of the ratings only where the means of the systems are projected out: two
sets of variances that agree there are equally likely, and a fit stops at either. So each term's
covariance is projected (M V M), and the Gram matrix of the projected ones, tr(M V M W), tells which
follow from others. A difference whose weights or variance change along such a tie has no standard
error. Cost as of one step of the fit: cross products of the effects, whatever the ratings are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evalsite.analysis.rated_order import Codes

Floats = NDArray[np.float64]

# shares of a sum of squares that are nothing but rounding
_TIED, _SWAYED = 1e-9, 1e-7
RESIDUAL = "the residual"


@dataclass(frozen=True, kw_only=True)
class Sway:
    """What a tie does to estimated means: how the weights of ratings, and the covariance of the
    means, move along it; and the sizes beside which that is rounding."""

    weights: Floats  # (ratings, systems), the means of systems taken out
    weight_sizes: Floats  # (systems,)
    covariance: Floats  # (systems, systems)
    covariance_sizes: Floats  # (systems,)

    def moves(self, contrast: Any) -> bool:
        """Whether this sum of means has another estimate or variance along the tie."""
        w = np.asarray(contrast, dtype=np.float64)
        used = np.flatnonzero(w)
        off = float(np.linalg.norm(self.weights[:, used] @ w[used]))
        spread = abs(float(w @ self.covariance @ w))
        return bool(
            off > _SWAYED * float(np.abs(w) @ self.weight_sizes)
            or spread > _SWAYED * float(w**2 @ self.covariance_sizes)
        )


@dataclass(frozen=True, kw_only=True)
class Told:
    """The terms that can be told apart, why each other one can't, and what that leaves open."""

    terms: dict[str, Codes]
    tied: dict[str, str]
    sways: tuple[Sway, ...] = ()

    def determines(self, contrast: Any) -> bool:
        """Whether the data determine estimate and variance of this sum of means."""
        return not any(one.moves(contrast) for one in self.sways)


class _Design:
    """The cross products of effects and of systems."""

    def __init__(self, codes: Mapping[str, Codes], system: Codes) -> None:
        self.codes, self.system = list(codes.values()), system
        n = len(system)
        rows, one = np.arange(n), np.ones(n)
        blocks = [sparse.csr_matrix((one, (rows, code))) for code in self.codes]
        self.x = x = sparse.csr_matrix((one, (rows, system)))
        self.size = np.asarray(x.sum(axis=0), dtype=np.float64).ravel()
        ends = np.cumsum([0, *(block.shape[1] for block in blocks)])
        self.parts = [slice(a, b) for a, b in pairwise(ends)]
        z = sparse.hstack(blocks, format="csr")
        # of each effect its share of each system's mean
        self.share = np.asarray((z.T @ x).toarray()) / self.size
        self.count = np.asarray(z.sum(axis=0), dtype=np.float64).ravel()
        self.g = np.asarray((z.T @ z).toarray()) - (self.share * self.size) @ self.share.T

    def gram(self) -> tuple[Floats, Floats]:
        """The Gram matrix (residual first) and the squared sizes before projection."""
        k, n, p = len(self.codes), len(self.system), len(self.size)
        found, before = np.zeros((k + 1, k + 1)), np.zeros(k + 1)
        found[0, 0], before[0] = n - p, n
        for i, a in enumerate(self.parts, start=1):
            before[i] = (self.count[a] ** 2).sum()
            found[0, i] = found[i, 0] = np.trace(self.g[a, a])
            for j, b in enumerate(self.parts, start=1):
                found[i, j] = (self.g[a, b] ** 2).sum()
        return found, before

    def sway(self, tie: Floats) -> Sway:
        """What moving the variances along `tie` (residual first) does."""
        n, p = len(self.system), len(self.size)
        own = 1 / self.size
        weights, covariance = np.zeros((n, p)), tie[0] * np.diag(own)
        weights[np.arange(n), self.system] = tie[0] * own[self.system]
        sizes, spread = abs(tie[0]) * np.sqrt(own), abs(tie[0]) * own
        for by, code, part in zip(tie[1:], self.codes, self.parts, strict=True):
            if by:
                share = self.share[part]
                weights += by * share[code]
                covariance = covariance + by * share.T @ share
                sizes = sizes + abs(by) * np.sqrt(self.count[part] @ share**2)
                spread = spread + abs(by) * (share**2).sum(axis=0)
        weights -= (np.asarray(self.x.T @ weights) / self.size[:, None])[self.system]
        return Sway(
            weights=weights,
            weight_sizes=sizes,
            covariance=covariance,
            covariance_sizes=spread,
        )


def split_tied(codes: Mapping[str, Codes], system: Codes) -> Told:
    """The terms less those that follow from the residual, the means and the terms before them.

    `codes`: of each term the levels (n,), from 0, all of which occur; `system`: (n,) likewise.
    """
    if not codes:
        return Told(terms={}, tied={})
    design = _Design(codes, system)
    gram, before = design.gram()
    names, kept = [RESIDUAL, *codes], [0]
    tied: dict[str, str] = {}
    ties = []
    for i in range(1, len(names)):
        tie = np.zeros(len(names))
        tie[i] = 1.0
        if gram[i, i] <= _TIED * before[i]:
            tied[names[i]] = "merges with the means of the systems"
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
        others = " and ".join(names[one] for one in kept if tie[one])
        tied[names[i]] = f"can't be told from {others} in these ratings"
        ties.append(tie)
    return Told(
        terms={name: code for name, code in codes.items() if name not in tied},
        tied=tied,
        sways=tuple(design.sway(tie) for tie in ties),
    )
