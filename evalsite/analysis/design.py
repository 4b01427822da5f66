"""Facts of the design: how much was rated, by whom, and how it hangs together.

They are counts, not estimates, so they are plain numbers and need no interval.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from evalsite.analysis.table import Table

_MOST_RATERS = 5  # fewer than this and no method rescues a claim about raters


def describe_design(table: Table) -> dict[str, Any]:
    """Return the facts at the top of a report, of the ratings in `table`.

    Counts; ratings per output and outputs per rater as min, median and max; components of the
    graph of raters and outputs; whether raters and outputs are crossed; how often each system
    stood at each place; what was left out; dates and seconds. All plain data.
    """
    rows = table.rows
    moments = [one for one in rows.submitted_at.unique() if one]
    facts: dict[str, Any] = {
        "ratings": len(rows),
        "annotations": _count(rows, "annotation"),
        "items": _count(rows, "item"),
        "outputs": _count(rows, "output"),
        "groups": _count(rows, "group"),
        "clusters": _count(rows, "cluster"),
        "systems": sorted((set(rows.system.unique()) | _compared(rows)) - {""}),
        "criteria": table.criteria,
        "raters_known": table.raters_known,
        "raters": _count(rows, "participant") if table.raters_known else None,
        "left_out": dict(table.left_out),
        "excluded": int(rows.is_excluded.sum()),
        "simulated": int((rows.origin == "simulated").sum()),
        "imported": int((rows.origin == "imported").sum()),
        "first_at": min(moments, default=None),
        "last_at": max(moments, default=None),
        "notes": list(table.notes),
    }
    if rows.empty:
        return facts
    facts["ratings_per_output"] = _range(rows.groupby(["criterion", "output"]).size())
    facts["places"] = describe_places(rows)
    if table.raters_known:
        facts |= _describe_overlap(rows)
        facts["outputs_per_rater"] = _range(rows.groupby("participant").output.nunique())
        facts["seconds_per_annotation"] = _describe_seconds(rows)
        facts["fewer_than_5_raters"] = facts["raters"] < _MOST_RATERS
    return facts


def describe_places(rows: pd.DataFrame) -> dict[str, dict[int, int]]:
    """How often each system's output stood at each place of the page."""
    placed = rows[rows.place.notna() & (rows.system != "")]
    placed = placed.drop_duplicates(["participant", "output"])
    counted = placed.groupby(["system", "place"]).size()
    found: dict[str, dict[int, int]] = {}
    for (system, place), number in counted.items():
        found.setdefault(str(system), {})[int(place)] = int(number)
    first = rows[(rows.shown_first != "")].drop_duplicates(["participant", "item"])
    second = first.system_1.where(first.shown_first == first.system_2, first.system_2)
    for place, systems in ((1, first.shown_first), (2, second)):
        for system, number in systems[systems != ""].value_counts().sort_index().items():
            found.setdefault(str(system), {})[place] = int(number)
    return found


def _describe_overlap(rows: pd.DataFrame) -> dict[str, Any]:
    """Whether every rater is linked to every other through outputs that both rated."""
    table = _meet(rows)
    raters, outputs = table.shape
    graph = sparse.bmat([[None, table], [table.T, None]])
    number, part = csgraph.connected_components(graph, directed=False)
    sizes = np.bincount(part[:raters], minlength=number)
    shared = (table.sum(axis=0) > 1).sum()
    return {
        "components": int(number),
        "raters_per_component": sorted((int(one) for one in sizes), reverse=True),
        "outputs_rated_by_two_or_more": int(shared),
        "is_crossed": bool(table.nnz == raters * outputs),
        "share_of_cells_filled": float(table.nnz / (raters * outputs)),
    }


def count_parts(rows: pd.DataFrame) -> int:
    """Into how many parts raters and inputs fall that nothing links: 1 where all hang together."""
    if rows.empty:
        return 0
    table = _meet(rows, "group")
    graph = sparse.bmat([[None, table], [table.T, None]])
    return int(csgraph.connected_components(graph, directed=False)[0])


def _meet(rows: pd.DataFrame, what: str = "output") -> sparse.csr_array:
    both = rows.drop_duplicates(["participant", what])
    rater, output = (pd.factorize(both[name])[0] for name in ("participant", what))
    ones: NDArray[np.float64] = np.ones(len(both))
    return sparse.csr_array((ones, (rater, output)))


def _describe_seconds(rows: pd.DataFrame) -> dict[str, float] | None:
    timed = rows[rows.seconds.notna()].drop_duplicates(["participant", "item", "trial"])
    return _range(timed.seconds) if len(timed) else None


def _range(values: pd.Series) -> dict[str, float]:
    return {"min": float(values.min()), "median": float(values.median()),
            "max": float(values.max())}  # fmt: skip


def _count(rows: pd.DataFrame, name: str) -> int:
    return int((rows[name].drop_duplicates() != "").sum())


def _compared(rows: pd.DataFrame) -> set[str]:
    return set(rows.system_1.unique()) | set(rows.system_2.unique())
