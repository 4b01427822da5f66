"""Variance components of units and raters by REML, for ratings with gaps.

Model: value = mean + unit + rater + residual, all random and crossed (as lme4's
value ~ 1 + (1|unit) + (1|rater)).
"""

from dataclasses import dataclass

from evalsite.analysis.canonical_order import Coded
from evalsite.analysis.effects_in_blocks import TooManyEffects
from evalsite.analysis.reml import fit_reml


class TooLarge(Exception):
    """Both factors have more levels than the solver takes."""


@dataclass(frozen=True, kw_only=True)
class Components:
    """The variances; 0 is a valid answer."""

    unit: float
    rater: float
    residual: float


def find_components(data: Coded, *, with_rater: bool) -> Components:
    """Return the variances of units, raters (0 if not `with_rater`) and the residual.

    Values must vary. Raises TooLarge.
    """
    terms = {"unit": data.unit}
    if with_rater and data.rater is not None:
        terms["rater"] = data.rater
    try:
        fit = fit_reml(data.value, terms)
    except TooManyEffects as error:
        raise TooLarge from error
    return Components(
        unit=fit.variances["unit"],
        rater=fit.variances.get("rater", 0.0),
        residual=fit.residual,
    )
