"""Whole numbers in proportion to the score of a standard (magnitude estimation)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Any, ClassVar, Self

from django import forms
from django.core.exceptions import ValidationError

from evalsite.fields import WHOLE_NUMBER
from evalsite.protocol import Criterion
from evalsite.protocol.faults import (
    Faults,
    check_keys,
    check_list,
    check_text,
    check_whole,
)
from evalsite.protocol.scale import Judged, Scale
from evalsite.scales.magnitude.order import (
    Relation,
    judge_relation,
    parse_relations,
    scores_that_meet,
)

LONGEST_TYPED = 200
LOWEST, HIGHEST = 1, 999_999
_ZERO_OR_LESS = re.compile(r"0+|[-−][0-9]+(?:[.,][0-9]+)?")
_DECORATED = re.compile(r"\+?0*[1-9][0-9]*|[1-9][0-9]{0,2}(?:[ \u00a0\u202f][0-9]{3})+")
_TOO_LARGE = re.compile(r"[1-9][0-9]{6,}")
_SPACE = " \t\r\n\u00a0"


def parse_magnitude(text: str, name: str, lowest: int = LOWEST, highest: int = HIGHEST) -> int:
    """Return the whole number that was typed; ValidationError says what is wrong with it."""
    typed = text.strip(_SPACE)
    if not typed:
        raise ValidationError(f"Enter a score for {name}", code="required")
    is_whole = WHOLE_NUMBER.fullmatch(typed)
    if _ZERO_OR_LESS.fullmatch(typed) or (is_whole and int(typed) < lowest):
        raise ValidationError(f"Score for {name} must be {lowest} or more", code="too_small")
    if _TOO_LARGE.fullmatch(typed) or (is_whole and int(typed) > highest):
        raise ValidationError(f"Score for {name} must be {highest} or less", code="too_large")
    if is_whole:
        return int(typed)
    if _DECORATED.fullmatch(typed):
        raise ValidationError(
            f"Score for {name} must be typed in digits alone, like 70 "
            "(no sign, space or zero in front)",
            code="decorated",
        )
    if not typed.isascii() and any(sign.isdecimal() for sign in typed):
        raise ValidationError(
            f"Score for {name} must be typed in plain digits, 0 to 9, like 70", code="digits"
        )
    raise ValidationError(
        f"Score for {name} must be a whole number, like 70 (no decimals, commas or letters)",
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
        if len(typed) > LONGEST_TYPED:  # what was typed is kept as it is, and must fit
            raise ValidationError(f"Score for {self.output_name} has too many spaces around it")
        return number


@dataclass(frozen=True, kw_only=True)
class Magnitude(Scale):
    """A whole number in proportion to the score of a standard.

    `standard_inputs`: the inputs by which an item may have a standard of its own; None: any.
    """

    minimum: int = LOWEST
    maximum: int = HIGHEST
    standard_inputs: tuple[str, ...] | None = None
    kind: ClassVar[str] = "magnitude"
    family: ClassVar[str] = "magnitude"
    keeps_typed: ClassVar[bool] = True
    has_standard: ClassVar[bool] = True
    optional: ClassVar[frozenset[str]] = frozenset({"minimum", "maximum", "standard"})
    later_per: ClassVar[frozenset[str]] = frozenset()

    def name_standard_inputs(self) -> tuple[str, ...] | None:
        return self.standard_inputs

    def make_field(
        self, criterion: Criterion, output_name: str, *, is_one_of_several: bool = False
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
    ) -> Judged:
        scores, known = [standard or 0, *values], ["The standard", *names]
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
        return "magnitude estimation: a whole number, as large as the quality"

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        score = round(100 * exp(felt[max(number - 1, 0)] / 2) / 5) * 5
        return str(min(max(score, self.minimum), self.maximum))

    # --- plain data

    def to_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": self.kind}
        for name, value, end in (
            ("minimum", self.minimum, LOWEST),
            ("maximum", self.maximum, HIGHEST),
        ):
            if value != end:
                data[name] = value
        if self.standard_inputs is not None:
            data["standard"] = {"inputs": list(self.standard_inputs)}
        return data

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        inputs = data.get("standard", {}).get("inputs")
        return cls(
            minimum=data.get("minimum", LOWEST),
            maximum=data.get("maximum", HIGHEST),
            standard_inputs=None if inputs is None else tuple(inputs),
        )

    def complete(self, other: Self) -> Self:
        return replace(self, standard_inputs=other.standard_inputs)

    @classmethod
    def check_data(cls, data: Mapping[str, Any], place: str, faults: Faults) -> None:
        super().check_data(data, place, faults)
        ends = [
            check_whole(data.get(name, end), f"{place}.{name}", faults, least=LOWEST, most=HIGHEST)
            for name, end in (("minimum", LOWEST), ("maximum", HIGHEST))
        ]
        if all(ends) and data.get("minimum", LOWEST) >= data.get("maximum", HIGHEST):
            faults.add("order", place, "must have a minimum below its maximum")
        standard = data.get("standard", {})
        at = f"{place}.standard"
        if check_keys(standard, at, faults, needed=(), optional={"inputs"}):
            inputs = check_list(standard.get("inputs", []), f"{at}.inputs", faults)
            for number, name in enumerate(inputs):
                check_text(name, f"{at}.inputs.{number}", faults)

    def gold_to_data(self, text: str) -> Any:
        """Keep the order of outputs as it is written: a magnitude has no right score."""
        return text

    def gold_from_data(self, data: Any) -> str:
        if not isinstance(data, str):
            raise TypeError("The gold of a magnitude is one text.")
        return data
