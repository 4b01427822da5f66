"""What a family computes for a criterion; the defaults are those of scores of outputs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from evalsite.analysis.alpha import Level
from evalsite.analysis.families.family import Family
from evalsite.analysis.figure import Figure
from evalsite.analysis.intra_rater import POOLED, compare_passes
from evalsite.analysis.metrics import LEVELS
from evalsite.analysis.mixed import Layout
from evalsite.analysis.pair_figures import keep_detectable
from evalsite.analysis.plan import Plan
from evalsite.analysis.simulated_ratings import Design, Floats, Truth
from evalsite.analysis.table import Table

Ends = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A criterion whose comparisons are tested but not corrected.

    `p`: their p values. `finish`: makes the report from the p values of other criteria that the
    correction covers.
    """

    p: list[float]
    finish: Callable[[Sequence[float]], dict[str, Any]]


class Numbers:
    """How the answers to a criterion are analysed.

    `levels`: those at which automatic metrics are compared with them. `repeat_level` and
    `repetition_level`: the level of alpha for answers given twice by one person, and by two
    studies. `change`: the figure of a rater that shows how much answers change.
    """

    family: Family
    levels: Sequence[str] = LEVELS
    repeat_level: Level = "ordinal"
    repetition_level: Level = "ordinal"
    change: str = ""
    has_closed_form = True

    def prepare(
        self, table: Table, criterion: Mapping[str, Any], seed: int, plan: Plan
    ) -> Prepared:
        """Return the tests of a criterion; finished: systems, pairs, tests and agreement.

        `plan.baseline`: all comparisons are with this system, which has ratings here; "": all pairs
        are compared.
        """
        raise NotImplementedError

    def judge_margins(self, table: Table, seed: int, plan: Plan) -> list[dict[str, Any]]:
        """Return the tests of the plan's margins on some of the ratings.

        The margins were checked against the scale of all ratings.
        """
        raise NotImplementedError

    def lay_out(self, rows: pd.DataFrame) -> Layout:
        """Return who rates what in the form that the model of `prepare` takes, without the values.

        `rows`: a row for each rating with participant, group, block and system, or with system_1
        and system_2 in a family that compares.
        """
        raise NotImplementedError

    def keep_detectable(self, figure: Figure | None, most: float) -> Figure | None:
        """Return the smallest effect that the design detects, if such an effect is possible."""
        return keep_detectable(figure, most)

    # --- compared with automatic metrics

    def measure(self, table: Table) -> Any:
        """Return a value for each rating; their mean is the score of an output."""
        return table.rows.value

    def score_outputs(self, table: Table) -> pd.DataFrame:
        """Return a row for each output: item, system, group, block, and its score as `value`."""
        return average_outputs(table.rows.assign(score=self.measure(table)))

    # --- answered twice by the same person

    def compare_repeats(self, passes: pd.DataFrame) -> dict[str, Figure]:
        """Return how all raters together answered the second time."""
        return compare_passes(passes, self.repeat_level)[POOLED]

    # --- a study compared with its replication

    def find_common_standard(self, first: Table, second: Table) -> float | None:
        """Return the standard that the scores of both studies relate to, if there is one."""
        return None

    def take_values(self, table: Table, standard: float | None) -> tuple[pd.DataFrame, pd.Series]:
        """Return the rows that a replication compares, and their values."""
        return table.rows, table.rows.value

    def score_systems(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a replication, each a score of one system."""
        return rows

    def find_low(self, tables: Sequence[Table], criterion: Mapping[str, Any]) -> float:
        """Return where the scale begins."""
        return 0.0

    # --- planned

    def simulate(self, rng: np.random.Generator, design: Design, truth: Truth, rows: int) -> Floats:
        """Return simulated values (rows, systems, raters, items), the last system ahead.

        A family that compares returns outcomes of one pair, as the only system.
        """
        raise NotImplementedError


def average_outputs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each output with the mean of its column `score` as `value`."""
    by_output = rows.groupby(["item", "system", "group", "block"], sort=True)
    return by_output.score.mean().rename("value").reset_index()


def find_scale(table: Table) -> Ends | None:
    """Return the ends of the scale from the file; None if it has none, or has magnitudes."""
    rows = table.rows
    low, high = rows.scale_min.min(), rows.scale_max.max()
    return None if np.isnan(low) or np.isnan(high) else (float(low), float(high))
