"""The analysis plan, fixed before the results: which comparisons and margins count, and whether
higher values are better. A direction orders systems and reverses no figure of a difference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Better = Literal["higher", "lower", "none"]
# the sign of a value when systems are ordered; without a direction there is no order
SIGN: Mapping[Better, float] = {"higher": 1.0, "lower": -1.0, "none": 0.0}

# codes of findings with a system ahead
CLEAR = ("higher", "lower")


def find_better(described: Mapping[str, Any]) -> Better:
    """Return the direction of a criterion: as it is described, or else that of its kind.

    An option of a choice is neither good nor bad, and for numbers the direction is unknown. A
    preferred system is better, so preferences never have another direction.
    """
    if "of" in described:
        return "none"
    chosen: Better | None = described.get("better") or None
    return chosen or ("none" if described["kind"] == "number" else "higher")


def is_undirected(described: Mapping[str, Any]) -> bool:
    """Tell whether neither the criterion nor its kind says which values are better."""
    return described["kind"] == "number" and "of" not in described and not described.get("better")


Relation = Literal["not_worse", "equivalent"]
Named = frozenset[frozenset[str]]  # pairs of systems


@dataclass(frozen=True, kw_only=True)
class Margin:
    """That `system` is not worse than `other` by more than `margin`, or differs by less.

    The margin is in units of the scale, of decisions and preferences a share, of magnitudes a ratio
    above 1. `level` is that of the one-sided test. `better` is the direction of the criterion.
    `slices`: the column of the items that divides the inputs, in each of which "not worse" is
    looked at, too. `judge`, with its `prompt_version`: whose labels correct the difference.
    """

    criterion: str
    system: str
    relation: Relation
    other: str
    margin: float
    level: float = 0.05
    better: Better = "higher"
    slices: str = ""
    judge: str = ""
    prompt_version: str = ""


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """That `system` is better than `other`, or differs from it; `judge`: as of a margin."""

    criterion: str
    system: str
    relation: Literal["better", "differs"]
    other: str
    judge: str = ""
    prompt_version: str = ""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The parts of the analysis plan that decide figures.

    `primary`: the criterion whose corrected p values are the result; "": none, so the correction
    covers all criteria. `baseline`: the system that all others are compared with; "": every pair.
    `has_own_errors`: each pair is tested with its own error. `hypotheses`: without a baseline, p
    values are corrected for the pairs that these name, if any; the others are exploratory.
    """

    primary: str = ""
    baseline: str = ""
    has_own_errors: bool = False
    margins: Sequence[Margin] = ()
    hypotheses: Sequence[Hypothesis] = ()

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> "Plan":
        """Return the plan that a study stores; what it lacks is left open."""
        return cls(
            primary=stored.get("primary") or "",
            baseline=stored.get("baseline") or "",
            has_own_errors=bool(stored.get("has_own_errors")),
            margins=tuple(Margin(**margin) for margin in stored.get("margins") or ()),
            hypotheses=tuple(
                Hypothesis(**hypothesis) for hypothesis in stored.get("hypotheses") or ()
            ),
        )

    def of(self, criterion: str, systems: Sequence[str], better: Better = "higher") -> "Plan":
        """Return what holds of one criterion with these systems and this direction."""
        margins = tuple(
            replace(margin, better=better)
            for margin in self.margins
            if margin.criterion == criterion
        )
        hypotheses = tuple(
            hypothesis for hypothesis in self.hypotheses if hypothesis.criterion == criterion
        )
        baseline = self.baseline if self.baseline in systems else ""
        return replace(self, baseline=baseline, margins=margins, hypotheses=hypotheses)

    @property
    def named(self) -> Named:
        """The pairs of systems that p values are corrected for; none: all that are compared."""
        if self.baseline:
            return frozenset()
        return frozenset(
            frozenset((hypothesis.system, hypothesis.other)) for hypothesis in self.hypotheses
        )


NO_PLAN = Plan()
