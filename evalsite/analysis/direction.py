"""The direction of a criterion: whether higher values are better. It orders systems and reverses no
figure of a difference."""

from collections.abc import Mapping
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
