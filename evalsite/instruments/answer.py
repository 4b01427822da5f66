"""One row of an answer: what a page saves, a file imports, a revision keeps, an export writes."""

from math import copysign, isfinite
from typing import Any, NamedTuple

# values, and the points, bounds and steps of instruments, are within these limits
LARGEST_NUMBER = 10**9
MOST_DECIMALS = 3
# of one: steps are counted in thousandths, as sums of decimals aren't exact
UNITS = 10**MOST_DECIMALS
# a key of an instrument, or a category and the column of an input, joined by a sign
LONGEST_PART = 81
# the criterion of passages that were marked without a question about them
HIGHLIGHTS = "highlights"
# the columns of files that say which systems were put in order together, and how they were shown
SYSTEMS_SHOWN, ORDER_SHOWN = "systems_shown", "order_shown"


class AnswerRow(NamedTuple):
    """One row: a value, a text, a passage, or that the question is not applicable.

    `output` None: a tie, or about the item. `turn`: of a conversation, from 1; 0: all of it.
    A whole `value` is an int. `text`: what was written or typed, or the quote of a passage, which
    reaches from the code point `start` up to `end`, of a conversation in the text of its turn.
    """

    item: int
    output: int | None
    criterion: str
    turn: int = 0
    part: str = ""
    value: float | None = None
    text: str = ""
    detail: dict[str, Any] | None = None
    start: int | None = None
    end: int | None = None

    @property
    def asked_turn(self) -> int:
        """Return the turn that its question is about: passages of all turns answer one question."""
        return 0 if self.start is not None else self.turn


def read_value(value: Any) -> float:
    """Return the value as it is stored, a whole one as an int; ValueError if it can't be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("A value is a number.")
    if not isfinite(value) or abs(value) > LARGEST_NUMBER or round(value, MOST_DECIMALS) != value:
        raise ValueError("A value is within bounds and has at most three decimals.")
    if value == 0 and copysign(1, value) < 0:
        raise ValueError("0 has no sign.")
    return round_value(value)


def round_value(number: float) -> float:
    """Return the number as a value is written: three decimals at most, and none if it is whole."""
    rounded = round(number, MOST_DECIMALS)
    return int(rounded) if float(rounded).is_integer() else rounded


def count_units(number: Any) -> int:
    """Return how many thousandths a number has."""
    return round(number * UNITS)
