"""What was fixed before the results: which comparisons count, and against which margins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Relation = Literal["not_worse", "equivalent"]


@dataclass(frozen=True, kw_only=True)
class Margin:
    """That `system` is not worse than `other` by more than `margin`, or differs by less.

    The margin is in units of the scale, of decisions and preferences a share, of magnitudes a ratio
    above 1.
    """

    criterion: str
    system: str
    relation: Relation
    other: str
    margin: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The analysis plan as far as it decides figures.

    `primary`: the criterion whose corrected p values are the result; "": none, so the correction
    covers all criteria. `baseline`: the system that all others are compared with; "": every pair.
    `has_own_errors`: each pair is tested with an error of its own.
    """

    primary: str = ""
    baseline: str = ""
    has_own_errors: bool = False
    margins: Sequence[Margin] = ()

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> "Plan":
        """The plan from what a study stores; what it lacks is left open."""
        return cls(
            primary=stored.get("primary") or "",
            baseline=stored.get("baseline") or "",
            has_own_errors=bool(stored.get("has_own_errors")),
            margins=tuple(Margin(**one) for one in stored.get("margins") or ()),
        )

    def of(self, criterion: str, systems: Sequence[str]) -> "Plan":
        """What holds of one criterion with these systems."""
        margins = [one for one in self.margins if one.criterion == criterion]
        baseline = self.baseline if self.baseline in systems else ""
        return replace(self, baseline=baseline, margins=tuple(margins))


NO_PLAN = Plan()
