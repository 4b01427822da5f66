"""Agreement of raters on one criterion, as several families of analysis report it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evalsite.analysis.agreement_interval import (
    Interval,
    Kind,
    draw_agreement,
    step_up,
    step_up_interval,
)
from evalsite.analysis.alpha import alpha
from evalsite.analysis.components import split_variance
from evalsite.analysis.figure import Figure, Reason, make_note, undefined
from evalsite.analysis.gwet import fleiss, gwet, percent_agreement
from evalsite.analysis.icc import icc
from evalsite.analysis.table import Table

RELIABILITY = "reliability_of_mean"
_RELIABILITY = "spearman_brown_of_alpha"


def describe_agreement(
    *, unit: ArrayLike, input: ArrayLike, rater: ArrayLike, value: ArrayLike, kind: Kind,
    scale: Sequence[float] | None = None,
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """Return the coefficients of a criterion by name, each with value, low and high, and the
    `parts` of the intervals. Arguments as for `draw_agreement`; categories may be of any kind."""
    entered = np.asarray(value)
    numbers = np.unique(entered, return_inverse=True)[1] if kind == "categories" else entered
    known: dict[str, Any] = {"unit": unit, "input": input, "rater": rater,
                             "value": np.asarray(numbers, dtype=np.float64)}  # fmt: skip
    draws = draw_agreement(kind=kind, scale=None if kind == "categories" else scale, **known)
    known["draws"] = draws
    figures: dict[str, Figure] = {}
    if kind != "values":
        points = sorted(np.unique(known["value"])) if kind == "categories" or not scale else scale
        figures["alpha_nominal"] = alpha(level="nominal", **known)
        figures["ac1"] = gwet(scale=points, weights="identity", **known)
        figures["agreement"] = percent_agreement(**known)
    if kind == "points":
        figures["alpha_ordinal"] = alpha(level="ordinal", **known)
        figures["ac2"] = gwet(scale=points, weights="quadratic", **known)
    if kind in ("points", "values"):
        figures["alpha_interval"] = alpha(level="interval", **known)
        figures["ICC(C,1)"] = icc(**known)["ICC(C,1)"]
    return {"parts": dict(draws.parts)} | {
        name: {"value": figure.value, "low": figure.low, "high": figure.high}
        for name, figure in figures.items()
    }


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


def list_agreement_notes(key: str, figures: Sequence[Figure]) -> list[dict[str, Any]]:
    """Return what stands beside the agreement of a criterion: what few raters show, and what the
    mean of an output's ratings is worth."""
    notes = []
    if figures and (ends := figures[0].details.get("these_raters")):
        notes.append(make_note("few_raters_agree", key, raters=figures[0].n["raters"], **ends))
    for figure in figures:
        if figure.name == RELIABILITY and figure.value is not None:
            facts = {"ratings": figure.details["k"], "value": figure.value, "low": figure.low,
                     "high": figure.high, "over": figure.details.get("over")}  # fmt: skip
            notes.append(make_note("reliability_of_mean", key, **facts))
    return notes


def agree_on_categories(
    table: Table, value: Any, scale: list[float], *, unit: str, is_ordered: bool = False
) -> list[Figure]:
    """Return the agreement on decisions or on the outcomes of comparisons."""
    known = describe_ratings(table, value) | {"unit": table.rows[unit]}
    known["draws"] = draw_agreement(kind="points", scale=scale, **known)
    figures = [
        alpha(level="nominal", name="alpha_nominal", **known),
        gwet(scale=scale, weights="identity", name="ac1", **known),
        percent_agreement(name="percent_agreement", **known),
        fleiss(name="fleiss", **known),
    ]
    if is_ordered:
        figures.insert(1, alpha(level="ordinal", name="alpha_ordinal", **known))
    else:
        figures.append(find_reliability(figures[0]))
    return figures if unit == "output" else [count_units(figure, unit) for figure in figures]


def count_units(figure: Figure, unit: str) -> Figure:
    """Return the figure with the word for the units that its `n` counts; by default outputs."""
    return replace(figure, details={**figure.details, "unit": unit})


def split(known: dict[str, Any]) -> list[Figure]:
    """Return the shares of the variance, which tell what kind of disagreement it is."""
    parts = split_variance(unit=known["unit"], rater=known["rater"], value=known["value"])
    return list(parts.values())


def describe_ratings(table: Table, value: Any) -> dict[str, Any]:
    """Return the arguments of the coefficients of agreement: units, raters and values."""
    rows = table.rows
    return {
        "unit": rows.output,
        "rater": table.rater,
        "value": value,
        "input": rows.block,
    }
