"""A whole number in a box, such as how many mistakes were found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from evalsite.scales.bounded import BoundedScale


@dataclass(frozen=True, kw_only=True)
class Number(BoundedScale):
    """A whole number, with the word for its unit after the box."""

    unit: str = ""
    kind: ClassVar[str] = "number"
    is_written: ClassVar[bool] = True
    better: ClassVar[str] = ""
    optional: ClassVar[frozenset[str]] = frozenset({"unit", "not_applicable"})

    def words(self) -> str:
        unit = f" ({self.unit})" if self.unit else ""
        return f"a whole number from {self.minimum} to {self.maximum}{unit}"

    def to_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "kind": self.kind, "minimum": self.minimum, "maximum": self.maximum,
        }  # fmt: skip
        return data | ({"unit": self.unit} if self.unit else {}) | self.na_to_data()

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            minimum=data["minimum"],
            maximum=data["maximum"],
            unit=data.get("unit", ""),
            not_applicable=data.get("not_applicable", ""),
        )
