"""Answers with several parts, turned into the numbers that families of analysis take.

A choice becomes a criterion for each option: chosen or not. The statements of a checklist become
the share of yes among those that apply. Ratings of turns become their mean. Comments and texts are
left out.
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
# the system of a criterion that is asked about the item as a whole
OF_ITEM = "all outputs together"


def split_parts(table: Table, instrument: Instrument) -> tuple[Table, list[Mapping[str, Any]]]:
    """Return table and instrument with a criterion for each number that was asked for."""
    if not any(_has_parts(criterion) for criterion in instrument):
        return table, list(instrument)
    criteria: list[Mapping[str, Any]] = []
    rows = table.rows[table.rows.part != COMMENT]
    parts = [rows[~rows.criterion.isin([str(criterion["key"]) for criterion in instrument])]]
    for criterion in instrument:
        answers = rows[rows.criterion == str(criterion["key"])]
        if criterion.get("per") == "item":
            answers = answers.assign(system=answers.system.where(answers.system != "", OF_ITEM))
        family = find_family(criterion)
        if family.averages and criterion.get("options"):
            # the share of turns that have the option
            options = list(criterion["options"])
            of_family = {"family": family.name}
            criteria += [_describe_option(criterion, option) | of_family for option in options]
            parts += map(_average, _take_options(answers, str(criterion["key"]), options))
        elif family.splits:
            options = list(criterion.get("options", ()))
            criteria += [_describe_option(criterion, option) | _AS_DECISION for option in options]
            parts += list(_take_options(answers, str(criterion["key"]), options))
        elif family.averages:
            criteria.append(criterion)
            parts.append(_average(answers))
        elif family.has_marks:
            criteria.append(criterion)
            # beside the score, a row may say that there are no errors
            parts.append(answers[answers.part == ""])
        elif family.is_analysed:
            criteria.append(criterion)
            parts.append(answers)
    kept = pd.concat([part for part in parts if len(part)]) if any(map(len, parts)) else rows
    return replace(table, rows=kept.sort_values("row", kind="stable")), criteria


def _has_parts(criterion: Mapping[str, Any]) -> bool:
    """Return whether answers to the criterion aren't one plain number for each output."""
    family = find_family(criterion)
    is_plain = family.is_analysed and not family.splits and not family.averages
    return not is_plain or family.has_marks or criterion.get("per") == "item"


_AS_DECISION = {
    "family": "decision",
    "answers": [{"value": 0, "label": "no"}, {"value": 1, "label": "yes"}],
}


def _describe_option(choice: Mapping[str, Any], option: Mapping[str, str]) -> dict[str, Any]:
    return {
        **choice,
        "key": name_option(str(choice["key"]), option["key"]),
        "of": choice["key"],
        "label": f"{choice['label']}: {option['label']}",
        "answers": [],
        "minimum": 0,
        "maximum": 1,
    }


def _take_options(
    rows: pd.DataFrame, key: str, options: Sequence[Mapping[str, str]]
) -> Iterator[pd.DataFrame]:
    """Yield the rows of each option: 1 where it was chosen."""
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
    columns = ["annotation", "participant", "output", "row_group"]
    # without annotations, a person has one answer about an output
    marked = rows.assign(row_group=np.where(rows.annotation == "", rows["item"], rows.annotation))
    means = marked.groupby(columns, sort=False).value.transform("mean")
    return rows.assign(value=means)[~marked.duplicated(columns)]


# kinds of questions whose answers have a mean; an option only has a place
_WITH_MEAN = ("likert", "slider", "number", "decision", "")


def drop_turns(table: Table) -> tuple[Table, int]:
    """Return the table without ratings of turns that have no mean, and how many these are."""
    rows = table.rows
    has_mean = rows["scale"].isin(_WITH_MEAN) & (rows.part == "") & rows.value.notna()
    dropped = (rows.turn != "") & ~has_mean
    return replace(table, rows=rows[~dropped]), int(dropped.sum())


# --- what is missing by design -----------------------------------------------------------


def count_missing(table: Table, key: str) -> dict[str, dict[str, int]]:
    """Count by system the answers "not applicable", and those not asked for or not given."""
    silent = table.silent
    has_more = silent is not None and len(silent)
    rows = pd.concat([table.rows, silent]) if has_more else table.rows
    rows = rows[rows.system != ""]
    shown = rows.drop_duplicates(["annotation", "output"]).groupby("system").size()
    rows = rows[rows.criterion == key]
    answered = rows.drop_duplicates(["annotation", "output"]).groupby("system").size()
    unrated = rows[rows.value.isna() & (rows.part == "")].groupby("system").size()
    return {
        "not_applicable": {str(name): int(n) for name, n in unrated.items() if n},
        "not_answered": {
            str(name): int(n - answered.get(name, 0))
            for name, n in shown.items()
            if n > answered.get(name, 0)
        },
    }


def describe_missing(missing: Mapping[str, Mapping[str, int]]) -> Iterator[dict[str, Any]]:
    """Yield notes on what is missing by design, by system."""
    for code in ("not_applicable", "not_answered"):
        if counts := missing.get(code):
            yield make_note(code, counts=dict(counts))
