"""Options to choose from, as kinds with one or several answers have them."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Names, Part, Words
from evalsite.instruments.scales.base import OptionKey, find_twice


class Option(Part):
    key: OptionKey = Field(title="Name in files")
    label: Words = Field(title="Label", json_schema_extra={"is_in_box": True})
    notes: Names = Field([], title="Notes", description="Shown below it, one per line.")
    exclusive: bool = Field(False, title="Can only be chosen alone")
    other: bool = Field(False, title="With a box for other words")


def find_option_faults(options: list[Any], at: str) -> Iterator[Fault]:
    yield from find_twice(options, at)
    if sum(option.other for option in options) > 1:
        yield Fault("duplicate", at, "can have one option with words of one’s own")
