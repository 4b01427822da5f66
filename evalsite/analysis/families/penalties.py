"""Figures of penalties: the weights of a person's marks on an output, added up."""

from collections.abc import Mapping
from typing import Any

from evalsite.analysis.agreement import Level
from evalsite.analysis.families import PENALTIES
from evalsite.analysis.families.numbers import Ends
from evalsite.analysis.families.points import PointsNumbers
from evalsite.analysis.ratings import Table


class PenaltiesNumbers(PointsNumbers):
    """Penalties are numbers from 0 upwards, most of them small; places are compared elsewhere."""

    family = PENALTIES
    least = 0.0
    repeat_level: Level = "interval"
    repetition_level: Level = "interval"

    def find_ends(self, criterion: Mapping[str, Any]) -> Ends | None:
        return None

    def compare_raters(self, table: Table) -> dict[str, Any] | None:
        return None


NUMBERS = PenaltiesNumbers()
