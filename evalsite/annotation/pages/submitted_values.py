"""What is submitted, as plain values that forms make and services store."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Value:
    """One rating as submitted: `output_id` None is a tie."""

    criterion: str
    output_id: int | None
    value: int
    typed: str = ""

    @property
    def identity(self) -> tuple[str, int | None, int]:
        return (self.criterion, self.output_id, self.value)


@dataclass(frozen=True, kw_only=True, order=True)
class Passage:
    """One highlight as submitted: code points of the stored text, and the text there."""

    output_id: int
    start: int
    end: int
    quote: str

    @property
    def identity(self) -> tuple[int, int, int]:
        return (self.output_id, self.start, self.end)
