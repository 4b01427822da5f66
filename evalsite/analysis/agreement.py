"""How much raters agree on one criterion: what several families of analysis have in common."""

from dataclasses import replace
from typing import Any

from evalsite.analysis.alpha import alpha
from evalsite.analysis.disagreement import split_variance
from evalsite.analysis.figure import Figure
from evalsite.analysis.gwet import fleiss, gwet, percent_agreement
from evalsite.analysis.table import Table


def agree_on_categories(
    table: Table, value: Any, scale: list[float], *, unit: str, is_ordered: bool = False
) -> list[Figure]:
    """Agreement on decisions or on the outcomes of comparisons."""
    known = describe_ratings(table, value) | {"unit": table.rows[unit]}
    found = [
        alpha(level="nominal", name="alpha_nominal", **known),
        gwet(scale=scale, weights="identity", name="ac1", **known),
        percent_agreement(name="percent_agreement", **known),
        fleiss(name="fleiss", **known),
    ]
    if is_ordered:
        found.insert(1, alpha(level="ordinal", name="alpha_ordinal", **known))
    return found if unit == "output" else [count_units(figure, unit) for figure in found]


def count_units(figure: Figure, unit: str) -> Figure:
    """The figure with the word for what its `n` counts as units; without one, outputs."""
    return replace(figure, details={**figure.details, "unit": unit})


def split(known: dict[str, Any]) -> list[Figure]:
    """What kind of disagreement there is: shares of the variance."""
    parts = split_variance(unit=known["unit"], rater=known["rater"], value=known["value"])
    return list(parts.values())


def describe_ratings(table: Table, value: Any) -> dict[str, Any]:
    """What coefficients of agreement take: what was rated, by whom, and the values."""
    rows = table.rows
    return {
        "unit": rows.output,
        "rater": table.rater,
        "value": value,
        "input": rows.block,
    }
