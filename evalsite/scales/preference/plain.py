"""Which preferences have only three answers: first, second and a tie."""

from collections.abc import Mapping
from typing import Any

BOTH = ("both_good", "both_bad")
# in data: the first output better below 0
PLAIN_VALUES = [-1, 0, 1]


def is_plain(data: Mapping[str, Any]) -> bool:
    """Tell whether this is first, tie and second, and nothing else."""
    values = [one.get("value") for one in data["points"]]
    has_notes = any("notes" in one for one in data["points"])
    return values == PLAIN_VALUES and not has_notes and not {*BOTH, "tags", "display"} & data.keys()
