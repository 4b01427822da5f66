"""A number in a box, such as how many mistakes were found."""

from typing import ClassVar, Literal

from evalsite.instruments.parts import Words
from evalsite.instruments.scales.bounded import Bounded


class Number(Bounded):
    """A number, with the word for its unit after the box."""

    kind: Literal["number"]
    title: ClassVar[str] = "Number"
    is_written: ClassVar[bool] = True
    better: ClassVar[str] = ""
    unit: Words | None = None
    not_applicable: Words | None = None

    def words(self) -> str:
        unit = f" ({self.unit})" if self.unit else ""
        return f"a whole number from {self.minimum} to {self.maximum}{unit}"
