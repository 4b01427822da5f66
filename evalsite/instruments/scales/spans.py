"""Passages that are marked, with category and severity."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Key, Part, WeightValue, Words, refuse
from evalsite.instruments.scales.base import OptionKey, Per, Scale, find_twice


class Severity(Part):
    key: OptionKey
    label: Words
    weight: WeightValue
    definition: str = ""


def check_category_key(key: str) -> str:
    if key == "none":
        raise refuse("bad_key", "is a word that answers use for something else")
    return key


class Category(Part):
    key: Annotated[OptionKey, AfterValidator(check_category_key)]
    label: Words
    group: str = ""
    definition: str = ""
    severities: list[Key] = []
    whole: bool = False
    mark_in: list[Key] = []


class Weight(Part):
    category: Key
    severity: Key | None = None
    weight: WeightValue


class Omission(Part):
    label: Words
    category: Key | None = None


_NO_CATEGORY = "must name a category of this question"
_NO_SEVERITY = "must name a severity of this question"


class Spans(Scale):
    """Passages with category and severity; without both lists a plain highlight."""

    kind: Literal["spans"]
    title: ClassVar[str] = "Marked passages"
    has_page: ClassVar[bool] = False
    asked: ClassVar[tuple[Per, ...]] = ("output",)
    tests: ClassVar[frozenset[str]] = frozenset({"has"})
    directed: ClassVar[bool] = False  # fewer and lighter errors are better
    severities: Annotated[list[Severity], Field(max_length=7)] = []
    categories: Annotated[list[Category], Field(max_length=200)] = []
    weights: Annotated[list[Weight], Field(max_length=200)] = []
    most: int | None = Field(None, ge=1, le=200)
    none: Words | None = None
    omission: Omission | None = None
    prefill: Key | None = None
    mark_in: list[Key] = []
    note: Literal["none", "optional", "required"] = "none"
    score: Literal["sum", "none"] = "none"

    def find_faults(self, at: str) -> Iterator[Fault]:
        categories = {category.key for category in self.categories}
        severities = {severity.key for severity in self.severities}
        yield from find_twice(self.categories, f"{at}.categories")
        yield from find_twice(self.severities, f"{at}.severities")
        for number, category in enumerate(self.categories):
            if set(category.severities) - severities:
                yield Fault("not_allowed", f"{at}.categories.{number}.severities", _NO_SEVERITY)
        for number, weight in enumerate(self.weights):
            if weight.category not in categories:
                yield Fault("not_allowed", f"{at}.weights.{number}.category", _NO_CATEGORY)
            if weight.severity and weight.severity not in severities:
                yield Fault("not_allowed", f"{at}.weights.{number}.severity", _NO_SEVERITY)
        if self.omission and self.omission.category and self.omission.category not in categories:
            yield Fault("not_allowed", f"{at}.omission.category", _NO_CATEGORY)
        if self.score == "sum" and not severities:
            yield Fault("no_weights", f"{at}.score", "needs severities with weights to add up")

    def name_columns(self) -> Iterator[tuple[str, str, str]]:
        if self.prefill:
            yield "prefill", self.prefill, "spans"
        marked = {
            *self.mark_in,
            *(name for category in self.categories for name in category.mark_in),
        }
        for name in sorted(marked - {"output"}):
            yield "mark_in", name, ""

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return isinstance(answer, list) and all(self._is_mark(mark) for mark in answer)

    def list_quotes(self, answer: Any) -> list[str]:
        return [mark["quote"] for mark in answer]

    def _is_mark(self, mark: Any) -> bool:
        if not isinstance(mark, dict) or not isinstance(mark.get("quote"), str):
            return False
        severities = [severity.key for severity in self.severities]
        categories = [category.key for category in self.categories]
        return (
            not mark.keys() - {"quote", "severity", "category", "nth", "in"}
            and ("severity" not in mark or mark["severity"] in severities)
            and ("category" not in mark or mark["category"] in categories)
        )
