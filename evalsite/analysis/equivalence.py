"""Whether a system is equivalent to another within a margin, or not worse by more than it.

Two one-sided tests (Schuirmann 1987): a difference, its standard error and degrees of freedom are
those of the comparison, so raters and inputs are samples here too. A difference that is the same in
every rating is exact: it needs no test and has no interval.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite, log
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evalsite.analysis.direction import SIGN
from evalsite.analysis.figure import Figure, Reason
from evalsite.analysis.intervals import has_no_spread
from evalsite.analysis.multiple_testing import correct
from evalsite.analysis.plan import Margin
from evalsite.analysis.scores import Scores

Floats = NDArray[np.float64]
ScaleKind = Literal["points", "share", "ratio", "numbers"]

LEVEL_OF_GATE = 0.05
METHOD = "margin_tests"
EXACT = "equal_differences"
MOST_RATIO = 2.0
MOST_SHARE = 0.5
_ROUNDING = 1e-9
LEAST_RATERS = 3  # for an exact difference
LEAST_INPUTS = 10
_NO_SPREAD = 1e-4  # of the standard deviation of values: less is only rounding


@dataclass(frozen=True, kw_only=True)
class MarginLimit:
    """The limit below which a margin can fail a test; None: the width of the scale is unknown. A
    ratio may equal its limit. `ends` are those of a scale with points."""

    scale: ScaleKind
    limit: float | None = None
    ends: tuple[float, float] | None = None

    def allows(self, margin: float) -> bool:
        if self.scale == "ratio":
            return 1 < margin <= MOST_RATIO
        return isfinite(margin) and margin > 0 and (self.limit is None or margin < self.limit)


@dataclass(frozen=True, kw_only=True)
class ExactDifference:
    """Second minus first, as every rater sees it on every input (`constant`), or 0 where all
    ratings are equal (`all_equal`). `raters` is 0 where they are unknown."""

    code: Literal["constant", "all_equal"]
    value: float
    raters: int
    inputs: int

    @property
    def is_enough(self) -> bool:
        """Whether so many raters and inputs can decide without an interval."""
        return self.raters >= LEAST_RATERS and self.inputs >= LEAST_INPUTS

    def to_dict(self) -> Mapping[str, object]:
        return {"code": self.code, "raters": self.raters, "inputs": self.inputs}


def find_exact_scores(data: Scores, first: int, second: int) -> ExactDifference | None:
    """Return the difference of two systems' scores, if every rater rated both on every input with
    the same difference; None if it varies, or a rater lacks one of them."""
    pair = data.take((data.system == first) | (data.system == second))
    is_second = pair.system == second
    if is_second.all() or not is_second.any():
        return None
    who = np.zeros(len(pair.value), dtype=np.int64) if pair.rater is None else pair.rater
    if np.ptp(pair.value) == 0:
        sides = [(who[side], pair.group[side]) for side in (is_second, ~is_second)]
        raters, inputs = (min(len(np.unique(side[at])) for side in sides) for at in (0, 1))
        return ExactDifference(
            code="all_equal", value=0.0, raters=0 if pair.rater is None else raters, inputs=inputs
        )
    rows = pd.DataFrame({"rater": who, "group": pair.group, "second": is_second})
    cells = rows.assign(value=pair.value).groupby(["rater", "group", "second"]).value
    apart = cells.mean().unstack()
    least = _NO_SPREAD * float(pair.value.std())
    if apart.isna().any(axis=None) or (cells.max() - cells.min()).max() > least:
        return None
    difference = (apart[True] - apart[False]).to_numpy(dtype=np.float64)
    if float(difference.std()) > least:
        return None
    return ExactDifference(
        code="constant",
        value=float(np.round(difference.mean(), 9)),
        raters=pair.raters or 0,
        inputs=int(pair.group.max()) + 1,
    )


def find_exact_outcomes(outcome: Floats, *, raters: int, inputs: int) -> ExactDifference | None:
    """Return the net share of a pair if every answer is the same; None if answers vary."""
    if not len(outcome) or np.ptp(outcome) > 0:
        return None
    return ExactDifference(code="constant", value=float(outcome[0]), raters=raters, inputs=inputs)


def find_limit(
    *, scale: ScaleKind, ends: tuple[float, float] | None = None, value: Any = ()
) -> MarginLimit:
    """Return the limit of a margin: half the range of a scale, or the standard deviation of
    unbounded numbers."""
    if scale == "ratio":
        return MarginLimit(scale=scale, limit=MOST_RATIO)
    if scale == "share":
        return MarginLimit(scale=scale, limit=MOST_SHARE)
    if ends is not None:
        half = (ends[1] - ends[0]) / 2
        return MarginLimit(scale="points", limit=half or None, ends=ends)
    values = np.asarray(value, dtype=np.float64)
    values = values[np.isfinite(values)]
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return MarginLimit(scale="numbers", limit=spread or None)


def test_margin(*, difference: float, se: float, df: float, margin: float) -> dict[str, float]:
    """Return p values that the difference is above -margin, below margin, and both; that it is
    beyond either; and its 90% interval."""
    if not (margin > 0 and isfinite(margin)):
        raise ValueError("A margin is a number above 0.")
    if not se > 0:
        raise ValueError("A test against a margin needs a standard error above 0.")
    not_worse = float(stats.t.sf((difference + margin) / se, df))
    not_better = float(stats.t.cdf((difference - margin) / se, df))
    reach = float(stats.t.ppf(1 - LEVEL_OF_GATE, df)) * se
    return {
        "p_not_worse": not_worse,
        "p_not_better": not_better,
        "p_equivalent": max(not_worse, not_better),
        "p_worse": float(stats.t.cdf((difference + margin) / se, df)),
        "p_better": float(stats.t.sf((difference - margin) / se, df)),
        "low90": difference - reach,
        "high90": difference + reach,
    }


def judge_margin(
    effect: Figure,
    planned: Margin,
    *,
    is_log: bool,
    limit: MarginLimit,
    exact: ExactDifference | None = None,
) -> dict[str, Any]:
    """Return the outcome of a planned test against a margin; `effect`, and `exact` where it has no
    spread, are `planned.system` minus `other`.

    Outcome: "pass", "fail" (the interval lies beyond the margin) or "undecided"; None with a
    `reason` where there is no test. `p` is that of passing, `p_fail` that of failing. Differences,
    intervals and p values are as the system is better, so turned where lower is better. An exact
    difference has neither p nor interval but a `reason`, and `exact`.
    """
    known: dict[str, Any] = {
        "system": planned.system, "other": planned.other, "relation": planned.relation,
        "margin": planned.margin, "method": METHOD, "outcome": None, "level": planned.level,
        "better": planned.better, "is_log": is_log,
    }  # fmt: skip
    if planned.better == "none" and planned.relation == "not_worse":
        return known | {"reason": "no_direction"}
    if not limit.allows(planned.margin):
        bounds = {"scale": limit.scale, "limit": limit.limit, "ends": limit.ends}
        return known | {"reason": "no_margin", **bounds}
    margin = log(planned.margin) if is_log else planned.margin
    # within a margin either way, no direction is needed
    sign = SIGN[planned.better] or 1.0
    if exact is not None:
        return known | _judge_exact(exact, sign * exact.value, margin, planned.relation)
    if has_no_spread(effect):
        return known | {"reason": "equal_means"}
    se, df = effect.details.get("se"), effect.details.get("df")
    if effect.value is None or not se or not df:
        return known | {"reason": str(effect.reason or Reason.TOO_FEW)}
    difference = sign * effect.value
    ends_and_p = test_margin(difference=difference, se=se, df=df, margin=margin)
    reach = float(stats.t.isf(planned.level, df)) * se
    low, high = difference - reach, difference + reach
    is_equivalence = planned.relation == "equivalent"
    p = ends_and_p["p_equivalent" if is_equivalence else "p_not_worse"]
    is_beyond = high < -margin or (is_equivalence and low > margin)
    outcome = "pass" if p < planned.level else "fail" if is_beyond else "undecided"
    p_fail = (
        min(ends_and_p["p_worse"], ends_and_p["p_better"])
        if is_equivalence
        else ends_and_p["p_worse"]
    )
    return known | ends_and_p | {
        "difference": difference, "low": low, "high": high, "se": se, "df": df,
        "p": p, "p_fail": p_fail, "outcome": outcome,
    }  # fmt: skip


def _judge_exact(
    exact: ExactDifference, difference: float, margin: float, relation: str
) -> dict[str, Any]:
    """Return the outcome of a difference without spread; at the margin itself it is undecided."""
    inside = difference + margin
    if relation == "equivalent":
        inside = min(inside, margin - difference)
    outcome = "undecided" if abs(inside) <= _ROUNDING else "pass" if inside > 0 else "fail"
    known = {"method": EXACT, "difference": difference, "exact": exact.to_dict()}
    if not exact.is_enough:
        return known | {"outcome": "undecided", "reason": f"{exact.code}_too_few"}
    return known | {"outcome": outcome, "reason": exact.code}


def correct_margins(tests: Iterable[dict[str, Any]]) -> None:
    """Correct the tests of one family for one another, by Holm; one test needs no correction."""
    tested = [test for test in tests if test["outcome"] is not None and "p" in test]
    if len(tested) < 2:
        return
    for test, p in zip(tested, correct([test["p"] for test in tested]), strict=True):
        test |= {"p_corrected": float(p), "family": len(tested)}
        if test["outcome"] == "pass" and p >= test.get("level", LEVEL_OF_GATE):
            test["outcome"] = "undecided"
