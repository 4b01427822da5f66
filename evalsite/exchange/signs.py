"""Signs that no file may bring in."""

import re

# all of C0 but tab and line breaks; PostgreSQL cannot even store NUL
_CONTROL = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f]")


def find_control(text: str) -> str:
    """The first control character of the text and its place, in words; "" if there is none."""
    found = _CONTROL.search(text)
    if found is None:
        return ""
    return f"the control character U+{ord(found[0]):04X} as sign {found.start() + 1:,}"
