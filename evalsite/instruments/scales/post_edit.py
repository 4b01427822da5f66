"""The output as it should have been."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from evalsite.instruments.scales.base import Per, Scale


class PostEdit(Scale):
    kind: Literal["post_edit"] = Field(title="Corrected text")
    has_page: ClassVar[bool] = False
    asked: ClassVar[tuple[Per, ...]] = ("output",)
    tests: ClassVar[frozenset[str]] = frozenset({"changed"})
    directed: ClassVar[bool] = False
    may_be_unchanged: bool = Field(True, title="The text may stay unchanged")
    most: int = Field(50_000, ge=1, le=200_000, title="Most characters")

    def is_answer(self, answer: Any, outputs: int) -> bool:
        return isinstance(answer, str)
