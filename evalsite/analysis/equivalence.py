"""Whether a system is equivalent to another within a margin, or not worse by more than it.

Two one-sided tests (Schuirmann 1987): a difference, its standard error and degrees of freedom are
those of the comparison, so raters and inputs are samples here too.
"""

from collections.abc import Iterable
from math import isfinite, log
from typing import Any

from scipy import stats

from evalsite.analysis.figure import Figure, Reason
from evalsite.analysis.multiple_testing import correct
from evalsite.analysis.plan import Margin

LEVEL_OF_GATE = 0.05
METHOD = "one-sided t tests against the margin"


def test_margin(*, difference: float, se: float, df: float, margin: float) -> dict[str, float]:
    """p that the difference is above -margin, below margin, and both; and its 90% interval."""
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
        "low90": difference - reach,
        "high90": difference + reach,
    }


def judge_margin(effect: Figure, planned: Margin, *, is_log: bool) -> dict[str, Any]:
    """The outcome of a planned test against a margin; `effect` is `planned.system` minus `other`.

    Outcome: "pass", "fail" (the interval lies beyond the margin) or "undecided"; None with a
    `reason` where there is no test.
    """
    known: dict[str, Any] = {
        "system": planned.system, "other": planned.other, "relation": planned.relation,
        "margin": planned.margin, "method": METHOD, "outcome": None,
    }  # fmt: skip
    margin = log(planned.margin) if is_log and planned.margin > 0 else planned.margin
    if not margin > 0:
        return known | {"reason": "no_margin"}
    se, df = effect.details.get("se"), effect.details.get("df")
    if effect.value is None or not se or not df:
        return known | {"reason": str(effect.reason or Reason.TOO_FEW)}
    found = test_margin(difference=effect.value, se=se, df=df, margin=margin)
    p = found["p_not_worse" if planned.relation == "not_worse" else "p_equivalent"]
    low, high = found["low90"], found["high90"]
    is_beyond = high < -margin or (planned.relation == "equivalent" and low > margin)
    outcome = "pass" if p < LEVEL_OF_GATE else "fail" if is_beyond else "undecided"
    return known | found | {"p": p, "outcome": outcome, "is_log": is_log}


def correct_margins(tests: Iterable[dict[str, Any]]) -> None:
    """Correct the tests of one family for one another, by Holm; one test needs no correction."""
    tested = [one for one in tests if one["outcome"] is not None]
    if len(tested) < 2:
        return
    for one, p in zip(tested, correct([one["p"] for one in tested]), strict=True):
        one |= {"p_corrected": float(p), "family": len(tested)}
        if one["outcome"] == "pass" and p >= LEVEL_OF_GATE:
            one["outcome"] = "undecided"
