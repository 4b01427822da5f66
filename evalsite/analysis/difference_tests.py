"""Tests of whether differences are 0 on average: over items or raters alone, of all systems by the
F test of Kenward and Roger, and of pairs by the mixed model of all systems.

Where there is no model, pairs are tested by the bootstrap, or over raters on the only input that
both systems share; undefined where the ratings don't determine the difference.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from evalsite.analysis.effects import rounded
from evalsite.analysis.figure import REML, Cautions, Figure, Reason, undefined
from evalsite.analysis.intervals import (
    ALWAYS_EQUAL,
    TINY,
    Units,
    describe_equal_differences,
    t_figure,
)
from evalsite.analysis.mixed import Mixed, fit_mixed
from evalsite.analysis.ratings import canonical_rows
from evalsite.analysis.reml import RemlFit
from evalsite.analysis.resample import METHOD as BOOTSTRAP
from evalsite.analysis.resample import drawn_test
from evalsite.analysis.scores import Scores, find_thin

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


METHOD = "joint_f_test"


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
        return undefined("joint_f", Reason.INCOMPLETE, method=METHOD, n=n)
    return _find_test(mixed, np.eye(len(met)), np.eye(len(met)), n)


def _find_test(mixed: Mixed, rows: Floats, pairs: Iterable[Floats], n: Mapping[str, int]) -> Figure:
    """Return the F test that every row (rows, means) is 0; `too_few` where one of the `pairs` has
    no test by the model, or too few degrees of freedom are left."""
    if mixed.fit is None:
        return undefined("joint_f", mixed.reason or Reason.TOO_FEW, method=METHOD, n=n)
    is_tested = all(mixed.determines(w) and not mixed.fit.is_overcorrected(w) for w in pairs)
    tested = _test(mixed.fit, rows) if is_tested else None
    if tested is None:
        return undefined("joint_f", Reason.TOO_FEW, method=METHOD, n=n)
    f, df2, scaling = tested
    df1 = len(rows)
    details = {"df1": df1, "df2": df2, "p": float(stats.f.sf(f, df1, df2)), "scaling": scaling}
    return Figure(
        name="joint_f", method=METHOD, value=f, n=n, details=details | {"interval": "test"}
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
