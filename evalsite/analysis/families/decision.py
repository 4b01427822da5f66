"""Figures of decisions: shares of yes, nominal agreement, and the classic tests of majorities."""

from dataclasses import replace
from math import sqrt
from statistics import NormalDist

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from evalsite.analysis.agreement import Level, agree_on_categories
from evalsite.analysis.compare import Comparison
from evalsite.analysis.describe import Described
from evalsite.analysis.effects import cochran_q, mcnemar, wilson_share
from evalsite.analysis.families import DECISION
from evalsite.analysis.families.numbers import (
    Design,
    FurtherFigures,
    ScoredNumbers,
    Truth,
    draw_latent,
)
from evalsite.analysis.figure import Figure
from evalsite.analysis.plan import Better
from evalsite.analysis.ratings import Floats, Table


class DecisionNumbers(ScoredNumbers):
    """The mean of yes (1) and no (0) is a share."""

    family = DECISION
    effect = "risk_difference"
    has_standardised_effect = False
    names = {"mean": "share", "model_mean": "model_share"}
    repeat_level: Level = "nominal"
    repetition_level: Level = "nominal"

    def describe_others(
        self, table: Table, described: dict[str, Described], better: Better, seed: int
    ) -> FurtherFigures:
        # Wilson's interval takes all decisions as independent: it is shown beside the right one
        return {
            name: (
                [
                    wilson_share(
                        system.counts.get(1.0, 0), system.figures["mean"].n["ratings"],
                        name="share_wilson",
                    )
                ],
                [],
            )
            for name, system in described.items()
        }  # fmt: skip

    def list_tests(self, table: Table, comparison: Comparison) -> list[Figure]:
        tests = super().list_tests(table, comparison)
        # with one input or one rater for a system, nothing tests all systems
        if comparison.thin:
            return tests
        rows = table.rows
        classic = compare_majorities(group=rows.group, system=rows.system, value=rows.value)
        return tests if classic is None else [*tests, classic]

    def simulate(self, rng: np.random.Generator, design: Design, truth: Truth, rows: int) -> Floats:
        """Return yes (1) or no (0), half of each; `difference` is a difference in shares."""
        spread = sqrt(sum(part**2 for part in vars(truth.parts).values()))
        apart = 2 * spread * NormalDist().inv_cdf((1 + truth.difference) / 2)
        latent = draw_latent(rng, design, replace(truth, difference=apart), rows)
        return (latent > 0).astype(np.float64)

    def agree(self, table: Table, scale: list[float] | None, seed: int) -> list[Figure]:
        return agree_on_categories(table, table.rows.value, scale or [0.0, 1.0], unit="output")


NUMBERS = DecisionNumbers()


_HALF = 0.5


def compare_majorities(*, group: ArrayLike, system: ArrayLike, value: ArrayLike) -> Figure | None:
    """Return McNemar's exact test of two systems, or Cochran's Q of three or more; None of fewer.

    Arrays of length n: inputs, systems, and 0 or 1. Only inputs with a majority for every system
    count; `n` says how many don't, because yes and no are tied or a system is missing. With two
    systems, the figure names the one with more majorities first.
    """
    wide, left_out = _tabulate(group, system, value)
    names = list(wide.columns)
    if len(names) < 2:
        return None
    if len(names) > 2:
        figure = cochran_q(wide.to_numpy())
        return _describe(figure, "cochran_q", dict(figure.n) | left_out)
    first, second = sorted(names, key=lambda name: (-float(wide[name].sum()), name))
    figure = mcnemar(wide[second], wide[first])
    n = {
        "items": figure.n["items"],
        "yes_of_first_only": figure.n["first_no_second_yes"],
        "yes_of_second_only": figure.n["first_yes_second_no"],
    }
    sides = (("system_1", str(first)), ("system_2", str(second)))
    return replace(_describe(figure, "mcnemar", n | left_out), group=sides)


def _tabulate(
    group: ArrayLike, system: ArrayLike, value: ArrayLike
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the majorities (inputs, systems) of complete inputs, and how many are left out."""
    rows = pd.DataFrame(
        {
            "group": np.asarray(group).astype(str),
            "system": np.asarray(system).astype(str),
            "value": np.asarray(value, dtype=float),
        }
    )
    by = rows.groupby(["group", "system"]).value
    share = by.mean().unstack()
    has_all, is_tied = share.notna().all(axis=1), (share == _HALF).any(axis=1)
    left_out = {
        "inputs_tied": int((has_all & is_tied).sum()),
        "inputs_incomplete": int((~has_all).sum()),
    }
    return (share[has_all & ~is_tied] > _HALF).astype(float), left_out


def _describe(figure: Figure, name: str, n: dict[str, int]) -> Figure:
    return replace(figure, name=name, method=f"{figure.method}+majorities_of_inputs", n=n)
