"""The F test that all systems are equal, on the mixed model of all of them.

By Kenward and Roger (1997), as KRmodcomp of pbkrtest. For two systems it is the square of t.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.mixed import Mixed
from evalsite.analysis.reml import RemlFit

Floats = NDArray[np.float64]

METHOD = "joint_f_test"


def find_joint_test(mixed: Mixed, systems: int, *, n: Mapping[str, int]) -> Figure:
    """Return the F test that all means of systems are equal."""
    unit = np.eye(systems)
    pairs = [unit[j] - unit[i] for i, j in combinations(range(systems), 2)]
    return _find_test(mixed, unit[1:] - unit[0], pairs, n)


def find_joint_test_of_pairs(
    mixed: Mixed, met: Sequence[tuple[int, int]], systems: int, *, n: Mapping[str, int]
) -> Figure:
    """Return the F test that the mean of every pair is 0, on the model of preferences; `incomplete`
    where a pair never met."""
    if len(met) < systems * (systems - 1) // 2:
        return undefined("joint_f", Reason.INCOMPLETE, method=METHOD, n=n)
    return _find_test(mixed, np.eye(len(met)), np.eye(len(met)), n)


def _find_test(mixed: Mixed, rows: Floats, pairs: Iterable[Floats], n: Mapping[str, int]) -> Figure:
    """Return the F test that every row (rows, means) is 0; `too_few` where one of the `pairs` has
    no test by the model, or too few degrees of freedom are left."""
    if mixed.fit is None:
        return undefined("joint_f", mixed.reason or Reason.TOO_FEW, method=METHOD, n=n)
    is_tested = all(mixed.determines(w) and not mixed.fit.is_overcorrected(w) for w in pairs)
    tested = _test(mixed.fit, rows) if is_tested else None
    if tested is None:
        return undefined("joint_f", Reason.TOO_FEW, method=METHOD, n=n)
    f, df2, scaling = tested
    df1 = len(rows)
    details = {"df1": df1, "df2": df2, "p": float(stats.f.sf(f, df1, df2)), "scaling": scaling}
    return Figure(
        name="joint_f", method=METHOD, value=f, n=n, details=details | {"interval": "test"}
    )


def _test(fit: RemlFit, rows: Floats) -> tuple[float, float, float] | None:
    """Return F, its denominator degrees of freedom and its scaling; None where there are too few of
    them.

    The letters are those of Kenward and Roger's paper.
    """
    q = len(rows)
    theta = rows.T @ np.linalg.solve(rows @ fit.covariance @ rows.T, rows)
    turned = theta @ fit.slopes
    traces = np.trace(turned, axis1=1, axis2=2)
    a1 = float(traces @ fit.spread @ traces)
    a2 = float(np.einsum("kl,kij,lji->", fit.spread, turned, turned))
    if not a2 > 0:
        return None
    b = (a1 + 6 * a2) / (2 * q)
    g = ((q + 1) * a1 - (q + 4) * a2) / ((q + 2) * a2)
    c1, c2, c3 = np.array([g, q - g, q + 2 - g]) / (3 * q + 2 * (1 - g))
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = ((1 - a2 / q) / (1 - c2 * b)) ** 2 * (1 + c1 * b) / ((1 - c3 * b) * q)
        m = 4 + (q + 2) / (q * rho - 1)
        scaling = m * (1 - a2 / q) / (m - 2)
    estimates = rows @ fit.means
    wald = float(estimates @ np.linalg.solve(rows @ fit.adjusted @ rows.T, estimates))
    if not (np.isfinite(m) and m > 2 and scaling > 0):
        return None
    return float(scaling * wald / q), float(m), float(scaling)
