"""Yes or no, in the protocol's own words."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from evalsite.instruments.parts import Words
from evalsite.instruments.scales.base import NA, Scale


class Decision(Scale):
    kind: Literal["decision"] = Field(title="Yes or no")
    tests: ClassVar[frozenset[str]] = frozenset({"is"})
    yes: Words = Field(title="Word for yes", examples=["Yes"])
    no: Words = Field(title="Word for no", examples=["No"])
    not_applicable: Words | None = Field(
        None, title="Words for “not applicable”", description="Empty: it isn’t offered."
    )

    def list_answers(self) -> list[Any]:
        return [1, 0, *([NA] if self.not_applicable else [])]
