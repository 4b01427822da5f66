"""What a researcher should look at before importing: nothing here keeps a file out."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from evalsite.imports.tables.faults import name_place

LONG_TEXT = 2000
PLACES = 3

# what a cheap scan finds first: most texts hold none of these
_UNUSUAL = re.compile("[\ufffd\u202a-\u202e\u2066-\u2069ÂÃâ‚]")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
# UTF-8 that was read as Windows-1252 or Mac Roman and saved again: é as Ã©, — as â€” or ‚Äî
_MOJIBAKE = re.compile(
    "[ÂÃ][\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a"
    "\u20ac\u2122]|â[\u0080-\u00bf€]|‚Ä"
)

# what templates and tokenizers leave behind; not the [slots] of delexicalised texts
_LEFTOVER = re.compile(
    r"\{\{?\s*[A-Za-z_][\w .-]{0,40}\}\}?|%\(\w+\)s"
    r"|<\|?(?:/?s|unk|pad|eos|bos|sep|cls|mask|endoftext|im_start|im_end|eot_id)\|?>|<</?SYS>>"
    r"|\[(?:/?INST|UNK|PAD|SEP|CLS|MASK|EOS|BOS)\]|\b(?-i:TODO)\b|lorem ipsum",
    re.I,
)
_SHORT = 12
_NOTHING = {"nan", "none", "null", "n/a", "undefined", "#n/a", "#value!", "#ref!"}


@dataclass
class Remark:
    """One kind of thing to look at: how often it stands in the file, and where first.

    Without a count the message is a sentence that says all.
    """

    message: str
    count: int = 0
    places: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.count:
            return f"{self.message}."
        return f"{self.message} ({self.count:,} found). First: {'; '.join(self.places)}"


class Remarks:
    """Collects remarks while a file is read; memory does not grow with their number."""

    def __init__(self) -> None:
        self._found: dict[str, Remark] = {}

    def add(self, message: str, line: int, record: int, column: str = "") -> None:
        remark = self._found.setdefault(message, Remark(message))
        remark.count += 1
        if len(remark.places) < PLACES:
            remark.places.append(name_place(line, record, column))

    def tell(self, sentence: str) -> None:
        """What is true of the whole file is said, without a place."""
        self._found[sentence] = Remark(sentence)

    def check_text(self, text: str, line: int, record: int, column: str) -> None:
        """Whatever is odd about this text is remarked on."""
        if len(text) > LONG_TEXT:
            self.add(f"Texts over {LONG_TEXT:,} letters", line, record, column)
        if "[" in text and text.count("[") > text.count("]"):
            self.add("Texts with a “[” that is never closed", line, record, column)
        if _may_hold_leftovers(text) and _LEFTOVER.search(text):
            message = (
                "Texts with leftovers of a template or a tokenizer, like “{name}” or “<unk>”, "
                "which people would rate as part of them"
            )
            self.add(message, line, record, column)
        if len(text) < _SHORT and text.strip().casefold() in _NOTHING:
            message = "Texts that are nothing but “NaN”, “None”, “null” or the like: a lost value"
            self.add(message, line, record, column)
        if not text.isascii() and _UNUSUAL.search(text):
            self._check_signs(text, line, record, column)

    def _check_signs(self, text: str, line: int, record: int, column: str) -> None:
        if "\ufffd" in text:
            message = "Texts with the replacement sign “\ufffd”: a letter was lost before"
            self.add(message, line, record, column)
        if _MOJIBAKE.search(text):
            message = "Texts that look wrongly re-encoded, like “â€”” for a dash"
            self.add(message, line, record, column)
        if _BIDI.search(text):
            message = "Texts with signs that override the direction of writing"
            self.add(message, line, record, column)

    def extend(self, remarks: Iterable[Remark]) -> None:
        self._found |= {remark.message: remark for remark in remarks}

    def listed(self) -> list[Remark]:
        return list(self._found.values())


def _may_hold_leftovers(text: str) -> bool:
    """Quicker than the pattern, and enough for most texts; in a loop it took twice as long."""
    return (
        "{" in text
        or "<" in text
        or "[" in text
        or "%(" in text
        or "TODO" in text
        or "orem ipsum" in text
    )
