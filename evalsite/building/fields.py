"""A control of the builder's form."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Field:
    """One control. `control`: text, area, whole, flag, select or ticks."""

    name: str
    label: str
    value: Any
    control: str = "text"
    help: str = ""
    choices: tuple[tuple[str, str], ...] = ()
