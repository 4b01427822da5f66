"""Statements, each of them true or not."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Key, Part, Words
from evalsite.instruments.scales.base import COMMENT, NA, Per, Scale, find_twice, is_among


class Statement(Part):
    key: Key = Field(title="Name in files")
    text: Words = Field(title="Statement", json_schema_extra={"is_in_box": True})


class Checklist(Scale):
    kind: Literal["checklist"] = Field(title="Checklist")
    asked: ClassVar[tuple[Per, ...]] = ("output", "turn")
    tests: ClassVar[frozenset[str]] = frozenset({"includes"})
    yes: Words = Field(title="Word for yes", examples=["Yes"])
    no: Words = Field(title="Word for no", examples=["No"])
    statements: Annotated[list[Statement], Field(min_length=1, max_length=100)] | None = Field(
        None,
        title="Statements, one per line",
        examples=[[{"key": "it_answers_the_question", "text": "It answers the question"}]],
        json_schema_extra={"is_in_sight": True, "noun": "statement"},
    )
    from_column: Words | None = Field(
        None,
        title="Statements come from",
        description="For statements of each item’s own, add an input of the kind “statements”.",
        json_schema_extra={"column": "statements", "words": {"": "the list above, for all items"}},
    )
    most: int = Field(100, ge=1, le=100, title="At most so many statements")
    not_applicable: Words | None = Field(
        None, title="Words for “not applicable”", description="Empty: it isn’t offered."
    )

    def find_faults(self, at: str) -> Iterator[Fault]:
        if (self.statements is None) == (self.from_column is None):
            yield Fault("one_of_two", at, "needs either statements or from_column")
        yield from find_twice(self.statements or [], f"{at}.statements")
        if any(statement.key == COMMENT for statement in self.statements or []):
            words = f"can't have a statement called {COMMENT!r}"
            yield Fault("bad_key", f"{at}.statements", words)

    def name_columns(self) -> Iterator[tuple[str, str, str]]:
        if self.from_column:
            yield "from_column", self.from_column, "statements"

    def list_answers(self) -> list[Any]:
        return [1, 0, *([NA] if self.not_applicable else [])]

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return isinstance(answer, list) and all(
            is_among(entry, self.list_answers()) for entry in answer
        )

    def is_gold(self, gold: Any, outputs: int) -> bool:
        if gold is None:
            return True
        if not isinstance(gold, list) or not self.is_answer(
            [entry for entry in gold if entry is not None], 1
        ):
            return False
        return not self.statements or not gold or len(gold) == len(self.statements)
