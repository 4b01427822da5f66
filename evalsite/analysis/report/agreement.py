"""How much raters agree on one criterion: the coefficients that its scale allows."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.alpha import alpha
from evalsite.analysis.disagreement import split_variance
from evalsite.analysis.figure import Figure
from evalsite.analysis.gwet import fleiss, gwet, percent_agreement
from evalsite.analysis.icc import icc
from evalsite.analysis.kappa import kappa_matrix
from evalsite.analysis.ranks import kendall_w_of_sets, pairwise_correlation
from evalsite.analysis.table import Table

MOST_RATERS_SHOWN = 40


def agree_on_points(table: Table, scale: list[float], seed: int) -> list[Figure]:
    """Agreement on a Likert criterion, the ordinal coefficients first."""
    known = _describe(table, table.rows.value, seed)
    return [
        alpha(level="ordinal", name="alpha_ordinal", **known),
        gwet(scale=scale, weights="quadratic", name="ac2", **known),
        percent_agreement(name="percent_agreement", **known),
        percent_agreement(within=1, name="within_1", **known),
        *icc(**known).values(),
        *_split(known),
        pairwise_correlation(kind="spearman", name="pairwise_spearman", **known),
        pairwise_correlation(kind="kendall", name="pairwise_tau_b", **known),
        alpha(level="interval", name="alpha_interval", **known),
    ]


def agree_on_magnitudes(table: Table, logs: Any, seed: int) -> list[Figure]:
    """Agreement on magnitudes: on log scores, on raw ratios, and on the order within a screen."""
    rows = table.rows
    known = _describe(table, logs, seed)
    # alpha takes the logarithms itself, and says so
    in_logs = known | {"value": np.exp(logs), "transform": "ln"}
    ranks = rows.groupby(["participant", "group"]).value.rank(ascending=False)
    return [
        alpha(level="interval", name="alpha_log", **in_logs),
        alpha(level="ratio", name="alpha_ratio", **(known | {"value": rows.value})),
        _rank_within_pages(alpha(level="ordinal", name="alpha_ranks", **known | {"value": ranks})),
        *icc(transform="ln", **known).values(),
        *_split(known),
        kendall_w_of_sets(
            group=rows.group, rater=table.rater, object_=rows.system, value=rows.value,
            seed=seed, name="kendall_w",
        ),
        pairwise_correlation(kind="spearman", name="pairwise_spearman", **known),
    ]  # fmt: skip


def _rank_within_pages(figure: Figure) -> Figure:
    return replace(figure, details={**figure.details, "transform": "rank on a rater's page"})


def agree_on_categories(
    table: Table, value: Any, scale: list[float], seed: int, *, unit: str, is_ordered: bool = False
) -> list[Figure]:
    """Agreement on decisions or on the outcomes of comparisons."""
    known = _describe(table, value, seed) | {"unit": table.rows[unit]}
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


def agree_by_pair(table: Table, seed: int) -> list[Figure]:
    """Nominal alpha of the outcomes of each two systems, where more than two were compared."""
    parts = table.rows.groupby(["system_1", "system_2"])
    if parts.ngroups < 2:
        return []
    return [
        count_units(
            alpha(
                unit=rows["item"],
                rater=rows.participant if table.raters_known else None,
                value=rows.outcome,
                block=rows.block,
                level="nominal",
                seed=seed,
                name=f"alpha_nominal, {one} : {two}",
            ),
            "item",
        )
        for (one, two), rows in parts
    ]


def _split(known: dict[str, Any]) -> list[Figure]:
    """What kind of disagreement there is: shares of the variance."""
    parts = split_variance(unit=known["unit"], rater=known["rater"], value=known["value"])
    return list(parts.values())


def compare_raters(table: Table) -> dict[str, Any] | None:
    """The weighted kappas of all pairs of raters, as a square; None where there is none to show."""
    rows = table.rows
    found = kappa_matrix(unit=rows.output, rater=table.rater, value=rows.value)
    raters = sorted(found.raters)
    if not 2 <= len(raters) <= MOST_RATERS_SHOWN or not len(found.kappa):
        return None
    square = pd.DataFrame(np.nan, index=raters, columns=raters)
    for one, two, kappa in zip(found.first, found.second, found.kappa, strict=True):
        names = found.raters[one], found.raters[two]
        square.loc[names] = square.loc[names[::-1]] = kappa
    values = [
        [None if np.isnan(cell) else float(cell) for cell in row] for row in square.to_numpy()
    ]
    return {"raters": raters, "values": values}


def _describe(table: Table, value: Any, seed: int) -> dict[str, Any]:
    rows = table.rows
    return {
        "unit": rows.output,
        "rater": table.rater,
        "value": value,
        "block": rows.block,
        "seed": seed,
    }
