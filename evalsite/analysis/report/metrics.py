"""The part of a report on automatic metrics: each compared with people's ratings of the outputs."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.direction import SIGN, Better
from evalsite.analysis.families import Family, get_numbers
from evalsite.analysis.figure import Figure
from evalsite.analysis.metrics import (
    MetricFigures,
    correlate_metrics,
    find_ceiling,
    find_ceilings_within,
    join_scores,
    williams,
)
from evalsite.analysis.multiple_testing import correct
from evalsite.analysis.resample import DRAWS, FEW_DRAWS
from evalsite.analysis.table import Table, read_texts

# above this many scores there are fewer draws: many outputs need no more, many metrics take long
_MANY_SCORES = 20_000
_MANY_RATINGS = 20_000
_FEW_SPLITS = 50
MOST_COMPARED = 12  # metrics that Williams' test compares, those that correlate most
_LEAST_SYSTEMS = 3  # of every input, where figures within inputs are the main ones
_LONG = ("item", "metric", "value")
# columns of an export that aren't metrics
_NO_METRICS = ("item", "system", "output_id", "study", "better")


def read_metrics(path: Path | str) -> pd.DataFrame:
    """Return scores as item, system, metric, value and better.

    The file is metrics.csv as a study exports it, or has item, system and a column for each metric.
    ValueError: a score isn't a number or appears twice, or a metric has two directions.
    """
    text = read_texts(path)
    if "item" not in text:
        raise ValueError("The file of metrics has no column item.")
    if "system" not in text:
        text = text.assign(system="")
    if "better" not in text:
        text = text.assign(better="")
    if not set(_LONG) <= set(text):
        names = [name for name in text if name not in _NO_METRICS]
        text = text.melt(["item", "system", "better"], names, var_name="metric")
    text = text[text.value.str.strip() != ""]
    value = pd.to_numeric(text.value, errors="coerce")
    wrong = text[~np.isfinite(value)]
    if len(wrong):
        first = wrong.iloc[0]
        raise ValueError(f"The score of {first.metric} of item {first['item']} isn't a number: "
                         f"{first.value!r}.")  # fmt: skip
    scores = text[["item", "system", "metric"]].assign(value=value, better=_read_better(text))
    twice = scores[scores.duplicated(["item", "system", "metric"])]
    if len(twice):
        first = twice.iloc[0]
        raise ValueError(f"Item {first['item']} has two scores of {first.metric}.")
    return scores


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
    """Return every metric compared with a criterion, the closest first; None: no metric scored its
    outputs. Where lower is better, for people or a metric, scores are reversed first."""
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
    correlated = correlate_metrics(human, metrics, levels=numbers.levels, draws=draws, seed=seed)
    has_outputs = "output" in numbers.levels
    # figures within inputs come first if each input has enough systems to put in order
    systems = metrics.groupby("group").system.nunique()
    is_within = has_outputs and bool((systems >= _LEAST_SYSTEMS).all())
    main = "within_inputs" if is_within else "output" if has_outputs else "system"
    correlated.sort(key=lambda metric: (-_find_closeness(metric, main), metric.metric))
    pairs, compared = _compare(human, metrics, correlated, has_outputs=has_outputs)
    ratings = table.ratings(numbers.measure(table))
    splits = {} if len(ratings) <= _MANY_RATINGS else {"splits": _FEW_SPLITS}
    ceiling, ceiling_within = None, []
    if has_outputs:
        ceiling = find_ceiling(ratings, seed=seed, **splits)
    if is_within:
        ceiling_within = find_ceilings_within(ratings, seed=seed, **splits)
    return {
        "family": family.name,
        "better": better,
        "main": main,
        "outputs": len(human),
        "metrics": [
            {
                **_describe(metric, raw_human, raw_metrics),
                "better": "lower" if metric.metric in lower else "higher",
            }
            for metric in correlated
        ],
        "ceiling": ceiling,
        "ceiling_within": ceiling_within,
        "pairs": pairs,
        "compared": compared,
    }


def _find_closeness(metric: MetricFigures, main: str) -> float:
    """Return how strongly the metric correlates with people's ratings, in either direction."""
    kind = "kendall" if main == "within_inputs" else "pearson"
    return abs(metric.levels[main][kind].value or 0) if main in metric.levels else 0.0


def _describe(metric: MetricFigures, human: pd.DataFrame, metrics: pd.DataFrame) -> dict[str, Any]:
    both = join_scores(human, metrics[metrics.metric == metric.metric])
    means = both.groupby("system")[["value", "value_metric"]].agg(["mean", "size"])
    return {
        "metric": metric.metric,
        "outputs": len(both),
        "levels": {level: list(figures.values()) for level, figures in metric.levels.items()},
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


# --- metrics compared with each other -------------------------------------------------


def _compare(
    human: pd.DataFrame,
    metrics: pd.DataFrame,
    correlated: Sequence[MetricFigures],
    *,
    has_outputs: bool,
) -> tuple[list[dict[str, Any]], int]:
    """Return Williams' test of every two of the closest metrics, corrected, and how many these
    are."""
    names = [metric.metric for metric in correlated[:MOST_COMPARED]]
    if len(names) < 2:
        return [], 0
    # a row for each output: the human score in the column "", and a column for each metric
    scores = metrics.pivot_table(index=["item", "system"], columns="metric", values="value")
    wide = human.set_index(["item", "system"])[["value"]].rename(columns={"value": ""})
    wide = wide.join(scores, how="left")
    tests = [
        (first, second, _test(wide, first, second, has_outputs=has_outputs))
        for first, second in combinations(names, 2)
    ]
    known = [np.nan if test.value is None else test.details["p"] for _, _, test in tests]
    corrected = correct(known)
    family = int(np.isfinite(corrected).sum())
    pairs = []
    for (first, second, test), p in zip(tests, corrected, strict=True):
        correction = {
            "p_corrected": None if np.isnan(p) else float(p), "correction": "holm",
            "family": family,
        }  # fmt: skip
        test = replace(test, details={**test.details, **correction})
        pairs.append({"metric_1": first, "metric_2": second, "test": test})
    return pairs, len(names)


def _test(wide: pd.DataFrame, first: str, second: str, *, has_outputs: bool) -> Figure:
    """Compare two metrics on the outputs that both scored, or on systems where people compared.

    A metric that correlates negatively is reversed first, since lower is better on some.
    """
    rows = wide[["", first, second]].dropna()
    if not has_outputs:
        rows = rows.groupby("system").mean()
    human = rows[""]
    off = human - human.mean()
    first_scores, second_scores = (
        -scores if float((off * (scores - scores.mean())).sum()) < 0 else scores
        for scores in (rows[first], rows[second])
    )
    return williams(human=human, first=first_scores, second=second_scores)


# --- how it was computed --------------------------------------------------------------
