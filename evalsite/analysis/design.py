"""Facts of the design: how much was rated, by whom, how raters and outputs are connected, and what
is missing more often for one system than for the others. Counts need no interval.

A rater who skips outputs that they would rate low makes a system look better than it is. Pages that
are missing as a whole say nothing about systems, so they aren't counted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse, stats
from scipy.sparse import csgraph

from evalsite.analysis.difference_tests import correct
from evalsite.analysis.figure import Figure
from evalsite.analysis.ratings import Table, read_systems


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
        "outputs": _count(rows, "output") + _count_unplaced(rows),
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


def _count_unplaced(rows: pd.DataFrame) -> int:
    """Count the outputs that were shown in an order and that nobody gave a place."""
    known = rows[rows.systems_shown != ""].drop_duplicates(["item", "systems_shown"])
    shown = {
        (item, system)
        for item, cell in zip(known["item"], known.systems_shown, strict=True)
        for system in read_systems(cell)
    }
    return len(shown - {*zip(rows["item"], rows.system, strict=True)})


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


# --- ratings that are missing more often for one system

_LEAST_APART = 0.05  # of the share of a system above that of the others
_LEVEL = 0.01
# a file without pages is a complete design if this share of all raters' outputs is rated
_COMPLETE = 0.6
_PLANNED = 0.5  # of all raters' outputs of one system


def list_shown(table: Table, key: str, *, is_asked_always: bool = True) -> pd.DataFrame:
    """Return a row for each output that was shown with the question `key`: `page`, `rater`,
    `system`, and whether its rating `is_missing`. Empty where nobody knows what was shown.

    `is_asked_always` False: the question isn't asked of every output, so that only "not applicable"
    counts as missing.
    """
    empty = pd.DataFrame({"page": [], "rater": [], "system": [], "is_missing": []})
    rows = table.rows[(table.rows.system != "") & table.rows.value.notna()]
    rated = rows[rows.criterion == key]
    if not len(rated) or not table.raters_known:
        return empty
    if (rated.annotation != "").all():
        return _list_pages(table, rated, key, is_asked_always=is_asked_always)
    outputs = rated.drop_duplicates(["group", "system"])
    raters = rated.participant.nunique()
    answered = rated.drop_duplicates(["participant", "group", "system"])
    if raters * len(outputs) * _COMPLETE > len(answered):
        return empty
    # a system assigned to few raters isn't missing on the pages of the others
    wide = outputs.groupby("system").size() * raters * _PLANNED
    planned = answered.groupby("system").size()
    systems = set(planned.index[planned >= wide.reindex(planned.index)])
    answered, outputs = (rows[rows.system.isin(systems)] for rows in (answered, outputs))
    pages = answered[["participant", "group"]].drop_duplicates()
    shown = pages.merge(outputs[["group", "system"]], on="group")
    shown = shown.merge(
        answered[["participant", "group", "system"]],
        on=["participant", "group", "system"],
        how="left",
        indicator="side",
    )
    return _name_columns(shown, shown.participant + "\x1f" + shown.group, shown.side != "both")


def _list_pages(
    table: Table, rated: pd.DataFrame, key: str, *, is_asked_always: bool
) -> pd.DataFrame:
    """Return the outputs of each page that a site recorded, and on which something was rated."""
    silent = table.silent
    skipped = rated[:0] if silent is None else silent[silent.criterion == key]
    columns = ["annotation", "participant", "output", "system"]
    answered = rated[columns].drop_duplicates()
    gone = skipped[skipped.system != ""][columns].drop_duplicates()
    if is_asked_always:
        outputs = table.rows[table.rows.system != ""][["item", "output", "system"]]
        pages = rated[["annotation", "participant", "item"]].drop_duplicates()
        gone = pd.concat([gone, pages.merge(outputs.drop_duplicates(), on="item")[columns]])
    known = set(zip(answered.annotation, answered.output, strict=True))
    is_new = [pair not in known for pair in zip(gone.annotation, gone.output, strict=True)]
    gone = gone[is_new].drop_duplicates(["annotation", "output"])
    shown = pd.concat([answered.assign(is_missing=False), gone.assign(is_missing=True)])
    return _name_columns(shown, shown.annotation, shown.is_missing)


def _name_columns(shown: pd.DataFrame, page: Any, is_missing: Any) -> pd.DataFrame:
    listed = pd.DataFrame(
        {
            "page": np.asarray(page),
            "rater": shown.participant.to_numpy(),
            "system": shown.system.to_numpy(),
            "is_missing": np.asarray(is_missing, dtype=bool),
        }
    )
    has_some = listed.groupby("page").is_missing.transform("min") == 0
    # outputs that are shown alone have no page for comparison: all of these count
    is_alone = listed.groupby("page").system.transform("size") == 1
    return listed[has_some | is_alone].reset_index(drop=True)


def find_missing(shown: pd.DataFrame) -> list[dict[str, Any]]:
    """Return for each system how many outputs were `shown`, how many ratings are `missing`, both as
    a `share`, the mean share of the `others`, and `p` that it is missing as often as they are,
    corrected by Holm's method."""
    counts = shown.groupby("system").is_missing.agg(["size", "sum"])
    if len(counts) < 2:
        return []
    shares = counts["sum"] / counts["size"]
    systems = [str(system) for system in counts.index]
    p = correct([_test(shown, system) for system in systems])
    return [
        {
            "system": system,
            "shown": int(counts["size"][system]),
            "missing": int(counts["sum"][system]),
            "share": float(shares[system]),
            "others": float(shares.drop(system).mean()),
            "p": None if np.isnan(corrected) else float(corrected),
        }
        for system, corrected in zip(systems, p, strict=True)
    ]


def _test(shown: pd.DataFrame, system: str) -> float:
    """Return the exact sign test over pages that show the system with others; of outputs that are
    shown alone, Cochran, Mantel and Haenszel's test by rater."""
    is_own = shown.system == system
    missing = shown[is_own].groupby("page").is_missing.mean()
    beside = shown[~is_own].groupby("page").is_missing.mean()
    both = pd.concat([missing, beside], axis=1, join="inner", keys=["own", "beside"]).astype(float)
    if len(both):
        more, fewer = int((both.own > both.beside).sum()), int((both.own < both.beside).sum())
        return float(stats.binomtest(more, more + fewer).pvalue) if more + fewer else 1.0
    return _test_by_rater(shown, is_own)


def _test_by_rater(shown: pd.DataFrame, is_own: pd.Series) -> float:
    apart, variance = 0.0, 0.0
    for _, rows in shown.assign(is_own=is_own).groupby("rater"):
        n, shown_of_system, gone = len(rows), int(rows.is_own.sum()), int(rows.is_missing.sum())
        if n < 2:
            continue
        apart += float((rows.is_own & rows.is_missing).sum()) - shown_of_system * gone / n
        variance += shown_of_system * (n - shown_of_system) * gone * (n - gone) / (n**2 * (n - 1))
    if not variance:
        return 1.0
    return float(stats.chi2.sf(max(0.0, abs(apart) - 0.5) ** 2 / variance, 1))


def is_suspect(entry: Mapping[str, Any]) -> bool:
    """Return whether this system's ratings are missing clearly more often than the others'."""
    return (
        entry["p"] is not None
        and entry["p"] < _LEVEL
        and entry["share"] - entry["others"] >= _LEAST_APART
    )


def find_shift(
    entry: Mapping[str, Any], pairs: Sequence[Mapping[str, Any]], better: str
) -> float | None:
    """Return how much worse the system's missing ratings would have to be on average to change a
    finding of its comparisons: the least of these; None where they can't, or for a ratio."""
    sign = -1.0 if better == "lower" else 1.0
    shifts = []
    for pair in pairs:
        effect: Figure = pair["effect"]
        sides = [pair["system_1"], pair["system_2"]]
        if entry["system"] not in sides or effect.name == "ratio":
            continue
        if effect.value is None or effect.low is None or effect.high is None:
            continue
        # the difference and its ends, positive where the system is better
        turn = sign if entry["system"] == sides[0] else -sign
        low, high = sorted((turn * effect.low, turn * effect.high))
        is_clear = pair["finding"]["code"] in ("higher", "lower")
        if is_clear and turn * effect.value > 0:
            shifts.append(low / entry["share"])
        elif not is_clear:
            shifts.append(high / entry["share"])
    possible = [shift for shift in shifts if shift > 0]
    return min(possible) if possible else None
