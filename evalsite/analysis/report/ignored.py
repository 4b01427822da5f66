"""What raters ignored: how often, which items, who, and which items results leave out.

A rater who ignores an item gives it no rating. Results leave an item out if more than half of those
who rated or ignored it ignored it; each criterion then also has its results with all items.
Exports keep everything.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from evalsite.analysis.acceptance import find_majority
from evalsite.analysis.agreement import count_units
from evalsite.analysis.alpha import alpha
from evalsite.analysis.figure import Figure, make_note
from evalsite.analysis.rank_tests import wilson_share
from evalsite.analysis.ratings import Ratings
from evalsite.analysis.table import Table

_COMPARED = ("systems", "pairs", "agreement")


@dataclass(frozen=True, kw_only=True)
class Ignored:
    """Who rated and who ignored what: a row for each main item that was rated or ignored.

    `rows`: item, participant and is_ignored. `dropped`: the items that most raters ignored.
    """

    rows: pd.DataFrame
    dropped: tuple[str, ...]


def read_ignored(annotations: pd.DataFrame | None, table: Table) -> Ignored | None:
    """Return what the raters of the table ignored; None if they ignored nothing.

    `annotations`: the exported file of that name. Excluded ones count only if the table holds
    excluded ratings.
    """
    if annotations is None:
        return None
    counted = (annotations.kind == "main") & (annotations.status == "counted")
    if "excluded" in annotations and not table.rows.is_excluded.any():
        counted &= annotations.excluded != "yes"
    rows = annotations[counted & annotations.outcome.isin(["rated", "ignored"])]
    is_ignored = rows.outcome == "ignored"
    if not is_ignored.any():
        return None
    rows = rows[["item", "participant"]].assign(is_ignored=is_ignored.astype(int))
    votes = find_majority(unit=rows["item"], value=rows.is_ignored)
    most = votes.index[votes.majority == 1]
    return Ignored(rows=rows, dropped=tuple(sorted(map(str, most))))


def drop_ignored(table: Table, ignored: Ignored | None) -> Table:
    """Return the table without the items that most raters ignored."""
    if ignored is None or not ignored.dropped:
        return table
    return replace(table, rows=table.rows[~table.rows["item"].isin(ignored.dropped)])


def warn_of_dropped(whole: Table, table: Table) -> list[dict[str, Any]]:
    """Return a warning if ratings are left out because most raters ignored their item."""
    dropped = whole.rows[~whole.rows.index.isin(table.rows.index)]
    if not len(dropped):
        return []
    items = int(dropped["item"].nunique())
    return [make_note("ignored_by_most", items=items, ratings=len(dropped))]


def keep_compared(criterion: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the results with and without dropped items are compared by."""
    return {key: criterion[key] for key in ("key", "label", *_COMPARED)}


def report_ignored(ignored: Ignored | None, table: Table, seed: int) -> dict[str, Any]:
    """Return how often items were ignored, agreement on that, which items, and by whom."""
    if ignored is None:
        return {"ignore": None, "ignored_items": None, "ignored_raters": None}
    rows, dropped = ignored.rows, set(ignored.dropped)
    items = [
        {"item": name, "share": figure, "is_dropped": name in dropped}
        for name, figure in _list_shares(rows, "item")
        if figure.value
    ]
    raters = _list_shares(rows, "participant") if table.raters_known else []
    rater = rows.participant if table.raters_known else None
    answers = Ratings(unit=rows["item"], rater=rater, value=rows.is_ignored)
    agreement = alpha(answers, "nominal", name="alpha_ignored")
    return {
        "ignore": [
            wilson_share(int(rows.is_ignored.sum()), len(rows), name="share_ignored"),
            count_units(agreement, "item"),
        ],
        "ignored_items": items,
        "ignored_raters": [{"participant": name, "share": figure} for name, figure in raters],
    }  # fmt: skip


def _list_shares(rows: pd.DataFrame, by: str) -> list[tuple[str, Figure]]:
    """Return the share ignored by item or participant with Wilson's interval, the largest first."""
    counts = rows.groupby(by).is_ignored.agg(["sum", "count"])
    shares = [
        (str(name), wilson_share(int(hits), int(n), name="share_ignored"))
        for name, hits, n in zip(counts.index, counts["sum"], counts["count"], strict=True)
    ]
    return sorted(shares, key=lambda row: (-(row[1].value or 0), -max(row[1].n.values()), row[0]))
