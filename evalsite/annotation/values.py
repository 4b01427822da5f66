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
