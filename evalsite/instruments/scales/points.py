"""What kinds share whose gold has a part for each output: numbers, decisions and options."""

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from evalsite.instruments.answer import UNITS, count_units, round_value
from evalsite.instruments.fields import PointField
from evalsite.instruments.parts import is_number
from evalsite.instruments.scales.base import NA, Judged, QuestionWords, Scale

# for each output the values that are right, or None where nothing is asked
Parts = list[Sequence[Any] | None]
_LONGEST_QUOTE = 60
_END = r"(-?[0-9]{1,9}(?:\.[0-9]{1,3})?)"
_RANGE = re.compile(rf"{_END}(?:\s*\.\.\s*{_END})?")


def parse_parts(
    text: str, outputs: int, parse: Callable[[str], Sequence[Any]], *, may_be_na: bool = False
) -> Parts:
    """Read one part for each output, separated by commas; an empty part asks nothing.

    `may_be_na`: "na" stands for "not applicable".
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != outputs:
        raise ValidationError(
            f"{quote(text)} has {len(parts)} of {outputs} right answers. Give one for each "
            "output in the order of the file, separated by commas; leave a place empty to ask "
            "nothing."
        )
    return [
        None if not part else (NA,) if may_be_na and part.casefold() == NA else parse(part)
        for part in parts
    ]


class ScaleOfParts(Scale):
    """A scale whose gold has a part for each output, the values that are right for it."""

    def name_right(self, value: Any) -> str:
        """Return the words for a value that is right."""
        return str(value)

    def name_answer(self, value: Any) -> str:
        """Return the words for a value that was answered."""
        return self.name_right(value)

    def read_answer(self, value: Any) -> Any:
        """Return what of an answer is compared with the gold."""
        return value

    def judge(
        self,
        right: Parts,
        values: Sequence[Any],
        standard: int | None,
        names: Sequence[str],
        *,
        is_by_document: bool = False,
    ) -> Judged:
        judged = []
        for part, value, name in zip(right, map(self.read_answer, values), names, strict=True):
            if part is None:
                continue
            suggested = _describe_range(part, self.name_right)
            is_met = value in part
            sentence = verdict_in_words(
                self.name_answer(value), suggested, is_met=is_met, is_by_document=is_by_document
            )
            judged.append((is_met, sentence if len(right) == 1 else f"{name}: {sentence}"))
        return judged

    def count_asked(self, text: str, outputs: int, standard: int | None) -> int:
        names = [str(number) for number in range(1, outputs + 1)]
        return sum(part is not None for part in self.parse_gold(text, names))

    def right_values(self, right: Parts, outputs: int, standard: int | None) -> list[Any | None]:
        return [None if part is None else part[len(part) // 2] for part in right]


class NumberScale(ScaleOfParts):
    """A kind whose answer is a number: one of those listed, or else any of a range.

    Gold is a number or a range of numbers: 4 or 4..5.
    """

    tests: ClassVar[frozenset[str]] = frozenset({"is", "at_least", "at_most"})

    def make_field(
        self, criterion: QuestionWords, output_name: str, *, is_one_of_several: bool = False
    ) -> forms.Field:
        """Make the field of radio buttons, one for each answer that is listed."""
        name = f"{output_name[:1].lower()}{output_name[1:]}"
        return PointField(
            values={str(value): value for value, _label in self.list_answers()} | self.na_entry,
            missing=(
                _("Choose a score for %(criterion)s of %(name)s")
                if is_one_of_several
                else _("Choose a score for %(criterion)s")
            )
            % {"criterion": criterion.label.lower(), "name": name},
            label=criterion.label,
        )

    def parse_gold(self, text: str, outputs: Sequence[str]) -> Parts:
        return parse_parts(text, len(outputs), self._parse_numbers, may_be_na=self.has_na)

    def _parse_numbers(self, part: str) -> Sequence[float]:
        """Return the answers that are right by a number ("5") or a range ("4..6")."""
        low, high = parse_range(part, self.minimum, self.maximum)
        listed = [value for value, _label in self.list_answers()]
        if not listed:
            first = self._find_first(low)
            return Steps(first if first <= high else low, high, self.steps)
        if not {low, high} <= set(listed):
            raise ValidationError(
                f"{quote(part)} is outside the scale. "
                f"Use points from {self.minimum} to {self.maximum}."
            )
        return tuple(value for value in listed if low <= value <= high)

    def _find_first(self, value: float) -> float:
        """Return the answer at this value, or the next one above."""
        units = -(count_units(self.minimum - value) // count_units(self.steps))
        return round_value(self.minimum + units * self.steps)

    def is_gold(self, gold: Any, outputs: int) -> bool:
        if gold is None or gold == "":
            return True
        if isinstance(gold, str) and gold.strip().casefold() == NA:
            return self.has_na
        is_text = isinstance(gold, str)
        ends = _RANGE.fullmatch(str(gold).strip()) if is_text or is_number(gold) else None
        if ends is None:
            return False
        numbers = [round_value(float(end)) for end in ends.groups() if end]
        return numbers == sorted(numbers) and all(self.is_answer(end, 1) for end in numbers)

    def name_entry(self, entry: str) -> str:
        return self.na_words if entry == NA else entry

    def name_right(self, value: Any) -> str:
        return self.na_words if value == NA else str(value)

    def name_choices(self) -> tuple[str, ...]:
        listed = [
            f"{value}: {label}" if label else str(value) for value, label in self.list_answers()
        ]
        return (*(listed or [f"{self.minimum} to {self.maximum}"]), *self.name_na())

    def write_markdown(self) -> str:
        numbers = f"- A{self.number_words[1:]} from {self.minimum} to {self.maximum}"
        return "\n".join([numbers, *self.list_na()])


def verdict_in_words(chosen: str, right: str, *, is_met: bool, is_by_document: bool) -> str:
    """Say what was chosen, and what the document says or we suggest."""
    if is_by_document:
        words = (
            _("You chose %(given)s, as in the guidelines.")
            if is_met
            else _("You chose %(given)s. The guidelines say %(right)s.")
        )
    else:
        words = (
            _("You chose %(given)s, as we suggest.")
            if is_met
            else _("You chose %(given)s. We suggest %(right)s.")
        )
    return words % {"given": chosen, "right": right}


class Steps(Sequence[float]):
    """The numbers from `low` to `high` in equal steps, none of which is made before it is needed.

    Steps are counted in thousandths: sums of decimals aren't exact.
    """

    def __init__(self, low: float, high: float, step: float = 1) -> None:
        self.units = range(count_units(low), count_units(high) + 1, count_units(step))

    def __len__(self) -> int:
        return len(self.units)

    def __getitem__(self, place: Any) -> Any:
        return round_value(self.units[place] / UNITS)

    def __contains__(self, value: object) -> bool:
        return is_number(value) and count_units(value) in self.units


def parse_range(part: str, lowest: float, highest: float) -> tuple[float, float]:
    """Read a number or a range of numbers in a gold: "4" or "4..6"."""
    ends = _RANGE.fullmatch(part)
    if not ends:
        raise ValidationError(
            f"{quote(part)} is not a point or a range of points. Write it like "
            f"{highest} or {lowest}..{highest}."
        )
    low, high = (round_value(float(end)) for end in (ends[1], ends[2] or ends[1]))
    if not (lowest <= low <= highest and lowest <= high <= highest):
        raise ValidationError(
            f"{quote(part)} is outside the scale. Use points from {lowest} to {highest}."
        )
    if low > high:
        raise ValidationError(f"{quote(part)} runs backwards. Write the lower point first.")
    return low, high


def quote(text: str) -> str:
    """Return the words of a cell as a message says them, a long cell by its beginning."""
    words = text.strip()
    return f"“{words}”" if len(words) <= _LONGEST_QUOTE else f"“{words[:_LONGEST_QUOTE]}…”"


def _describe_range(values: Sequence[Any], name: Callable[[Any], str]) -> str:
    if len(values) == 1:
        return name(values[0])
    pair = {"first": name(values[0]), "last": name(values[-1])}
    return (_("%(first)s to %(last)s") if len(values) > 2 else _("%(first)s or %(last)s")) % pair
