"""What the other tests of a pair add to its finding: another question, or another reading."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalsite.analysis.figure import LEVEL, Figure
from evalsite.analysis.findings import write_p

_LEAST = 6  # of fewer differences not even the smallest p value of sign flips is below 5%
_MOST_NAMED = 3

Pair = Mapping[str, Any]


def list_disagreeing(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """The pairs that a rank test and a test of means, both over inputs alone, tell differently."""
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


def describe_narrower(pairs: Sequence[Pair]) -> Iterator[str]:
    """Where both tests over inputs fall on the other side of 5% than the comparison."""
    phrases = []
    for pair in pairs:
        over, effect = _read(pair), pair["effect"]
        p = effect.details.get("p")
        if not over or p is None or "raters" not in effect.n or _differ(*over):
            continue
        if _differ(over[0], p):
            phrases.append(
                f"{pair['system_1']} and {pair['system_2']}, p {write_p(p)} by the comparison, "
                f"p {write_p(over[0])} by Wilcoxon and p {write_p(over[1])} by sign flips"
            )
    if phrases:
        yield (
            "The checks generalise over inputs only, the comparison over raters too, so before "
            f"correction they may disagree at the 5% level: {_list(phrases)}."
        )


def _list(phrases: Sequence[str]) -> str:
    more = len(phrases) - _MOST_NAMED
    rest = [f"{more:,} more {'pair' if more == 1 else 'pairs'}"] if more > 0 else []
    *some, last = [*phrases[:_MOST_NAMED], *rest]
    return f"{'; '.join(some)}; and {last}" if some else last


def _read(pair: Pair) -> tuple[float, float] | None:
    """p of the rank test and of the sign flips of means; None where there is too little."""
    found: dict[str, Figure] = {one.name: one for one in pair["checks"]}
    rank, means = found.get("wilcoxon"), found.get("sign_flip")
    if rank is None or means is None or rank.n["items"] - rank.n.get("zeros", 0) < _LEAST:
        return None
    one, other = rank.details.get("p"), means.details.get("p")
    return None if one is None or other is None else (one, other)


def _differ(one: float, other: float) -> bool:
    return (one < 1 - LEVEL) != (other < 1 - LEVEL)
