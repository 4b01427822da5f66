"""One of several options, which have no order."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Words
from evalsite.instruments.scales.base import NA, Scale
from evalsite.instruments.scales.options import Option, find_option_faults


class Choice(Scale):
    kind: Literal["choice"] = Field(title="Choose one")
    directed: ClassVar[bool] = False
    tests: ClassVar[frozenset[str]] = frozenset({"is"})
    options: Annotated[list[Option], Field(min_length=2, max_length=200)] = Field(
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
    not_applicable: Words | None = Field(
        None, title="Words for “not applicable”", description="Empty: it isn’t offered."
    )

    def find_faults(self, at: str) -> Iterator[Fault]:
        yield from find_option_faults(self.options, f"{at}.options")

    def list_answers(self) -> list[Any]:
        return [option.key for option in self.options] + ([NA] if self.not_applicable else [])
