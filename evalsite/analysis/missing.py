"""Ratings that are missing more often for one system than for the others.

A rater who skips outputs that they would rate low makes a system look better than it is. Pages that
are missing as a whole say nothing about systems, so they aren't counted.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from evalsite.analysis.figure import Figure
from evalsite.analysis.multiple_testing import correct
from evalsite.analysis.table import Table

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
