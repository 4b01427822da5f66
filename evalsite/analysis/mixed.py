"""The mixed model of one criterion: its fixed means of systems and what it predicts of outputs.

A predicted mean (BLUP) is drawn towards the mean of its system, the more the fewer ratings an
output has, and is free of which raters it met.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evalsite.analysis.effects_in_blocks import Table, one_hot
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.intervals import t_figure
from evalsite.analysis.rated_order import Codes, factor_codes
from evalsite.analysis.reml import (
    METHOD,
    MOST_CORRECTION,
    RemlFit,
    TooManyEffects,
    fit_reml,
    signed,
    usable_terms,
)
from evalsite.analysis.scores import Scores

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

    terms: dict[str, Table]
    tied: dict[str, list[str]]
    sways: tuple[Sway, ...] = ()

    def determines(self, contrast: Any) -> bool:
        """Whether the data determine estimate and variance of this sum of means."""
        return not any(one.moves(contrast) for one in self.sways)


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
        """The Gram matrix (residual first) and the squared sizes before projection."""
        k, n, p = len(self.tables), len(self.system), len(self.size)
        found, before = np.zeros((k + 1, k + 1)), np.zeros(k + 1)
        found[0, 0], before[0] = n - p, n
        for i, (z, share) in enumerate(zip(self.tables, self.shares, strict=True), start=1):
            own = self.counts[i - 1].sum() - float((share**2 @ self.size).sum())
            found[0, i] = found[i, 0] = own
            for j in range(i, k + 1):
                other = self.shares[j - 1]
                cross = sparse.csr_matrix(z.T @ self.tables[j - 1])
                whole = float(cross.multiply(cross).sum())
                if i == j:
                    before[i] = whole
                taken = (share * self.size) * (cross @ other)
                both = (share.T @ share * self.size) @ (other.T @ other * self.size)
                found[i, j] = found[j, i] = whole - 2 * float(taken.sum()) + float(np.trace(both))
        return found, before

    def sway(self, tie: Floats) -> Sway:
        """What moving the variances along `tie` (residual first) does."""
        n, p = len(self.system), len(self.size)
        own = 1 / self.size
        weights, covariance = np.zeros((n, p)), tie[0] * np.diag(own)
        weights[np.arange(n), self.system] = tie[0] * own[self.system]
        sizes, spread = abs(tie[0]) * np.sqrt(own), abs(tie[0]) * own
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


def split_tied(tables: Mapping[str, Table], system: Codes) -> Told:
    """The terms less those that follow from the residual, the means and the terms before them.

    `tables`: of each term its incidence (n, levels), levels all of which occur; `system`: codes
    (n,).
    """
    if not tables:
        return Told(terms={}, tied={})
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
        tied[names[i]] = ["tied", *(names[one] for one in kept if tie[one])]
        ties.append(tie)
    return Told(
        terms={name: code for name, code in tables.items() if name not in tied},
        tied=tied,
        sways=tuple(design.sway(tie) for tie in ties),
    )


_OF_OUTPUTS = ("group", "cluster", "group:system", "cluster:system")
# rater:group is kept where at least this share of ratings repeats a rater and an input
_LEAST_REPEATED = 0.2
_NO_RESIDUAL = 1e-8  # of the variance of values: all that is left is rounding


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """The fitted model, or why there is none; `facts` are what a page says about it.

    `tables`: of each term its incidence of ratings, in the order of the scores.
    """

    fit: RemlFit | None = None
    reason: Reason | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    phrases: Told | None = None

    def determines(self, contrast: Any) -> bool:
        """Whether the data determine this sum of means, and its error, by the model."""
        return self.fit is not None and (self.phrases is None or self.phrases.determines(contrast))

    @property
    def separates_outputs(self) -> bool:
        """Whether outputs can be told apart: not where each has one rating of its own."""
        return self.fit is not None and any(term in self.tables for term in _OF_OUTPUTS)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Who rates what, as the model takes it: the incidence of each term, the codes of the fixed
    means, and the contrast of these for each pair of systems."""

    tables: Mapping[str, Table]
    fixed: Codes
    blocks: Sequence[Codes]
    contrasts: Mapping[frozenset[str], Floats]


def lay_out_scores(data: Scores, rater: Codes) -> Layout:
    """What the model of all systems is made of, beside the values; every term it may have."""
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


def lay_out_pairs(
    systems: Sequence[str],
    rater: Codes,
    *,
    unit: Codes,
    block: Codes,
    sides: tuple[Codes, Codes],
    met: Sequence[tuple[int, int]],
) -> Layout:
    """What the model of preferences is made of, beside the outcomes: a mean for each pair that
    `met`, the lower place first in `sides`."""
    s, (low, high) = len(systems), sides
    place = {pair: number for number, pair in enumerate(met)}
    factors = {"rater:system": rater, "input:system": unit}
    if len(np.unique(block)) < len(np.unique(unit)):
        factors["cluster:system"] = block
    return Layout(
        tables={name: signed(code * s + low, code * s + high) for name, code in factors.items()},
        fixed=np.array([place[ij] for ij in zip(low.tolist(), high.tolist(), strict=True)]),
        blocks=list(factors.values()),
        contrasts={
            frozenset((systems[i], systems[j])): np.eye(len(met))[number]
            for number, (i, j) in enumerate(met)
        },
    )


def fit_mixed(data: Scores) -> Mixed:
    """The mixed model of all systems, with every term that the data can tell apart."""
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
    """The model of these terms; without rater:group where it does not converge with that, or where
    the correction of errors can't be relied on."""
    told = split_tied(tables, fixed)
    dropped = {**dropped, **told.tied}
    found = _fit(value, told, fixed, dropped, blocks)
    if "rater:group" in told.terms and (found.fit is None or _has_doubtful_error(found.fit)):
        fewer = {name: one for name, one in tables.items() if name != "rater:group"}
        told = split_tied(fewer, fixed)
        why = ["poorly_known"]
        again = _fit(value, told, fixed, {**dropped, **told.tied, "rater:group": why}, blocks)
        found = again if again.fit is not None else found
    return found


def _fit(
    value: Floats,
    told: Told,
    fixed: Codes,
    dropped: Mapping[str, list[str]],
    blocks: Sequence[Codes],
) -> Mixed:
    facts: dict[str, Any] = {"method": METHOD, "terms": list(told.terms), "dropped": dict(dropped)}
    try:
        fit = fit_reml(value, told.terms, system=fixed, blocks=blocks)
    except TooManyEffects:
        why = "too_large"
        return Mixed(reason=Reason.TOO_LARGE, facts=facts | {"fallback": why})
    except np.linalg.LinAlgError:
        why = "no_answer"
        return Mixed(reason=Reason.NOT_CONVERGED, facts=facts | {"fallback": why})
    facts |= {
        "variances": dict(fit.variances),
        "residual": fit.residual,
        "singular": list(fit.singular),
        "converged": fit.converged,
    }
    if fit.residual < _NO_RESIDUAL * float(value.var()):
        why = "nothing_varies"
        return Mixed(reason=Reason.NO_VARIATION, facts=facts | {"fallback": why})
    if not fit.converged:
        why = "not_converged"
        return Mixed(reason=Reason.NOT_CONVERGED, facts=facts | {"fallback": why})
    return Mixed(fit=fit, facts=facts, tables=told.terms, phrases=told)


def _has_doubtful_error(fit: RemlFit) -> bool:
    """Whether the correction of the error of some difference is beyond what it is good for."""
    own, corrected = (
        np.add.outer(np.diag(one), np.diag(one)) - 2 * one for one in (fit.covariance, fit.adjusted)
    )
    return bool((corrected > MOST_CORRECTION * own + 1e-300).any())


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
    """Of each system its mean by the model (of logarithms: taken back), `model_mean`."""
    found = {}
    for place, system in enumerate(data.systems):
        n = data.take(data.system == place).counts()
        if mixed.fit is None:
            reason = mixed.reason or Reason.NO_DATA
            found[system] = undefined("model_mean", reason, method=METHOD, n=n)
            continue
        weights = np.zeros(len(data.systems))
        weights[place] = 1.0
        if not mixed.determines(weights) or mixed.fit.is_overcorrected(weights):
            found[system] = undefined("model_mean", Reason.TOO_FEW, method=METHOD, n=n)
            continue
        estimate, se, df = mixed.fit.contrast(weights)
        figure = t_figure("model_mean", estimate=estimate, se=se, df=df, method=METHOD, n=n)
        # a test of a mean against 0 says nothing
        details = {key: one for key, one in figure.details.items() if key not in ("p", "t", "test")}
        figure = replace(figure, details=details)
        found[system] = _take_back(figure) if data.is_log else figure
    return found


def list_from_average(data: Scores, mixed: Mixed) -> dict[str, Figure]:
    """Of each system how far its mean is from the average of all systems (of logarithms: a ratio).

    Its interval carries only what systems don't share, unlike that of the mean itself.
    """
    systems = len(data.systems)
    found: dict[str, Figure] = {}
    if mixed.fit is None or systems < 2:
        return found
    for place, system in enumerate(data.systems):
        weights = np.full(systems, -1 / systems)
        weights[place] += 1
        n = data.take(data.system == place).counts()
        if not mixed.determines(weights) or mixed.fit.is_overcorrected(weights):
            found[system] = undefined("from_average", Reason.TOO_FEW, method=METHOD, n=n)
            continue
        estimate, se, df = mixed.fit.contrast(weights)
        figure = t_figure("from_average", estimate=estimate, se=se, df=df, method=METHOD, n=n)
        details = {key: one for key, one in figure.details.items() if key not in ("p", "t", "test")}
        figure = replace(figure, details=details)
        found[system] = _take_back(figure) if data.is_log else figure
    return found


def _take_back(figure: Figure) -> Figure:
    if figure.value is None:
        return figure
    low, high = (None if end is None else exp(end) for end in (figure.low, figure.high))
    details = {**figure.details, "transform": "exp of a mean of natural logarithms"}
    return replace(figure, value=exp(figure.value), low=low, high=high, details=details)


def predict_outputs(data: Scores, mixed: Mixed) -> Floats | None:
    """Of each rating (n,) what the model predicts of its output: the mean of its system and the
    effects of its input and of the two together. Logarithms are taken back. None: no model, or one
    that can't tell outputs from chance."""
    if mixed.fit is None or not mixed.separates_outputs:
        return None
    found = mixed.fit.means[data.system]
    for term in _OF_OUTPUTS:
        if term in mixed.tables:
            found = found + mixed.tables[term] @ mixed.fit.effects[term]
    return np.exp(found) if data.is_log else found
