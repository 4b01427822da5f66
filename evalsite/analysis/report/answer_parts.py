"""Answers with several parts, made into the numbers that families of analysis take.

A choice becomes one criterion for each option: taken or not. The statements of a checklist become
the share of yes among those that apply. What is asked of turns becomes their mean. Comments and
texts are no numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.families import find_family
from evalsite.analysis.figure import make_note
from evalsite.analysis.table import Table
from evalsite.lib.rating_columns import name_option

Instrument = Sequence[Mapping[str, Any]]
COMMENT = "comment"
# of a criterion that is asked of the item as a whole
OF_ITEM = "all outputs together"


def split_parts(table: Table, instrument: Instrument) -> tuple[Table, list[Mapping[str, Any]]]:
    """Return table and instrument with a criterion for each number that was asked for."""
    if not any(map(_needs_work, instrument)):
        return table, list(instrument)
    found: list[Mapping[str, Any]] = []
    rows = table.rows[table.rows.part != COMMENT]
    parts = [rows[~rows.criterion.isin([str(one["key"]) for one in instrument])]]
    for one in instrument:
        own = rows[rows.criterion == str(one["key"])]
        if one.get("per") == "item":
            own = own.assign(system=own.system.where(own.system != "", OF_ITEM))
        family = find_family(one)
        if family.averages and one.get("options"):
            # the share of turns that have the option
            options = list(one["options"])
            found += [_describe_option(one, option) | {"family": family.name} for option in options]
            parts += map(_average, _take_options(own, str(one["key"]), options))
        elif family.splits:
            options = list(one.get("options", ()))
            found += [_describe_option(one, option) | _AS_DECISION for option in options]
            parts += list(_take_options(own, str(one["key"]), options))
        elif family.averages:
            found.append(one)
            parts.append(_average(own))
        elif family.is_analysed:
            found.append(one)
            parts.append(own)
    kept = pd.concat([part for part in parts if len(part)]) if any(map(len, parts)) else rows
    return replace(table, rows=kept.sort_values("row", kind="stable")), found


def _needs_work(one: Mapping[str, Any]) -> bool:
    family = find_family(one)
    is_plain = family.is_analysed and not family.splits and not family.averages
    return not is_plain or one.get("per") == "item"


_AS_DECISION = {
    "family": "decision",
    "answers": [{"value": 0, "label": "no"}, {"value": 1, "label": "yes"}],
}


def _describe_option(one: Mapping[str, Any], option: Mapping[str, str]) -> dict[str, Any]:
    return {
        **one,
        "key": name_option(str(one["key"]), option["key"]),
        "of": one["key"],
        "label": f"{one['label']}: {option['label']}",
        "answers": [],
        "minimum": 0,
        "maximum": 1,
    }


def _take_options(
    rows: pd.DataFrame, key: str, options: Sequence[Mapping[str, str]]
) -> Iterator[pd.DataFrame]:
    """Yield the rows of each option: 1 where it was taken."""
    for place, option in enumerate(options, start=1):
        name = name_option(key, option["key"])
        ticked = rows[rows.part == option["key"]]
        chosen = rows[rows.part == ""]
        taken = chosen.assign(value=(chosen.value == place).astype(float))
        yield pd.concat([ticked, taken]).assign(criterion=name)


def _average(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each person and output: the mean of statements or turns."""
    if not len(rows):
        return rows
    same = ["annotation", "participant", "output", "row_group"]
    # without annotations a person says one thing of an output
    marked = rows.assign(row_group=np.where(rows.annotation == "", rows["item"], rows.annotation))
    means = marked.groupby(same, sort=False).value.transform("mean")
    return rows.assign(value=means)[~marked.duplicated(same)]


# kinds of questions whose answers have a mean; an option has a place only
_WITH_MEAN = ("likert", "slider", "number", "decision", "")


def drop_turns(table: Table) -> tuple[Table, int]:
    """Leave out the ratings of turns that have no mean in a file alone, and count them."""
    rows = table.rows
    has_mean = rows["scale"].isin(_WITH_MEAN) & (rows.part == "") & rows.value.notna()
    gone = (rows.turn != "") & ~has_mean
    return replace(table, rows=rows[~gone]), int(gone.sum())


# --- what is missing by design -----------------------------------------------------------


def count_missing(table: Table, key: str) -> dict[str, dict[str, int]]:
    """Count for each system the answers "not applicable", and those not asked for or not given."""
    silent = table.silent
    has_more = silent is not None and len(silent)
    given = pd.concat([table.rows, silent]) if has_more else table.rows
    given = given[given.system != ""]
    asked = given.drop_duplicates(["annotation", "output"]).groupby("system").size()
    own = given[given.criterion == key]
    there = own.drop_duplicates(["annotation", "output"]).groupby("system").size()
    away = own[own.value.isna() & (own.part == "")].groupby("system").size()
    return {
        "not_applicable": {str(name): int(n) for name, n in away.items() if n},
        "not_answered": {
            str(name): int(n - there.get(name, 0))
            for name, n in asked.items()
            if n > there.get(name, 0)
        },
    }


def describe_missing(missing: Mapping[str, Mapping[str, int]]) -> Iterator[dict[str, Any]]:
    """Yield notes on what is missing by design, by system."""
    for code in ("not_applicable", "not_answered"):
        if counts := missing.get(code):
            yield make_note(code, counts=dict(counts))
