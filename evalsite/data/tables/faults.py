"""What is wrong with a file, and what to look at before importing it: each with code and place."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsite.lib.words import list_of

LONG_TEXT = 2000
PLACES = 3
_BEFORE, _SHOWN = 15, 40  # characters around the first difference of two texts

# a cheap scan for what most texts hold none of
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
_LINE = re.compile(r"^line (\d+)(?: \(record \d+\))?")
_NOTHING = {"nan", "none", "null", "n/a", "undefined", "#n/a", "#value!", "#ref!"}


@dataclass(frozen=True, slots=True)
class OddPlace:
    """Characters that are no ASCII, with the text around them."""

    line: int
    before: str
    odd: str
    after: str


@dataclass(frozen=True, slots=True)
class EncodingPreview:
    """What a file that isn't UTF-8 looks like as Windows-1252, for the researcher to judge."""

    places: list[OddPlace]
    counts: dict[str, int]  # by character, the most frequent first
    undefined: OddPlace | None  # the first byte that isn't Windows-1252 either


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that keeps a file out: its code, what it is, where it is, and what to do.

    `line` is the physical line of the file, `record` the row of data, both counted from 1. They
    differ once a cell holds a line break. The line of a sheet is its row, as `unit` says.
    """

    code: str
    message: str
    column: str = ""
    line: int | None = None
    record: int | None = None
    preview: EncodingPreview | None = field(default=None, compare=False, repr=False)
    unit: str = field(default="line", compare=False, repr=False)
    # encodings that the file may be in, with words as they would then be read
    readings: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)

    @property
    def place(self) -> str:
        place = name_place(self.line, self.record, self.column)
        return name_sheet_row(place) if self.unit == "row" else place

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


@dataclass(frozen=True, slots=True)
class FaultGroup:
    """Faults of a file that say the same of one column, and where they are."""

    code: str
    message: str
    place: str
    count: int

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


def group_faults(faults: Iterable[Fault]) -> list[FaultGroup]:
    """Put equal faults together, each group at the place of its first fault."""
    groups: dict[tuple[str, str, str], list[Fault]] = {}
    for fault in faults:
        groups.setdefault((fault.code, fault.message, fault.column), []).append(fault)
    return [
        FaultGroup(code, message, _name_places(group), len(group))
        for (code, message, _), group in groups.items()
    ]


def _name_places(faults: list[Fault]) -> str:
    """Name the places of equal faults: "rows 3, 5 and 212 more, output"."""
    first = faults[0]
    lines = [fault.line for fault in faults if fault.line is not None]
    if len(faults) == 1 or not lines:
        return first.place
    shown = [str(line) for line in lines[: PLACES - 1]]
    more = len(lines) - len(shown)
    last = f"{more:,} more" if more > 1 else str(lines[-1])
    listed = f"{', '.join(shown)} and {last}" if more else " and ".join(shown)
    return f"{first.unit}s {listed}" + (f", {first.column}" if first.column else "")


@dataclass(frozen=True)
class Question:
    """A decision that only a person can make, with its answers: key, words, perhaps a meaning."""

    key: str
    text: str
    choices: tuple[tuple[str, ...], ...]
    # ids of all inputs that it is about
    examples: tuple[str, ...] = ()
    # or lines of two files: number, both texts, whether it is about this line and the second text
    around: tuple[tuple[int, str, str, bool, bool], ...] = ()
    columns: tuple[str, ...] = ()
    # the answer that a page begins with, where the others would leave something out
    proposed: str = ""


class Refused(Exception):
    """Files can't be read on from here: a fault to correct, or questions to answer first.

    `file` is the file's name; "" if it concerns all of them, or there is only one.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        file: str = "",
        line: int | None = None,
        record: int | None = None,
        preview: EncodingPreview | None = None,
        questions: Sequence[Question] = (),
        files: Sequence[Any] = (),
    ) -> None:
        super().__init__(f"{file}: {message}" if file else message)
        self.code, self.message, self.file = code, message, file
        self.questions = tuple(questions)
        # what is known of each file nevertheless, whose roles may be the reason
        self.files = list(files)
        # and the columns of these files, with their first values
        self.columns: dict[str, str] = {}
        self.fault = Fault(code, str(self), line=line, record=record, preview=preview)


def name_place(line: int | None, record: int | None, column: str = "") -> str:
    """Name a place as every message does: "line 19 (record 17), output"."""
    parts = []
    if line is not None:
        parts.append(f"line {line}" + (f" (record {record})" if record is not None else ""))
    if column:
        parts.append(column)
    return ", ".join(parts)


def name_sheet_row(place: str) -> str:
    """Name the same place in a sheet, whose rows have numbers: "row 19, output"."""
    return _LINE.sub(r"row \1", place)


@dataclass
class Remark:
    """A warning: one kind of thing to look at, how often it occurs, and where first.

    Without a count the message says all.
    """

    code: str
    message: str
    count: int = 0
    places: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.count:
            return f"{self.message}."
        return f"{self.message} ({self.count:,} found). First: {'; '.join(self.places)}"


def describe_above(place: str, texts: Sequence[str]) -> str:
    """Say that titles above the names of columns, which are at this place, aren't read."""
    named = name_plainly(texts)
    return f"Above the names of columns, in {place}, there is other text, which isn't read: {named}"


class Remarks:
    """Collects warnings while a file is read; memory doesn't grow with their number."""

    def __init__(self) -> None:
        self._remarks: dict[str, Remark] = {}

    def add(self, code: str, message: str, line: int, record: int, column: str = "") -> None:
        """Count one more place of this kind."""
        remark = self._remarks.setdefault(message, Remark(code, message))
        remark.count += 1
        if len(remark.places) < PLACES:
            remark.places.append(name_place(line, record, column))

    def tell(self, code: str, sentence: str) -> None:
        """Add a sentence about the whole file, without a place."""
        self._remarks[sentence] = Remark(code, sentence)

    def check_text(self, text: str, line: int, record: int, column: str) -> None:
        """Add whatever is odd about a text that people will read."""
        place = line, record, column
        if len(text) > LONG_TEXT:
            self.add("long_text", f"Texts over {LONG_TEXT:,} characters", *place)
        if "[" in text and text.count("[") > text.count("]"):
            self.add("open_bracket", "Texts with a “[” that is never closed", *place)
        if _may_hold_leftovers(text) and _LEFTOVER.search(text):
            message = (
                "Texts with leftovers of a template or a tokenizer, like “{name}” or “<unk>”, "
                "which people would rate as part of them"
            )
            self.add("leftover", message, *place)
        if len(text) < _SHORT and text.strip().casefold() in _NOTHING:
            message = "Texts that are nothing but “NaN”, “None”, “null” or the like: a lost value"
            self.add("lost_value", message, *place)
        if not text.isascii() and _UNUSUAL.search(text):
            self._check_characters(text, place)

    def _check_characters(self, text: str, place: tuple[int, int, str]) -> None:
        if "\ufffd" in text:
            message = "Texts with the replacement character “\ufffd”: a letter was lost earlier"
            self.add("replacement_character", message, *place)
        if _MOJIBAKE.search(text):
            message = "Texts that look wrongly re-encoded, like “â€”” for a dash"
            self.add("mojibake", message, *place)
        if _BIDI.search(text):
            message = "Texts with characters that override the text direction"
            self.add("bidi_override", message, *place)

    def extend(self, remarks: Iterable[Remark]) -> None:
        self._remarks |= {remark.message: remark for remark in remarks}

    def listed(self) -> list[Remark]:
        return list(self._remarks.values())


def _may_hold_leftovers(text: str) -> bool:
    """Pass over most texts quicker than the pattern does; a loop takes twice as long."""
    return (
        "{" in text
        or "<" in text
        or "[" in text
        or "%(" in text
        or "TODO" in text
        or "orem ipsum" in text
    )


# all of C0 but tab and line breaks; PostgreSQL can't even store NUL
_CONTROL = re.compile("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f]")
# JSON can write one by an escape; no database stores it
_SURROGATE = re.compile("[\ud800-\udfff]")


def hold_control(texts: Iterable[str]) -> bool:
    """Tell quickly whether one of these texts holds a control character; most hold none."""
    return _CONTROL.search("".join(texts)) is not None


def find_control(text: str) -> str:
    """Describe the first control character of the text; "" if there is none."""
    match = _CONTROL.search(text)
    if match is None:
        return ""
    return f"a control character (U+{ord(match[0]):04X}, character {match.start() + 1:,})"


def find_surrogate(text: str) -> str:
    """Describe the first lone surrogate of the text; "" if there is none."""
    if text.isascii():
        return ""
    match = _SURROGATE.search(text)
    if match is None:
        return ""
    return f"an invalid character (U+{ord(match[0]):04X}, character {match.start() + 1:,})"


def show(text: str, most: int = 40) -> str:
    """Shorten a text so that a message can quote it, without lone surrogates."""
    short = text if len(text) <= most else f"{text[:most]}…"
    return _SURROGATE.sub("\ufffd", short)


def quote(name: object, most: int = 60) -> str:
    """Quote a name or id for a sentence, cut if it is long."""
    text = " ".join(str(name).split())
    return f"“{text}”" if len(text) <= most else f"“{text[: most - 1]}…”"


def find_difference(first: str, second: str) -> tuple[str, str]:
    """Return the parts of two texts around their first difference."""
    pairs = enumerate(zip(first, second, strict=False))
    at = next((n for n, (a, b) in pairs if a != b), min(len(first), len(second)))
    return _cut_around(first, at), _cut_around(second, at)


def _cut_around(text: str, at: int) -> str:
    start = max(0, at - _BEFORE)
    part = " ".join(text[start : start + _SHOWN].split())
    more = "…" if len(text) > start + _SHOWN else ""
    return f"{'…' if start else ''}{part}{more}"


def name_plainly(names: Sequence[object], most: int = 3) -> str:
    """Name the first few without quotes, as a sentence lists them."""
    shown = [show(" ".join(str(name).split()), 60) for name in names[:most]]
    more = [f"{len(names) - most:,} more"] if len(names) > most else []
    return list_of([*shown, *more])


def name_some(names: Sequence[object], most: int = 3) -> str:
    """Name the first few, and say that there are more."""
    named = ", ".join(quote(name) for name in names[:most])
    return f"{named} and {len(names) - most:,} more" if len(names) > most else named
