"""Keys of questions, columns and options: made of words, until somebody writes another one."""

import re
from collections.abc import Container, Iterable
from typing import Any

from evalsite.instruments.checks import RESERVED_COLUMNS, RESERVED_KEYS
from evalsite.instruments.scales import COMMENT

_NOT_KEY = re.compile(r"[^a-z0-9]+")


def make_key(words: str, taken: Container[Any] = ()) -> str:
    """Return a key like these words that isn't taken: "Too long" is too_long."""
    start = _NOT_KEY.sub("_", words.casefold()).strip("_")[:36].strip("_")
    start = start if start[:1].isalpha() else f"q_{start}".strip("_")
    number, key = 1, start
    while key in taken:
        number += 1
        key = f"{start}_{number}"
    return key


def make_column(label: str, taken: Iterable[Any]) -> str:
    """Return a column for a question of this name, which no other one and no file has."""
    keys = {str(key) for key in taken}
    if make_key(label) in RESERVED_KEYS:
        label = f"{label} answer"
    return make_key(label, RESERVED_KEYS | keys | {"turn"} | {f"{key}_{COMMENT}" for key in keys})


def make_key_at(place: str, words: str, taken: Iterable[Any]) -> str:
    """Return a key for a row of the list at this place of a draft."""
    if place == "criteria":
        return make_column(words, taken)
    reserved = RESERVED_COLUMNS if place.startswith("item.") else frozenset()
    return make_key(words, {*taken, *reserved})


def is_key_of(key: str, words: str) -> bool:
    """Tell whether this key was made of these words, with or without more after it."""
    return re.fullmatch(rf"{make_key(words)}(_answer)?(_[0-9]+)?", key) is not None
