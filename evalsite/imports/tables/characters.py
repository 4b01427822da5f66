"""Signs that no file may bring in."""

import re
from collections.abc import Iterable

# all of C0 but tab and line breaks; PostgreSQL cannot even store NUL
_CONTROL = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f]")
# JSON and Excel can write one by an escape; no database stores it
_SURROGATE = re.compile("[\ud800-\udfff]")


def hold_control(texts: Iterable[str]) -> bool:
    """Whether one of these texts holds a control character; quick, as most hold none."""
    return _CONTROL.search("".join(texts)) is not None


def find_control(text: str) -> str:
    """The first control character of the text and its place, in words; "" if there is none."""
    found = _CONTROL.search(text)
    if found is None:
        return ""
    return f"the control character U+{ord(found[0]):04X} as sign {found.start() + 1:,}"


def find_surrogate(text: str) -> str:
    """The first half of a letter and its place, in words; "" if every letter is whole."""
    if text.isascii():
        return ""
    found = _SURROGATE.search(text)
    if found is None:
        return ""
    return f"half of a letter, the surrogate U+{ord(found[0]):04X}, as sign {found.start() + 1:,}"


def show(text: str, most: int = 40) -> str:
    """The text as a message can quote it: short, and without halves of letters."""
    short = text if len(text) <= most else f"{text[:most]}…"
    return _SURROGATE.sub("\ufffd", short)
