"""The part of a report on automatic metrics: each beside what people said of the same outputs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.direction import SIGN, Better
from evalsite.analysis.families import get_numbers
from evalsite.analysis.families.family import Family
from evalsite.analysis.figure import Figure, make_note
from evalsite.analysis.metrics import (
    Beside,
    correlate_metrics,
    find_ceiling,
    find_ceilings_within,
    join_scores,
    williams,
)
from evalsite.analysis.multiple_testing import correct
from evalsite.analysis.resample import DRAWS, FEW_DRAWS
from evalsite.analysis.table import Table, read_texts

# with more scores fewer draws: many outputs need no more, and many metrics take their time
_MANY_SCORES = 20_000
_MANY_RATINGS = 20_000
_FEW_SPLITS = 50
# Williams' test compares at most so many metrics: those that correlate most
MOST_COMPARED = 12
_LEAST_SYSTEMS = 3  # of every input, where figures within inputs are the main ones
_LONG = ("item", "metric", "value")
# what an export says of an output beside its id
_OTHERS = ("item", "system", "output_id", "study", "better")


def read_metrics(path: Path | str) -> pd.DataFrame:
    """Scores as item, system, metric, value and better: of metrics.csv as a study exports it, or of
    a file with item, system and a column for each metric. ValueError: a cell is no number, or
    twice, or a metric has two directions."""
    text = read_texts(path)
    if "item" not in text:
        raise ValueError("The file of metrics has no column item.")
    if "system" not in text:
        text = text.assign(system="")
    if "better" not in text:
        text = text.assign(better="")
    if not set(_LONG) <= set(text):
        names = [name for name in text if name not in _OTHERS]
        text = text.melt(["item", "system", "better"], names, var_name="metric")
    text = text[text.value.str.strip() != ""]
    value = pd.to_numeric(text.value, errors="coerce")
    wrong = text[~np.isfinite(value)]
    if len(wrong):
        one = wrong.iloc[0]
        raise ValueError(f"The score of {one.metric} of item {one['item']} isn't a number: "
                         f"{one.value!r}.")  # fmt: skip
    found = text[["item", "system", "metric"]].assign(value=value, better=_read_better(text))
    twice = found[found.duplicated(["item", "system", "metric"])]
    if len(twice):
        one = twice.iloc[0]
        raise ValueError(f"Item {one['item']} has two scores of {one.metric}.")
    return found


def _read_better(text: pd.DataFrame) -> pd.Series:
    """Return whether higher or lower scores of the metric are better; higher by default."""
    better = text.better.str.strip().str.casefold().replace("", "higher")
    wrong = text[~better.isin(["higher", "lower"])]
    if len(wrong):
        first = wrong.iloc[0]
        raise ValueError(
            f"{first.metric} of item {first['item']} has {first.better!r} in column better. Write "
            "higher or lower."
        )
    mixed = better.groupby(text.metric).nunique()
    if (mixed > 1).any():
        raise ValueError(
            f"{mixed.index[mixed > 1][0]} has two directions in column better. Write the same in "
            "all its rows."
        )
    return better


def report_metrics(
    table: Table, family: Family, scores: pd.DataFrame | None, seed: int, better: Better = "higher"
) -> dict[str, Any] | None:
    """Return every metric beside one criterion, the closest first; None: no metric scored its
    outputs. Where lower is better, of people or a metric, scores are turned round first."""
    numbers = get_numbers(family)
    human = numbers.score_outputs(table)
    if scores is None or not len(human):
        return None
    known = human[["item", "system", "group"]]
    metrics = scores.merge(known, on=["item", "system"])
    if not len(metrics):
        return None
    raw_human, raw_metrics = human, metrics
    # without a direction people's scores stay as they are
    human = human.assign(value=(SIGN[better] or 1.0) * human.value)
    metrics = metrics.assign(value=metrics.better.map(SIGN) * metrics.value)
    lower = {str(name) for name in metrics.metric[metrics.better == "lower"]}
    draws = DRAWS if len(metrics) <= _MANY_SCORES else FEW_DRAWS
    found = correlate_metrics(human, metrics, levels=numbers.levels, draws=draws, seed=seed)
    has_outputs = "output" in numbers.levels
    main = _find_main_level(metrics, has_outputs=has_outputs)
    found.sort(key=lambda one: (-_closeness(one, main), one.metric))
    pairs, compared = _compare(human, metrics, found, has_outputs=has_outputs)
    measured = numbers.measure(table)
    return {
        "human": family.human,
        "better": better,
        "main": main,
        "outputs": len(human),
        "metrics": [
            {
                **_describe(one, raw_human, raw_metrics),
                "better": "lower" if one.metric in lower else "higher",
            }
            for one in found
        ],
        "ceiling": _find_ceiling(table, measured, seed) if has_outputs else None,
        "ceiling_within": (
            _find_ceilings_within(table, measured, seed) if main == "within_inputs" else []
        ),
        "pairs": pairs,
        "compared": compared,
    }


def _find_main_level(metrics: pd.DataFrame, *, has_outputs: bool) -> str:
    """Which figures come first: within inputs where each has systems enough to be ordered."""
    if not has_outputs:
        return "system"
    systems = metrics.groupby("group").system.nunique()
    return "within_inputs" if (systems >= _LEAST_SYSTEMS).all() else "output"


def _closeness(one: Beside, main: str) -> float:
    """How strongly the metric goes with what people said, whichever way."""
    kind = "kendall" if main == "within_inputs" else "pearson"
    return abs(one.levels[main][kind].value or 0) if main in one.levels else 0.0


def _describe(one: Beside, human: pd.DataFrame, metrics: pd.DataFrame) -> dict[str, Any]:
    both = join_scores(human, metrics[metrics.metric == one.metric])
    means = both.groupby("system")[["value", "value_metric"]].agg(["mean", "size"])
    return {
        "metric": one.metric,
        "outputs": len(both),
        "levels": {level: list(figures.values()) for level, figures in one.levels.items()},
        "points": [
            {
                "system": str(system),
                "human": float(row["value", "mean"]),
                "metric": float(row["value_metric", "mean"]),
                "outputs": int(row["value", "size"]),
            }
            for system, row in means.iterrows()
        ],
    }


def _find_ceiling(table: Table, value: Any, seed: int) -> Figure:
    rows = table.rows
    known = {} if len(rows) <= _MANY_RATINGS else {"splits": _FEW_SPLITS}
    return find_ceiling(output=rows.output, value=value, seed=seed, **known)


def _find_ceilings_within(table: Table, value: Any, seed: int) -> list[Figure]:
    rows = table.rows
    known = {} if len(rows) <= _MANY_RATINGS else {"splits": _FEW_SPLITS}
    return find_ceilings_within(
        group=rows.group, system=rows.system, rater=table.rater, value=value, seed=seed, **known
    )


# --- metrics beside one another -------------------------------------------------------


def _compare(
    human: pd.DataFrame, metrics: pd.DataFrame, found: Sequence[Beside], *, has_outputs: bool
) -> tuple[list[dict[str, Any]], int]:
    """Williams' test of every two of the closest metrics, corrected; and how many these are."""
    names = [one.metric for one in found[:MOST_COMPARED]]
    if len(names) < 2:
        return [], 0
    wide = _spread(human, metrics)
    tests = [
        (one, two, _test(wide, one, two, has_outputs=has_outputs))
        for one, two in combinations(names, 2)
    ]
    known = [np.nan if test.value is None else test.details["p"] for _, _, test in tests]
    corrected = correct(known)
    family = int(np.isfinite(corrected).sum())
    pairs = [
        {"metric_1": one, "metric_2": two, "test": _correct(test, float(p), family)}
        for (one, two, test), p in zip(tests, corrected, strict=True)
    ]
    return pairs, len(names)


def _spread(human: pd.DataFrame, metrics: pd.DataFrame) -> pd.DataFrame:
    """A row for each output, its human score in the column "", and a column for each metric."""
    scores = metrics.pivot_table(index=["item", "system"], columns="metric", values="value")
    rows = human.set_index(["item", "system"])[["value"]].rename(columns={"value": ""})
    return rows.join(scores, how="left")


def _test(wide: pd.DataFrame, one: str, two: str, *, has_outputs: bool) -> Figure:
    """Of the outputs that both metrics scored, or their systems where people compared; both turned
    to correlate positively: lower is better on some metrics."""
    rows = wide[["", one, two]].dropna()
    if not has_outputs:
        rows = rows.groupby("system").mean()
    human = rows[""]
    sides = [side * (-1 if _covary(human, side) < 0 else 1) for side in (rows[one], rows[two])]
    return williams(human=human, first=sides[0], second=sides[1])


def _covary(human: pd.Series, side: pd.Series) -> float:
    return float(((human - human.mean()) * (side - side.mean())).sum())


def _correct(test: Figure, p: float, family: int) -> Figure:
    known = {"p_corrected": None if np.isnan(p) else p, "correction": "holm", "family": family}
    return replace(test, details={**test.details, **known})


# --- how it was computed --------------------------------------------------------------


def list_metric_notes(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the notes under the figures of metrics."""
    levels = found["metrics"][0]["levels"]
    has_clusters = any("clusters" in figure.n for figure in levels["system"])
    yield make_note("metrics", human=found["human"], outputs=found["outputs"])
    if "output" in levels:
        yield make_note("metrics_by_input", has_clusters=has_clusters)
        yield make_note("pairwise_accuracy")
    else:
        yield make_note("metrics_of_systems", has_clusters=has_clusters)
    yield make_note("metric_pairs_in_order")
    ceiling = found["ceiling"]
    if ceiling is not None and ceiling.value is not None:
        yield make_note("metric_ceiling", halvings=ceiling.details["splits"])
    if found["pairs"]:
        yield make_note("metrics_compared", metrics=found["compared"])
