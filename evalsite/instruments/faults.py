"""Faults of plain data: each has a code, the place where it is, and what is wrong there."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """What is wrong with plain data. `code` is stable; tests and pages may rely on it."""

    code: str
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place or 'the instrument'} {self.message} ({self.code})"


class Faults(list[Fault]):
    """The faults of one instrument."""

    def add(self, code: str, place: str, message: str) -> None:
        self.append(Fault(code, place, message))
