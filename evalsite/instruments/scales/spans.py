"""Passages that are marked, with category and severity."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Key, Part, WeightValue, Words, refuse
from evalsite.instruments.scales.base import OptionKey, Per, Scale, find_twice


class Severity(Part):
    key: OptionKey = Field(title="Name in files")
    label: Words = Field(title="Label")
    weight: WeightValue = Field(title="Weight")
    definition: str = Field("", title="Definition")


def check_category_key(key: str) -> str:
    if key == "none":
        raise refuse("bad_key", "is a word that answers use for something else")
    return key


class Category(Part):
    key: Annotated[OptionKey, AfterValidator(check_category_key)] = Field(title="Name in files")
    label: Words = Field(title="Label")
    group: str = Field("", title="Group")
    definition: str = Field("", title="Definition")
    severities: list[Key] = Field(
        [], title="Severities", description="Their names in files, one per line. Empty: all."
    )
    whole: bool = Field(False, title="Is about the whole text")
    mark_in: list[Key] = Field(
        [], title="Marked in", description="Names of columns, or “output”, one per line."
    )


class Weight(Part):
    category: Key = Field(title="Category")
    severity: Key | None = Field(None, title="Severity")
    weight: WeightValue = Field(title="Weight")


class Omission(Part):
    label: Words = Field(title="Label")
    category: Key | None = Field(None, title="Category")


_NO_CATEGORY = "must name a category of this question"
_NO_SEVERITY = "must name a severity of this question"


class Spans(Scale):
    """Passages with category and severity; without both lists a plain highlight."""

    kind: Literal["spans"] = Field(title="Marked passages")
    has_page: ClassVar[bool] = False
    asked: ClassVar[tuple[Per, ...]] = ("output",)
    tests: ClassVar[frozenset[str]] = frozenset({"has"})
    directed: ClassVar[bool] = False  # fewer and lighter errors are better
    severities: Annotated[list[Severity], Field(max_length=7)] = Field(
        [], title="Severities", json_schema_extra={"noun": "severity"}
    )
    categories: Annotated[list[Category], Field(max_length=200)] = Field(
        [], title="Categories", json_schema_extra={"noun": "category"}
    )
    weights: Annotated[list[Weight], Field(max_length=200)] = Field(
        [],
        title="Weights of their own",
        description="Where the weight of a severity doesn’t suit a category.",
        json_schema_extra={"noun": "weight"},
    )
    most: int | None = Field(None, ge=1, le=200, title="Most passages")
    none: Words | None = Field(
        None, title="Words for “no errors”", description="Empty: it isn’t offered."
    )
    omission: Omission | None = Field(None, title="Something missing")
    prefill: Key | None = Field(
        None,
        title="Marked beforehand",
        json_schema_extra={"column": "spans", "words": {"": "nothing"}},
    )
    mark_in: list[Key] = Field(
        [], title="Marked in", description="Names of columns, or “output”, one per line."
    )
    note: Literal["none", "optional", "required"] = Field(
        "none",
        title="Note on a passage",
        json_schema_extra={
            "words": {"none": "none", "optional": "optional", "required": "required"}
        },
    )
    score: Literal["sum", "none"] = Field(
        "none",
        title="Score",
        json_schema_extra={"words": {"sum": "the weights, added up", "none": "none"}},
    )

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
