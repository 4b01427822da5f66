"""Which output is best, and which is worst."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from evalsite.instruments.parts import Words
from evalsite.instruments.scales.base import Per, Scale


class BestWorst(Scale):
    kind: Literal["best_worst"] = Field(title="Best and worst")
    has_page: ClassVar[bool] = False
    asked: ClassVar[tuple[Per, ...]] = ("item",)
    directed: ClassVar[bool] = False
    needs: ClassVar[Literal["", "pair", "several"]] = "several"
    best: Words = Field(title="Word for the best", examples=["Best"])
    worst: Words = Field(title="Word for the worst", examples=["Worst"])

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return self.is_gold(answer, outputs) and len(answer) == 2

    def is_gold(self, gold: Any, outputs: int) -> bool:
        """Tell whether this names outputs by number; one end is enough."""
        if not isinstance(gold, dict) or not gold or gold.keys() - {"best", "worst"}:
            return False
        places = list(gold.values())
        are_outputs = all(type(place) is int and 1 <= place <= outputs for place in places)
        return are_outputs and len(set(places)) == len(places)
