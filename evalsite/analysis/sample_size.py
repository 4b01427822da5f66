"""What a design can decide about two systems, by closed forms in plain Python.

Pages ask for it while somebody types, and pages never import numpy. `gate.plan_gate` is the same
for ratings that are in. The variances are those of differences between the two systems: of people
(twice rater:system), inputs (twice input:system) and the residual (twice it; of preferences once,
since each is a difference).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import asin, erfc, exp, inf, lgamma, log, pi, sqrt
from statistics import NormalDist

POWER = 0.8
MOST_INPUTS = 100_000
# of the integral over the spread, and how far it reaches, in its standard deviations
_STEPS, _REACH = 160, 9.0
# of the integral over strengths
_NODES, _ENDS = 40, 5.0

Variances = tuple[float, float, float]  # of people, inputs and the residual


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A test of one planned comparison; `level` is that after the correction."""

    has_margin: bool
    is_equivalence: bool = False
    level: float = 0.05


def find_error(
    people: int, inputs: int, answers: float, variances: Variances
) -> tuple[float, float]:
    """Return the standard error of the difference, and its degrees of freedom.

    `answers`: how many of the people rate an input. ValueError: fewer than two people or inputs.
    """
    if people < 2 or inputs < 2:
        raise ValueError("A design has two people or more, and two inputs or more.")
    by_person, by_input, residual = variances
    rated = inputs * answers / people
    if answers <= 1:
        return sqrt((by_person + (by_input + residual) / rated) / people), people - 1
    # how much of the inputs that people share cancels between them
    shared = (answers - 1) * people / (answers * (people - 1))
    of_person = (by_person + residual / (shared * rated)) / people
    of_input = (by_input + residual / answers) / inputs
    variance = by_person / people + of_input
    below = of_person**2 / (people - 1) + of_input**2 / (inputs - 1)
    if answers == people:
        below += (residual / (people * inputs)) ** 2 / ((people - 1) * (inputs - 1))
    return sqrt(variance), max(1.0, variance**2 / below) if below else inf


def find_power(shift: float, df: float, test: Decision) -> float:
    """Return how often the test decides, for a shift in standard errors.

    With a margin it is that of two equal systems, and the shift is the margin; without one, the
    shift is the true difference.
    """
    edge = find_edge(test.level if test.has_margin else test.level / 2, df)
    if test.is_equivalence:
        return _average(lambda spread: max(0.0, 1 - 2 * _above(shift - edge * spread)), df)
    return _average(lambda spread: _above(edge * spread - shift), df)


def find_edge(level: float, df: float) -> float:
    """Return what a central t of these degrees of freedom exceeds with this probability."""

    def is_beyond(edge: float) -> bool:
        return _average(lambda spread: _above(edge * spread), df) <= level

    low, high = 0.0, 2.0
    while not is_beyond(high):
        low, high = high, 2 * high
    return _halve(is_beyond, low, high)


def find_smallest(
    people: int, inputs: int, answers: float, variances: Variances, test: Decision
) -> float:
    """Return the smallest margin, or difference, that the design decides with POWER."""
    se, df = find_error(people, inputs, answers, variances)
    high = 2.0
    while find_power(high, df, test) < POWER:
        high *= 2
    return se * _halve(lambda shift: find_power(shift, df, test) >= POWER, high / 2, high)


def find_inputs(
    people: int, answers: float, variances: Variances, size: float, test: Decision
) -> int | None:
    """Return the fewest inputs with which the same people decide this margin, or difference, with
    POWER; None if MOST_INPUTS would not do."""

    def is_enough(inputs: int) -> bool:
        se, df = find_error(people, inputs, answers, variances)
        return se == 0 or find_power(min(size / se, 1e3), df, test) >= POWER

    low, high = 1, 2
    while not is_enough(high):
        if high >= MOST_INPUTS:
            return None
        low, high = high, min(2 * high, MOST_INPUTS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _above(value: float) -> float:
    """Return the probability that a standard normal deviate exceeds this value."""
    return 0.5 * erfc(value / sqrt(2))


def _average(chance: Callable[[float], float], df: float) -> float:
    """Return the mean of `chance` over the spread that a study estimates, whose true value is 1.

    Its square times `df` has a chi-squared distribution.
    """
    if df == inf:
        return chance(1.0)
    deviation = _REACH / sqrt(2 * df)
    # over its root: near 0 the density of few degrees of freedom has a corner
    low, high = sqrt(max(0.0, 1 - deviation)), sqrt(1 + deviation)
    width = (high - low) / _STEPS
    start = log(2) + df / 2 * log(df / 2) - lgamma(df / 2)
    total = 0.0
    for step in range(_STEPS + 1):
        root = low + step * width
        if not root:
            continue
        spread = root**2
        density = 2 * root * exp(start + (df - 1) * log(spread) - df * spread**2 / 2)
        total += (1 if step in (0, _STEPS) else 4 if step % 2 else 2) * density * chance(spread)
    return total * width / 3


def _halve(is_enough: Callable[[float], bool], low: float, high: float) -> float:
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


# --- typical variances ------------------------------------------------------------------------


def spread_of_scores(parts: Mapping[str, float], times: float = 1.0) -> Variances:
    """Return the variances of differences of scores whose parts have these standard deviations."""
    names = ("rater_system", "item_system", "residual")
    by_person, by_input, residual = (2 * (times * parts[name]) ** 2 for name in names)
    return by_person, by_input, residual


def spread_of_decisions(parts: Mapping[str, float]) -> Variances:
    """Return those of decisions, half of them yes: a normal variable with these parts is above 0.

    Two such variables with the correlation r are both above 0 with 1/4 + asin(r)/2π.
    """
    variances = {name: part**2 for name, part in parts.items()}
    total = sum(variances.values())

    def share(*names: str) -> float:
        return asin(sum(variances[name] for name in names) / total) / (2 * pi)

    by_person = 2 * (share("rater", "rater_system") - share("rater"))
    by_input = 2 * (share("item", "item_system") - share("item"))
    whole = 2 * (0.25 - share("rater", "item"))
    return by_person, by_input, whole - by_person - by_input


def spread_of_preferences(parts: Mapping[str, float], ties: float) -> Variances:
    """Return those of preferences (1, 0, -1) by Davidson's model, between equal outputs.

    Strengths differ by input and by person, with these standard deviations. `ties`: the share of
    ties between equals.
    """
    nu = 2 * ties / (1 - ties)
    places = [_ENDS * (2 * number / _NODES - 1) for number in range(_NODES + 1)]
    weights = [NormalDist().pdf(place) for place in places]
    weights = [weight / sum(weights) for weight in weights]

    def answer(strength: float) -> tuple[float, float]:
        up, down = exp(strength / 2), exp(-strength / 2)
        total = up + down + nu
        return (up - down) / total, (up + down) / total

    means = [0.0, 0.0]  # of the squares of what one person, and one input, has in common
    whole = 0.0
    sizes = parts["rater_system"], parts["item_system"]
    for number, (common, other) in enumerate((sizes, sizes[::-1])):
        for place, weight in zip(places, weights, strict=True):
            rows = [answer(common * place + other * further) for further in places]
            mean = sum(row[0] * each for row, each in zip(rows, weights, strict=True))
            means[number] += weight * mean**2
            if number == 0:
                whole += weight * sum(
                    row[1] * each for row, each in zip(rows, weights, strict=True)
                )
    return means[0], means[1], whole - sum(means)
