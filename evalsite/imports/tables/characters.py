"""Characters that no file may bring in."""

import re
from collections.abc import Iterable

# all of C0 but tab and line breaks; PostgreSQL can't even store NUL
_CONTROL = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f]")
# JSON can write one by an escape; no database stores it
_SURROGATE = re.compile("[\ud800-\udfff]")


def hold_control(texts: Iterable[str]) -> bool:
    """Tell quickly whether one of these texts holds a control character; most hold none."""
    return _CONTROL.search("".join(texts)) is not None


def find_control(text: str) -> str:
    """Describe the first control character of the text; "" if there is none."""
    found = _CONTROL.search(text)
    if found is None:
        return ""
    return f"a control character (U+{ord(found[0]):04X}, character {found.start() + 1:,})"


def find_surrogate(text: str) -> str:
    """Describe the first lone surrogate of the text; "" if there is none."""
    if text.isascii():
        return ""
    found = _SURROGATE.search(text)
    if found is None:
        return ""
    return f"an invalid character (U+{ord(found[0]):04X}, character {found.start() + 1:,})"


def show(text: str, most: int = 40) -> str:
    """Shorten a text so that a message can quote it, without lone surrogates."""
    short = text if len(text) <= most else f"{text[:most]}…"
    return _SURROGATE.sub("\ufffd", short)
