"""Any number of several options, each ticked or not."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.scales.base import Scale, find_bad_counts, is_among
from evalsite.instruments.scales.options import Option, find_option_faults


class Choices(Scale):
    kind: Literal["choices"]
    directed: ClassVar[bool] = False
    tests: ClassVar[frozenset[str]] = frozenset({"includes"})
    options: Annotated[list[Option], Field(min_length=1, max_length=200)]
    shuffle: bool = False
    least: int = Field(0, ge=0)
    most: int | None = Field(None, ge=1)

    def find_faults(self, at: str) -> Iterator[Fault]:
        yield from find_option_faults(self.options, f"{at}.options")
        yield from find_bad_counts(self.least, self.most, len(self.options), at)

    def list_answers(self) -> list[Any]:
        return [option.key for option in self.options]

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return isinstance(answer, list) and all(
            is_among(entry, self.list_answers()) for entry in answer
        )
