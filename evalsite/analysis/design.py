"""Facts of the design: how much was rated, by whom, and how raters and outputs are connected.

They are counts, not estimates, so they are plain numbers and need no interval.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from evalsite.analysis.figure import Figure
from evalsite.analysis.table import Table


def describe_design(table: Table) -> dict[str, Any]:
    """Return the facts at the top of a report, of the ratings in `table`.

    Counts; ratings per output and outputs per rater as min, median and max; components of the graph
    of raters and outputs; whether raters and outputs are crossed; how often each system was shown
    at each place; what was left out; dates and seconds. All plain data.
    """
    rows = table.rows
    moments = [moment for moment in rows.submitted_at.unique() if moment]
    facts: dict[str, Any] = {
        "ratings": len(rows),
        "annotations": _count(rows, "annotation"),
        "items": _count(rows, "item"),
        "outputs": _count(rows, "output"),
        "groups": _count(rows, "group"),
        "clusters": _count(rows, "cluster"),
        "systems": sorted(
            {*rows.system.unique(), *rows.system_1.unique(), *rows.system_2.unique()} - {""}
        ),
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
        timed = rows[rows.seconds.notna()].drop_duplicates(["participant", "item", "trial"])
        facts["seconds_per_annotation"] = _range(timed.seconds) if len(timed) else None
    return facts


def describe_places(rows: pd.DataFrame) -> dict[str, dict[int, int]]:
    """Return how often each system's output was shown at each place of the page."""
    placed = rows[rows.place.notna() & (rows.system != "")]
    placed = placed.drop_duplicates(["participant", "output"])
    counted = placed.groupby(["system", "place"]).size()
    places: dict[str, dict[int, int]] = {}
    for (system, place), number in counted.items():
        places.setdefault(str(system), {})[int(place)] = int(number)
    first = rows[(rows.shown_first != "")].drop_duplicates(["participant", "item"])
    second = first.system_1.where(first.shown_first == first.system_2, first.system_2)
    for place, systems in ((1, first.shown_first), (2, second)):
        for system, number in systems[systems != ""].value_counts().sort_index().items():
            places.setdefault(str(system), {})[place] = int(number)
    return places


def _describe_overlap(rows: pd.DataFrame) -> dict[str, Any]:
    """Return whether every rater is linked to every other through outputs that both rated."""
    table = _meet(rows)
    raters, outputs = table.shape
    graph = sparse.bmat([[None, table], [table.T, None]])
    number, part = csgraph.connected_components(graph, directed=False)
    sizes = np.bincount(part[:raters], minlength=number)
    shared = (table.sum(axis=0) > 1).sum()
    return {
        "components": int(number),
        "raters_per_component": sorted((int(size) for size in sizes), reverse=True),
        "outputs_rated_by_two_or_more": int(shared),
        "is_crossed": bool(table.nnz == raters * outputs),
        "share_of_cells_filled": float(table.nnz / (raters * outputs)),
    }


def count_parts(rows: pd.DataFrame) -> int:
    """Count the connected components of raters and inputs: 1 where all are linked."""
    if rows.empty:
        return 0
    table = _meet(rows, "group")
    graph = sparse.bmat([[None, table], [table.T, None]])
    return int(csgraph.connected_components(graph, directed=False)[0])


def _meet(rows: pd.DataFrame, unit: str = "output") -> sparse.csr_array:
    both = rows.drop_duplicates(["participant", unit])
    rater, output = (pd.factorize(both[name])[0] for name in ("participant", unit))
    ones: NDArray[np.float64] = np.ones(len(both))
    return sparse.csr_array((ones, (rater, output)))


def _range(values: pd.Series) -> dict[str, float]:
    return {"min": float(values.min()), "median": float(values.median()),
            "max": float(values.max())}  # fmt: skip


def _count(rows: pd.DataFrame, name: str) -> int:
    return int((rows[name].drop_duplicates() != "").sum())


# --- the data of a report -----------------------------------------------------------------------

_NO_INTERVAL = {"interval": "count"}
_ORIGINS = ("own", "imported", "simulated")
_RANGES = {
    "ratings_per_output": "median_of_outputs",
    "outputs_per_rater": "median_of_raters",
    "seconds_per_annotation": "median_of_annotations",
}
_FROM = {
    "ratings_per_output": ("outputs",),
    "outputs_per_rater": ("raters",),
    "seconds_per_annotation": ("raters",),
    "components": ("raters", "outputs"),
    "share_of_cells_filled": ("raters", "outputs"),
}
_COUNTS = {"components": "components", "share_of_cells_filled": "share_of_cells"}


def describe_data(
    table: Table, annotations: pd.DataFrame | None, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return counts of the data in the report; `facts` are those of the table's design."""
    rows = table.rows
    return {
        "ratings": len(rows),
        "annotations": facts["annotations"],
        "participants": int(rows.participant.nunique()),
        "items": facts["items"],
        "groups": facts["groups"],
        "clusters": facts["clusters"],
        "systems": facts["systems"],
        "origins": {origin: int((rows.origin == origin).sum()) for origin in _ORIGINS},
        "left_out": _count_left_out(table, annotations),
        "raters_known": table.raters_known,
        "first_at": facts["first_at"],
        "last_at": facts["last_at"],
        "places": facts.get("places", {}),
        "is_crossed": facts.get("is_crossed"),
        "notes": facts["notes"],
    }


def _count_left_out(table: Table, annotations: pd.DataFrame | None) -> dict[str, int]:
    left_out = {"excluded_ratings": int(table.left_out.get("excluded", 0))}
    for why in ("rated_twice", "no_value", "not_main", "not_counted"):
        left_out[why] = int(table.left_out.get(why, 0))
    if annotations is None:
        return left_out | {"excluded": 0, "ignored": 0, "reported": 0}
    main = annotations[annotations.kind == "main"]
    counted = main.status == "counted"
    return left_out | {
        "excluded": int(((main.excluded == "yes") & counted).sum()),
        "ignored": int(((main.outcome == "ignored") & counted).sum()),
        "reported": int((main.outcome == "reported").sum()),
    }


def list_design_figures(facts: Mapping[str, Any]) -> list[Figure]:
    """Return facts of the design as figures: a range as its median, its ends in the details."""
    figures = []
    for key, method in _RANGES.items():
        if known := facts.get(key):
            figures.append(
                Figure(
                    name=key,
                    method=method,
                    value=known["median"],
                    n=_count_from(key, facts),
                    details={"least": known["min"], "most": known["max"], **_NO_INTERVAL},
                )
            )
    for key, method in _COUNTS.items():
        if facts.get(key) is not None:
            figures.append(
                Figure(
                    name=key, method=method, value=float(facts[key]), n=_count_from(key, facts),
                    details=_NO_INTERVAL,
                )
            )  # fmt: skip
    return figures


def _count_from(key: str, facts: Mapping[str, Any]) -> dict[str, int]:
    return {unit: int(facts[unit]) for unit in _FROM[key] if facts.get(unit)}
