"""Agreement of raters with themselves: first and second ratings of items shown twice."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from evalsite.analysis.alpha import Level, alpha
from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.intervals import mean_with_t
from evalsite.analysis.rank_tests import wilson_share
from evalsite.analysis.ratings import Floats, Ratings
from evalsite.analysis.table import Table

POOLED = ""  # the key of all raters together
_SAME = ["participant", "criterion", "system", "system_1", "system_2"]


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
    both = main.merge(again, left_on=[*_SAME, "item"], right_on=[*_SAME, "repeat_of"],
                      suffixes=("", "_2"))  # fmt: skip
    both = both.drop_duplicates([*_SAME, "item"])
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
    by_rater = {POOLED: _compare(rows, level)}
    for name, repeats in rows.groupby("participant"):
        by_rater[str(name)] = _compare(repeats, level)
    return by_rater


def _compare(rows: pd.DataFrame, level: Level) -> dict[str, Figure]:
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
