"""Yes or no, in the protocol's own words."""

from typing import Any, ClassVar, Literal

from evalsite.instruments.parts import Words
from evalsite.instruments.scales.base import NA, Scale


class Decision(Scale):
    kind: Literal["decision"]
    tests: ClassVar[frozenset[str]] = frozenset({"is"})
    yes: Words
    no: Words
    not_applicable: Words | None = None

    def list_answers(self) -> list[Any]:
        return [1, 0, *([NA] if self.not_applicable else [])]
