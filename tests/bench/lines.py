"""What is measured, beside its budget."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass
class Line:
    """One measurement beside its budget."""

    what: str
    measured: float
    budget: float | None = None
    unit: str = ""
    at_least: bool = False

    @property
    def verdict(self) -> str:
        if self.budget is None:
            return ""
        is_met = self.measured >= self.budget if self.at_least else self.measured <= self.budget
        return "met" if is_met else "MISSED"

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        budget = "" if self.budget is None else f"{sign} {self.budget:g}"
        measured = f"{self.measured:.4g} {self.unit}".strip()
        return f"{self.what:<62} {measured:>14} {budget:>9} {self.verdict}".rstrip()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def say_row(cells: Iterable[object]) -> None:
    """One row of a table, each column as wide as its heading needs."""
    say("  ".join(f"{cell:>10}" for cell in cells).rstrip())
