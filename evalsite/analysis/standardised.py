"""Effects in standard deviations of single ratings, and the sources of variance of these ratings.

The standard deviation is the root of the sum of all variances of the mixed model, the residual
included (Westfall, Kenny and Judd 2014), so studies with other numbers of raters compare.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import sqrt
from typing import Any

from evalsite.analysis.figure import Figure

RESIDUAL = "residual"


def share_variances(model: Mapping[str, Any], times: float = 1.0) -> dict[str, float]:
    """Return the share of each random effect, and of the residual, in the variance of a single
    rating. `times`: how often a rating counts each effect; 2 for a preference, which has the
    effects of two systems. {}: there is no model."""
    if not _is_used(model):
        return {}
    parts = {term: times * variance for term, variance in model["variances"].items()}
    parts |= {RESIDUAL: model["residual"]}
    total = sum(parts.values())
    return {term: part / total for term, part in parts.items()} if total > 0 else {}


def _is_used(model: Mapping[str, Any]) -> bool:
    return "variances" in model and "fallback" not in model


def find_total_sd(model: Mapping[str, Any]) -> float | None:
    """Return the standard deviation of single ratings of one system; None without a model."""
    if not _is_used(model):
        return None
    return sqrt(sum(model["variances"].values()) + model["residual"]) or None


def add_effect(difference: Figure, model: Mapping[str, Any]) -> Figure:
    """Return the difference with its standardised effect in the details: `d`, `d_low` and `d_high`,
    which leave out 0 where the difference does. Unchanged where there is no model."""
    sd = find_total_sd(model)
    if sd is None or difference.value is None:
        return difference
    sides = (difference.value, difference.low, difference.high)
    d, low, high = (None if end is None else end / sd for end in sides)
    return replace(difference, details={**difference.details, "d": d, "d_low": low, "d_high": high})
