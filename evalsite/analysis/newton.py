"""Newton steps up a concave log-likelihood, for many tables of counts at once."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Gradient (some, p), Hessian with its sign turned (some, p, p) and log-likelihood (some,) of some
# of the tables at their parameters (some, p); the second argument tells which tables.
Evaluate = Callable[[Floats, NDArray[np.intp]], tuple[Floats, Floats, Floats]]

FAR = 15.0  # a log strength or position beyond this has no end
_ROUNDS = 60
_NEAR = 1e-10  # a step that is no step any more


def climb(evaluate: Evaluate, start: Floats, *, answers: Floats) -> tuple[Floats, Floats, Floats]:
    """Parameters (draws, p), Hessians (draws, p, p) and log-likelihoods (draws,) of the best fit.

    `answers` (draws,): how many each table has. A table is done when its step is next to nothing,
    or after 60: strengths without end would climb forever.
    """
    draws, p = len(answers), len(start)
    beta, hessian, loglik = np.tile(start, (draws, 1)), np.zeros((draws, p, p)), np.zeros(draws)
    climbing = np.arange(draws)
    for _ in range(_ROUNDS):
        gradient, found, loglik[climbing] = evaluate(beta[climbing], climbing)
        hessian[climbing] = found
        step = _step(found, gradient, answers[climbing])
        moves = np.abs(step).max(axis=1, initial=0.0) >= _NEAR
        if not moves.any():
            break
        climbing, step = climbing[moves], step[moves]
        beta[climbing] = np.clip(beta[climbing] + step, -2 * FAR, 2 * FAR)
    return beta, hessian, loglik


def _step(hessian: Floats, gradient: Floats, answers: Floats) -> Floats:
    ridge: Any = 1e-9 * (1 + answers)[:, None, None] * np.eye(hessian.shape[1])
    step = np.linalg.solve(hessian + ridge, gradient[:, :, None])[:, :, 0]
    return np.asarray(np.clip(step, -2.0, 2.0))
