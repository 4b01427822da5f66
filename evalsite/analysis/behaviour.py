"""Figures of each rater's behaviour: runs, spread, use of the scale, pace, drift, how they rate
beside the others, and agreement with themselves on items shown twice.

Sources: Meade & Craig (2012) for runs and pace; the figures describe and don't judge. The
thresholds above which they become flags are in thresholds.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from evalsite.analysis.agreement import INPUTS, Level, alpha
from evalsite.analysis.correlation import METHODS, fisher_interval, steady
from evalsite.analysis.effects import wilson_share
from evalsite.analysis.figure import LEVEL, Figure, Reason, finite_figure, undefined
from evalsite.analysis.intervals import SEED, mean_with_t
from evalsite.analysis.ratings import Floats, Ratings, Table, code

WORDS_PER_SECOND = 10.0  # adults read 3 to 5 silently; 10 or more is scanning for a word
_PERMUTATIONS = 999
_FEW_PERMUTATIONS = 199
_MANY_RATINGS = 20_000
_LEAST_FOR_DRIFT = 8
_NO_INTERVAL = {"interval": "describes_behaviour"}
Figures = dict[str, Figure]


def describe_use(
    ratings: Ratings, *, order: ArrayLike | None = None, scale: Sequence[float] | None = None,
    reserved: Sequence[float] = (),
) -> dict[str, Figures]:  # fmt: skip
    """Return for each rater by name: sd (n - 1), top_share (of their most used value), distinct
    values, entropy (bits); with an `order` longest_run; with a scale share_ends; with `reserved`
    points, such as 3 and 5, share_reserved.

    `order` (n,) says which rating came first. longest_run has in `details` how
    often a run at least as long comes up when the rater's own values are shuffled
    (`p_by_chance`): raters who give one value to nearly all have long runs for good reason.
    """
    rows = pd.DataFrame({"rater": ratings.get("rater").astype(str), "value": ratings.value})
    if order is not None:
        rows["order"] = np.asarray(order)
        rows = rows.sort_values("order", kind="stable")
    rounds = _PERMUTATIONS if len(rows) <= _MANY_RATINGS else _FEW_PERMUTATIONS
    described = {}
    for name, of_rater in rows.groupby("rater"):
        values = of_rater.value.to_numpy()
        figures = _describe_values(values, scale, reserved)
        if order is not None:
            figures["longest_run"] = _describe_run(values, rounds)
        described[str(name)] = figures
    return described


def _describe_values(
    values: Floats, scale: Sequence[float] | None, reserved: Sequence[float]
) -> Figures:
    n = {"ratings": len(values)}
    share = np.sort(np.unique(values, return_counts=True)[1] / len(values))
    measures = {
        "top_share": (float(share[-1]), "share_of_most_used"),
        "distinct": (float(len(share)), "distinct_values"),
        "entropy": (float(-(share * np.log2(share)).sum()) + 0.0, "entropy"),
    }
    if scale is not None:
        ends = np.isin(values, [min(scale), max(scale)])
        measures["share_ends"] = (float(ends.mean()), "share_of_ends")
    if len(reserved):
        measures["share_reserved"] = (float(np.isin(values, reserved).mean()), "share_of_reserved")
    figures = {name: Figure(name=name, method=method, value=value, n=n, details=_NO_INTERVAL)
               for name, (value, method) in measures.items()}  # fmt: skip
    method = "sd"
    if len(values) < 2:
        figures["sd"] = undefined("sd", Reason.TOO_FEW, method=method, n=n)
    else:
        figures["sd"] = Figure(name="sd", method=method, value=float(np.sort(values).std(ddof=1)),
                             n=n, details=_NO_INTERVAL)  # fmt: skip
    return figures


def _describe_run(values: Floats, rounds: int) -> Figure:
    longest = int(find_longest_runs(values[None, :])[0])
    rng = np.random.default_rng([SEED, len(values)])
    batch = max(1, 2_000_000 // len(values))
    as_long = 0
    for start in range(0, rounds, batch):
        drawn = np.tile(np.sort(values), (min(batch, rounds - start), 1))
        as_long += int((find_longest_runs(rng.permuted(drawn, axis=1)) >= longest).sum())
    details: dict[str, Any] = _NO_INTERVAL | {
        "p_by_chance": (as_long + 1) / (rounds + 1), "permutations": rounds,
    }  # fmt: skip
    return Figure(name="longest_run", method="longest_run",
                  value=float(longest), n={"ratings": len(values)}, details=details,
                  seed=SEED)  # fmt: skip


def find_longest_runs(values: Floats) -> Any:
    """Return the longest run of equal values in each row of (rows, n)."""
    place = np.arange(values.shape[1])
    changes = np.ones(values.shape, dtype=bool)
    changes[:, 1:] = values[:, 1:] != values[:, :-1]
    start = np.maximum.accumulate(np.where(changes, place, 0), axis=1)
    return (place - start + 1).max(axis=1)


def describe_pace(
    *, rater: ArrayLike, seconds: ArrayLike, words: ArrayLike | None = None
) -> dict[str, Figures]:
    """Return for each rater by name: median_seconds; speed_ratio, the ratio of that to the median
    of all raters' medians; and, if the numbers of words are known, share_under_floor, the share of
    pages with less than a second for every 10 words.

    Arrays of length n, one row for each page that was timed; missing seconds are left out.
    """
    rows = pd.DataFrame({"rater": np.asarray(rater).astype(str),
                         "seconds": np.asarray(seconds, dtype=float)})  # fmt: skip
    rows["words"] = np.nan if words is None else np.asarray(words, dtype=float)
    rows = rows[rows.seconds.notna()]
    medians = rows.groupby("rater").seconds.median()
    typical = float(medians.median()) if len(medians) else 0.0
    by_rater: dict[str, Figures] = {}
    for name, pages in rows.groupby("rater"):
        n = {"pages": len(pages)}
        median = float(medians[name])
        figures = {"median_seconds": Figure(name="median_seconds", method="median_seconds",
                                            value=median, n=n, details=_NO_INTERVAL)}  # fmt: skip
        method = "median_over_median"
        if typical > 0:
            figures["speed_ratio"] = Figure(
                name="speed_ratio", method=method, value=median / typical, n=n,
                details=_NO_INTERVAL,
            )  # fmt: skip
        read = pages[pages.words.notna()]
        if len(read):
            under = float((read.seconds < read.words / WORDS_PER_SECOND).mean())
            figures["share_under_floor"] = Figure(
                name="share_under_floor", method="share_under_floor",
                value=under, n={"pages": len(read)}, details=_NO_INTERVAL,
            )  # fmt: skip
        by_rater[str(name)] = figures
    return by_rater


def describe_drift(ratings: Ratings, order: ArrayLike, *, name: str = "drift") -> dict[str, Figure]:
    """Return for each rater by name how far their ratings rise from first to last, relative to the
    others'.

    A rating less the mean of the others of its unit is set against the order
    (least squares); the value is the rise over the rater's whole span, with its t interval.
    Undefined: too_few (fewer than 8 ratings that others share), no_variation (one place only).
    """
    rows = pd.DataFrame(
        {"rater": ratings.get("rater").astype(str), "unit": ratings.get("unit"),
         "value": ratings.value, "order": np.asarray(order, dtype=float)}
    ).dropna()  # fmt: skip
    by = rows.groupby("unit").value
    number = by.transform("count")
    rest = (by.transform("sum") - rows.value) / (number - 1).where(number > 1)
    rows["apart"] = (rows.value - rest).round(10)
    names = sorted(rows.rater.unique())
    shared = rows[rows.apart.notna()]
    by_rater = dict(list(shared.groupby("rater")))
    return {person: _fit_drift(name, by_rater.get(person, shared[:0])) for person in names}


def _fit_drift(name: str, rows: pd.DataFrame) -> Figure:
    method = "rise"
    n = {"ratings": len(rows)}
    if len(rows) < _LEAST_FOR_DRIFT:
        return undefined(name, Reason.TOO_FEW, method=method, n=n)
    rows = rows.sort_values(["order", "apart"])
    span = float(np.ptp(rows.order))
    if span == 0:
        return undefined(name, Reason.NO_VARIATION, method=method, n=n)
    if np.ptp(rows.apart) == 0:  # a line without an error
        flat = {"interval": "always_equally_far", "span": span, "slope": 0.0}
        return Figure(name=name, method=method, value=0.0, n=n, details=flat)
    fit = stats.linregress(rows.order, rows.apart)
    reach = float(stats.t.ppf((1 + LEVEL) / 2, len(rows) - 2)) * float(fit.stderr)
    rise = float(fit.slope)
    details = {"interval": "t_of_ratings", "span": span, "slope": rise}
    return finite_figure(name, method=method, value=rise * span, low=(rise - reach) * span,
                         high=(rise + reach) * span, n=n, details=details)  # fmt: skip


def describe_sameness(
    *, rater: ArrayLike, unit: ArrayLike, criterion: ArrayLike, value: ArrayLike
) -> dict[str, Figure]:
    """Return for each rater by name the share of their outputs on which all criteria have the same
    value.

    Arrays of length n; only outputs with two criteria or more count. Undefined: no_data.
    """
    rows = pd.DataFrame({"rater": np.asarray(rater).astype(str), "unit": np.asarray(unit),
                         "criterion": np.asarray(criterion),
                         "value": np.asarray(value, dtype=float)}).dropna()  # fmt: skip
    each = rows.groupby(["rater", "unit"]).value.agg(["nunique", "count"])
    each = each[each["count"] > 1]
    identical = (each["nunique"] == 1).groupby("rater").agg(["mean", "count"])
    method = "share_with_one_value"
    figures = {}
    for name in sorted(rows.rater.unique()):
        if name not in identical.index:
            figures[name] = undefined("identical_criteria", Reason.NO_DATA, method=method)
            continue
        figures[name] = Figure(name="identical_criteria", method=method,
                             value=float(identical.loc[name, "mean"]), details=_NO_INTERVAL,
                             n={"outputs": int(identical.loc[name, "count"])})  # fmt: skip
    return figures


# --- against the mean of the others who rated the same units -----------------------------------

_OFFSET = "offset"


@dataclass(frozen=True, kw_only=True)
class Against:
    """One rater compared with the others: agreement on the order, and offset."""

    rater: str
    spearman: Figure
    offset: Figure


def against_others(ratings: Ratings) -> list[Against]:
    """Return for each rater by name: Spearman correlation with, and mean difference from, the
    others' mean.

    Only units with another rating count. Intervals: Fisher's z (Bonett &
    Wright 2000) and t, both for independent units. Undefined: no_overlap, too_few (fewer than 3
    shared units), no_variation.
    """
    data = code(replace(ratings, block=None))
    if data.rater is None or not data.value.size:
        return []
    sizes = data.sizes[data.unit]
    sums = np.bincount(data.unit, weights=data.value)[data.unit]
    met = sizes > 1
    mean = steady((sums - data.value) / np.maximum(sizes - 1, 1))
    order = np.argsort(data.rater, kind="stable")
    edges = np.searchsorted(data.rater[order], np.arange(len(data.raters) + 1))
    compared = []
    for place, name in enumerate(data.raters):
        rows = order[edges[place] : edges[place + 1]]
        rows = rows[met[rows]]
        compared.append(_compare(name, data.value[rows], mean[rows]))
    return sorted(compared, key=lambda rater: rater.rater)


def _compare(rater: str, ratings: Floats, mean_of_rest: Floats) -> Against:
    n = {"units": len(ratings)}
    reason = None
    if len(ratings) < 3:
        reason = Reason.TOO_FEW if len(ratings) else Reason.NO_OVERLAP
    method = METHODS["spearman"]
    if reason:
        rho = undefined("loo_spearman", reason, method=method, n=n)
    elif np.ptp(ratings) == 0 or np.ptp(mean_of_rest) == 0:
        rho = undefined("loo_spearman", Reason.NO_VARIATION, method=method, n=n)
    else:
        ranks = stats.rankdata(ratings), stats.rankdata(mean_of_rest)
        value = float(np.clip(np.corrcoef(*ranks)[0, 1], -1, 1))
        low, high = fisher_interval(value, len(ratings), "spearman")
        rho = finite_figure("loo_spearman", method=method, value=value, low=low, high=high, n=n,
                            details={"interval": "fisher_z_over_inputs",
                                     "over": INPUTS})  # fmt: skip
    if not len(ratings):
        offset = undefined("loo_bias", Reason.NO_OVERLAP, method=_OFFSET, n=n)
    else:
        offset = mean_with_t("loo_bias", ratings - mean_of_rest, method=_OFFSET, n=n)
    return Against(rater=rater, spearman=rho, offset=offset)


# --- first and second ratings of items shown twice

POOLED = ""  # the key of all raters together
_MATCHED = ["participant", "criterion", "system", "system_1", "system_2"]


@dataclass(frozen=True, kw_only=True)
class Sides:
    """Repeats of pairs that were shown with their sides swapped."""

    same_outcome: Figure  # the same output is preferred, or a tie both times
    same_side: Figure  # of decided pairs, the same side is preferred, so the place decided


def find_passes(table: Table) -> pd.DataFrame:
    """Return the repeated ratings of each rater: first and second pass side by side.

    `table`: all rows as read, because results leave repeats out; excluded rows are left out here
    too. Columns: participant, criterion, system, first, second; for preferences the outcomes (-1,
    0, 1) and first_left, second_left, the outcome that would mean the left, as `compare_swapped`
    takes them. Outputs that belong to no system can't be matched.
    """
    rows = table.rows[~table.rows.is_excluded]
    rows = rows.assign(answer=rows.outcome.where(rows.outcome.notna(), rows.value))
    rows["left"] = np.where(rows.shown_first == rows.system_1, -1.0, 1.0)
    named = (rows.system != "") | (rows.system_1 != "")
    again = rows[(rows.kind == "repeat") & named]
    main = rows[(rows.kind == "main") & named]
    both = main.merge(again, left_on=[*_MATCHED, "item"], right_on=[*_MATCHED, "repeat_of"],
                      suffixes=("", "_2"))  # fmt: skip
    both = both.drop_duplicates([*_MATCHED, "item"])
    return pd.DataFrame(
        {"participant": both.participant, "criterion": both.criterion, "system": both.system,
         "first": both.answer, "second": both.answer_2, "first_left": both.left,
         "second_left": both.left_2}
    )  # fmt: skip


def compare_passes(passes: pd.DataFrame, level: Level = "ordinal") -> dict[str, dict[str, Figure]]:
    """Return for each rater by name, and pooled under "": exact share, mean absolute change, alpha
    of the two passes; at the ratio level the sd of ln(second / first) and the band of ratios that
    holds 95% of changes.

    `passes`: from `find_passes`. Intervals: Wilson, t, and those of alpha; repeats are treated as
    independent. Undefined: no_data, no_variation, too_few. Repeats never count in results; the
    first pass does.
    """
    rows = passes[["participant", "first", "second"]].dropna()
    by_rater = {POOLED: _compare_answers(rows, level)}
    for name, repeats in rows.groupby("participant"):
        by_rater[str(name)] = _compare_answers(repeats, level)
    return by_rater


def _compare_answers(rows: pd.DataFrame, level: Level) -> dict[str, Figure]:
    before, after = (rows[name].to_numpy(dtype=float) for name in ("first", "second"))
    n = {"repeats": len(before), "raters": int(rows.participant.nunique())}
    if not len(before):
        names = ("exact", "mean_abs_change", f"{level}_alpha")
        return {name: undefined(name, Reason.NO_DATA, method="two_passes") for name in names}
    change = np.abs(after - before)
    order = np.argsort(change, kind="stable")
    ratings = Ratings(
        unit=np.tile(np.arange(len(before)), 2), value=np.concatenate([before, after])
    )
    figures = {
        "exact": wilson_share(int((before == after).sum()), len(before), name="exact"),
        "mean_abs_change": mean_with_t("mean_abs_change", change[order], n=n,
                                       method="mean_abs_change"),
        f"{level}_alpha": alpha(ratings, level, name=f"{level}_alpha"),
    }  # fmt: skip
    if level == "ratio":
        figures |= _compare_ratios(before, after, n)
    return figures


def _compare_ratios(before: Floats, after: Floats, n: dict[str, int]) -> dict[str, Figure]:
    method = "sd_of_log_changes"
    if len(before) < 2:
        return {name: undefined(name, Reason.TOO_FEW, method=method, n=n)
                for name in ("sd_log_change", "ratio_band")}  # fmt: skip
    logs = np.sort(np.log(after / before))
    sd = float(logs.std(ddof=1))
    df = len(logs) - 1
    low, high = (sd * float(np.sqrt(df / stats.chi2.ppf(q, df)))
                 for q in ((1 + LEVEL) / 2, (1 - LEVEL) / 2))  # fmt: skip
    reach = float(stats.norm.ppf((1 + LEVEL) / 2))
    details: dict[str, Any] = {"interval": "band",
                               "from": float(np.exp(-reach * sd)),
                               "to": float(np.exp(reach * sd))}  # fmt: skip
    return {
        "sd_log_change": Figure(name="sd_log_change", method=method, value=sd, low=low, high=high,
                                n=n, details={"interval": "chi_square"}),
        "ratio_band": Figure(name="ratio_band", value=float(np.exp(reach * sd)), n=n,
                             method="band_of_log_changes", details=details),
    }  # fmt: skip


def compare_swapped(
    *, first: ArrayLike, second: ArrayLike, first_left: ArrayLike, second_left: ArrayLike
) -> Sides:  # fmt: skip
    """Return how often the outcome, and how often the side, stays the same in repeats with swapped
    sides.

    `first`, `second`: (n,) outcomes as -1 (system_1), 0 (a tie), 1 (system_2); `first_left`,
    `second_left`: (n,) the outcome that would mean "left", -1 or 1. Undefined: no_data.
    """
    before, after = (np.asarray(each, dtype=float) for each in (first, second))
    left_1, left_2 = (np.asarray(each, dtype=float) for each in (first_left, second_left))
    swapped = left_1 != left_2
    decided = swapped & (before != 0) & (after != 0)
    stays = (before == left_1) == (after == left_2)
    return Sides(
        same_outcome=wilson_share(int((before == after).sum()), len(before), name="same_outcome"),
        same_side=wilson_share(int((stays & decided).sum()), int(decided.sum()),
                               name="same_side"),
    )  # fmt: skip
