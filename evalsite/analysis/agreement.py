"""Agreement of raters on one criterion, as several families of analysis report it."""

from dataclasses import replace
from typing import Any

from evalsite.analysis.agreement_interval import (
    Interval,
    draw_agreement,
    step_up,
    step_up_interval,
)
from evalsite.analysis.alpha import alpha
from evalsite.analysis.figure import Figure, Reason, undefined
from evalsite.analysis.kappas import fleiss, gwet, percent_agreement
from evalsite.analysis.table import Table

RELIABILITY = "reliability_of_mean"
_RELIABILITY = "spearman_brown_of_alpha"


def find_reliability(figure: Figure) -> Figure:
    """Return the reliability of the mean of an output's ratings, from the alpha of single ratings;
    k is the harmonic mean of their numbers."""
    if figure.value is None:
        return undefined(RELIABILITY, figure.reason or Reason.NO_DATA, method=_RELIABILITY,
                         n=figure.n)  # fmt: skip
    k = float(figure.details["k"])
    value = step_up(figure.value, k)
    if value is None:
        return undefined(RELIABILITY, Reason.NOT_COMPUTED, method=_RELIABILITY, n=figure.n)
    single = Interval(low=figure.low, high=figure.high, details={**figure.details})
    interval = step_up_interval(single, k)
    low, high = interval.low, interval.high
    return replace(
        figure, name=RELIABILITY, method=_RELIABILITY, value=value,
        low=None if low is None else min(low, value),
        high=None if high is None else max(high, value), details=interval.details,
    )  # fmt: skip


def agree_on_categories(
    table: Table, value: Any, scale: list[float], *, unit: str, is_ordered: bool = False
) -> list[Figure]:
    """Return the agreement on decisions or on the outcomes of comparisons."""
    ratings = table.ratings(value, unit)
    draws = draw_agreement(ratings, "points", scale=scale)
    figures = [
        alpha(ratings, "nominal", draws=draws, name="alpha_nominal"),
        gwet(ratings, scale=scale, weights="identity", draws=draws),
        percent_agreement(ratings, draws=draws),
        fleiss(ratings, draws=draws),
    ]
    if is_ordered:
        figures.insert(1, alpha(ratings, "ordinal", draws=draws, name="alpha_ordinal"))
    else:
        figures.append(find_reliability(figures[0]))
    return figures if unit == "output" else [count_units(figure, unit) for figure in figures]


def count_units(figure: Figure, unit: str) -> Figure:
    """Return the figure with the word for the units that its `n` counts; by default outputs."""
    return replace(figure, details={**figure.details, "unit": unit})
