"""Newton steps up a concave log-likelihood, for many tables of counts at once."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Gradient (batch, p), negative Hessian (batch, p, p) and log-likelihood (batch,) of some of the
# tables at their parameters (batch, p); the second argument holds the numbers of these tables.
Evaluate = Callable[[Floats, NDArray[np.intp]], tuple[Floats, Floats, Floats]]

FAR = 15.0  # a log strength or position beyond this is infinite
_ROUNDS = 60
_NEAR = 1e-10  # a step smaller than this ends the search


def climb(evaluate: Evaluate, start: Floats, *, answers: Floats) -> tuple[Floats, Floats, Floats]:
    """Return parameters (draws, p), Hessians (draws, p, p) and log-likelihoods (draws,) of the best
    fit.

    `answers` (draws,): how many each table has. A table is done when its step is close to 0, or
    after 60 steps: infinite strengths would climb forever.
    """
    draws, p = len(answers), len(start)
    beta, hessian, loglik = np.tile(start, (draws, 1)), np.zeros((draws, p, p)), np.zeros(draws)
    climbing = np.arange(draws)
    for _ in range(_ROUNDS):
        gradient, curvature, loglik[climbing] = evaluate(beta[climbing], climbing)
        hessian[climbing] = curvature
        ridge: Any = 1e-9 * (1 + answers[climbing])[:, None, None] * np.eye(p)
        step = np.linalg.solve(curvature + ridge, gradient[:, :, None])[:, :, 0].clip(-2.0, 2.0)
        moves = np.abs(step).max(axis=1, initial=0.0) >= _NEAR
        if not moves.any():
            break
        climbing, step = climbing[moves], step[moves]
        beta[climbing] = np.clip(beta[climbing] + step, -2 * FAR, 2 * FAR)
    return beta, hessian, loglik
