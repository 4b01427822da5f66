"""An order of the outputs."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from evalsite.instruments.parts import Words
from evalsite.instruments.scales.base import Per, Scale


class Ranking(Scale):
    kind: Literal["ranking"] = Field(title="Ranking")
    has_page: ClassVar[bool] = False
    asked: ClassVar[tuple[Per, ...]] = ("item",)
    directed: ClassVar[bool] = False
    needs: ClassVar[Literal["", "pair", "several"]] = "several"
    ties: bool = Field(False, title="Outputs may share a place")
    top: int | None = Field(
        None, ge=1, le=10, title="Places to fill", description="Empty: every output gets one."
    )
    best: Words | None = Field(None, title="Words for the first place")
    worst: Words | None = Field(None, title="Words for the last place")

    def is_answer(self, answer: Any, outputs: int) -> bool:
        if not isinstance(answer, list) or len(answer) != outputs:
            return False
        ranks = [rank for rank in answer if rank is not None]
        are_places = all(type(rank) is int and 1 <= rank <= outputs for rank in ranks)
        return are_places and (self.ties or len(set(ranks)) == len(ranks))
