"""How much more a gate needs: its power by a closed form, if the two systems are equal.

Variances are those of differences between the two systems: of raters (twice rater:system), inputs
(twice input:system) and the residual (twice it; of preferences once, since each is a difference).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
Variances = tuple[float, float, float]  # of raters, inputs and the residual

POWER = 0.8
MOST_TIMES = 20  # as many inputs, or people
_TINY = 1e-9
_LARGE = 30.0  # a shift beside which a normal deviate is small


def plan_gate(
    *, people: int, inputs: int, variances: Variances, margin: float, level: float = 0.05,
    answers_per_input: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the power of a gate now, and the fewest inputs, or people, with which it is POWER.

    `answers_per_input`: how many of the people rate an input; None: all. `inputs_needed` are for
    the same people, `people_needed` for the same inputs, each person rating as many as now; None:
    MOST_TIMES as many would not do. ValueError: fewer than two people or inputs, or no margin.
    """
    if people < 2 or inputs < 2 or not margin > 0:
        raise ValueError("A gate is planned for two people or more, two inputs, and a margin.")

    def find_power(p: Floats, n: Floats) -> tuple[Floats, Floats, Floats]:
        # new people rate as many inputs as the others
        k = p if answers_per_input is None else answers_per_input * p / people
        variance, df = _find_error(p, n, k, variances)
        se = np.sqrt(variance)
        return se, df, _power_of_one_side(margin / np.maximum(se, _TINY * margin), df, level)

    inputs_grid = np.arange(inputs, MOST_TIMES * inputs + 1, dtype=float)
    people_grid = np.arange(people, MOST_TIMES * people + 1, dtype=float)
    se, df, power = find_power(np.full_like(inputs_grid, people), inputs_grid)
    more_people = find_power(people_grid, np.full_like(people_grid, inputs))[2]
    return {
        "people": people,
        "inputs": inputs,
        "variances": list(variances),
        "margin": margin,
        "se": float(se[0]),
        "df": float(df[0]),
        "power": float(power[0]),
        "inputs_needed": _find_first(inputs_grid, power),
        "people_needed": _find_first(people_grid, more_people),
    }


def _find_first(grid: Floats, power: Floats) -> int | None:
    enough = np.flatnonzero(power >= POWER)
    return int(grid[enough[0]]) if len(enough) else None


def _find_error(p: Floats, n: Floats, k: Floats, variances: Variances) -> tuple[Floats, Floats]:
    """Return the variance of the difference, and its degrees of freedom; `k`: answers per input."""
    by_rater, by_input, residual = variances
    rated = n * k / p  # inputs of each person
    single = (by_rater + (by_input + residual) / rated) / p
    # how much of what people share cancels between them
    shared = np.maximum((k - 1) * p / (k * (p - 1)), _TINY)
    of_rater = (by_rater + residual / (shared * rated)) / p
    of_input = (by_input + residual / k) / n
    several = by_rater / p + of_input
    below = of_rater**2 / (p - 1) + of_input**2 / (n - 1)
    below = below + (k == p) * (residual / (p * n)) ** 2 / ((p - 1) * (n - 1))
    df = np.maximum(1.0, several**2 / np.maximum(below, 1e-300))
    return np.where(k <= 1, single, several), np.where(k <= 1, p - 1, df)


def _power_of_one_side(shift: Floats, df: Floats, level: float) -> Floats:
    """Return the probability that a noncentral t exceeds the critical value at `level`."""
    edge = stats.t.isf(level, df)
    exact = stats.nct.sf(edge, df, np.minimum(shift, _LARGE))
    # scipy's noncentral t fails for large shifts, where the error of the spread is all that counts
    far = stats.chi2.cdf(df * (shift / edge) ** 2, df)
    return np.asarray(np.where(shift < _LARGE, exact, far), dtype=np.float64)
