"""What each output was given: its ratings drawn together in the ways that papers use."""

from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.canonical_order import Floats
from evalsite.analysis.describe import TRIM, standardise
from evalsite.analysis.magnitude import log_ratio
from evalsite.analysis.table import Table

COLUMNS = (
    "criterion", "item", "output", "group", "cluster", "system", "n", "mean", "median",
    "trimmed_mean", "mode", "mode_share", "geometric_mean", "rater_centred", "rater_z",
    "centred_only", "blup", "blup_reason",
)  # fmt: skip


def aggregate_outputs(
    table: Table, *, is_log: bool = False, predicted: Floats | None = None, reason: str = ""
) -> pd.DataFrame:
    """A row for each output of one criterion, with the columns COLUMNS, by item and output.

    `predicted` (n,): of each rating what the mixed model says of its output; without it `reason`
    says why. Empty cells: what needs raters where they are unknown, the mode of magnitudes, the
    geometric mean of other scales. Rater-centred means have the grand mean put back; those of
    magnitudes, and rater-z, are of logarithms, the centred ones taken back. `centred_only` counts
    ratings whose rater has too few, or too equal, ratings for a z.
    """
    own = _list_ratings(table, predicted, is_log=is_log)
    by = own.groupby("output", sort=False)
    found = by[["item", "group", "cluster", "system"]].first()
    found["n"] = by.size()
    for name, column, how in (
        ("mean", "value", "mean"),
        ("median", "value", "median"),
        ("trimmed_mean", "trimmed", "sum"),
        ("geometric_mean", "log", "mean"),
        ("rater_centred", "centred", "mean"),
        ("rater_z", "z", "mean"),
        ("centred_only", "is_centred_only", "sum"),
        ("blup", "predicted", "first"),
    ):
        found[name] = by[column].agg(how, **({"min_count": 1} if how == "sum" else {}))
    if is_log:
        found[["geometric_mean", "rater_centred"]] = np.exp(
            found[["geometric_mean", "rater_centred"]]
        )
        found[["mode", "mode_share"]] = np.nan
    else:
        found = found.join(_find_modes(own))
    found["centred_only"] = found.centred_only.astype("Int64")
    if (found["mode"].dropna() % 1 == 0).all():
        found["mode"] = found["mode"].astype("Int64")
    found["blup_reason"] = np.where(found.blup.isna(), reason, "")
    found["criterion"] = table.rows.criterion.iloc[0] if len(table) else ""
    found = found.reset_index().sort_values(["item", "output"], kind="stable")
    return found[list(COLUMNS)].reset_index(drop=True)


def _list_ratings(table: Table, predicted: Floats | None, *, is_log: bool) -> pd.DataFrame:
    """Every rating with what is averaged of it, rows by output and value."""
    rows = table.rows
    own = rows[["output", "item", "group", "cluster", "system", "value"]].copy()
    own["predicted"] = np.nan if predicted is None else predicted
    own["log"] = np.log(rows.value) if is_log else np.nan
    own["centred"] = own["z"] = own["is_centred_only"] = np.nan
    if table.rater is not None:
        value: Any = rows.value
        if is_log:
            value = log_ratio(rows.value, None if rows.standard.isna().any() else rows.standard)
        scaled = standardise(rater=table.rater, value=value)
        grand = float(np.mean(own.log if is_log else rows.value)) if len(own) else 0.0
        own["centred"] = scaled.centred.to_numpy() + grand
        own["z"] = scaled.z.to_numpy()
        own["is_centred_only"] = scaled.is_centred_only.to_numpy().astype(float)
    own = own.sort_values(["output", "value"], kind="stable")
    own["trimmed"] = own.value * _weigh(own.output)
    return own


def _weigh(output: pd.Series) -> Any:
    """What each rating counts in the trimmed mean of its output, rows by output and value."""
    by = output.groupby(output, sort=False)
    place, number = by.cumcount(), by.transform("size")
    upper, lower = ((place + one) / number for one in (1, 0))
    kept = upper.clip(TRIM, 1 - TRIM) - lower.clip(TRIM, 1 - TRIM)
    return kept / (1 - 2 * TRIM)


def _find_modes(own: pd.DataFrame) -> pd.DataFrame:
    """The most frequent value of each output, the lowest of several, and its share."""
    counted = own.groupby(["output", "value"], sort=True).size().rename("count").reset_index()
    counted = counted.sort_values(["output", "count", "value"], ascending=[True, False, True])
    top = counted.drop_duplicates("output").set_index("output")
    number = counted.groupby("output")["count"].sum()
    return pd.DataFrame({"mode": top.value, "mode_share": top["count"] / number})
