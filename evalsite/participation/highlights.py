"""Highlights as a page posts them: read, checked against the text, merged, and written back."""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from evalsite.instruments.schema import Instrument
from evalsite.lib.limited import read_json
from evalsite.lib.passages import (
    EvenText,
    Span,
    as_shown,
    find_passage,
    find_places,
    fits,
    make_even,
)

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


@dataclass(frozen=True)
class Reading:
    """The spans of the stored text that were marked, and what is wrong with others, if any."""

    spans: tuple[Span, ...] = ()
    error: str = ""


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
    shown = as_shown(text)
    spans, error = _read_list(str(data.get(field.name, "")), shown)
    if field.passages in data:
        spans, error = _read_lines(str(data[field.passages]), shown, spans)
    places = find_places(text)
    stored = (Span(places[span.start], places[span.end]) for span in spans)
    return Reading(merge_spans(stored), error)


def write_marks(spans: Iterable[Span], text: str) -> str:
    """Return what a page gets, and posts if nothing is changed."""
    shown, places = as_shown(text), find_places(text)
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
    except ValueError:
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
            return Span(start, end) if is_whole and fits(Span(start, end), quote, shown) else None
    return None


def _read_lines(posted: str, shown: str, saved: Iterable[Span]) -> tuple[list[Span], str]:
    """Find each line at its first free occurrence; the line of a saved passage keeps its place.

    White space counts as any other white space: copying a passage may change it.
    """
    lines = [line for text in re.split(r"[\r\n]+", posted) if (line := _even(text))]
    error = TOO_MANY % {"most": MOST} if len(lines) > MOST else ""
    taken, rest = _keep_saved(lines[:MOST], shown, saved)
    even = make_even(shown if rest else "")
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
    at = behind.get(line, 0)
    while at < len(even.text):
        span, at = find_passage(line, even, at)
        met = next((other for other in taken if span and other.meets(span)), None)
        if span and met is None:
            behind[line] = at + len(line)
            return span
        # whatever begins before the end of what it meets, meets that as well
        at = max(bisect_left(even.places, met.end) if met else 0, at + 1)
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
