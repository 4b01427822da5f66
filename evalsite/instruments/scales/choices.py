"""Any number of several options, each ticked or not."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.scales.base import Scale, find_bad_counts, is_among
from evalsite.instruments.scales.options import Option, find_option_faults


class Choices(Scale):
    kind: Literal["choices"] = Field(title="Choose several")
    directed: ClassVar[bool] = False
    tests: ClassVar[frozenset[str]] = frozenset({"includes"})
    options: Annotated[list[Option], Field(min_length=1, max_length=200)] = Field(
        title="Options, one per line",
        examples=[
            [
                {"key": "first_option", "label": "First option"},
                {"key": "second_option", "label": "Second option"},
            ]
        ],
        json_schema_extra={"is_in_sight": True, "noun": "option"},
    )
    shuffle: bool = Field(False, title="Show the options in random order")
    least: int = Field(0, ge=0, title="Choose at least")
    most: int | None = Field(None, ge=1, title="Choose at most")

    def find_faults(self, at: str) -> Iterator[Fault]:
        yield from find_option_faults(self.options, f"{at}.options")
        yield from find_bad_counts(self.least, self.most, len(self.options), at)

    def list_answers(self) -> list[Any]:
        return [option.key for option in self.options]

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return isinstance(answer, list) and all(
            is_among(entry, self.list_answers()) for entry in answer
        )
