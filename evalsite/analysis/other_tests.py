"""Pairs on which the other tests disagree with each other."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalsite.analysis.figure import LEVEL, Figure

_LEAST = 6  # with fewer differences even the smallest p value of sign flips is above 5%

Pair = Mapping[str, Any]


def list_disagreeing(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return the pairs on which a rank test and a test of means, both over inputs, disagree."""
    return [
        {
            "system_1": pair["system_1"],
            "system_2": pair["system_2"],
            "p_ranks": over[0],
            "p_means": over[1],
        }
        for pair in pairs
        if (over := _read(pair)) and _differ(*over)
    ]


def _read(pair: Pair) -> tuple[float, float] | None:
    """Return p of the rank test and of the sign flips of means; None where there are too few
    differences."""
    checks: dict[str, Figure] = {check.name: check for check in pair["checks"]}
    rank, means = checks.get("wilcoxon"), checks.get("sign_flip")
    if rank is None or means is None or rank.n["items"] - rank.n.get("zeros", 0) < _LEAST:
        return None
    p_ranks, p_means = rank.details.get("p"), means.details.get("p")
    return None if p_ranks is None or p_means is None else (p_ranks, p_means)


def _differ(p: float, other_p: float) -> bool:
    return (p < 1 - LEVEL) != (other_p < 1 - LEVEL)
