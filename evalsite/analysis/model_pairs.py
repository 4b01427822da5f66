"""Pairs of systems by the mixed model of all systems; by the bootstrap where there is no model, or
over raters on the one input that both share; undefined where the ratings don't determine the
difference."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalsite.analysis.bootstrap import METHOD as BOOTSTRAP
from evalsite.analysis.bootstrap import drawn_figure
from evalsite.analysis.effects import rounded
from evalsite.analysis.figure import Cautions, Figure, Reason, undefined
from evalsite.analysis.intervals import ALWAYS_EQUAL, TINY, t_figure
from evalsite.analysis.mixed import Mixed, fit_mixed
from evalsite.analysis.one_sample import mean_test
from evalsite.analysis.reml import METHOD as REML
from evalsite.analysis.scores import Scores, find_thin

Floats = NDArray[np.float64]

ONE_INPUT = "one_input"  # what a difference is `only` of
# draws of two raters, or of two inputs, span what these two say and no more
_LEAST_DRAWN = 3


@dataclass(frozen=True, kw_only=True)
class ModelPairs:
    """The comparisons of one criterion; `means`, `drawn`: the bootstrap's, in its place."""

    data: Scores
    mixed: Mixed
    means: Floats
    drawn: Floats
    seed: int

    def compare(self, pairs: list[tuple[int, int]]) -> tuple[list[Figure], Cautions]:
        """The test of each pair, and what cannot be claimed because of these."""
        thin = find_thin(self.data)
        found = [self._compare(i, j, is_thin=i in thin or j in thin) for i, j in pairs]
        methods = {one.method for one in found if one.value is not None}
        cautions: Cautions = {}
        if thin and len(pairs):
            cautions["thin_systems"] = {"systems": [self.data.systems[one] for one in thin]}
        open_pairs = [
            [self.data.systems[i], self.data.systems[j]]
            for (i, j), one in zip(pairs, found, strict=True)
            if one.value is None and not {i, j} & set(thin)
        ]
        if open_pairs:
            cautions["undetermined"] = {"pairs": open_pairs}
        if BOOTSTRAP in methods:
            cautions["bootstrap_instead_of_model"] = {}
        if REML in methods and self.mixed.fit is not None and self.mixed.fit.singular:
            cautions["singular_model"] = {}
        return found, cautions

    def _compare(self, first: int, second: int, *, is_thin: bool) -> Figure:
        if is_thin:
            why = "thin"
            return self._over_raters(first, second) or self._leave_open(why)
        weights = np.zeros(len(self.data.systems))
        weights[first], weights[second] = -1.0, 1.0
        if self.mixed.fit is None or self.mixed.fit.is_overcorrected(weights):
            found = self._by_draws(first, second)
        elif self.mixed.determines(weights):
            estimate, se, df = self.mixed.fit.contrast(weights)
            found = t_figure(
                "difference", estimate=estimate, se=se, df=df, method=REML, n=self.data.counts()
            )
        else:
            return self._leave_open("undetermined")
        if found.details.get("note") == ALWAYS_EQUAL and "p" not in found.details:
            return self._leave_open("no_shared_input")
        return found

    def _leave_open(self, why: str) -> Figure:
        return undefined(
            "difference", Reason.TOO_FEW, method=REML, n=self.data.counts(), details={"why": why}
        )

    def _over_raters(self, first: int, second: int) -> Figure | None:
        """The paired t test over raters, where both systems have one input, the same; else None."""
        pair = self.data.take((self.data.system == first) | (self.data.system == second))
        if int(pair.group.max()) > 0:
            return None
        rows = pd.DataFrame({"rater": pair.rater, "system": pair.system, "value": pair.value})
        mean = rows.groupby(["rater", "system"]).value.mean().unstack()
        apart = rounded((mean[second] - mean[first]).dropna().to_numpy())
        if len(apart) < 2:
            return None
        found = mean_test(np.arange(len(apart)), np.zeros(len(apart)), apart)
        n = {"raters": len(apart), "items": 1, "ratings": len(pair.value)}
        return replace(found, n=n, details={**found.details, "only": ONE_INPUT})

    def _by_draws(self, first: int, second: int) -> Figure:
        """The difference by the bootstrap; without interval where every draw gives the same."""
        data = self.data
        known: dict[str, Any] = {
            "fallback": self.mixed.facts.get(
                "fallback",
                "too_few" if self.mixed.fit is None else "error_poorly_known",
            ),
        }
        estimate = float(self.means[second] - self.means[first])
        apart = self.drawn[:, second] - self.drawn[:, first]
        there = apart[np.isfinite(apart)]
        if int(data.block.max()) > 0 and len(there) and np.ptp(there) < TINY:
            blocks = [data.block[data.system == one] for one in (first, second)]
            return t_figure(
                "difference", estimate=estimate, se=0.0, df=1.0, method=BOOTSTRAP,
                n=data.counts(), details=known, units=len(np.intersect1d(*blocks)),
            )  # fmt: skip
        found = drawn_figure(
            "difference", estimate, apart, n=data.counts(), seed=self.seed, test=True,
            details=known,
        )  # fmt: skip
        if min(found.n.get("raters", _LEAST_DRAWN), found.n["items"]) >= _LEAST_DRAWN:
            return found
        details = {**found.details, "interval": f"none: {Reason.TOO_FEW}"}
        details.pop("p", None)
        return replace(found, low=None, high=None, details=details)


def compare_alone(data: Scores, first: int, second: int) -> Figure:
    """The difference by the same model of the ratings of these two systems alone: with an error of
    their own, where the raters differ more about one of them than about the others."""
    pair = data.take((data.system == first) | (data.system == second))
    system = (pair.system == second).astype(np.int64)
    alone = replace(pair, system=system, systems=[data.systems[first], data.systems[second]])
    mixed = fit_mixed(alone)
    weights = np.array([-1.0, 1.0])
    if mixed.fit is None or mixed.fit.is_overcorrected(weights) or not mixed.determines(weights):
        reason = mixed.reason or Reason.TOO_FEW
        return undefined("own_error", reason, method=REML, n=alone.counts())
    estimate, se, df = mixed.fit.contrast(weights)
    return t_figure("own_error", estimate=estimate, se=se, df=df, method=REML, n=alone.counts())
