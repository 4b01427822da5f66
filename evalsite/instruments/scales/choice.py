"""One of several options, which have no order."""

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Words
from evalsite.instruments.scales.base import NA, Scale
from evalsite.instruments.scales.options import Option, find_option_faults


class Choice(Scale):
    kind: Literal["choice"]
    directed: ClassVar[bool] = False
    tests: ClassVar[frozenset[str]] = frozenset({"is"})
    options: Annotated[list[Option], Field(min_length=2, max_length=200)]
    shuffle: bool = False
    not_applicable: Words | None = None

    def find_faults(self, at: str) -> Iterator[Fault]:
        yield from find_option_faults(self.options, f"{at}.options")

    def list_answers(self) -> list[Any]:
        return [option.key for option in self.options] + ([NA] if self.not_applicable else [])
