"""Options to choose from, as scales of one or several of them have them.

Words that were written at an option follow its key, after a line break, in answers and values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from evalsite.lib.seeds import make_random
from evalsite.scales.points import ScaleOfParts

LONGEST_WORDS = 500


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option: its key in data, its words, and the notes under it.

    `is_exclusive`: it can't be chosen beside others, where several can be chosen. `has_words`: it
    has a box for words of one's own.
    """

    key: str
    label: str
    notes: tuple[str, ...] = ()
    is_exclusive: bool = False
    has_words: bool = False

    def to_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {"key": self.key, "label": self.label}
        data |= {"notes": list(self.notes)} if self.notes else {}
        data |= {"exclusive": True} if self.is_exclusive else {}
        return data | ({"other": True} if self.has_words else {})


@dataclass(frozen=True, kw_only=True)
class ScaleOfOptions(ScaleOfParts):
    """A scale that offers options.

    `is_shuffled`: each person sees them in an order of their own, `shown`.
    """

    options: tuple[Option, ...]
    is_shuffled: bool = False
    shown: tuple[Option, ...] = ()
    better: ClassVar[str] = ""
    has_direction: ClassVar[bool] = False

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(option.key for option in self.options)

    def list_options(self) -> tuple[tuple[str, str], ...]:
        return tuple((option.key, option.label) for option in self.options)

    def for_person(self, seed: str) -> Self:
        return replace(self, shown=shuffle_options(self.options, seed))

    @property
    def is_of_person(self) -> bool:
        return self.is_shuffled

    @property
    def shown_options(self) -> tuple[Option, ...]:
        return self.shown or self.options

    @property
    def has_notes(self) -> bool:
        return any(option.notes for option in self.options)


def read_options(data: Sequence[Mapping[str, Any]]) -> tuple[Option, ...]:
    return tuple(
        Option(
            key=one["key"],
            label=one["label"],
            notes=tuple(one.get("notes", ())),
            is_exclusive=one.get("exclusive", False),
            has_words=one.get("other", False),
        )
        for one in data
    )


def split_words(answer: str) -> tuple[str, str]:
    """Return the key of an answer, and the words written at it."""
    key, _, words = str(answer).partition("\n")
    return key, words


def join_words(key: str, words: str) -> str:
    return f"{key}\n{words}" if words else key


def read_words(data: Mapping[str, Any], name: str, options: Sequence[Option]) -> str:
    """Return the words posted at the option that has a box, as one line."""
    found = next((one.key for one in options if one.has_words), "")
    return " ".join(str(data.get(f"{name}.{found}-text") or "").split())[:LONGEST_WORDS]


def shuffle_options(options: Sequence[Option], seed: str) -> tuple[Option, ...]:
    """Return the options in an order of this seed; those for other cases stay last."""
    first = [one for one in options if not (one.has_words or one.is_exclusive)]
    make_random("options", seed).shuffle(first)
    return (*first, *(one for one in options if one.has_words or one.is_exclusive))


def write_options(options: Sequence[Option]) -> list[str]:
    """Return the options as lines of Markdown."""
    return [
        line
        for option in options
        for line in (f"- {option.label}", *(f"  - {note}" for note in option.notes))
    ]
