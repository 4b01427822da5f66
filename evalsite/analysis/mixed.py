"""The mixed model of one criterion: its fixed means of systems and what it predicts of outputs.

A predicted mean (BLUP) is drawn towards the mean of its system, the more the fewer ratings an
output has, and is free of which raters it met.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.identifiability import Told, split_tied
from evalsite.analysis.intervals import t_figure
from evalsite.analysis.reml import (
    METHOD,
    RemlFit,
    TooManyEffects,
    fit_reml,
    has_many_effects,
    usable_terms,
)
from evalsite.analysis.scores import Scores

Floats = NDArray[np.float64]

_OF_OUTPUTS = ("group", "cluster", "group:system")


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """The fitted model, or why there is none; `facts` are what a page tells of it.

    `codes`: of each term the level of every rating, in the order of the scores.
    """

    fit: RemlFit | None = None
    reason: Reason | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    codes: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    phrases: Told | None = None

    def determines(self, contrast: Any) -> bool:
        """Whether the data determine this sum of means, and its error, by the model."""
        return self.fit is not None and (self.phrases is None or self.phrases.determines(contrast))

    @property
    def separates_outputs(self) -> bool:
        """Whether outputs can be told apart: not where each has one rating of its own."""
        return self.fit is not None and any(term in self.codes for term in _OF_OUTPUTS)


def fit_mixed(data: Scores) -> Mixed:
    """The mixed model of all systems, with every term that the data can tell apart."""
    if data.rater is None:
        return Mixed(reason=Reason.RATERS_UNKNOWN)
    if data.raters == 1 or len(data.value) <= len(data.systems):
        return Mixed(reason=Reason.TOO_FEW)
    if np.ptp(data.value) == 0:
        return Mixed(reason=Reason.NO_VARIATION)
    kept, dropped = usable_terms(_list_terms(data, data.rater), len(data.value))
    phrases = None if has_many_effects(kept) else split_tied(kept, data.system)
    if phrases is not None:
        kept, dropped = phrases.terms, dropped | phrases.tied
    facts: dict[str, Any] = {"method": METHOD, "terms": list(kept), "dropped": dropped}
    try:
        fit = fit_reml(data.value, kept, system=data.system)
    except TooManyEffects:
        why = "more random effects than the mixed model takes"
        return Mixed(reason=Reason.TOO_LARGE, facts=facts | {"fallback": why})
    except np.linalg.LinAlgError:
        why = "the mixed model has no answer for these values"
        return Mixed(reason=Reason.NOT_CONVERGED, facts=facts | {"fallback": why})
    facts |= {
        "variances": dict(fit.variances),
        "residual": fit.residual,
        "singular": list(fit.singular),
        "converged": fit.converged,
    }
    if not fit.converged:
        why = "the mixed model did not converge"
        return Mixed(reason=Reason.NOT_CONVERGED, facts=facts | {"fallback": why})
    return Mixed(fit=fit, facts=facts, codes=kept, phrases=phrases)


def _list_terms(data: Scores, rater: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    systems = len(data.systems)
    terms = {"rater": rater, "group": data.group}
    if data.has_clusters:
        terms["cluster"] = data.block
    terms["group:system"] = data.group * systems + data.system
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
        if not mixed.determines(weights):
            found[system] = undefined("model_mean", Reason.TOO_FEW, method=METHOD, n=n)
            continue
        estimate, se, df = mixed.fit.contrast(weights)
        figure = t_figure("model_mean", estimate=estimate, se=se, df=df, method=METHOD, n=n)
        # a test of a mean against 0 says nothing
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
        if term in mixed.codes:
            found = found + mixed.fit.effects[term][mixed.codes[term]]
    return np.exp(found) if data.is_log else found
