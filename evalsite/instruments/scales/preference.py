"""Which of two outputs is better, and how much; both good or both bad; and why."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Names, Part, Words
from evalsite.instruments.scales.base import Per, Scale, find_bad_counts
from evalsite.instruments.scales.options import Option, find_option_faults

_STEPS = re.compile(r"(-?[0-3])(?:\.\.(-?[0-3]))?")


class Step(Part):
    value: int = Field(ge=-3, le=3, title="Value", json_schema_extra={"is_in_box": True})
    label: Words = Field(title="Label", json_schema_extra={"is_in_box": True})
    notes: Names = Field([], title="Notes", description="Shown below it, one per line.")


class Tag(Option):
    side: Literal["good", "bad", "either"] = Field(
        "either",
        title="Good or bad",
        description="For your analysis: people see no difference.",
        json_schema_extra={"words": {"good": "good", "bad": "bad", "either": "either"}},
    )


class Tags(Part):
    label: Words = Field(title="Words above the reasons", examples=["Why?"])
    about: Literal["preferred", "each output", "comparison"] = Field(
        title="Reasons are about",
        examples=["each output"],
        json_schema_extra={
            "words": {
                "each output": "each output",
                "preferred": "the output that is preferred",
                "comparison": "the comparison",
            }
        },
    )
    options: Annotated[list[Tag], Field(min_length=2, max_length=200)] = Field(
        title="Reasons, one per line", json_schema_extra={"noun": "reason"}
    )
    least: int = Field(0, ge=0, title="Choose at least")
    most: int | None = Field(None, ge=1, title="Choose at most")


class Preference(Scale):
    kind: Literal["preference"] = Field(title="Preference of two")
    asked: ClassVar[tuple[Per, ...]] = ("item",)
    tests: ClassVar[frozenset[str]] = frozenset({"is"})
    directed: ClassVar[bool] = False
    needs: ClassVar[Literal["", "pair", "several"]] = "pair"
    points: Annotated[list[Step], Field(min_length=2, max_length=7)] = Field(
        title="Answers, from the first output to the second, one per line",
        description="With an odd number of lines, the middle one is a tie.",
        examples=[
            [
                {"value": -1, "label": "The first is better"},
                {"value": 0, "label": "They are equal"},
                {"value": 1, "label": "The second is better"},
            ]
        ],
        json_schema_extra={"is_in_sight": True, "noun": "point", "is_mirrored": True},
    )
    both_good: Words | None = Field(
        None, title="Words for “both are good”", description="Empty: it isn’t offered."
    )
    both_bad: Words | None = Field(
        None, title="Words for “both are bad”", description="Empty: it isn’t offered."
    )
    tags: Tags | None = Field(None, title="Reasons to tick")
    display: Literal["row", "stacked"] = Field(
        "row",
        title="Arrangement",
        json_schema_extra={"words": {"row": "in a row", "stacked": "one below the other"}},
    )

    def find_faults(self, at: str) -> Iterator[Fault]:
        values = [point.value for point in self.points]
        if values != sorted(set(values)) or [-value for value in reversed(values)] != values:
            words = "must have values that rise and mirror around 0"
            yield Fault("not_symmetric", f"{at}.points", words)
        if self.tags:
            yield from find_option_faults(self.tags.options, f"{at}.tags.options")
            count = len(self.tags.options)
            yield from find_bad_counts(self.tags.least, self.tags.most, count, f"{at}.tags")

    def list_answers(self) -> list[Any]:
        both = [name for name in ("both_good", "both_bad") if getattr(self, name)]
        return [step.value for step in self.points] + both

    def is_gold(self, gold: Any, outputs: int) -> bool:
        if gold in ("both_good", "both_bad"):
            return self.is_answer(gold, outputs)
        ends = _STEPS.fullmatch(gold) if isinstance(gold, str) else None
        if ends is None:
            return False
        low, high = sorted(int(end) for end in (ends[1], ends[2] or ends[1]))
        is_on_one_side = low == high or low > 0 or high < 0
        return is_on_one_side and all(self.is_answer(end, outputs) for end in (low, high))
