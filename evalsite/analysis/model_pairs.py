"""Pairs of systems by the mixed model of all systems.

Where there is no model, by the bootstrap, or over raters on the only input that both systems share;
undefined where the ratings don't determine the difference.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalsite.analysis.bootstrap import METHOD as BOOTSTRAP
from evalsite.analysis.bootstrap import drawn_test
from evalsite.analysis.effects import rounded
from evalsite.analysis.figure import REML, Cautions, Figure, Reason, undefined
from evalsite.analysis.intervals import ALWAYS_EQUAL, TINY, t_figure
from evalsite.analysis.mixed import Mixed, fit_mixed
from evalsite.analysis.one_sample import mean_test
from evalsite.analysis.scores import Scores, find_thin

Floats = NDArray[np.float64]

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
