"""What the data of a report are: counts, origins, what was left out, and facts of the design."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from evalsite.analysis.figure import Figure
from evalsite.analysis.table import Table

_NO_INTERVAL = {"interval": "none: a count, not an estimate"}
_ORIGINS = ("own", "imported", "simulated")
_RANGES = {
    "ratings_per_output": "ratings of an output",
    "outputs_per_rater": "outputs of a rater",
    "seconds_per_annotation": "seconds an item",
}
_FROM = {
    "ratings_per_output": ("outputs",),
    "outputs_per_rater": ("raters",),
    "seconds_per_annotation": ("raters",),
    "components": ("raters", "outputs"),
    "share_of_cells_filled": ("raters", "outputs"),
}
# rows of the file of ratings, by the reason that the table counts them for
_ROWS_LEFT_OUT = {
    "excluded_ratings": "excluded",
    "rated_twice": "rated twice",
    "no_value": "no value",
    "not_main": "not a main item",
    "not_counted": "not counted",
}
_COUNTS = {"components": "parts that no rater links", "share_of_cells_filled": "share rated"}


def describe_data(
    table: Table, annotations: pd.DataFrame | None, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Counts of what the report was made of; `facts` are those of the table's design."""
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
    found = {key: int(table.left_out.get(why, 0)) for key, why in _ROWS_LEFT_OUT.items()}
    if annotations is None:
        return found | {"excluded": 0, "ignored": 0, "reported": 0}
    main = annotations[annotations.kind == "main"]
    counted = main.status == "counted"
    return found | {
        "excluded": int(((main.excluded == "yes") & counted).sum()),
        "ignored": int(((main.outcome == "ignored") & counted).sum()),
        "reported": int((main.outcome == "reported").sum()),
    }


def list_design_figures(facts: Mapping[str, Any]) -> list[Figure]:
    """Facts of the design as figures: a range by its median, with its ends in the details."""
    found = []
    for key, words in _RANGES.items():
        if known := facts.get(key):
            found.append(
                Figure(
                    name=key,
                    method=f"median; from {known['min']:g} to {known['max']:g} {words}",
                    value=known["median"],
                    n=_count_from(key, facts),
                    details={"least": known["min"], "most": known["max"], **_NO_INTERVAL},
                )
            )
    for key, words in _COUNTS.items():
        if facts.get(key) is not None:
            found.append(
                Figure(
                    name=key, method=words, value=float(facts[key]), n=_count_from(key, facts),
                    details=_NO_INTERVAL,
                )
            )  # fmt: skip
    return found


def _count_from(key: str, facts: Mapping[str, Any]) -> dict[str, int]:
    return {what: int(facts[what]) for what in _FROM[key] if facts.get(what)}
