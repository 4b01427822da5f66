"""Figures of decisions: shares of yes, nominal agreement, and the classic tests of majorities."""

from typing import Any

from evalsite.analysis.agreement import agree_on_categories
from evalsite.analysis.alpha import Level
from evalsite.analysis.binary_tests import wilson_share
from evalsite.analysis.compare import Comparison
from evalsite.analysis.describe import Described
from evalsite.analysis.families.decision import DECISION
from evalsite.analysis.families.scored import Others, ScoredNumbers
from evalsite.analysis.figure import Figure
from evalsite.analysis.majorities import compare_majorities
from evalsite.analysis.table import Table


class DecisionNumbers(ScoredNumbers):
    """The mean of yes (1) and no (0) is a share."""

    family = DECISION
    effect = "risk_difference"
    names = {"mean": "share", "model_mean": "model_share"}
    repeat_level: Level = "nominal"
    repetition_level: Level = "nominal"

    def list_answers(
        self, table: Table, key: str, scale: list[float] | None
    ) -> list[dict[str, Any]]:
        return [{"value": 0, "label": "no"}, {"value": 1, "label": "yes"}]

    def describe_others(
        self, table: Table, known: dict[str, Any], described: dict[str, Described], seed: int
    ) -> Others:
        return {name: ([_wilson(one)], []) for name, one in described.items()}

    def list_tests(self, table: Table, comparison: Comparison) -> list[Figure]:
        found = super().list_tests(table, comparison)
        # of a system with one input or one rater none of them is a test
        if comparison.thin:
            return found
        rows = table.rows
        classic = compare_majorities(group=rows.group, system=rows.system, value=rows.value)
        return found if classic is None else [*found, classic]

    def agree(self, table: Table, scale: list[float] | None, seed: int) -> list[Figure]:
        return agree_on_categories(
            table, table.rows.value, scale or [0.0, 1.0], seed, unit="output"
        )


def _wilson(described: Described) -> Figure:
    """The naive interval, which takes all decisions as independent: beside the right one."""
    hits = described.counts.get(1.0, 0)
    return wilson_share(hits, described.figures["mean"].n["ratings"], name="share_wilson")


NUMBERS = DecisionNumbers()
