"""Tests of whether a system is worse in a part of the inputs, such as one language."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.difference_tests import correct
from evalsite.analysis.plan import Margin, Plan
from evalsite.analysis.ratings import Table, read_texts
from evalsite.lib.limited import read_json

# tests the margins of a plan on a table, with a seed
JudgeMargins = Callable[[Table, int, Plan], list[dict[str, Any]]]
LEAST_INPUTS = 20  # of a slice that is tested


def read_slices(path: Path, name: str, table: Table, *, items: Path | None = None) -> pd.Series:
    """Return the slice of each row, from a column of the ratings or of the items.

    ValueError: there is no such column, or an input is in two.
    """
    text = read_texts(path)
    if name not in text and items is not None:
        by_item = read_item_slices(items, {name})[name]
        if (by_item != "").any():
            return place_in_slices(table, by_item)
    if name not in text:
        raise ValueError(f"The file has no column {name}. It has: {', '.join(map(str, text))}.")
    rows = table.rows
    cells = pd.Series(text[name].str.strip().to_numpy()[rows["row"] - 1], index=rows.index)
    of_inputs = pd.DataFrame({"group": rows.group, "slice": cells}).drop_duplicates()
    if (double := of_inputs.group.duplicated()).any():
        group = of_inputs.group[double].iloc[0]
        first, other, *_ = of_inputs.slice[of_inputs.group == group]
        raise ValueError(
            f"The input {group} is in two slices, {first or '(empty)'} and {other or '(empty)'}. "
            f"Give all its rows the same {name}."
        )
    return cells


def read_item_slices(path: Path, names: Collection[str]) -> pd.DataFrame:
    """Return the values of these columns of an exported items.csv by item: of inputs, or of what
    else an upload held. "": the item has none, or its outputs differ."""
    text = read_texts(path).drop_duplicates("item").set_index("item")
    extra = [read_json(cell) if cell else {} for cell in text.get("extra", "")]
    values = {}
    for name in names:
        cells = text[name] if name in text else [each.get(name, "") for each in extra]
        values[name] = [cell.strip() if isinstance(cell, str) else "" for cell in cells]
    return pd.DataFrame(values, index=text.index)


def place_in_slices(table: Table, by_item: pd.Series) -> pd.Series:
    """Return the slice of each row; "" where the items of an input are in several."""
    rows = table.rows
    cells = rows["item"].map(by_item).fillna("")
    is_split = cells.groupby(rows.group).transform("nunique") > 1
    return cells.where(~is_split, "")


def keep_pair(table: Table, margin: Margin) -> Table:
    """Return the ratings of the two systems only."""
    rows, pair = table.rows, [margin.system, margin.other]
    is_compared = rows.system_1.isin(pair) & rows.system_2.isin(pair)
    return replace(table, rows=rows[rows.system.isin(pair) | is_compared])


def describe_slices(
    table: Table, slices: pd.Series, *, judge: JudgeMargins, margin: Margin, seed: int
) -> dict[str, Any]:
    """Return the `slices` as they were judged, the `worst`, those that the test `fails_in`, being
    clearly worse there, and the number of `unsliced` inputs. One that fails makes the test on all
    inputs fail."""
    judged = judge_slices(table, slices, judge=judge, margin=margin, seed=seed)
    fails_in = [each["slice"] for each in judged if each["is_worse"]]
    return {
        "slices": judged,
        "worst": find_worst(judged),
        "fails_in": fails_in,
        "unsliced": int(table.rows.group[slices == ""].nunique()),
    }


def judge_slices(
    table: Table, slices: pd.Series, *, judge: JudgeMargins, margin: Margin, seed: int
) -> list[dict[str, Any]]:
    """Return for each slice the difference and, with LEAST_INPUTS inputs or more, whether it is
    worse by more than the margin; p values are corrected over the tested slices, by Holm.

    Each has `slice`, `inputs`, `is_tested`, `is_worse` and, if defined, the figures of
    `judge_margin`, or a `reason`. Rows with an empty cell are in no slice.
    """
    judged = []
    for name, index in slices[slices != ""].groupby(slices).groups.items():
        part = replace(table, rows=table.rows.loc[index])
        judged.append({"slice": str(name), **_judge(part, judge, margin, seed)})
    tested = [each for each in judged if each["is_tested"] and "p_fail" in each]
    for each, p in zip(tested, correct([each["p_fail"] for each in tested]), strict=True):
        each |= {"p_corrected": float(p), "family": len(tested), "is_worse": bool(p < margin.level)}
    return judged


def _judge(table: Table, judge: JudgeMargins, margin: Margin, seed: int) -> dict[str, Any]:
    pair = keep_pair(table, margin)
    inputs = int(pair.rows.group.nunique())
    known: dict[str, Any] = {"inputs": inputs, "is_tested": False, "is_worse": False}
    if table.raters_known and pair.rows.participant.nunique() < 2:
        return known | {"reason": "one_rater" if inputs else "no_data"}
    (test,) = judge(table, seed, Plan(margins=(margin,)))
    kept = ("difference", "low", "high", "p_fail", "reason", "is_log")
    known |= {key: test[key] for key in kept if key in test}
    # an exact difference decides without p, if enough raters and inputs show it
    known["is_tested"] = inputs >= LEAST_INPUTS and ("p_fail" in test or _is_exact(test))
    known["is_worse"] = known["is_tested"] and _is_exact(test) and test["outcome"] == "fail"
    return known


def _is_exact(test: dict[str, Any]) -> bool:
    return test.get("reason") in ("constant", "all_equal")


def find_worst(slices: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the slice with the lowest difference; of several, the first by name."""
    known = [each for each in slices if "difference" in each]
    if not known:
        return None
    return known[int(np.argmin([each["difference"] for each in known]))]
