"""Automatic metrics: their scores compared with human ratings, at four levels.

Output: a row for each output. Within inputs: over the systems of an input, mean over inputs.
Item-centred: over outputs minus the mean of their group, which isn't the mean within inputs.
System: means by system; n is the number of systems.
Within inputs: correlations over systems, and order of pairs.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from evalsite.analysis.correlation import METHODS, Kind, correlate
from evalsite.analysis.difference_tests import correct
from evalsite.analysis.families import Family, get_numbers
from evalsite.analysis.families.numbers import LEVELS
from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.intervals import (
    DRAWS,
    FEW_DRAWS,
    NO_DRAWS,
    SEED,
    Resampling,
    bootstrap,
    describe_draws,
)
from evalsite.analysis.plan import SIGN, Better
from evalsite.analysis.ratings import Floats, Ratings, Table, canonical_order, read_texts

KINDS: tuple[Kind, ...] = get_args(Kind)
_NO_P_BELOW = 10  # systems
_SPLITS = 200
_ACCURACY = "pairs_in_order"


@dataclass(frozen=True, kw_only=True)
class MetricFigures:
    """A metric compared with a criterion: figures by level, then by kind of correlation."""

    metric: str
    levels: dict[str, dict[str, Figure]]


def correlate_metrics(
    human: pd.DataFrame, metrics: pd.DataFrame, *, levels: Collection[str] = LEVELS,
    draws: int = DRAWS, seed: int = SEED,
) -> list[MetricFigures]:  # fmt: skip
    """Return every metric compared with the mean human rating.

    `human`: group, system, value, a row for each output; `metrics`: group, system, metric, value.
    If a group has several outputs of a system, both have `item` as well; if groups form clusters,
    `human` has `block`, which the bootstrap draws. Outputs without both scores are left out and
    counted in `n`. System level: systems kept; no p below 10 systems. Undefined as for `correlate`;
    `pairwise_accuracy`: no_variation if raters rate all systems equally.
    """
    correlated, resampling = [], Resampling(draws=draws, seed=seed)
    for name, scores in metrics.groupby("metric"):
        both = join_scores(human, scores)
        figures: dict[str, dict[str, Figure]] = {}
        if "output" in levels:
            sides = both.value, both.value_metric
            figures["output"] = _correlate_at_level(*sides, both.block, resampling)
        tables = tabulate_inputs(both) if "within_inputs" in levels and len(both) else None
        if tables is not None:
            ties = calibrate_ties(tables)
            figures["within_inputs"] = correlate_within(tables) | {ties.name: ties}
        if "item_centred" in levels:
            centred = center_on_groups(both)
            figures["item_centred"] = _correlate_at_level(*centred, both.block, resampling)
        if "system" in levels:
            figures["system"] = _correlate_at_system_level(both, draws, seed)
            if tables is not None:
                soft = find_soft_accuracy(tables)
                figures["system"][soft.name] = soft
        correlated.append(MetricFigures(metric=str(name), levels=figures))
    return correlated


def describe_metric(*, item: Any, system: Any, human: Any, metric: Any) -> dict[str, Any]:
    """Return the figures of a metric compared with people, without draws, as plain data.

    All (n,): names of inputs and systems, people's mean of each output and the metric's score, NaN
    where there is none. Undefined values are None.
    """
    human = pd.DataFrame({"group": item, "system": system, "value": human})
    scores = pd.DataFrame({"group": item, "system": system, "value": metric})
    both = join_scores(human, scores)
    tables = tabulate_inputs(both)
    ties = calibrate_ties(tables)
    centred = center_on_groups(both)
    sums = _sum_by_group(both, sorted(set(both.system)))
    by_system = _find_at_system_level(sums, np.ones((1, len(sums))))[0]
    names = ("pearson", "spearman", "tau", "pairwise_accuracy")
    return {
        "within_inputs": {
            "tau" if kind == "kendall" else kind: {
                "value": figure.value, "low": figure.low, "high": figure.high, **figure.n
            }
            for kind, figure in correlate_within(tables).items()
        },
        "centred": {
            name: correlate(*centred, kind, resampling=NO_DRAWS).value
            for name, kind in zip(names, KINDS, strict=False)
        },
        "tie_calibrated": {"accuracy": ties.value, **ties.details, **ties.n},
        "soft_pairwise_accuracy": find_soft_accuracy(tables).value,
        "by_system": {
            name: None if np.isnan(value) else float(value)
            for name, value in zip(names, by_system, strict=True)
        },
    }  # fmt: skip


def join_scores(human: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the outputs with both scores, human `value` and `value_metric`, and their `block`."""
    keys = ["group", "system", *(["item"] if "item" in human and "item" in scores else [])]
    both = human.merge(scores[[*keys, "value"]], on=keys, suffixes=("", "_metric"))
    both = both[both.value.notna() & both.value_metric.notna()]
    return both if "block" in both else both.assign(block=both.group)


def center_on_groups(both: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Return both values minus the mean of their group."""
    columns = both[["value", "value_metric"]]
    centred = columns - both.groupby("group")[["value", "value_metric"]].transform("mean")
    centred = centred.round(10)
    return centred.value, centred.value_metric


def _correlate_at_level(
    x: pd.Series, y: pd.Series, block: pd.Series, resampling: Resampling
) -> dict[str, Figure]:
    return {kind: correlate(x, y, kind, block=block, resampling=resampling) for kind in KINDS}


def _correlate_at_system_level(both: pd.DataFrame, draws: int, seed: int) -> dict[str, Figure]:
    names = (*KINDS, "pairwise_accuracy")
    methods = dict(METHODS) | {"pairwise_accuracy": _ACCURACY}
    systems = sorted(set(both.system))
    over = "clusters" if (both.block != both.group).any() else "groups"
    n = {"systems": len(systems), over: int(both.block.nunique())}
    if len(systems) < 3:
        reason = Reason.TOO_FEW if systems else Reason.NO_DATA
        return {name: undefined(name, reason, method=methods[name], n=n) for name in names}
    sums = _sum_by_group(both, systems)
    ones = np.ones((1, sums.shape[0]))
    whole = _find_at_system_level(sums, ones)[0]
    drawn = bootstrap(
        lambda weights: _find_at_system_level(sums, weights), len(sums), draws=draws, seed=seed,
        width=3 * len(systems) ** 2,
    )  # fmt: skip
    figures = {}
    for place, name in enumerate(names):
        if np.isnan(whole[place]):
            figures[name] = undefined(name, Reason.NO_VARIATION, method=methods[name], n=n)
            continue
        spread = describe_draws(drawn[:, place], whole[place])
        details: dict[str, Any] = dict(spread.details)
        if spread.low is not None:
            drawn_units = over.replace("groups", "inputs")
            details["interval"] = f"bootstrap_of_{drawn_units}_systems_kept"
        if name == "pearson" and len(systems) >= _NO_P_BELOW:
            r, df = whole[place], len(systems) - 2
            t = r * np.sqrt(df / max(1 - r**2, 1e-300))
            details["p"] = float(2 * stats.t.sf(abs(t), df))
        figures[name] = Figure(name=name, method=methods[name], value=float(whole[place]), n=n,
                               low=spread.low, high=spread.high, details=details,
                               seed=seed)  # fmt: skip
    return figures


def _sum_by_group(both: pd.DataFrame, systems: list[str]) -> Floats:
    """Return outputs, human sums and metric sums (groups, 3, systems), in an order of content."""
    system = both.system.map({name: code for code, name in enumerate(systems)}).to_numpy()
    content = np.unique(both[["value", "value_metric"]].to_numpy(), axis=0, return_inverse=True)[1]
    codes = np.unique(both.block.astype(str), return_inverse=True)[1].astype(np.intp)
    orders = canonical_order([codes, system], content.ravel().astype(float))
    group = orders[0][codes]
    sums = np.zeros((int(group.max()) + 1, 3, len(systems)))
    for part, column in enumerate((np.ones(len(both)), both.value, both.value_metric)):
        np.add.at(sums[:, part], (group, system), np.asarray(column, dtype=float))
    return sums


def _find_at_system_level(sums: Floats, weights: Floats) -> Floats:
    """Return Pearson, Spearman, tau-b and pairwise accuracy of system means (draws, 4)."""
    drawn = np.tensordot(weights, sums, axes=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        human, metric = (np.round(drawn[:, part] / drawn[:, 0], 10) for part in (1, 2))
        first, second = np.triu_indices(human.shape[1], 1)
        up, down = (np.sign(side[:, first] - side[:, second]) for side in (human, metric))
        met = (up * down).sum(axis=1)
        decided = (up != 0).sum(axis=1)
        tau = met / np.sqrt(decided * (down != 0).sum(axis=1))
        accuracy = ((up == down) & (up != 0)).sum(axis=1) / decided
        ranks = (stats.rankdata(side, axis=1) for side in (human, metric))
        figures = np.column_stack([_pearson(human, metric), _pearson(*ranks), tau, accuracy])
    lost = np.isnan(human + metric).any(axis=1)
    figures[lost] = np.nan
    return np.where(np.isfinite(figures), figures, np.nan)


def _pearson(x: Floats, y: Floats) -> Floats:
    x = x - x.mean(axis=1, keepdims=True)
    y = y - y.mean(axis=1, keepdims=True)
    spread = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    # without variation on one side there is no correlation
    correlations = np.full(len(spread), np.nan)
    return np.divide((x * y).sum(axis=1), spread, out=correlations, where=spread > 1e-12)


def williams(*, human: ArrayLike, first: ArrayLike, second: ArrayLike) -> Figure:
    """Test whether two metrics correlate equally with the same human scores (Williams 1959).

    Arrays of length n, row by row. The value is r(human, first) - r(human, second); `details` hold
    t, df and the two-sided p. Undefined: no_data, too_few (fewer than 4 rows), no_variation.
    """
    table = np.column_stack([np.asarray(side, dtype=float) for side in (human, first, second)])
    table = table[~np.isnan(table).any(axis=1)]
    n, method = len(table), "williams"
    counted = {"rows": n}
    reason = None
    if n < 4:
        reason = Reason.TOO_FEW if n else Reason.NO_DATA
    elif (np.ptp(table, axis=0) == 0).any():
        reason = Reason.NO_VARIATION
    if reason:
        return undefined("williams", reason, method=method, n=counted)
    r = np.corrcoef(table.T)
    r12, r13, r23 = r[0, 1], r[0, 2], r[1, 2]
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    below = 2 * (n - 1) / (n - 3) * abs(determinant) + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    details: dict[str, Any] = {"r_first": float(r12), "r_second": float(r13), "df": n - 3,
                               "r_between": float(r23), "interval": "test"}  # fmt: skip
    if below <= 1e-15:
        return undefined("williams", Reason.NO_VARIATION, method=method, n=counted,
                         details=details)  # fmt: skip
    t = float((r12 - r13) * np.sqrt((n - 1) * (1 + r23) / below))
    details |= {"t": t, "p": float(2 * stats.t.sf(abs(t), n - 3))}
    return Figure(name="williams", method=method, value=float(r12 - r13), n=counted,
                  details=details)  # fmt: skip


def find_ceiling(ratings: Ratings, *, splits: int = _SPLITS, seed: int = SEED) -> Figure:
    """Return how well half of the ratings of an output predict the other half.

    The ratings of each output are split at random, `splits` times; the mean
    Pearson correlation of the means of both halves is stepped up to all ratings (Spearman-Brown):
    the correlation that as many other raters would reach. A metric without any error could reach
    its square root. Interval: the middle 95% of splits, not of outputs. Undefined: no_data,
    no_overlap, too_few, no_variation.
    """
    values = ratings.value
    codes = np.unique(ratings.get("unit").astype(str), return_inverse=True)[1]
    method = "split_half"
    shared = (np.bincount(codes)[codes] > 1) & ~np.isnan(values) if codes.size else codes > 0
    values, codes = values[shared], np.unique(codes[shared], return_inverse=True)[1]
    if not codes.size:
        reason = Reason.NO_OVERLAP if len(shared) else Reason.NO_DATA
        return undefined("ceiling", reason, method=method)
    codes = canonical_order([codes.astype(np.intp)], values)[0][codes]
    order = np.lexsort((values, codes))
    values, codes = values[order], codes[order]
    n = {"outputs": int(codes.max()) + 1, "ratings": len(values)}
    if n["outputs"] < 3:
        return undefined("ceiling", Reason.TOO_FEW, method=method, n=n)
    rng = np.random.default_rng(seed)
    correlations = np.array([_split(values, codes, rng) for _ in range(splits)])
    correlations = correlations[~np.isnan(correlations)]
    if not correlations.size:
        return undefined("ceiling", Reason.NO_VARIATION, method=method, n=n)
    half = float(correlations.mean())
    stepped = 2 * correlations / (1 + np.abs(correlations))
    low, high = (float(end) for end in np.quantile(stepped, [0.025, 0.975]))
    details = {"half": half, "splits": splits, "interval": "middle_of_splits"}
    return Figure(name="ceiling", method=method, value=2 * half / (1 + abs(half)), low=low,
                  high=high, n=n, details=details, seed=seed)  # fmt: skip


def find_ceilings_within(
    ratings: Ratings, *, splits: int = _SPLITS, seed: int = SEED
) -> list[Figure]:
    """Return how well half of the people of an input order its systems like the other half.

    The people of each input are split at random, `splits` times (its ratings
    if raters are unknown); the mean over inputs of each correlation over systems is stepped up
    to all people, as for `find_ceiling`. Undefined: too_few, no_variation.
    """
    values, rater = ratings.value, ratings.rater
    rows = pd.DataFrame(
        {"group": ratings.get("group").astype(str), "system": ratings.get("system").astype(str),
         "who": np.arange(len(values)) if rater is None else rater.astype(str), "value": values}
    ).sort_values(["group", "system", "value", "who"], kind="stable")  # fmt: skip
    inputs, systems = (pd.factorize(rows[name], sort=True) for name in ("group", "system"))
    visit = rows.groupby(["group", "who"], sort=True).ngroup().to_numpy()
    visits = int(visit.max(initial=-1)) + 1
    of_input = np.zeros(visits, dtype=np.int64)
    of_input[visit] = inputs[0]
    place = inputs[0] * len(systems[1]) + systems[0]
    shape = len(inputs[1]), len(systems[1])
    rng = np.random.default_rng(seed)
    drawn: dict[Kind, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(splits):
        order = np.lexsort((rng.random(visits), of_input))
        starts = np.searchsorted(of_input[order], np.arange(shape[0]))
        is_first = np.zeros(visits, dtype=bool)
        is_first[order] = (np.arange(visits) - starts[of_input[order]]) % 2 == 0
        halves = [
            _average_cells(place[side], rows.value.to_numpy()[side], shape)
            for side in (is_first[visit], ~is_first[visit])
        ]
        for kind, r in correlate_halves(*halves).items():
            if r is not None:
                drawn[kind].append(r)
    n = {"inputs": shape[0], "ratings": len(values)}
    return [_step_up(kind, drawn[kind], splits=splits, n=n, seed=seed) for kind in KINDS]


def _average_cells(place: Any, value: Floats, shape: tuple[int, int]) -> Floats:
    """Return the mean of each cell of a table; NaN if it has no value."""
    size = shape[0] * shape[1]
    number = np.bincount(place, minlength=size)
    total = np.bincount(place, weights=value, minlength=size)
    means = np.divide(total, number, out=np.full(size, np.nan), where=number > 0)
    return np.round(means, 10).reshape(shape)


def _step_up(
    kind: Kind, half: Sequence[float], *, splits: int, n: dict[str, int], seed: int
) -> Figure:
    """Return the mean correlation of halves, stepped up to the whole (Spearman-Brown)."""
    name = f"ceiling_{kind}"
    method = f"{METHODS[kind]}+of_halves"
    if not half:
        return undefined(name, Reason.TOO_FEW, method=method, n=n)
    r = np.asarray(half)
    low, high = (float(end) for end in np.quantile(2 * r / (1 + np.abs(r)), [0.025, 0.975]))
    mean = float(r.mean())
    details = {"half": mean, "splits": splits, "interval": "middle_of_splits"}
    return Figure(name=name, method=method, value=2 * mean / (1 + abs(mean)), low=low, high=high,
                  n=n, details=details, seed=seed)  # fmt: skip


def _split(values: Floats, codes: Any, rng: np.random.Generator) -> float:
    """Return Pearson's r of the means of two random halves of the ratings of each output."""
    order = np.lexsort((rng.random(len(codes)), codes))
    starts = np.searchsorted(codes, np.arange(codes.max() + 1))
    is_first = (np.arange(len(codes)) - starts[codes]) % 2 == 0
    means = []
    for side in (is_first, ~is_first):
        number = np.bincount(codes[side], minlength=codes.max() + 1)
        means.append(np.bincount(codes[side], weights=values[order][side]) / number)
    return float(_pearson(means[0][None, :], means[1][None, :])[0])


# --- within inputs: tables of inputs by systems, NaN where an output lacks either score --------


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


# --- the part of a report

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
