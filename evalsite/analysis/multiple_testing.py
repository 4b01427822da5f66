"""Corrections of p values for a family of tests: Holm, Benjamini-Hochberg, Benjamini-Yekutieli.

Where a plan names comparisons, p values are corrected for these; others are exploratory.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from evalsite.analysis.direction import SIGN, Better
from evalsite.analysis.figure import LEVEL, Figure, Reason, undefined
from evalsite.analysis.pair_figures import turn_figure
from evalsite.analysis.plan import Hypothesis, Named

Correction = Literal["holm", "bh", "by", "none"]
NAMES = get_args(Correction)


def correct(p_values: Any, method: Correction = "holm") -> NDArray[np.float64]:
    """Return the corrected p values (m,), in the same order; NaN marks no test and is left out.

    Holm (1979) keeps the chance of any false claim in the family; BH (1995) and BY (2001) keep the
    expected share of false claims, BY under any dependence.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if method not in NAMES:
        raise ValueError(f"{method} is no correction; choose one of {', '.join(NAMES)}.")
    is_test = ~np.isnan(p)
    out = np.full(len(p), np.nan)
    out[is_test] = _correct(p[is_test], method)
    return out


def _correct(p: NDArray[np.float64], method: str) -> NDArray[np.float64]:
    m = len(p)
    if not m or method == "none":
        return p
    order = np.argsort(p, kind="stable")
    rank = np.arange(1, m + 1)
    corrected = np.empty(m)
    if method == "holm":
        corrected[order] = np.maximum.accumulate((m - rank + 1) * p[order])
    else:
        factor = (1.0 / rank).sum() if method == "by" else 1.0
        grown = factor * m / rank * p[order]
        corrected[order] = np.minimum.accumulate(grown[::-1])[::-1]
    return np.minimum(corrected, 1.0)


# --- the comparisons that a plan names ---------------------------------------------------------


class Corrected(Protocol):
    """Corrected comparisons; `exploratory` counts tests of pairs that the plan doesn't name."""

    @property
    def family_across(self) -> int: ...
    @property
    def exploratory(self) -> int: ...


def mark_named(pairs: Iterable[Iterable[str]], named: Named) -> list[bool]:
    """Return for each pair whether the plan names it; True for all if it names none of them."""
    is_named = [frozenset(pair) in named for pair in pairs]
    return is_named if any(is_named) else [True] * len(is_named)


def correct_named(
    p: Sequence[float],
    is_named: Sequence[bool] = (),
    other_p: Sequence[float] = (),
    method: Correction = "holm",
) -> list[float | None]:
    """Return p values, of named pairs corrected for these and `other_p`, of others for all."""
    every = np.asarray(p, dtype=np.float64)
    named = np.asarray(is_named or [True] * len(every), dtype=bool)
    corrected = correct([*every, *other_p], method)[: len(every)]
    corrected[named] = correct([*every[named], *other_p], method)[: named.sum()]
    return [None if np.isnan(q) else float(q) for q in corrected]


def describe_family(result: Corrected, within: int, *, is_exploratory: bool) -> dict[str, Any]:
    """Return how many comparisons the corrected p of a pair covers, in all and of its criterion.

    `within` counts those that the plan names.
    """
    more = result.exploratory if is_exploratory else 0
    family = {"family": result.family_across + more, "family_within": within + more}
    return family | ({"is_exploratory": True} if is_exploratory else {})


def find_effect(pairs: Sequence[Mapping[str, Any]], system: str, other: str) -> Figure:
    """Return the effect of `system` over or minus `other`; undefined if they weren't compared."""
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
    """Return the outcome of each hypothesis.

    "better" or "worse": of `system`; "different": it differs, without a direction; "unclear": the
    corrected test isn't significant; None: there is no test. p values stay two-sided.
    """
    outcomes = []
    for hypothesis in hypotheses:
        effect = find_effect(pairs, hypothesis.system, hypothesis.other)
        p = effect.details.get("p_corrected")
        outcome = None
        if effect.value is not None and p is not None:
            goodness = SIGN[better] * (effect.value - equal)
            outcome = "better" if goodness > 0 else "worse" if goodness < 0 else "different"
            outcome = outcome if p < 1 - LEVEL else "unclear"
        outcomes.append(
            {
                "system": hypothesis.system, "relation": hypothesis.relation,
                "other": hypothesis.other, "outcome": outcome, "p_corrected": p,
            }
        )  # fmt: skip
    return outcomes
