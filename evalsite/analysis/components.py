"""Variance components of units and raters by REML, for ratings with gaps, and their shares.

Model: value = mean + unit + rater + residual, all random and crossed (as lme4's
value ~ 1 + (1|unit) + (1|rater)). The shares tell what kind of disagreement there is: offsets of
raters (a large share of raters), a narrow range of quality (a small share of units) or noise (a
large rest). Each calls for another remedy.
"""

from dataclasses import dataclass, replace
from typing import Any

from evalsite.analysis.canonical_order import Coded, code, find_gap
from evalsite.analysis.effects_in_blocks import TooManyEffects
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.ratings import Ratings
from evalsite.analysis.reml import fit_reml


@dataclass(frozen=True, kw_only=True)
class Components:
    """The variances; 0 is a valid answer."""

    unit: float
    rater: float
    residual: float


def find_components(data: Coded, *, with_rater: bool) -> Components:
    """Return the variances of units, raters (0 if not `with_rater`) and the residual.

    Values must vary. Raises TooManyEffects if both factors have too many levels for the solver.
    """
    terms = {"unit": data.unit}
    if with_rater and data.rater is not None:
        terms["rater"] = data.rater
    fit = fit_reml(data.value, terms)
    return Components(
        unit=fit.variances["unit"],
        rater=fit.variances.get("rater", 0.0),
        residual=fit.residual,
    )


SHARES = ("share_of_units", "share_of_raters", "share_of_rest")
_METHOD = "variance_share"


def split_variance(ratings: Ratings) -> list[Figure]:
    """Return the shares of units, of raters and of the rest in the variance of ratings, which tell
    what kind of disagreement it is; they sum to 1.

    A share of 0 is a valid answer. Without raters, units and the rest alone. Undefined: no_data,
    no_overlap, no_variation, incomplete (too large).
    """
    data = code(replace(ratings, block=None))
    names = SHARES if data.rater is not None else (SHARES[0], SHARES[2])
    reason = find_gap(data)
    if reason is None:
        try:
            parts = find_components(data, with_rater=data.rater is not None)
        except TooManyEffects:
            reason = Reason.INCOMPLETE
    if reason:
        return [undefined(name, reason, method=_METHOD, n=data.counts()) for name in names]
    variance = dict(zip(SHARES, (parts.unit, parts.rater, parts.residual), strict=True))
    total = sum(variance.values())
    details: dict[str, Any] = {"interval": "see_icc"}
    return [
        Figure(name=name, method=_METHOD, value=variance[name] / total, n=data.counts(),
               details=details | {"variance": variance[name]})
        for name in names
    ]  # fmt: skip
