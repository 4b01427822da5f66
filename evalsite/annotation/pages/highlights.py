"""Highlights as a page posts them: read, checked against the text, merged, and written back.

A page counts in the text as it shows it, where each line break is one character: browsers turn
CRLF and a lone CR into LF. What is stored counts in the untouched text. The two differ only after
a CR.
"""

import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy as _

from evalsite.instruments.schema import Instrument
from evalsite.lib.limited import read_json

MOST = 200
MISFIT = _("One highlight didn’t fit the text and wasn’t saved. Mark it again.")
TOO_MANY = _("You can mark at most %(most)s passages. Remove some, then save again.")
MISSING = _("“%(line)s” isn’t in the text. Copy each passage exactly as it is, one per line.")
_LONGEST_QUOTE = 60


@dataclass(frozen=True)
class MarksField:
    """The form names about one output: what a script posts, and the box that does without one."""

    name: str
    passages: str
    number: int


class Span(NamedTuple):
    """Code points of a text from `start` up to `end`."""

    start: int
    end: int

    def meets(self, other: "Span") -> bool:
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Reading:
    """The spans of the stored text that were marked, and what is wrong with others, if any."""

    spans: tuple[Span, ...] = ()
    error: str = ""


class EvenText(NamedTuple):
    """A text with single spaces, where each of its characters is in the text as it is shown, and
    which places of that are inside of a character.
    """

    text: str
    places: Sequence[int]
    splits: frozenset[int]


def marks_fields(config: Instrument, outputs: int) -> list[MarksField]:
    """Return the names for each output, by its place on the page; none where nothing is marked."""
    if not config.has_highlight:
        return []
    if outputs == 1:
        return [MarksField("highlights", "passages", 1)]
    numbers = range(1, outputs + 1)
    return [MarksField(f"highlights-{n}", f"passages-{n}", n) for n in numbers]


def read_marks(data: Mapping[str, Any], field: MarksField, text: str) -> Reading:
    """Return what fits of what was posted about this text; the box for passages wins if it came."""
    shown = _as_shown(text)
    spans, error = _read_list(str(data.get(field.name, "")), shown)
    if field.passages in data:
        spans, error = _read_lines(str(data[field.passages]), shown, spans)
    places = _places(text)
    stored = (Span(places[span.start], places[span.end]) for span in spans)
    return Reading(merge_spans(stored), error)


def write_marks(spans: Iterable[Span], text: str) -> str:
    """Return what a page gets, and posts if nothing is changed."""
    shown, places = _as_shown(text), _places(text)
    bounds = [(bisect_left(places, span.start), bisect_left(places, span.end)) for span in spans]
    entries = [[start, end, shown[start:end]] for start, end in bounds]
    # as a script would write it, which compares the two
    return json.dumps(entries, ensure_ascii=False, separators=(",", ":"))


def write_passages(spans: Iterable[Span], text: str) -> str:
    """Return the marked passages, one per line, as the box for passages holds them."""
    return "\n".join(" ".join(text[span.start : span.end].split()) for span in spans)


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the spans in order; those that overlap or touch become one."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return tuple(merged)


# --- the two ways to post -------------------------------------------------------------


def _read_list(posted: str, shown: str) -> tuple[list[Span], str]:
    """Return the spans of [start, end, quote] entries that fit, and what to say of the others."""
    if not posted.strip():
        return [], ""
    try:
        entries = read_json(posted)
    except (ValueError, RecursionError):
        return [], str(MISFIT)
    if not isinstance(entries, list):
        return [], str(MISFIT)
    error = TOO_MANY % {"most": MOST} if len(entries) > MOST else ""
    fitting = (_fit(entry, shown) for entry in entries[:MOST])
    spans = [span for span in fitting if span]
    return spans, error or (str(MISFIT) if len(spans) < len(entries) else "")


def _fit(entry: Any, shown: str) -> Span | None:
    """Return the span of an entry whose offsets and quote agree."""
    match entry:
        case [int() as start, int() as end, str() as quote]:
            is_whole = not isinstance(start, bool) and not isinstance(end, bool)
            is_inside = is_whole and 0 <= start < end <= len(shown)
            fits = is_inside and shown[start:end] == quote
            has_halves = fits and (_is_split(shown, start) or _is_split(shown, end))
            return Span(start, end) if fits and not has_halves else None
    return None


def _read_lines(posted: str, shown: str, saved: Iterable[Span]) -> tuple[list[Span], str]:
    """Find each line at its first free occurrence; the line of a saved passage keeps its place.

    White space counts as any other white space: copying a passage may change it.
    """
    lines = [line for text in re.split(r"[\r\n]+", posted) if (line := _even(text))]
    error = TOO_MANY % {"most": MOST} if len(lines) > MOST else ""
    taken, rest = _keep_saved(lines[:MOST], shown, saved)
    # Plain search in the text with even spaces: patterns would be made of the lines, and somebody
    # could post lines of which making one takes seconds.
    pieces = list(re.finditer(r"\s+|\S", shown)) if rest else []
    even = EvenText(
        "".join(" " if piece[0].isspace() else piece[0] for piece in pieces),
        [piece.start() for piece in pieces],
        frozenset(at for at in range(len(shown)) if _is_split(shown, at)) if rest else frozenset(),
    )
    # a line that comes again is looked for behind where it was found
    behind: dict[str, int] = {}
    for line in rest:
        span = _find_free(line, even, taken, behind)
        # one that is taken everywhere was marked
        if span is None and _find_free(line, even, (), {}) is None:
            words = line.replace("\x00", "")
            words = words if len(words) <= _LONGEST_QUOTE else f"{words[:_LONGEST_QUOTE]}…"
            error = error or MISSING % {"line": words}
        taken += [span] if span else []
    return taken, error


def _even(text: str) -> str:
    return " ".join(text.split())


def _find_free(
    line: str, even: EvenText, taken: Sequence[Span], behind: dict[str, int]
) -> Span | None:
    """Return the next occurrence of the line, in whole characters, that meets no span taken."""
    places = even.places
    at = even.text.find(line, behind.get(line, 0))
    while at >= 0:
        end = at + len(line)
        span = Span(places[at], places[end - 1] + 1)
        met = next((other for other in taken if other.meets(span)), None)
        if met is None and not {*span} & even.splits:
            behind[line] = end
            return span
        # whatever begins before the end of what it meets, meets that as well
        at = even.text.find(line, max(bisect_left(places, met.end) if met else 0, at + 1))
    behind[line] = len(even.text)
    return None


def _keep_saved(
    lines: list[str], shown: str, saved: Iterable[Span]
) -> tuple[list[Span], list[str]]:
    """Return the saved spans that lines repeat, and the lines that repeat none."""
    by_text: dict[str, list[Span]] = {}
    for span in saved:
        by_text.setdefault(_even(shown[span.start : span.end]), []).append(span)
    kept: list[Span] = []
    rest: list[str] = []
    for line in lines:
        if spans := by_text.get(line):
            kept.append(spans.pop(0))
        else:
            rest.append(line)
    return kept, rest


# --- characters ---------------------------------------------------------------------------

_JOINER = "\u200d"
_MARKS = ("Mn", "Mc", "Me")
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
# skin tones, and the letters of the flags of regions
_MODIFIERS = (range(0x1F3FB, 0x1F400), range(0xE0020, 0xE0080))
_HANGUL = range(0x1100, 0x1200)
# vowels and final consonants, which belong to the letter before
_LATER_HANGUL = range(0x1160, 0x1200)


def _is_split(text: str, at: int) -> bool:
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


# --- the text as shown, and as stored -----------------------------------------------------


def _as_shown(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _places(text: str) -> Sequence[int]:
    """Return the place in the stored text of each place in the shown text, its end included."""
    if "\r" not in text:
        return range(len(text) + 1)
    return [*(match.start() for match in re.finditer(r"\r\n|.", text, re.S)), len(text)]
