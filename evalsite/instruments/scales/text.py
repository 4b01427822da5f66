"""An answer in one's own words."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.scales.base import LONGEST_TEXT, Scale


class Text(Scale):
    kind: Literal["text"] = Field(title="Text", json_schema_extra={"starts_optional": True})
    directed: ClassVar[bool] = False
    lines: int = Field(3, ge=1, le=30, title="Height of the box, in lines")
    least: int = Field(1, ge=0, le=LONGEST_TEXT, title="Fewest characters")
    most: int = Field(LONGEST_TEXT, ge=1, le=LONGEST_TEXT, title="Most characters")

    def find_faults(self, at: str) -> Iterator[Fault]:
        if self.most < self.least:
            words = f"must be from {max(self.least, 1)} to {LONGEST_TEXT}"
            yield Fault("out_of_range", f"{at}.most", words)

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return isinstance(answer, str)

    def is_gold(self, gold: Any, outputs: int) -> bool:
        return False  # words have no right answer
