"""Tests of differences between systems, their correction for a family of tests, and equivalence.

Differences that are 0 on average: over items or raters alone, of all systems by the F test of
Kenward and Roger, and of pairs by the mixed model of all systems. Where there is no model, pairs
are tested by the bootstrap, or over raters on the only input that both systems share; undefined
where the ratings don't determine the difference.

Corrections: Holm, Benjamini-Hochberg, Benjamini-Yekutieli. Where a plan names comparisons, p values
are corrected for these; others are exploratory.

Equivalence within a margin, or not being worse by more than it: two one-sided tests (Schuirmann
1987). A difference, its standard error and degrees of freedom are those of the comparison, so
raters and inputs are samples here too. A difference that is the same in every rating is exact: it
needs no test and has no interval.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite, log
from typing import Any, Literal, Protocol, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evalsite.analysis.effects import rounded
from evalsite.analysis.figure import LEVEL, REML, Cautions, Figure, Reason, undefined
from evalsite.analysis.intervals import (
    ALWAYS_EQUAL,
    TINY,
    Units,
    describe_equal_differences,
    drawn_test,
    has_no_spread,
    t_figure,
    turn_figure,
)
from evalsite.analysis.intervals import METHOD as BOOTSTRAP
from evalsite.analysis.mixed import Mixed, RemlFit, fit_mixed
from evalsite.analysis.plan import SIGN, Better, Hypothesis, Margin, Named
from evalsite.analysis.ratings import Scores, canonical_rows, find_thin

# --- corrections of p values

Correction = Literal["holm", "bh", "by", "none"]
NAMES = get_args(Correction)


def correct(p_values: Any, method: Correction = "holm") -> NDArray[np.float64]:
    """Return the corrected p values (m,), in the same order; NaN marks no test and is left out.

    Holm (1979) keeps the chance of any false claim in the family; BH (1995) and BY (2001) keep the
    expected share of false claims, BY under any dependence.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if method not in NAMES:
        raise ValueError(f"{method} is no correction; choose one of {', '.join(NAMES)}.")
    is_test = ~np.isnan(p)
    out = np.full(len(p), np.nan)
    out[is_test] = _correct(p[is_test], method)
    return out


def _correct(p: NDArray[np.float64], method: str) -> NDArray[np.float64]:
    m = len(p)
    if not m or method == "none":
        return p
    order = np.argsort(p, kind="stable")
    rank = np.arange(1, m + 1)
    corrected = np.empty(m)
    if method == "holm":
        corrected[order] = np.maximum.accumulate((m - rank + 1) * p[order])
    else:
        factor = (1.0 / rank).sum() if method == "by" else 1.0
        grown = factor * m / rank * p[order]
        corrected[order] = np.minimum.accumulate(grown[::-1])[::-1]
    return np.minimum(corrected, 1.0)


# --- the comparisons that a plan names ---------------------------------------------------------


class Corrected(Protocol):
    """Corrected comparisons; `exploratory` counts tests of pairs that the plan doesn't name."""

    @property
    def family_across(self) -> int: ...
    @property
    def exploratory(self) -> int: ...


def mark_named(pairs: Iterable[Iterable[str]], named: Named) -> list[bool]:
    """Return for each pair whether the plan names it; True for all if it names none of them."""
    is_named = [frozenset(pair) in named for pair in pairs]
    return is_named if any(is_named) else [True] * len(is_named)


def correct_named(
    p: Sequence[float],
    is_named: Sequence[bool] = (),
    other_p: Sequence[float] = (),
    method: Correction = "holm",
) -> list[float | None]:
    """Return p values, of named pairs corrected for these and `other_p`, of others for all."""
    every = np.asarray(p, dtype=np.float64)
    named = np.asarray(is_named or [True] * len(every), dtype=bool)
    corrected = correct([*every, *other_p], method)[: len(every)]
    corrected[named] = correct([*every[named], *other_p], method)[: named.sum()]
    return [None if np.isnan(q) else float(q) for q in corrected]


def describe_family(result: Corrected, within: int, *, is_exploratory: bool) -> dict[str, Any]:
    """Return how many comparisons the corrected p of a pair covers, in all and of its criterion.

    `within` counts those that the plan names.
    """
    more = result.exploratory if is_exploratory else 0
    family = {"family": result.family_across + more, "family_within": within + more}
    return family | ({"is_exploratory": True} if is_exploratory else {})


def find_effect(pairs: Sequence[Mapping[str, Any]], system: str, other: str) -> Figure:
    """Return the effect of `system` over or minus `other`; undefined if they weren't compared."""
    for pair in pairs:
        if (pair["system_1"], pair["system_2"]) == (system, other):
            effect: Figure = pair["effect"]
            return effect
        if (pair["system_2"], pair["system_1"]) == (system, other):
            return turn_figure(pair["effect"])
    return undefined("difference", Reason.NO_DATA, method="")


def judge_hypotheses(
    pairs: Sequence[Mapping[str, Any]],
    hypotheses: Sequence[Hypothesis],
    equal: float,
    better: Better = "higher",
) -> list[dict[str, Any]]:
    """Return the outcome of each hypothesis.

    "better" or "worse": of `system`; "different": it differs, without a direction; "unclear": the
    corrected test isn't significant; None: there is no test. p values stay two-sided.
    """
    outcomes = []
    for hypothesis in hypotheses:
        effect = find_effect(pairs, hypothesis.system, hypothesis.other)
        p = effect.details.get("p_corrected")
        outcome = None
        if effect.value is not None and p is not None:
            goodness = SIGN[better] * (effect.value - equal)
            outcome = "better" if goodness > 0 else "worse" if goodness < 0 else "different"
            outcome = outcome if p < 1 - LEVEL else "unclear"
        outcomes.append(
            {
                "system": hypothesis.system, "relation": hypothesis.relation,
                "other": hypothesis.other, "outcome": outcome, "p_corrected": p,
            }
        )  # fmt: skip
    return outcomes


# --- tests of differences

Floats = NDArray[np.float64]

METHOD_ITEMS = "t_over_items"
METHOD_RATERS = "t_over_raters"


def mean_test(
    rater: Any | None,
    item: Any,
    value: Any,
    *,
    name: str = "difference",
    units: Units = "inputs",
) -> Figure:
    """Test whether the mean of `value` is 0, over raters or items alone; return it with interval.

    All (n,): names or codes of raters (None: unknown, or not persons) and items, and a difference
    or an outcome of +1, 0, -1. The t test is over items, which says nothing about other raters;
    with one item and several raters it is over raters. `units`: what the items are, for the message
    if there is no spread.
    """
    values = np.asarray(value, dtype=np.float64)
    if not len(values):
        return undefined(name, Reason.NO_DATA, method=METHOD_ITEMS)
    alone = rater is None
    who = np.zeros(len(values), dtype=np.int64) if alone else rater
    rows, (who, item_code) = canonical_rows(values, who, item)
    values = values[rows]
    items = int(item_code.max()) + 1
    n = {"raters": int(who.max()) + 1, "items": items, "differences": len(values)}
    if alone:
        del n["raters"]
    if items < 2 and n.get("raters", 1) > 1:
        figure, units = _over_one(name, METHOD_RATERS, who, values, n), "raters"
    else:
        figure = _over_one(name, METHOD_ITEMS, item_code, values, n)
    if units == "clusters":
        figure = replace(
            figure, n={units if key == "items" else key: figure.n[key] for key in figure.n}
        )
    return describe_equal_differences(figure, units=units, is_of_means=bool(np.ptp(values) > 0))


def _over_one(
    name: str, method: str, item: NDArray[np.int64], value: Floats, n: dict[str, int]
) -> Figure:
    # With equal numbers of ratings this is the t test of the levels' means; else levels are
    # weighted by their numbers.
    count = np.bincount(item)
    if len(count) < 2:
        return undefined(name, Reason.TOO_FEW, method=method, n=n)
    mean, df = float(value.mean()), len(count) - 1
    off = np.bincount(item, weights=value - mean)
    se = float(np.sqrt((off**2).sum() * len(count) / df)) / len(value)
    return t_figure(name, (mean, se, df), method=method, n=n, units=len(count))


# --- the F test that all systems are equal, as KRmodcomp of pbkrtest ---------------------------


JOINT = "joint_f_test"


def find_joint_test(mixed: Mixed, systems: int, *, n: Mapping[str, int]) -> Figure:
    """Return the F test that all means of systems are equal."""
    unit = np.eye(systems)
    pairs = [unit[j] - unit[i] for i, j in combinations(range(systems), 2)]
    return _find_test(mixed, unit[1:] - unit[0], pairs, n)


def find_joint_test_of_pairs(
    mixed: Mixed, met: Sequence[tuple[int, int]], systems: int, *, n: Mapping[str, int]
) -> Figure:
    """Return the F test that the mean of every pair is 0, on the model of preferences; `incomplete`
    where a pair never met."""
    if len(met) < systems * (systems - 1) // 2:
        return undefined("joint_f", Reason.INCOMPLETE, method=JOINT, n=n)
    return _find_test(mixed, np.eye(len(met)), np.eye(len(met)), n)


def _find_test(mixed: Mixed, rows: Floats, pairs: Iterable[Floats], n: Mapping[str, int]) -> Figure:
    """Return the F test that every row (rows, means) is 0; `too_few` where one of the `pairs` has
    no test by the model, or too few degrees of freedom are left."""
    if mixed.fit is None:
        return undefined("joint_f", mixed.reason or Reason.TOO_FEW, method=JOINT, n=n)
    is_tested = all(mixed.determines(w) and not mixed.fit.is_overcorrected(w) for w in pairs)
    tested = _test(mixed.fit, rows) if is_tested else None
    if tested is None:
        return undefined("joint_f", Reason.TOO_FEW, method=JOINT, n=n)
    f, df2, scaling = tested
    df1 = len(rows)
    details = {"df1": df1, "df2": df2, "p": float(stats.f.sf(f, df1, df2)), "scaling": scaling}
    return Figure(
        name="joint_f", method=JOINT, value=f, n=n, details=details | {"interval": "test"}
    )


def _test(fit: RemlFit, rows: Floats) -> tuple[float, float, float] | None:
    """Return F, its denominator degrees of freedom and its scaling; None where there are too few of
    them.

    The letters are those of Kenward and Roger's paper.
    """
    q = len(rows)
    theta = rows.T @ np.linalg.solve(rows @ fit.covariance @ rows.T, rows)
    turned = theta @ fit.slopes
    traces = np.trace(turned, axis1=1, axis2=2)
    a1 = float(traces @ fit.spread @ traces)
    a2 = float(np.einsum("kl,kij,lji->", fit.spread, turned, turned))
    if not a2 > 0:
        return None
    b = (a1 + 6 * a2) / (2 * q)
    g = ((q + 1) * a1 - (q + 4) * a2) / ((q + 2) * a2)
    c1, c2, c3 = np.array([g, q - g, q + 2 - g]) / (3 * q + 2 * (1 - g))
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = ((1 - a2 / q) / (1 - c2 * b)) ** 2 * (1 + c1 * b) / ((1 - c3 * b) * q)
        m = 4 + (q + 2) / (q * rho - 1)
        scaling = m * (1 - a2 / q) / (m - 2)
    estimates = rows @ fit.means
    wald = float(estimates @ np.linalg.solve(rows @ fit.adjusted @ rows.T, estimates))
    if not (np.isfinite(m) and m > 2 and scaling > 0):
        return None
    return float(scaling * wald / q), float(m), float(scaling)


# --- pairs of systems by the model -------------------------------------------------------------


ONE_INPUT = "one_input"  # the value of `only` in a difference
# draws of two raters, or of two inputs, don't reach beyond what these two show
_LEAST_DRAWN = 3


@dataclass(frozen=True, kw_only=True)
class ModelPairs:
    """The comparisons of a criterion; `means`, `drawn`: the bootstrap's, used without a model."""

    data: Scores
    mixed: Mixed
    means: Floats
    drawn: Floats
    seed: int

    def compare(self, pairs: list[tuple[int, int]]) -> tuple[list[Figure], Cautions]:
        """Return the test of each pair, and what can't be claimed because of them."""
        thin = find_thin(self.data)
        figures = [self._compare(i, j, is_thin=i in thin or j in thin) for i, j in pairs]
        methods = {figure.method for figure in figures if figure.value is not None}
        cautions: Cautions = {}
        if thin and len(pairs):
            cautions["thin_systems"] = {"systems": [self.data.systems[place] for place in thin]}
        open_pairs = [
            [self.data.systems[i], self.data.systems[j]]
            for (i, j), figure in zip(pairs, figures, strict=True)
            if figure.value is None and not {i, j} & set(thin)
        ]
        if open_pairs:
            cautions["undetermined"] = {"pairs": open_pairs}
        if BOOTSTRAP in methods:
            cautions["bootstrap_instead_of_model"] = {}
        if REML in methods and self.mixed.fit is not None and self.mixed.fit.singular:
            cautions["singular_model"] = {}
        return figures, cautions

    def _compare(self, first: int, second: int, *, is_thin: bool) -> Figure:
        if is_thin:
            return self._test_over_raters(first, second) or self._leave_open("thin")
        weights = np.zeros(len(self.data.systems))
        weights[first], weights[second] = -1.0, 1.0
        if self.mixed.fit is None or self.mixed.fit.is_overcorrected(weights):
            figure = self._test_by_draws(first, second)
        elif self.mixed.determines(weights):
            estimate = self.mixed.fit.contrast(weights)
            figure = t_figure("difference", estimate, method=REML, n=self.data.counts())
        else:
            return self._leave_open("undetermined")
        if figure.details.get("note") == ALWAYS_EQUAL and "p" not in figure.details:
            return self._leave_open("no_shared_input")
        return figure

    def _leave_open(self, why: str) -> Figure:
        return undefined(
            "difference", Reason.TOO_FEW, method=REML, n=self.data.counts(), details={"why": why}
        )

    def _test_over_raters(self, first: int, second: int) -> Figure | None:
        """Return the paired t test over raters if both systems have the same single input."""
        pair = self.data.take((self.data.system == first) | (self.data.system == second))
        if int(pair.group.max()) > 0:
            return None
        rows = pd.DataFrame({"rater": pair.rater, "system": pair.system, "value": pair.value})
        mean = rows.groupby(["rater", "system"]).value.mean().unstack()
        apart = rounded((mean[second] - mean[first]).dropna().to_numpy())
        if len(apart) < 2:
            return None
        test = mean_test(np.arange(len(apart)), np.zeros(len(apart)), apart)
        n = {"raters": len(apart), "items": 1, "ratings": len(pair.value)}
        return replace(test, n=n, details={**test.details, "only": ONE_INPUT})

    def _test_by_draws(self, first: int, second: int) -> Figure:
        """Return the difference by the bootstrap; without an interval if all draws are equal."""
        data = self.data
        why = "too_few" if self.mixed.fit is None else "error_poorly_known"
        details: dict[str, Any] = {"fallback": self.mixed.facts.get("fallback", why)}
        estimate = float(self.means[second] - self.means[first])
        apart = self.drawn[:, second] - self.drawn[:, first]
        drawn = apart[np.isfinite(apart)]
        if int(data.block.max()) > 0 and len(drawn) and np.ptp(drawn) < TINY:
            blocks = [data.block[data.system == place] for place in (first, second)]
            figure = t_figure(
                "difference", (estimate, 0.0, 1.0), method=BOOTSTRAP, n=data.counts(),
                units=len(np.intersect1d(*blocks)),
            )  # fmt: skip
            return replace(figure, details={**details, **figure.details})
        figure = drawn_test("difference", estimate, apart, n=data.counts(), seed=self.seed)
        figure = replace(figure, details={**details, **figure.details})
        if min(figure.n.get("raters", _LEAST_DRAWN), figure.n["items"]) >= _LEAST_DRAWN:
            return figure
        details = {**figure.details, "interval": str(Reason.TOO_FEW)}
        details.pop("p", None)
        return replace(figure, low=None, high=None, details=details)


def compare_alone(data: Scores, first: int, second: int) -> Figure:
    """Return the difference by the same model of these two systems' ratings alone.

    It has a separate error, for pairs about which raters differ more than about the others.
    """
    pair = data.take((data.system == first) | (data.system == second))
    system = (pair.system == second).astype(np.int64)
    alone = replace(pair, system=system, systems=[data.systems[first], data.systems[second]])
    mixed = fit_mixed(alone)
    weights = np.array([-1.0, 1.0])
    if mixed.fit is None or mixed.fit.is_overcorrected(weights) or not mixed.determines(weights):
        reason = mixed.reason or Reason.TOO_FEW
        return undefined("own_error", reason, method=REML, n=alone.counts())
    return t_figure("own_error", mixed.fit.contrast(weights), method=REML, n=alone.counts())


# --- equivalence within a margin

ScaleKind = Literal["points", "share", "ratio", "numbers"]

LEVEL_OF_GATE = 0.05
MARGIN_TESTS = "margin_tests"
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
        "margin": planned.margin, "method": MARGIN_TESTS, "outcome": None, "level": planned.level,
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
