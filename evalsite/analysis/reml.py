"""Mixed models with crossed random intercepts, fitted by restricted maximum likelihood (REML).

value = mean of its system + random effects + residual, all effects independent and normal. Fitted
by average-information steps (Gilmour, Thompson & Cullis 1995) kept within variances of 0 or more,
with the derivatives exact; degrees of freedom by Satterthwaite (as lmerTest: Kuznetsova, Brockhoff
& Christensen 2017). Agrees with lme4 to the digits that lme4 itself reaches. Cost grows with the
number of random effects cubed; set the threads of the linear algebra to 1 in workers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from evalsite.analysis.rated_order import Codes, factor_codes

Floats = NDArray[np.float64]

MAX_EFFECTS = 1500
METHOD = "REML, crossed random intercepts (Satterthwaite)"
_ROUNDS = 200


class TooManyEffects(ValueError):
    """More random effects than the dense solver takes in useful time."""


@dataclass(frozen=True, kw_only=True)
class RemlFit:
    """A fitted model: variances by term, means of the systems, and what a contrast needs.

    `variances` are in squared units of the value; a term at 0 is listed in `singular` and is a
    valid answer. `effects` are the predicted random effects (BLUPs), in the order of the codes.
    """

    variances: Mapping[str, float]
    residual: float
    means: Floats  # (systems,)
    covariance: Floats  # (systems, systems)
    loglik: float
    converged: bool
    n: int
    effects: Mapping[str, Floats]
    slopes: Floats  # (variances, systems, systems): change of the covariance with each variance
    information: Floats  # covariance of the variances; 0 for those at 0

    @property
    def singular(self) -> tuple[str, ...]:
        """The terms whose variance is 0."""
        return tuple(name for name, variance in self.variances.items() if variance == 0)

    def contrast(self, weights: Any) -> tuple[float, float, float]:
        """Estimate, standard error and Satterthwaite's degrees of freedom of a sum of means."""
        w = np.asarray(weights, dtype=np.float64)
        variance = float(w @ self.covariance @ w)
        slope = np.einsum("i,kij,j->k", w, self.slopes, w)
        spread = float(slope @ self.information @ slope)
        df = 2 * variance**2 / spread if spread > 0 else 1.0
        return float(w @ self.means), sqrt(max(variance, 0.0)), df


@dataclass(kw_only=True)
class _State:
    """One point of the search: variances (residual last) and what was computed there."""

    s: Floats
    deviance: float
    factor: Floats
    scaled: Floats
    cov: Floats
    beta: Floats


class _Model:
    """The cross products of one data set; y is centred so that no digits are lost."""

    def __init__(self, y: Floats, x: Floats, codes: Mapping[str, Codes]) -> None:
        self.names = list(codes)
        self.shift = float(y.mean())
        self.y, self.x = y - self.shift, x
        sizes = [int(code.max()) + 1 for code in codes.values()]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        rows = np.arange(len(y))
        one = np.ones(len(y))
        blocks = [
            sparse.csr_matrix((one, (rows, code)), shape=(len(y), size))
            for code, size in zip(codes.values(), sizes, strict=True)
        ]
        z = sparse.hstack(blocks, format="csr") if blocks else sparse.csr_matrix((len(y), 0))
        self.g = (z.T @ z).toarray()
        self.w = np.column_stack([x, self.y])
        self.zw = np.asarray(z.T @ self.w)
        self.ww = self.w.T @ self.w

    def spread(self, s: Floats) -> Floats:
        """The square root of each effect's share of the residual variance."""
        return np.repeat(np.sqrt(s[:-1] / s[-1]), np.diff(self.starts))

    def at(self, s: Floats) -> _State:
        """The REML criterion (minus twice the restricted log-likelihood) at some variances."""
        lam, p = self.spread(s), self.x.shape[1]
        inner = lam[:, None] * self.g * lam + np.eye(len(lam))
        factor = linalg.cholesky(inner, lower=True, check_finite=False)
        scaled = linalg.solve_triangular(factor, lam[:, None] * self.zw, lower=True)
        total = (self.ww - scaled.T @ scaled) / s[-1]
        root = linalg.cholesky(total[:p, :p], lower=True)
        cov = linalg.cho_solve((root, True), np.eye(p))
        beta = cov @ total[:p, p]
        rest = float(total[p, p] - total[:p, p] @ beta)
        n = len(self.y)
        deviance = n * log(s[-1]) + 2 * float(np.log(np.diag(factor)).sum())
        deviance += 2 * float(np.log(np.diag(root)).sum()) + rest + (n - p) * log(2 * pi)
        return _State(s=s, deviance=deviance, factor=factor, scaled=scaled, cov=cov, beta=beta)

    def derivatives(self, state: _State) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Gradient, exact and average information of the criterion, slopes, and Z'Py.

        Everything with the residual's own derivative follows from P V P = P.
        """
        s, lam, k = state.s, self.spread(state.s), len(self.names)
        p, n = self.x.shape[1], len(self.y)
        half = linalg.solve_triangular(
            state.factor, lam[:, None] * self.g, lower=True, check_finite=False
        )
        zvw = (self.zw - half.T @ state.scaled) / s[-1]
        zvx, zpy = zvw[:, :p], zvw[:, p] - zvw[:, :p] @ state.beta
        m = (self.g - half.T @ half) / s[-1] - zvx @ state.cov @ zvx.T
        trace = np.zeros(k + 1)
        square, first, second = np.zeros(k + 1), np.zeros((k + 1,) * 2), np.zeros((k + 1,) * 2)
        slopes = np.zeros((k + 1, p, p))
        parts = [slice(a, b) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]
        for i, a in enumerate(parts):
            trace[i], square[i] = np.trace(m[a, a]), zpy[a] @ zpy[a]
            slopes[i] = state.cov @ (zvx[a].T @ zvx[a]) @ state.cov
            for j, b in enumerate(parts):
                first[i, j] = (m[a, b] ** 2).sum()
                second[i, j] = zpy[a] @ m[a, b] @ zpy[b]
        total = (self.ww - state.scaled.T @ state.scaled) / s[-1]
        ypy = float(total[p, p] - total[:p, p] @ state.beta)
        trace[k] = (n - p - s[:k] @ trace[:k]) / s[k]
        square[k] = (ypy - s[:k] @ square[:k]) / s[k]
        for table, edge in ((first, trace), (second, square)):
            table[k, :k] = table[:k, k] = (edge[:k] - table[:k, :k] @ s[:k]) / s[k]
            table[k, k] = (edge[k] - table[k, :k] @ s[:k]) / s[k]
        slopes[k] = (state.cov - np.tensordot(s[:k], slopes[:k], 1)) / s[k]
        return trace - square, 2 * second - first, second, slopes, zpy


def _step(model: _Model, state: _State, gradient: Floats, average: Floats) -> _State | None:
    """A better point by an average-information step, shortened until it is better."""
    s, floor = state.s, 1e-10 * float(model.ww[-1, -1]) / len(model.y)
    free = (s > 0) | (gradient < 0)
    free[-1] = True
    move = np.zeros_like(s)
    within = np.ix_(free, free)
    # A ridge of the information's own size: two terms may be almost collinear.
    ridge = np.diag(1e-10 * np.diag(average)[free] + 1e-300)
    move[free] = -np.linalg.lstsq(average[within] + ridge, gradient[free], rcond=None)[0]
    for halving in range(30):
        new = s + move / 2**halving
        new[:-1] = np.maximum(new[:-1], 0.0)
        new[:-1][new[:-1] < floor] = 0.0
        new[-1] = max(new[-1], floor, s[-1] / 10)
        try:
            found = model.at(new)
        except linalg.LinAlgError:
            continue
        if found.deviance < state.deviance:
            return found
    return None


def _towards_zero(model: _Model, state: _State, gradient: Floats) -> _State | None:
    """A better point by setting a single small variance to 0, where the slope points there."""
    for i in np.argsort(state.s[:-1]):
        if state.s[i] > 0 and gradient[i] > 0:
            new = state.s.copy()
            new[i] = 0.0
            try:
                found = model.at(new)
            except linalg.LinAlgError:
                continue
            if found.deviance <= state.deviance:
                return found
    return None


def _search(model: _Model) -> tuple[_State, bool]:
    """The variances at which no step makes the criterion smaller."""
    k = len(model.names)
    variance = float(model.ww[-1, -1]) / len(model.y)
    state = model.at(np.full(k + 1, variance / (k + 1)))
    for _ in range(_ROUNDS):
        gradient, _, average, _, _ = model.derivatives(state)
        free = (state.s > 0) | (gradient < 0)
        if np.abs(gradient[free] * np.maximum(state.s[free], 1e-3 * variance)).max() < 1e-7:
            return state, True
        found = _step(model, state, gradient, average) or _towards_zero(model, state, gradient)
        if found is None:
            # No digit of the criterion is left to win; the slope says whether this is the end.
            return state, bool(np.abs(gradient[free] * state.s[free]).max() < 1e-3)
        state = found
    return state, False


def _covariance_of_variances(exact: Floats, s: Floats) -> Floats:
    """Twice the inverse of the criterion's second derivatives; 0 for variances at 0."""
    out = np.zeros_like(exact)
    within = np.ix_(s > 0, s > 0)
    roots, vectors = np.linalg.eigh(exact[within])
    kept = roots > 1e-12 * max(roots.max(), 0.0)
    out[within] = 2 * (vectors[:, kept] / roots[kept]) @ vectors[:, kept].T
    return out


def usable_terms(terms: Mapping[str, Any], n: int) -> tuple[dict[str, Codes], dict[str, str]]:
    """The terms that the data can tell apart, as codes, and why each other one was left out.

    Left out: one level for each rating (merges with the residual), a single level (merges with the
    mean), the same levels as an earlier term (merges with that one).
    """
    kept: dict[str, Codes] = {}
    dropped: dict[str, str] = {}
    for name, values in terms.items():
        code = factor_codes(values)
        levels = int(code.max()) + 1
        if levels == n:
            dropped[name] = "merges with the residual: one rating for each level"
        elif levels == 1:
            dropped[name] = "merges with the mean: one level"
        else:
            for other, there in kept.items():
                if int(there.max()) + 1 == levels == len(np.unique(code * levels + there)):
                    dropped[name] = f"merges with {other}: the same levels"
            if name not in dropped:
                kept[name] = code
    return kept, dropped


def has_many_effects(codes: Mapping[str, Codes]) -> bool:
    """Whether these terms have more random effects than the dense solver takes."""
    return sum(int(code.max()) + 1 for code in codes.values()) > MAX_EFFECTS


def fit_reml(value: Any, terms: Mapping[str, Any], *, system: Any = None) -> RemlFit:
    """The fitted model of `value` (n,) with a random intercept for each term, by REML.

    `terms`: name -> codes or names (n,). `system`: codes 0..p-1 (n,) of the fixed means; None: one
    mean for all. Raises TooManyEffects above MAX_EFFECTS random effects in all, and ValueError
    where the values do not vary or the rows are no more than the means: ask first.
    """
    y = np.asarray(value, dtype=np.float64)
    fixed = np.zeros(len(y), dtype=np.int64) if system is None else np.asarray(system)
    codes = {name: factor_codes(code) for name, code in terms.items()}
    if has_many_effects(codes):
        raise TooManyEffects(f"more than {MAX_EFFECTS} random effects")
    x = np.zeros((len(y), int(fixed.max()) + 1))
    x[np.arange(len(y)), fixed] = 1.0
    if len(y) <= x.shape[1] or np.ptp(y) == 0:
        raise ValueError("REML needs values that vary, and more of them than systems.")
    scale = float(y.std())
    model = _Model(y / scale, x, codes)
    state, converged = _search(model)
    _, exact, _, slopes, zpy = model.derivatives(state)
    s, k = state.s, len(codes)
    blup = np.repeat(s[:k], np.diff(model.starts)) * zpy * scale
    ends = zip(codes, model.starts[:-1], model.starts[1:], strict=True)
    return RemlFit(
        variances={name: float(s[i]) * scale**2 for i, name in enumerate(codes)},
        residual=float(s[k]) * scale**2,
        means=(state.beta + model.shift) * scale,
        covariance=state.cov * scale**2,
        loglik=-state.deviance / 2 - (len(y) - x.shape[1]) * log(scale),
        converged=converged,
        n=len(y),
        effects={name: blup[a:b] for name, a, b in ends},
        slopes=slopes,
        information=_covariance_of_variances(exact, s) * scale**4,
    )
