"""Options to choose from, as scales of one or several of them have them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsite.protocol.faults import (
    Faults,
    check_flag,
    check_key,
    check_keys,
    check_list,
    check_text,
    check_unique,
)
from evalsite.protocol.parts import COMMENT
from evalsite.protocol.scale import NA

# a part of a stored rating that is called so is a comment, an entry that the question is not asked
_TAKEN = frozenset({COMMENT, NA})


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option: its key in data, its words, and the notes under it.

    `is_exclusive`: it can't be chosen beside others, where several can be chosen.
    """

    key: str
    label: str
    notes: tuple[str, ...] = ()
    is_exclusive: bool = False

    def to_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {"key": self.key, "label": self.label}
        data |= {"notes": list(self.notes)} if self.notes else {}
        return data | ({"exclusive": True} if self.is_exclusive else {})


def read_options(data: Sequence[Mapping[str, Any]]) -> tuple[Option, ...]:
    return tuple(
        Option(
            key=one["key"],
            label=one["label"],
            notes=tuple(one.get("notes", ())),
            is_exclusive=one.get("exclusive", False),
        )
        for one in data
    )


def check_options(
    options: Any, place: str, faults: Faults, *, least: int, more: frozenset[str] = frozenset()
) -> None:
    """Add a fault for everything that is wrong with a list of options."""
    options = check_list(options, place, faults, least=least)
    for number, option in enumerate(options):
        at = f"{place}.{number}"
        if not check_keys(
            option, at, faults,
            needed={"key", "label"}, optional={"notes", "exclusive", "other", *more},
        ):  # fmt: skip
            continue
        if check_key(option.get("key", "a"), f"{at}.key", faults) and option.get("key") in _TAKEN:
            faults.add("bad_key", f"{at}.key", "is a word that answers use for something else")
        check_text(option.get("label", "-"), f"{at}.label", faults)
        check_flag(option.get("exclusive", False), f"{at}.exclusive", faults)
        if option.get("other"):
            words = "is not supported by this version yet: use a comment"
            faults.add("not_supported", f"{at}.other", words)
        for note, text in enumerate(check_list(option.get("notes", []), f"{at}.notes", faults)):
            check_text(text, f"{at}.notes.{note}", faults)
    keys = [option.get("key") for option in options if isinstance(option, Mapping)]
    check_unique(keys, place, faults)


def write_options(options: Sequence[Option]) -> list[str]:
    """Return the options as lines of Markdown."""
    return [
        line
        for option in options
        for line in (f"- {option.label}", *(f"  - {note}" for note in option.notes))
    ]
