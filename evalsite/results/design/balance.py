"""The balance of a design in words: what was planned beside what was reached."""

from collections.abc import Iterable
from typing import Any

from evalsite.lib.words import count_of
from evalsite.results.design.report import BY_ITEM, BY_SYSTEM, Measure, Report, Row, Table

# a system is behind by more than so many answers, and more than this share of the most
_BEHIND, _SHARE = 2, 0.02
_MOST_SYSTEMS = 6


def head_design(report: Report, *, is_complete: bool) -> str:
    """Return whether the design was kept: which system is behind, or places that differ."""
    table = _find(report.tables, BY_SYSTEM)
    if table is not None:
        counts = {row.name: row.achieved[0] for row in table.rows}
        name = min(counts, key=lambda system: counts[system])
        behind = max(counts.values()) - counts[name]
        if behind > max(_BEHIND, _SHARE * max(counts.values())):
            return f"{name} is {count_of(behind, 'answer')} behind"
    if report.strays:
        differ = count_of(report.strays, "place differs", "places differ")
        return f"{differ} from the plan"
    return "Balanced as planned" if is_complete or not report.answers else "Balanced so far"


def list_balance(report: Report) -> list[dict[str, str]]:
    """List what was to be equal: what was planned, and what is reached."""
    rows = []
    items, systems = _find(report.tables, BY_ITEM), _find(report.tables, BY_SYSTEM)
    if items is not None:
        (row,) = items.rows
        rows.append(
            {
                "what": "Answers per item",
                "planned": _write_range(items.columns, row.planned or ()),
                "reached": _write_range(items.columns, row.achieved),
            }
        )
    if systems is not None:
        rows.append(
            {
                "what": "Answers per system",
                "planned": _write_counts(systems.rows, is_planned=True),
                "reached": _write_counts(systems.rows),
            }
        )
    rows += [
        {
            "what": measure.name[:1].upper() + measure.name[1:],
            "planned": _write_planned(measure),
            "reached": _write_reached(measure),
        }
        for measure in report.measures[1:]
    ]
    return rows


def list_other_tables(report: Report) -> list[Table]:
    """List the tables behind the balance, but those that it shows in words."""
    return [table for table in report.tables if table.caption not in (BY_ITEM, BY_SYSTEM)]


def _find(tables: Iterable[Table], caption: str) -> Table | None:
    return next((table for table in tables if table.caption == caption), None)


def _write_range(numbers: list[str], items: Iterable[int]) -> str:
    """Write how many answers items have: "3 on all 61 items", "0 to 3"."""
    known = [(number, count) for number, count in zip(numbers, items, strict=False) if count]
    if len(known) == 1:
        number, count = known[0]
        return f"{number} on {count_of(count, 'item') if count == 1 else f'all {count:,} items'}"
    return f"{known[0][0]} to {known[-1][0]}" if known else ""


def _write_counts(rows: list[Row], *, is_planned: bool = False) -> str:
    counts = [(row.planned or [0])[0] if is_planned else row.achieved[0] for row in rows]
    if len(set(counts)) == 1:
        return f"{counts[0]:,} each"
    if len(counts) <= _MOST_SYSTEMS:
        return ", ".join(f"{count:,}" for count in counts)
    return f"{min(counts):,} to {max(counts):,}"


def _write_planned(measure: Measure) -> str:
    if measure.planned is None:
        return "not planned"
    return "equal" if measure.planned == 0 else f"equal to within {measure.planned:,}"


def _write_reached(measure: Measure) -> str:
    if measure.achieved is None:
        return "nothing yet"
    return "equal" if measure.achieved == 0 else f"equal to within {measure.achieved:,}"


def describe_missing(criteria: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the shares of missing answers of each question by system, and what they come to."""
    rows, shown, missing = [], 0, 0
    for criterion in criteria:
        counts = criterion.get("missing_by_system") or ()
        shown += sum(count["shown"] for count in counts)
        missing += sum(count["missing"] for count in counts)
        if any(count["missing"] for count in counts):
            cells = [
                {"system": count["system"], "missing": count["missing"], "shown": count["shown"],
                 "share": f"{100 * count['share']:.0f}%"}
                for count in counts
            ]  # fmt: skip
            rows.append({"label": criterion["label"], "cells": cells})
    words = "Not known for this study."
    if shown:
        words = f"{missing:,} of {count_of(shown, 'answer')} are missing."
        if not missing:
            words = "None: every answer that was asked for was given, for all systems alike."
    return {"rows": rows, "words": words}
