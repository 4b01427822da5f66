"""Replacing what identifies people in words that they wrote."""

import re

# short parts, so that no text takes long to search
_EMAIL = re.compile(r"[\w.+%'-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
# telephone numbers, dates of birth: seven digits or more, as people group them; ids of platforms
_NUMBER = re.compile(
    r"\b[0-9a-fA-F]{16,}\b"
    r"|\bA(?=[A-Z]{0,13}[0-9])[A-Z0-9]{11,14}\b"  # of a panel, such as A1B2C3D4E5F6G7
    r"|\+?\d(?:[ .()/-]{0,2}\d){6,}"
)
EMAIL, NUMBER = "[e-mail]", "[number]"


def mask_words(text: str) -> str:
    """Replace e-mail addresses and long numbers; what is masked stays as it is."""
    return _NUMBER.sub(NUMBER, _EMAIL.sub(EMAIL, text))
