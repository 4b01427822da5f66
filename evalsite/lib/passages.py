"""Passages of a text, counted in code points: found, checked, and never half a character.

A page counts in the text as it shows it, where each line break is one character: browsers turn
CRLF and a lone CR into LF. What is stored counts in the untouched text. The two differ only after
a CR.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """Code points of a text from `start` up to `end`."""

    start: int
    end: int

    def meets(self, other: "Span") -> bool:
        return self.start < other.end and other.start < self.end


class EvenText(NamedTuple):
    """A text with single spaces, where each of its characters is in the text as it is shown, and
    which places of that are inside of a character.
    """

    text: str
    places: Sequence[int]
    splits: frozenset[int]


def make_even(shown: str) -> EvenText:
    """Make white space count as any other white space: copying a passage may change it."""
    # Plain search in it: patterns would be made of what is looked for, and somebody could post
    # lines of which making one takes seconds.
    pieces = list(re.finditer(r"\s+|\S", shown))
    return EvenText(
        "".join(" " if piece[0].isspace() else piece[0] for piece in pieces),
        [piece.start() for piece in pieces],
        frozenset(at for at in range(len(shown)) if is_split(shown, at)),
    )


def find_passage(words: str, even: EvenText, start: int = 0) -> tuple[Span | None, int]:
    """Return the next occurrence of these even words in whole characters, as shown, and its place.

    `start` and the place are those of the even text; the place is its length if there is none.
    """
    places = even.places
    at = even.text.find(words, start)
    while at >= 0:
        span = Span(places[at], places[at + len(words) - 1] + 1)
        if not {*span} & even.splits:
            return span, at
        at = even.text.find(words, at + 1)
    return None, len(even.text)


_JOINER = "\u200d"
_MARKS = ("Mn", "Mc", "Me")
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
# skin tones, and the letters of the flags of regions
_MODIFIERS = (range(0x1F3FB, 0x1F400), range(0xE0020, 0xE0080))
_HANGUL = range(0x1100, 0x1200)
# vowels and final consonants, which belong to the letter before
_LATER_HANGUL = range(0x1160, 0x1200)


def is_split(text: str, at: int) -> bool:
    """Return whether a passage that begins or ends here would split what is read as one character.

    Such as a letter with an accent of its own, or a picture of several people.
    """
    if not 0 < at < len(text) or text[at].isascii():
        return False
    before, after = text[at - 1], text[at]
    code = ord(after)
    if unicodedata.category(after) in _MARKS or any(code in signs for signs in _MODIFIERS):
        return True
    if after == _JOINER or before == _JOINER:
        return after == _JOINER or unicodedata.category(after) == "So"
    if after in _FLAG_LETTERS:
        # a flag is a pair of letters; of a text full of them, the last are enough
        letters = text[max(0, at - 1_000) : at]
        return (len(letters) - len(letters.rstrip(_FLAG_LETTERS))) % 2 == 1
    return code in _LATER_HANGUL and ord(before) in _HANGUL


def as_shown(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def find_places(text: str) -> Sequence[int]:
    """Return the place in the stored text of each place in the shown text, its end included."""
    if "\r" not in text:
        return range(len(text) + 1)
    return [*(match.start() for match in re.finditer(r"\r\n|.", text, re.S)), len(text)]


def fits(span: Span, quote: str, shown: str) -> bool:
    """Tell whether this span is of whole characters of the text, and is what is quoted."""
    is_inside = 0 <= span.start < span.end <= len(shown)
    is_quoted = is_inside and shown[span.start : span.end] == quote
    return is_quoted and not (is_split(shown, span.start) or is_split(shown, span.end))
