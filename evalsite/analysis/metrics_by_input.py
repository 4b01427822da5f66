"""A metric compared with people within inputs: correlations over systems, and order of pairs.

Tables are inputs by systems, with NaN where an output lacks a human score or the metric's score.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evalsite.analysis.correlation import METHODS, Kind
from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined

Floats = NDArray[np.float64]

TIES = "tie_calibrated_accuracy"
SOFT = "soft_pairwise_accuracy"
# the fewest systems of an input for a correlation within it
LEAST_SYSTEMS: dict[Kind, int] = {"pearson": 3, "spearman": 3, "kendall": 2}
_METHOD_TIES = "tie_calibrated_accuracy"
_METHOD_SOFT = "soft_pairwise_accuracy"
_DIGITS = 10  # means of thirds differ in the sixteenth
_CELLS = 2_000_000  # pairs of systems in memory at once, over inputs
MOST_PAIRS = 20_000_000  # for thresholds, which need all of them in memory


@dataclass(frozen=True, kw_only=True)
class InputTables:
    """The scores of both sides (inputs, systems), and each input's block: itself or its cluster."""

    human: Floats
    metric: Floats
    block: NDArray[np.int64]
    scale: float  # of the metric, whose values are divided by it


def tabulate_inputs(both: pd.DataFrame) -> InputTables:
    """Return the tables of outputs with both scores; several outputs of a system are averaged.

    `both` has group, block, system, value and value_metric.
    """
    wide = both.pivot_table(index="group", columns="system", values=["value", "value_metric"])
    block = both.drop_duplicates("group").set_index("group").block.loc[wide.index]
    metric = wide["value_metric"].to_numpy(dtype=np.float64)
    scale = float(np.nanmax(np.abs(metric), initial=0.0)) or 1.0
    return InputTables(
        human=np.round(wide["value"].to_numpy(dtype=np.float64), _DIGITS),
        # rounded relative to the largest value, since metrics differ in scale
        metric=np.round(metric / scale, _DIGITS),
        block=np.unique(block.astype(str), return_inverse=True)[1].astype(np.int64),
        scale=scale,
    )


# --- correlations within inputs -------------------------------------------------------


def correlate_within(tables: InputTables) -> dict[str, Figure]:
    """Return the mean over inputs of each correlation over an input's systems.

    `n` counts the inputs, and those left out because people's scores, or the metric's, are all
    equal. Interval: t over inputs or clusters, for these people. Undefined: too_few (no input has
    enough systems), no_variation.
    """
    figures: dict[str, Figure] = {}
    for kind, least in LEAST_SYSTEMS.items():
        has_enough = np.isfinite(tables.human).sum(axis=1) >= least
        human, metric = tables.human[has_enough], tables.metric[has_enough]
        is_flat = [np.nanmax(side, axis=1) == np.nanmin(side, axis=1) if len(side) else
                   np.zeros(0, dtype=bool) for side in (human, metric)]  # fmt: skip
        kept = ~is_flat[0] & ~is_flat[1]
        n = {
            "inputs": int(kept.sum()),
            "equal_people": int(is_flat[0].sum()),
            "equal_metric": int((is_flat[1] & ~is_flat[0]).sum()),
        }
        method = f"{METHODS[kind]}+over_inputs"
        if not kept.any():
            reason = Reason.NO_VARIATION if len(human) else Reason.TOO_FEW
            figures[kind] = undefined(kind, reason, method=method, n=n)
            continue
        r = _CORRELATE[kind](human[kept], metric[kept])
        figures[kind] = _average(kind, r, tables.block[has_enough][kept], method, n)
    return figures


def correlate_halves(first: Floats, second: Floats) -> dict[Kind, float | None]:
    """Return the mean over inputs of each correlation of two tables (inputs, systems).

    NaN: a half has no rating. None: no input has enough systems that differ in both halves.
    """
    is_known = np.isfinite(first) & np.isfinite(second)
    sides = [np.where(is_known, side, np.nan) for side in (first, second)]
    correlations: dict[Kind, float | None] = {}
    for kind, least in LEAST_SYSTEMS.items():
        kept = is_known.sum(axis=1) >= least
        for side in sides:
            highest = np.where(is_known, side, -np.inf).max(axis=1)
            lowest = np.where(is_known, side, np.inf).min(axis=1)
            kept &= highest > lowest
        r = _CORRELATE[kind](sides[0][kept], sides[1][kept]) if kept.any() else np.zeros(0)
        correlations[kind] = float(r.mean()) if len(r) else None
    return correlations


def _average(
    name: str, value: Floats, block: NDArray[np.int64], method: str, n: dict[str, int]
) -> Figure:
    """Return the mean with its t interval over blocks, weighted by their inputs."""
    mean = float(value.mean())
    off = np.bincount(np.unique(block, return_inverse=True)[1], weights=value - mean)
    if (blocks := len(off)) < 2:
        details: dict[str, Any] = {"interval": "needs_two_inputs"}
        return Figure(name=name, method=method, value=mean, n=n, details=details)
    se = float(np.sqrt((off**2).sum() * blocks / (blocks - 1))) / len(value)
    reach = float(stats.t.ppf((1 + LEVEL) / 2, blocks - 1)) * se
    of = "inputs" if blocks == len(value) else "clusters"
    details = {"se": se, "df": blocks - 1, "interval": f"t_over_{of}"}
    # a mean of correlations lies between -1 and 1
    return Figure(
        name=name, method=method, value=mean, low=max(-1.0, mean - reach),
        high=min(1.0, mean + reach), n=n, details=details,
    )  # fmt: skip


def _find_pearson(x: Floats, y: Floats) -> Floats:
    x, y = (side - np.nanmean(side, axis=1, keepdims=True) for side in (x, y))
    products = [np.nansum(left * right, axis=1) for left, right in ((x, y), (x, x), (y, y))]
    return np.asarray(products[0] / np.sqrt(products[1] * products[2]), dtype=np.float64)


def _find_spearman(x: Floats, y: Floats) -> Floats:
    # missing values rank last and are then dropped
    ranks = [
        np.where(np.isfinite(side), stats.rankdata(np.nan_to_num(side, nan=np.inf), axis=1), np.nan)
        for side in (x, y)
    ]
    return _find_pearson(*ranks)


def _find_kendall(x: Floats, y: Floats) -> Floats:
    parts = []
    for of_x, of_y in _list_pairs(x, y):
        up, down = np.sign(np.nan_to_num(of_x)), np.sign(np.nan_to_num(of_y))
        decided = np.sqrt((up != 0).sum(axis=1) * (down != 0).sum(axis=1))
        parts.append((up * down).sum(axis=1) / decided)
    return np.concatenate(parts)


_CORRELATE = {"pearson": _find_pearson, "spearman": _find_spearman, "kendall": _find_kendall}


def _list_pairs(x: Floats, y: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield the differences of both sides for every pair of systems (inputs, pairs).

    NaN: a system is missing. Each part has as many inputs as keep memory flat.
    """
    i, j = np.triu_indices(x.shape[1], 1)
    rows_at_once = max(1, _CELLS // max(1, len(i)))

    def subtract(side: Floats, rows: slice) -> Floats:
        return np.round(side[rows][:, i] - side[rows][:, j], _DIGITS)

    for start in range(0, len(x), rows_at_once):
        rows = slice(start, start + rows_at_once)
        yield subtract(x, rows), subtract(y, rows)


# --- pairs of systems in order --------------------------------------------------------


def calibrate_ties(tables: InputTables) -> Figure:
    """Return pairwise accuracy with ties (Deutsch, Foster and Freitag 2023).

    People tie two systems if their scores are equal, the metric if its difference is at most a
    threshold: the one in the data with the highest accuracy, the smallest if several have it.
    Undefined: too_few, too_many_pairs (above MOST_PAIRS).
    """
    inputs, systems = tables.human.shape
    if inputs * systems * (systems - 1) // 2 > MOST_PAIRS:
        n = {"inputs": inputs}
        return undefined(TIES, Reason.TOO_MANY_PAIRS, method=_METHOD_TIES, n=n)
    pairs = list(_list_pairs(tables.human, tables.metric))
    number = [np.isfinite(human).sum(axis=1) for human, _ in pairs]
    inputs = int(sum((count > 0).sum() for count in number))
    n = {"inputs": inputs, "pairs": int(sum(count.sum() for count in number))}
    if not inputs:
        return undefined(TIES, Reason.TOO_FEW, method=_METHOD_TIES, n=n)
    parts = []
    for (human, metric), count in zip(pairs, number, strict=True):
        is_known = np.isfinite(human)
        weight = np.broadcast_to((1 / np.maximum(count, 1) / inputs)[:, None], human.shape)
        parts.append(np.stack([human[is_known], metric[is_known], weight[is_known]]))
    human, metric, weight = np.concatenate(parts, axis=1)
    is_tie, is_alike = human == 0, (np.sign(human) == np.sign(metric)) & (human != 0)
    size, place = np.unique(np.abs(metric), return_inverse=True)
    # above its threshold a pair is tied: now right if people tie, no longer right if they don't
    gain = np.bincount(place, weights=weight * (is_tie * 1.0 - is_alike))
    accuracy = float(weight[is_alike].sum()) + np.cumsum(gain)
    at_0 = float(weight[is_alike | (is_tie & (metric == 0))].sum())
    thresholds, every = np.r_[0.0, size], np.r_[at_0, accuracy]
    best = int(np.argmax(np.round(every, 12)))
    details = {
        "threshold": float(thresholds[best]) * tables.scale, "accuracy_at_0": at_0,
        "interval": "describes_outputs",
    }  # fmt: skip
    return Figure(name=TIES, method=_METHOD_TIES, value=float(every[best]), n=n, details=details)


def find_soft_accuracy(tables: InputTables) -> Figure:
    """Return soft pairwise accuracy as in WMT24 (Thompson and others 2024), without draws."""
    ahead, shared = [], []
    systems = tables.human.shape[1]
    number = systems * (systems - 1) // 2
    for side in (tables.human, tables.metric):
        total, squares, count = np.zeros(number), np.zeros(number), np.zeros(number, dtype=int)
        for apart, _ in _list_pairs(side, side):
            total += np.nansum(apart, axis=0)
            squares += np.nansum(apart**2, axis=0)
            count += np.isfinite(apart).sum(axis=0)
        z = np.divide(total, np.sqrt(squares), out=np.zeros(number), where=squares > 0)
        ahead.append(stats.norm.sf(z))
        shared.append(count > 0)
    met = shared[0]
    n = {"systems": systems, "pairs": int(met.sum())}
    if not met.any():
        return undefined(SOFT, Reason.TOO_FEW, method=_METHOD_SOFT, n=n)
    value = 1 - float(np.abs(ahead[0] - ahead[1])[met].mean())
    details = {"interval": "describes_outputs"}
    return Figure(name=SOFT, method=_METHOD_SOFT, value=value, n=n, details=details)
