"""Figures of checklists: the share of yes of each person and output, as a score from 0 to 1."""

from collections.abc import Mapping
from typing import Any

from evalsite.analysis.agreement import (
    Level,
    alpha,
    draw_agreement,
    find_reliability,
    icc,
    split_variance,
)
from evalsite.analysis.correlation import pairwise_correlation
from evalsite.analysis.describe import Described
from evalsite.analysis.families import SHARES
from evalsite.analysis.families.numbers import Ends, FurtherFigures, ScoredNumbers
from evalsite.analysis.figure import Figure
from evalsite.analysis.plan import Better
from evalsite.analysis.ratings import Table


class SharesNumbers(ScoredNumbers):
    """Statements about one output aren't independent, so their mean is one value."""

    family = SHARES
    has_standardised_effect = False
    repeat_level: Level = "interval"
    repetition_level: Level = "interval"

    def find_ends(self, criterion: Mapping[str, Any]) -> Ends | None:
        return 0.0, 1.0

    def describe_others(
        self, table: Table, described: dict[str, Described], better: Better, seed: int
    ) -> FurtherFigures:
        return {
            name: ([system.figures["median"]] if "median" in system.figures else [], [])
            for name, system in described.items()
        }

    def agree(self, table: Table, scale: list[float] | None, seed: int) -> list[Figure]:
        """Return agreement on the shares, as on a slider."""
        ratings = table.ratings(table.rows.value)
        draws = draw_agreement(ratings, "values")
        first = alpha(ratings, "interval", draws=draws, name="alpha_interval")
        return [
            first,
            find_reliability(first),
            *icc(ratings, draws=draws).values(),
            *split_variance(ratings),
            pairwise_correlation(ratings, "spearman", seed=seed),
        ]


NUMBERS = SharesNumbers()
