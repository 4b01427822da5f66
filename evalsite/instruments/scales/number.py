"""A number in a box, such as how many mistakes were found."""

from typing import Literal

from pydantic import Field

from evalsite.instruments.parts import Words
from evalsite.instruments.scales.bounded import Bounded


class Number(Bounded):
    kind: Literal["number"] = Field(title="Number")
    unit: Words | None = Field(None, title="Unit", description="Such as minutes or %.")
    not_applicable: Words | None = Field(
        None, title="Words for “not applicable”", description="Empty: it isn’t offered."
    )
