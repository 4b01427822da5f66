"""What all kinds of questions have in common."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Key, Part, is_number, refuse

NA = "na"
# the part of a stored rating that is a comment on a question
COMMENT = "comment"
LONGEST_TEXT = 5000
Per = Literal["output", "item", "turn"]
_RANGE = re.compile(r"\s*(-?\d{1,9}(?:\.\d{1,3})?)(?:\s*\.\.\s*(-?\d{1,9}(?:\.\d{1,3})?))?\s*")


class Scale(Part):
    """How a question is answered.

    `asked`: what it may be asked of, its default first. `tests`: what conditions may ask of its
    answers, beside whether there is one. `directed`: a criterion may say which values are better.
    `gold_of_all`: gold is about all outputs together, also where each is answered by itself.
    """

    kind: str
    asked: ClassVar[tuple[Per, ...]] = ("output", "item", "turn")
    tests: ClassVar[frozenset[str]] = frozenset()
    directed: ClassVar[bool] = True
    needs: ClassVar[Literal["", "pair", "several"]] = ""
    gold_of_all: ClassVar[bool] = False

    def find_faults(self, at: str) -> Iterator[Fault]:
        """Find what is wrong between its parameters; each by itself has no fault."""
        yield from ()

    def name_columns(self) -> Iterator[tuple[str, str, str]]:
        """Name the columns that it needs: parameter, column and kind of column."""
        yield from ()

    def list_answers(self) -> list[Any] | None:
        """List the answers that conditions and examples may name; None: any number in bounds."""
        return None

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return is_among(answer, self.list_answers() or [])

    def is_gold(self, gold: Any, outputs: int) -> bool:
        """Tell whether this says what is right; None asks nothing."""
        return gold is None or self.is_answer(gold, outputs)

    @property
    def has_na(self) -> bool:
        """Tell whether it may be answered that the question doesn't apply."""
        return bool(getattr(self, "not_applicable", None))

    def list_quotes(self, answer: Any) -> list[str]:
        """List the passages that an answer quotes."""
        return []

    @property
    def has_decimals(self) -> bool:
        """Tell whether answers may have decimals."""
        return False


def is_among(answer: Any, known: list[Any]) -> bool:
    """Tell whether an answer is one of these, and of the same type: true isn't 1."""
    return any(answer == value and type(answer) is type(value) for value in known)


def find_twice(parts: list[Any], at: str, name: str = "key") -> Iterator[Fault]:
    values = [getattr(part, name) for part in parts]
    for number, value in enumerate(values):
        if value in values[:number]:
            yield Fault("duplicate", at, f"has {value!r} twice")


def find_bad_counts(least: int, most: int | None, count: int, at: str) -> Iterator[Fault]:
    """Find bounds that go beyond what can be counted, or that no answer meets."""
    if least > count:
        yield Fault("out_of_range", f"{at}.least", f"must be from 0 to {count}")
    elif most is not None and not max(least, 1) <= most <= count:
        yield Fault("out_of_range", f"{at}.most", f"must be from {max(least, 1)} to {count}")


def check_option_key(key: str) -> str:
    if key in (COMMENT, NA):
        raise refuse("bad_key", "is a word that answers use for something else")
    return key


OptionKey = Annotated[Key, AfterValidator(check_option_key)]


class NumberScale(Scale):
    """A kind whose answer is a number. Gold is a number or a range of numbers: 4 or 4..5."""

    tests: ClassVar[frozenset[str]] = frozenset({"is", "at_least", "at_most"})

    def is_gold(self, gold: Any, outputs: int) -> bool:
        if gold is None or gold == "":
            return True
        if isinstance(gold, str) and gold.strip().casefold() == NA:
            return self.has_na
        ends = _RANGE.fullmatch(str(gold)) if isinstance(gold, str) or is_number(gold) else None
        if ends is None:
            return False
        numbers = [float(end) if "." in end else int(end) for end in ends.groups() if end]
        return numbers == sorted(numbers) and all(self.is_answer(end, 1) for end in numbers)
