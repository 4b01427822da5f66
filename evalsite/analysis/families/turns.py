"""Figures of turns: the mean of each person and conversation, as a score between the ends."""

from collections.abc import Mapping
from typing import Any

from evalsite.analysis.families import TURNS
from evalsite.analysis.families.numbers import Ends
from evalsite.analysis.families.shares import SharesNumbers


class TurnsNumbers(SharesNumbers):
    """Turns of one conversation aren't independent, so their mean is one value."""

    family = TURNS
    has_standardised_effect = True

    def find_ends(self, criterion: Mapping[str, Any]) -> Ends | None:
        ends = criterion.get("minimum"), criterion.get("maximum")
        return None if None in ends else (float(ends[0]), float(ends[1]))  # type: ignore[arg-type]


NUMBERS = TurnsNumbers()
