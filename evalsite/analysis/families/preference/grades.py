"""What answers to a pair say beside which output is preferred: by how much, and why it is a tie."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evalsite.analysis.figure import Figure

BOTH = ("good", "bad")


def describe_grades(rows: pd.DataFrame, first: str, second: str) -> dict[str, Any] | None:
    """Return the mean step of a pair, and how often both were good or bad; None: nothing graded.

    Steps towards `first` count as positive ones, and every tie as 0.
    """
    if not (rows.both != "").any() and not (rows.value.abs() > 1).any():
        return None
    own = rows[
        ((rows.system_1 == first) & (rows.system_2 == second))
        | ((rows.system_1 == second) & (rows.system_2 == first))
    ]
    towards = -own.outcome.where(own.system_1 == first, -own.outcome)
    steps = own.value.fillna(0) * towards
    mean = Figure(
        name="mean_step",
        method="mean of steps, a tie as 0",
        value=float(steps.mean()),
        n={"answers": len(own)},
        details={"interval": "none: the test of the pair is of its net wins"},
    )
    return {"mean": mean, **{f"both_{name}": int((own.both == name).sum()) for name in BOTH}}


def add_grades(pairs: list[dict[str, Any]], rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the pairs, each with what its answers say of it where they were graded."""
    found: list[tuple[dict[str, Any], Mapping[str, Any] | None]] = [
        (pair, describe_grades(rows, pair["system_1"], pair["system_2"])) for pair in pairs
    ]
    return [pair | {"grades": grades} if grades else pair for pair, grades in found]
