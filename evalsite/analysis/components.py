"""Variance components of units and raters by REML, for ratings with gaps.

Model: value = mean + unit + rater + residual, all random and crossed (as lme4's
value ~ 1 + (1|unit) + (1|rater)).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evalsite.analysis.canonical_order import Coded
from evalsite.analysis.reml import RemlFit, TooManyEffects, fit_reml


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


def find_components(data: Coded, *, with_rater: bool) -> Components:
    """The variances of units, raters (0 if not `with_rater`) and what is left.

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
        covariance=_find_covariance(fit),
        fitted_rater=with_rater,
    )


def _find_covariance(fit: RemlFit) -> NDArray[np.float64] | None:
    """Twice the inverse of the deviance's curvature, in the logs of the ratios; None at a bound."""
    variances = np.array([*fit.variances.values(), fit.residual])
    if (variances <= 0).any() or np.linalg.eigvalsh(fit.curvature).min() <= 0:
        return None
    terms = len(variances) - 1
    turn = np.hstack([np.diag(1 / variances[:-1]), np.full((terms, 1), -1 / fit.residual)])
    return np.asarray(turn @ (2 * np.linalg.inv(fit.curvature)) @ turn.T)
