"""A number in a box, such as how many mistakes were found."""

from typing import Literal

from evalsite.instruments.parts import Words
from evalsite.instruments.scales.bounded import Bounded


class Number(Bounded):
    kind: Literal["number"]
    unit: Words | None = None
    not_applicable: Words | None = None
