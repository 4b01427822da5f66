"""Whole numbers in proportion to the score of a standard (magnitude estimation)."""

import re
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Names, Part
from evalsite.instruments.scales.base import Per, Scale


class Standard(Part):
    inputs: Names = Field(
        [], title="Inputs that tell standards apart", description="Names of columns, one per line."
    )


class Magnitude(Scale):
    kind: Literal["magnitude"] = Field(title="Magnitude", json_schema_extra={"is_offered": False})
    asked: ClassVar[tuple[Per, ...]] = ("output",)
    gold_of_all: ClassVar[bool] = True
    minimum: int = Field(1, ge=1, le=999_999, title="Lowest value")
    maximum: int = Field(999_999, ge=1, le=999_999, title="Highest value")
    standard: Standard | None = Field(None, title="Standard")

    def find_faults(self, at: str) -> Iterator[Fault]:
        if self.minimum >= self.maximum:
            yield Fault("order", at, "must have a minimum below its maximum")

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return type(answer) is int and self.minimum <= answer <= self.maximum

    def is_gold(self, gold: Any, outputs: int) -> bool:
        """Tell whether this is an order that scores can have, such as 2<1=3; 0: the standard."""
        if not isinstance(gold, str):
            return False
        names = {str(number): number for number in range(1, outputs + 1)} | {"standard": 0}
        pairs: list[tuple[int, int, bool]] = []
        for chain in filter(str.strip, gold.split(",")):
            steps = [step.strip().casefold() for step in re.split(r"([<>=])", chain)]
            if len(steps) == 1 or any(step not in names for step in steps[::2]):
                return False
            places = [names[step] for step in steps[::2]]
            for left, sign, right in zip(places, steps[1::2], places[1:], strict=False):
                low, high = (right, left) if sign == ">" else (left, right)
                pairs.append((low, high, sign == "="))
        return bool(pairs) and _can_be_met(pairs)


def _can_be_met(pairs: list[tuple[int, int, bool]]) -> bool:
    """Tell whether levels can meet all of these: low, high, whether both are equal."""
    level = {place: 0 for low, high, _ in pairs for place in (low, high)}
    if any(low == high for low, high, _ in pairs):
        return False
    while max(level.values()) <= len(level):
        before = dict(level)
        for low, high, is_equal in pairs:
            level[high] = max(level[high], level[low] + (not is_equal))
            if is_equal:
                level[low] = max(level[low], level[high])
        if level == before:
            return True
    return False
