"""Statements, each of them true or not."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Key, Part, Words
from evalsite.instruments.scales.base import COMMENT, NA, Per, Scale, find_twice, is_among


class Statement(Part):
    key: Key
    text: Words


class Checklist(Scale):
    kind: Literal["checklist"]
    asked: ClassVar[tuple[Per, ...]] = ("output", "turn")
    tests: ClassVar[frozenset[str]] = frozenset({"includes"})
    yes: Words
    no: Words
    statements: Annotated[list[Statement], Field(min_length=1, max_length=100)] | None = None
    from_column: Words | None = None
    most: int = Field(100, ge=1, le=100)
    not_applicable: Words | None = None

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
