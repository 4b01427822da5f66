"""The mixed model of one criterion: its fixed means of systems and its predictions for outputs.

A predicted mean (BLUP) is shrunk towards the mean of its system, the more the fewer ratings an
output has, and doesn't depend on which raters rated it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evalsite.analysis.effects_in_blocks import Table, TooManyEffects, one_hot
from evalsite.analysis.figure import REML, Figure, Reason, undefined
from evalsite.analysis.intervals import t_figure
from evalsite.analysis.ratings import Codes, factor_codes
from evalsite.analysis.reml import (
    MOST_CORRECTION,
    RemlFit,
    fit_reml,
    usable_terms,
)
from evalsite.analysis.scores import Scores

Floats = NDArray[np.float64]


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
