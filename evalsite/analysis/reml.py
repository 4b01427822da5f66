"""Mixed models with crossed random effects by restricted maximum likelihood (REML), with errors and
degrees of freedom after Kenward and Roger (1997).

value = mean of its system (or pair) + random effects + residual, all effects independent and
normal. Fitted by average-information steps (Gilmour, Thompson & Cullis 1995) on variances, which
stay at 0 or more; a variance at 0 becomes free again as soon as the criterion falls with it, so
that no optimum near 0 is missed. Effects inside inputs (or raters) are integrated out block by
block, see `effects_in_blocks`. Agrees with lme4, pbkrtest and emmeans; degrees of freedom count
variances at 0 too, which lmerTest leaves out. Set the threads of the linear algebra to 1 in
workers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from evalsite.analysis.effects_in_blocks import (
    EffectsInBlocks,
    Inverted,
    Table,
    one_hot,
)
from evalsite.analysis.ratings import Codes, factor_codes

Floats = NDArray[np.float64]

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
