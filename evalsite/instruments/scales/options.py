"""Options to choose from, as kinds with one or several answers have them.

Words that were written at an option follow its key, after a line break, in answers and values.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import Field, PrivateAttr

from evalsite.instruments.faults import Fault
from evalsite.instruments.parts import Names, Part, Words
from evalsite.instruments.scales.base import NA, OptionKey, find_twice
from evalsite.instruments.scales.points import ScaleOfParts
from evalsite.lib.seeds import make_random

LONGEST_WORDS = 500


class Option(Part):
    """One option: its key in data, its words, and the notes under it.

    `exclusive`: it can't be chosen beside others, where several can be chosen. `other`: it has a
    box for words of one's own.
    """

    key: OptionKey = Field(title="Name in files")
    label: Words = Field(title="Label", json_schema_extra={"is_in_box": True})
    notes: Names = Field([], title="Notes", description="Shown below it, one per line.")
    exclusive: bool = Field(False, title="Can only be chosen alone")
    other: bool = Field(False, title="With a box for other words")


class ScaleOfOptions(ScaleOfParts):
    """A scale that offers options. `shuffle`: each person sees them in an order of their own."""

    directed: ClassVar[bool] = False
    better: ClassVar[str] = ""
    options: list[Option]
    shuffle: bool
    _shown: list[Option] | None = PrivateAttr(None)  # to a person

    def find_faults(self, at: str) -> Iterator[Fault]:
        yield from find_option_faults(self.options, f"{at}.options")

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(option.key for option in self.options)

    def list_options(self) -> tuple[tuple[str, str], ...]:
        return tuple((option.key, option.label) for option in self.options)

    def for_person(self, seed: str) -> Self:
        scale = self.model_copy()
        scale._shown = shuffle_options(self.options, seed)
        return scale

    @property
    def is_of_person(self) -> bool:
        return self.shuffle

    @property
    def shown_options(self) -> list[Option]:
        return self._shown or self.options

    @property
    def has_notes(self) -> bool:
        return any(option.notes for option in self.options)

    def has_words(self, key: str) -> bool:
        """Tell whether the option with this key has a box for words."""
        return any(option.other and option.key == key for option in self.options)

    def name_tested(self, value: Any) -> str:
        if value == NA:
            return self.na_words
        key, words = split_words(value)
        label = next((option.label for option in self.options if option.key == key), key)
        return f"{label}: {words}" if words else label

    def read_words(self, data: Mapping[str, Any], name: str) -> str:
        """Return the words posted at the option that has a box, as one line."""
        key = next((option.key for option in self.options if option.other), "")
        return " ".join(str(data.get(f"{name}.{key}-text") or "").split())[:LONGEST_WORDS]

    def write_options(self) -> list[str]:
        """Return the options as lines of Markdown."""
        return [
            line
            for option in self.options
            for line in (f"- {option.label}", *(f"  - {note}" for note in option.notes))
        ]


def find_option_faults(options: Sequence[Option], at: str) -> Iterator[Fault]:
    yield from find_twice(options, at)
    if sum(option.other for option in options) > 1:
        yield Fault("duplicate", at, "can have only one option with a box for other words")


def split_words(answer: str) -> tuple[str, str]:
    """Return the key of an answer, and the words written at it."""
    key, _, words = str(answer).partition("\n")
    return key, words


def join_words(key: str, words: str) -> str:
    return f"{key}\n{words}" if words else key


def shuffle_options(options: Sequence[Option], seed: str) -> list[Option]:
    """Return the options in an order of this seed; those for other cases stay last."""
    first = [option for option in options if not (option.other or option.exclusive)]
    make_random("options", seed).shuffle(first)
    return [*first, *(option for option in options if option.other or option.exclusive)]
