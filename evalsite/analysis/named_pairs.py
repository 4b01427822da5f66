"""The comparisons that a plan names: p values are corrected for them, others are exploratory."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from evalsite.analysis.direction import SIGN, Better
from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.multiple_testing import Correction, correct
from evalsite.analysis.pair_figures import turn_figure
from evalsite.analysis.plan import Hypothesis, Named


class Corrected(Protocol):
    """What was corrected: `exploratory` counts the tests of pairs that the plan doesn't name."""

    @property
    def family_across(self) -> int: ...
    @property
    def exploratory(self) -> int: ...


def mark_named(pairs: Iterable[Iterable[str]], named: Named) -> list[bool]:
    """Return of each pair whether the plan names it; all, where it names none of them."""
    found = [frozenset(pair) in named for pair in pairs]
    return found if any(found) else [True] * len(found)


def correct_named(
    p: Sequence[float],
    is_named: Sequence[bool] = (),
    others: Sequence[float] = (),
    method: Correction = "holm",
) -> list[float | None]:
    """The p values of named pairs corrected for one another and `others`, the rest for all."""
    every = np.asarray(p, dtype=np.float64)
    named = np.asarray(is_named or [True] * len(every), dtype=bool)
    found = correct([*every, *others], method)[: len(every)]
    found[named] = correct([*every[named], *others], method)[: named.sum()]
    return [None if np.isnan(q) else float(q) for q in found]


def describe_family(result: Corrected, within: int, *, is_exploratory: bool) -> dict[str, Any]:
    """How many comparisons the corrected p of a pair covers, in all and of its criterion; `within`
    counts those that the plan names."""
    more = result.exploratory if is_exploratory else 0
    found = {"family": result.family_across + more, "family_within": within + more}
    return found | ({"is_exploratory": True} if is_exploratory else {})


def find_effect(pairs: Sequence[Mapping[str, Any]], system: str, other: str) -> Figure:
    """The effect of `system` over or minus `other`; undefined if they weren't compared."""
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
    """Return what became of each hypothesis: "better" or "worse" is how `system` came out,
    "different" that it differs where neither is better, "unclear" that the corrected test found
    nothing; None: there is no test. The direction halves no p value."""
    found = []
    for hypothesis in hypotheses:
        effect = find_effect(pairs, hypothesis.system, hypothesis.other)
        p = effect.details.get("p_corrected")
        outcome = None
        if effect.value is not None and p is not None:
            goodness = SIGN[better] * (effect.value - equal)
            outcome = "better" if goodness > 0 else "worse" if goodness < 0 else "different"
            outcome = outcome if p < 1 - LEVEL else "unclear"
        found.append(
            {
                "system": hypothesis.system, "relation": hypothesis.relation,
                "other": hypothesis.other, "outcome": outcome, "p_corrected": p,
            }
        )  # fmt: skip
    return found
