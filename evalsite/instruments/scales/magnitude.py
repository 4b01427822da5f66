"""Whole numbers in proportion to the score of a standard (magnitude estimation)."""

import re
from collections.abc import Iterator, Sequence
from math import exp
from typing import Any, ClassVar, Literal, NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from pydantic import Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.fields import WHOLE_NUMBER
from evalsite.instruments.parts import Names, Part
from evalsite.instruments.scales.base import Judged, Per, QuestionWords, Scale
from evalsite.instruments.scales.points import quote

# --- gold -----------------------------------------------------------------------------


STANDARD = "standard"
_COMMON_NAME = re.compile(r"[A-Z][a-z]+( [a-z]+)*( [0-9]+)?( \([0-9]+\))?")
# the space around it is taken off after: with it here, a cell full of spaces would take hours
_RELATION = re.compile(r"([<>=])")


class Relation(NamedTuple):
    """Two things compared: the lower and the higher, or two equals; 0 is the standard."""

    low: int
    high: int
    is_equal: bool = False

    def is_met(self, scores: Sequence[int]) -> bool:
        low, high = scores[self.low], scores[self.high]
        return low == high if self.is_equal else low < high


def parse_relations(text: str, outputs: int) -> list[Relation]:
    relations = [
        relation
        for part in text.split(",")
        if part.strip()
        for relation in _parse_chain(part.strip(), outputs)
    ]
    if not relations:
        raise ValidationError(f"{quote(text)} compares nothing. Write it like 1<2, 2=3.")
    if not _find_levels(relations):
        raise ValidationError(
            f"{quote(text)} contradicts itself: no scores can meet all of it. Take out a part."
        )
    return relations


def _parse_chain(part: str, outputs: int) -> list[Relation]:
    steps = [step.strip() for step in _RELATION.split(part)]
    if len(steps) == 1:
        raise ValidationError(
            f"{quote(part)} compares nothing. Write which output is lower, or that two are equal, "
            "like 1<2 or 2=3."
        )
    names = [_parse_side(name, part, outputs) for name in steps[::2]]
    relations = []
    for left, sign, right in zip(names, steps[1::2], names[1:], strict=False):
        if left == right:
            raise ValidationError(f"{quote(part)} compares an output with itself.")
        low, high = (right, left) if sign == ">" else (left, right)
        relations.append(Relation(low, high, is_equal=sign == "="))
    return relations


def _parse_side(name: str, part: str, outputs: int) -> int:
    if name.casefold() == STANDARD:
        return 0
    numbers = {str(number): number for number in range(1, outputs + 1)}
    if name not in numbers:
        raise ValidationError(
            f"{quote(part)} names {quote(name)}, which is no output of this item. Use the "
            f"numbers 1 to {outputs} and the word {STANDARD}: a magnitude has a right order, "
            "but no right score."
        )
    return numbers[name]


def _find_levels(relations: Sequence[Relation]) -> dict[int, int]:
    """Levels, by number of the output, that meet all relations; none if no scores can."""
    # pushed upwards until they come to rest
    nodes = {node for relation in relations for node in (relation.low, relation.high)}
    level = dict.fromkeys(nodes, 0)
    while max(level.values()) <= len(nodes):
        before = dict(level)
        for relation in relations:
            if relation.is_equal:
                level[relation.low] = max(level[relation.low], level[relation.high])
                level[relation.high] = level[relation.low]
            else:
                level[relation.high] = max(level[relation.high], level[relation.low] + 1)
        if level == before:
            return level
    return {}


def scores_that_meet(
    relations: Sequence[Relation], outputs: int, standard: int
) -> list[int | None]:
    """A score for each output, one step of a quarter for each level above or below the standard."""
    levels = _find_levels(relations)
    middle = levels.get(0, 0)
    steps = [levels.get(number, middle) - middle for number in range(1, outputs + 1)]
    return [max(1, round(standard * 1.25**step)) for step in steps]


def judge_relation(
    relation: Relation, scores: Sequence[int], names: Sequence[str]
) -> tuple[bool, str]:
    """Return whether scores meet the relation, with a sentence; both begin with the standard."""
    is_met = relation.is_met(scores)
    shown = [f"{name} ({score})" for name, score in zip(names, scores, strict=True)]
    return is_met, _describe_relation(relation, shown, is_met=is_met)


def _describe_relation(relation: Relation, names: Sequence[str], *, is_met: bool) -> str:
    low, high = names[relation.low], names[relation.high]
    if relation.is_equal:
        # the standard last, outputs in the order in which they were shown
        pair = sorted(
            (relation.low, relation.high), key=lambda n: (n == 0, len(names[n]), names[n])
        )
        first, second = (names[number] for number in pair)
        words = (
            _("%(first)s and %(second)s have the same score, as they should.")
            if is_met
            else _("%(first)s and %(second)s should have the same score.")
        )
    elif relation.low == 0:  # of an utterance and the standard, the utterance is spoken of
        first, second = high, low
        words = (
            _("%(first)s is higher than %(second)s, as it should be.")
            if is_met
            else _("%(first)s should be higher than %(second)s.")
        )
    else:
        first, second = low, high
        words = (
            _("%(first)s is lower than %(second)s, as it should be.")
            if is_met
            else _("%(first)s should be lower than %(second)s.")
        )
    return words % {"first": first, "second": _in_sentence(second)}


def _in_sentence(name: str) -> str:
    """The name in the middle of a sentence: "utterance 2 (70)", but "Response B" and "RESPONSE"."""
    return name[:1].lower() + name[1:] if _COMMON_NAME.fullmatch(name) else name


# --- the scale ------------------------------------------------------------------------


LONGEST_TYPED = 200
LOWEST, HIGHEST = 1, 999_999
_ZERO_OR_LESS = re.compile(r"0+|[-−][0-9]+(?:[.,][0-9]+)?")
_DECORATED = re.compile(r"\+?0*[1-9][0-9]*|[1-9][0-9]{0,2}(?:[ \u00a0\u202f][0-9]{3})+")
_TOO_LARGE = re.compile(r"[1-9][0-9]{6,}")
_SPACE = " \t\r\n\u00a0"


def parse_magnitude(text: str, name: str, lowest: int = LOWEST, highest: int = HIGHEST) -> int:
    """Return the whole number that was typed; ValidationError says what is wrong with it."""
    typed = text.strip(_SPACE)
    about = {"name": name, "lowest": lowest, "highest": highest}
    if not typed:
        raise ValidationError(_("Enter a score for %(name)s") % about, code="required")
    is_whole = WHOLE_NUMBER.fullmatch(typed)
    if _ZERO_OR_LESS.fullmatch(typed) or (is_whole and int(typed) < lowest):
        raise ValidationError(
            _("Score for %(name)s must be %(lowest)s or more") % about, code="too_small"
        )
    if _TOO_LARGE.fullmatch(typed) or (is_whole and int(typed) > highest):
        raise ValidationError(
            _("Score for %(name)s must be %(highest)s or less") % about, code="too_large"
        )
    if is_whole:
        return int(typed)
    if _DECORATED.fullmatch(typed):
        raise ValidationError(
            _(
                "Score for %(name)s must be in digits only, like 70 "
                "(no sign, space or zero in front)"
            )
            % about,
            code="decorated",
        )
    if not typed.isascii() and any(sign.isdecimal() for sign in typed):
        raise ValidationError(
            _("Score for %(name)s must be typed in plain digits, 0 to 9, like 70") % about,
            code="digits",
        )
    raise ValidationError(
        _("Score for %(name)s must be a whole number, like 70 (no decimals, commas or letters)")
        % about,
        code="whole",
    )


class MagnitudeField(forms.CharField):
    """A text box: number boxes change by wheel and arrows, and maxlength cuts 1000000 unseen."""

    def __init__(
        self, *, name: str, lowest: int = LOWEST, highest: int = HIGHEST, **kwargs: Any
    ) -> None:
        self.output_name, self.lowest, self.highest = name, lowest, highest
        kwargs.setdefault(
            "widget",
            forms.TextInput(
                attrs={"class": "number", "inputmode": "numeric", "autocomplete": "off"}
            ),
        )
        super().__init__(required=False, strip=False, **kwargs)

    def clean(self, value: Any) -> int:
        typed = "" if value is None else str(value)
        number = parse_magnitude(typed, self.output_name, self.lowest, self.highest)
        if len(typed) > LONGEST_TYPED:  # what was typed is kept unchanged, and must fit
            raise ValidationError(f"Score for {self.output_name} has too many spaces around it")
        return number


class Standard(Part):
    """The score that others are in proportion to. `inputs`: by which an item has one of its own."""

    inputs: Names = Field(
        [], title="Inputs that tell standards apart", description="Names of columns, one per line."
    )


class Magnitude(Scale):
    """A whole number in proportion to the score of a standard."""

    kind: Literal["magnitude"] = Field(title="Magnitude", json_schema_extra={"is_offered": False})
    family: ClassVar[str] = "magnitude"
    asked: ClassVar[tuple[Per, ...]] = ("output",)
    gold_of_all: ClassVar[bool] = True
    is_typed: ClassVar[bool] = True
    keeps_typed: ClassVar[bool] = True
    is_written: ClassVar[bool] = True
    has_standard: ClassVar[bool] = True
    minimum: int = Field(LOWEST, ge=LOWEST, le=HIGHEST, title="Lowest value")
    maximum: int = Field(HIGHEST, ge=LOWEST, le=HIGHEST, title="Highest value")
    standard: Standard | None = Field(None, title="Standard")

    def find_faults(self, at: str) -> Iterator[Fault]:
        if self.minimum >= self.maximum:
            yield Fault("order", at, "must have a minimum below its maximum")

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return type(answer) is int and self.minimum <= answer <= self.maximum

    def is_gold(self, gold: Any, outputs: int) -> bool:
        try:
            return isinstance(gold, str) and bool(parse_relations(gold, outputs))
        except ValidationError:
            return False

    def name_standard_inputs(self) -> tuple[str, ...] | None:
        return tuple(self.standard.inputs) or None if self.standard else None

    def make_field(
        self, criterion: QuestionWords, output_name: str, *, is_one_of_several: bool = False
    ) -> MagnitudeField:
        return MagnitudeField(
            name=output_name.lower(),
            lowest=self.minimum,
            highest=self.maximum,
            label=criterion.label,
        )

    # --- gold: order only, never scores: "1<2, 1<standard, 2=3"

    def parse_gold(self, text: str, outputs: Sequence[str]) -> list[Relation]:
        return parse_relations(text, len(outputs))

    def judge(
        self,
        right: Sequence[Relation],
        values: Sequence[int],
        standard: int | None,
        names: Sequence[str],
        *,
        is_by_document: bool = False,
    ) -> Judged:
        scores, known = [standard or 0, *values], [_("The standard"), *names]
        return [
            judge_relation(relation, scores, known)
            for relation in right
            # without a standard there is nothing to compare with it
            if standard is not None or 0 not in (relation.low, relation.high)
        ]

    def right_values(
        self, right: Sequence[Relation], outputs: int, standard: int | None
    ) -> list[int | None]:
        return scores_that_meet(right, outputs, standard or 100)

    # --- words

    def words(self) -> str:
        return "magnitude estimation: a whole number in proportion to the quality"

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        score = round(100 * exp(felt[max(number - 1, 0)] / 2) / 5) * 5
        return str(min(max(score, self.minimum), self.maximum))

    # --- gold in data

    def gold_to_data(self, text: str) -> Any:
        """Keep the order of outputs as written: a magnitude has no right score."""
        return text

    def write_gold(self, values: Sequence[Any | None]) -> str:
        """Write the order of the outputs that these scores give, such as 2<1=3."""
        scores = sorted((score or 0, number) for number, score in enumerate(values, start=1))
        text = ""
        for (before, _number), (score, number) in zip([(0, 0), *scores], scores, strict=False):
            text += f"{'' if not text else '=' if score == before else '<'}{number}"
        return text

    def gold_from_data(self, data: Any) -> str:
        if not isinstance(data, str):
            raise TypeError("The gold of a magnitude is one text.")
        return data
