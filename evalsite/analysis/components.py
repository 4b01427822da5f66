"""Variance components of units and raters by REML, for ratings with gaps.

Model: value = mean + unit + rater + residual, all random and crossed (as lme4's
value ~ 1 + (1|unit) + (1|rater)). The larger factor is integrated out in closed form, so the cost
grows with the cube of the smaller one only. Source: Bates et al. (2015), profiled REML.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse

from evalsite.analysis.canonical_order import Coded, Floats

MOST_LEVELS = 1500  # of the smaller factor
_DENSE = 200_000  # cells of a table that is quicker when it is full
_AT_ZERO = 1e-3  # a standard deviation this small beside the residual's counts as 0


class TooLarge(Exception):
    """Both factors have more levels than the solver takes."""


@dataclass(frozen=True, kw_only=True)
class Components:
    """The variances, and how far log ratios of them are known."""

    unit: float
    rater: float
    residual: float
    covariance: NDArray[np.float64] | None  # of the logs of unit and rater over residual
    fitted_rater: bool

    @property
    def is_singular(self) -> bool:
        return self.unit == 0 or (self.fitted_rater and self.rater == 0)


@dataclass(frozen=True, kw_only=True)
class _Sums:
    """What the likelihood needs of the data: `big` is integrated out, `small` is solved for."""

    n: float
    big: Floats  # ratings of each level
    big_sums: Floats
    small: Floats
    small_sums: Floats
    table: Floats | sparse.csr_array  # big x small: ratings
    total: float
    squares: float

    def deviance(self, ratio_big: float, ratio_small: float) -> tuple[float, float]:
        """REML deviance without constants, and the residual variance there."""
        shrink = ratio_big / (1 + ratio_big * self.big)
        determinant = float(np.log1p(ratio_big * self.big).sum())
        ones = self.n - float(shrink @ self.big**2)
        ones_y = self.total - float((shrink * self.big) @ self.big_sums)
        squares = self.squares - float(shrink @ self.big_sums**2)
        if ratio_small > 0:
            inner = np.diag(self.small) - self._meet(shrink)
            by_one = self.small - self.table.T @ (shrink * self.big)
            by_y = self.small_sums - self.table.T @ (shrink * self.big_sums)
            factor = linalg.cholesky(np.eye(len(inner)) + ratio_small * inner, lower=True)
            determinant += 2 * float(np.log(np.diag(factor)).sum())
            half = linalg.solve_triangular(factor, np.column_stack([by_one, by_y]), lower=True)
            ones -= ratio_small * float(half[:, 0] @ half[:, 0])
            ones_y -= ratio_small * float(half[:, 0] @ half[:, 1])
            squares -= ratio_small * float(half[:, 1] @ half[:, 1])
        rest = max(squares - ones_y**2 / ones, 1e-300)
        deviance = determinant + float(np.log(ones)) + (self.n - 1) * float(np.log(rest))
        return deviance, rest / (self.n - 1)

    def _meet(self, shrink: Floats) -> Floats:
        """How levels of the small factor meet in those of the big one, weighted by `shrink`."""
        if isinstance(self.table, np.ndarray):
            return np.asarray((self.table.T * shrink) @ self.table)
        return np.asarray((self.table.T @ (sparse.diags_array(shrink) @ self.table)).toarray())


def find_components(data: Coded, *, with_rater: bool) -> Components:
    """The REML variances of units and (with_rater) raters; without raters, the one-way model.

    TooLarge: units and raters both have more than 1500 levels. The values must vary.
    """
    if with_rater and data.rater is None:
        raise ValueError("Raters are not known.")
    sums, unit_is_big = _sum_up(data, with_rater)

    def deviance(root: Floats) -> float:
        ratios = np.asarray(root, dtype=np.float64) ** 2
        unit, rater = ratios[0], (ratios[1] if with_rater else 0.0)
        return sums.deviance(unit, rater)[0] if unit_is_big else sums.deviance(rater, unit)[0]

    size = 2 if with_rater else 1
    starts = [np.full(size, 1.0), np.full(size, 0.2)]
    options = {"ftol": 1e-12, "gtol": 1e-7, "maxiter": 200}
    bounds = [(0.0, 1e4)] * size
    fits = [optimize.minimize(deviance, one, method="L-BFGS-B", bounds=bounds, options=options)
            for one in starts]  # fmt: skip
    best = min(fits, key=lambda one: float(one.fun)).x
    root = np.where(best < _AT_ZERO, 0.0, best)
    unit, rater = root[0] ** 2, (root[1] ** 2 if with_rater else 0.0)
    residual = sums.deviance(*((unit, rater) if unit_is_big else (rater, unit)))[1]
    return Components(
        unit=float(unit * residual),
        rater=float(rater * residual),
        residual=float(residual),
        covariance=_find_covariance(deviance, root),
        fitted_rater=with_rater,
    )


def _sum_up(data: Coded, with_rater: bool) -> tuple[_Sums, bool]:
    value = data.value - data.value.mean()
    n_units = int(data.unit.max()) + 1
    rater = data.rater if with_rater and data.rater is not None else np.zeros_like(data.unit)
    n_raters = int(rater.max()) + 1
    if min(n_units, n_raters) > MOST_LEVELS:
        raise TooLarge
    unit_is_big = n_units >= n_raters
    big, small = (data.unit, rater) if unit_is_big else (rater, data.unit)
    shape = (max(n_units, n_raters), min(n_units, n_raters))
    table = sparse.csr_array((np.ones(len(value)), (big, small)), shape=shape)
    return _Sums(
        n=float(len(value)),
        big=np.bincount(big, minlength=shape[0]).astype(np.float64),
        big_sums=np.bincount(big, weights=value, minlength=shape[0]).astype(np.float64),
        small=np.bincount(small, minlength=shape[1]).astype(np.float64),
        small_sums=np.bincount(small, weights=value, minlength=shape[1]).astype(np.float64),
        table=table.toarray() if shape[0] * shape[1] <= _DENSE else table,
        total=float(value.sum()),
        squares=float((value**2).sum()),
    ), unit_is_big


def _find_covariance(
    deviance: Callable[[Floats], float], root: Floats
) -> NDArray[np.float64] | None:
    """Twice the inverse of the deviance's curvature in the logs of the ratios; None at a bound."""
    if (root == 0).any():
        return None
    logs, step = 2 * np.log(root), 1e-3
    size = len(logs)

    def at(*moves: tuple[int, float]) -> float:
        moved = logs.copy()
        for place, by in moves:
            moved[place] += by
        return deviance(np.exp(moved / 2))

    curve = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            terms = [a * b * at((i, a * step), (j, b * step)) for a in (-1, 1) for b in (-1, 1)]
            curve[i, j] = sum(terms) / (4 * step**2)
    if np.linalg.eigvalsh(curve).min() <= 0:
        return None
    return np.asarray(2 * np.linalg.inv(curve))
