"""Options to choose from, as kinds with one or several answers have them."""

from collections.abc import Iterator
from typing import Any

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Names, Part, Words
from evalsite.instruments.scales.base import OptionKey, find_twice


class Option(Part):
    key: OptionKey
    label: Words
    notes: Names = []
    exclusive: bool = False
    other: bool = False


def find_option_faults(options: list[Any], at: str) -> Iterator[Fault]:
    yield from find_twice(options, at)
    if sum(option.other for option in options) > 1:
        yield Fault("duplicate", at, "can have one option with words of one’s own")
