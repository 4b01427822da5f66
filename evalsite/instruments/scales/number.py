"""A number in a box, such as how many mistakes were found."""

from typing import ClassVar, Literal

from pydantic import Field

from evalsite.instruments.parts import Words
from evalsite.instruments.scales.bounded import Bounded


class Number(Bounded):
    """A number, with the word for its unit after the box."""

    kind: Literal["number"] = Field(title="Number")
    is_written: ClassVar[bool] = True
    better: ClassVar[str] = ""
    unit: Words | None = Field(None, title="Unit", description="Such as minutes or %.")
    not_applicable: Words | None = Field(
        None, title="Words for “not applicable”", description="Empty: it isn’t offered."
    )

    def words(self) -> str:
        unit = f" ({self.unit})" if self.unit else ""
        return f"{self.number_words} from {self.minimum} to {self.maximum}{unit}"
