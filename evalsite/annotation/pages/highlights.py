"""Highlights as a page posts them: read, checked against the text, merged, and written back.

A page counts in the text as it shows it, where each line break is one sign: browsers turn CRLF and
a lone CR into LF. What is stored counts in the untouched text. The two differ only after a CR.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from evalsite.lib.limited import read_json
from evalsite.protocol import Protocol

MOST = 200
MISFIT = _("One highlight didn’t fit the text and wasn’t saved. Mark it again.")
TOO_MANY = _("You can mark at most %(most)s passages. Remove some, then save again.")
_LONGEST_LINE_SAID = 60


@dataclass(frozen=True)
class MarksField:
    """The form names about one output: what a script posts, and the box that does without one."""

    name: str
    passages: str
    number: int


@dataclass(frozen=True, order=True)
class Span:
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


def marks_fields(config: Protocol, outputs: int) -> list[MarksField]:
    """The names for each output, by its place on the page; none where nothing is marked."""
    if not config.has_highlight:
        return []
    if outputs == 1:
        return [MarksField("highlights", "passages", 1)]
    numbers = range(1, outputs + 1)
    return [MarksField(f"highlights-{n}", f"passages-{n}", n) for n in numbers]


def read_marks(data: Mapping[str, Any], field: MarksField, text: str) -> Reading:
    """All that fits of what was posted about this text. The box for passages rules if it came."""
    shown = _as_shown(text)
    spans, error = _read_list(str(data.get(field.name, "")), shown)
    if field.passages in data:
        spans, error = _read_lines(str(data[field.passages]), shown, spans)
    places = _places(text)
    stored = (Span(places[span.start], places[span.end]) for span in spans)
    return Reading(merge_spans(stored), error)


def write_marks(spans: Iterable[Span], text: str) -> str:
    """What a page is given, and posts if nothing is changed."""
    shown, places = _as_shown(text), _places(text)
    found = [(bisect_left(places, one.start), bisect_left(places, one.end)) for one in spans]
    entries = [[start, end, shown[start:end]] for start, end in found]
    # as a script would write it, which compares the two
    return json.dumps(entries, ensure_ascii=False, separators=(",", ":"))


def write_passages(spans: Iterable[Span], text: str) -> str:
    """The marked passages, one per line, as the box for passages holds them."""
    return "\n".join(" ".join(text[span.start : span.end].split()) for span in spans)


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The spans in order; those that overlap or touch have become one."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return tuple(merged)


# --- the two ways to post -------------------------------------------------------------


def _read_list(posted: str, shown: str) -> tuple[list[Span], str]:
    """A list of [start, end, quote]: those that fit, up to the most, and what to say of others."""
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
    """The span of an entry whose offsets and quote agree."""
    match entry:
        case [int() as start, int() as end, str() as quote]:
            is_whole = not isinstance(start, bool) and not isinstance(end, bool)
            is_inside = is_whole and 0 <= start < end <= len(shown)
            return Span(start, end) if is_inside and shown[start:end] == quote else None
    return None


def _read_lines(posted: str, shown: str, standing: Iterable[Span]) -> tuple[list[Span], str]:
    """Each line at its first free occurrence; the line of a saved passage keeps its place.

    White space counts as any other white space: copying a passage may change it.
    """
    lines = [line for one in re.split(r"[\r\n]+", posted) if (line := _even(one))]
    error = TOO_MANY % {"most": MOST} if len(lines) > MOST else ""
    taken, rest = _keep_standing(lines[:MOST], shown, standing)
    # Plain search in the text with even spaces: patterns would be made of the lines, and somebody
    # could post lines of which making one takes seconds.
    even, places = _even_out(shown) if rest else ("", [])
    # a line that comes again is looked for behind where it was found
    behind: dict[str, int] = {}
    for line in rest:
        if line not in even:
            error = error or _describe_missing(line)
            continue
        span = _find_free(line, even, places, taken, behind)
        taken += [span] if span else []
    return taken, error


def _even(text: str) -> str:
    return " ".join(text.split())


def _even_out(text: str) -> tuple[str, list[int]]:
    """Return the text with single spaces for runs of white space, and where each character was."""
    pieces = list(re.finditer(r"\s+|\S", text))
    even = "".join(" " if one[0].isspace() else one[0] for one in pieces)
    return even, [one.start() for one in pieces]


def _find_free(
    line: str, even: str, places: Sequence[int], taken: Sequence[Span], behind: dict[str, int]
) -> Span | None:
    """The next occurrence of the line that meets no span that is taken."""
    at = even.find(line, behind.get(line, 0))
    while at >= 0:
        end = at + len(line)
        span = Span(places[at], places[end - 1] + 1)
        met = next((one for one in taken if one.meets(span)), None)
        if met is None:
            behind[line] = end
            return span
        # whatever begins before the end of that one meets it as well
        at = even.find(line, max(bisect_left(places, met.end), at + 1))
    behind[line] = len(even)
    return None


def _keep_standing(
    lines: list[str], shown: str, standing: Iterable[Span]
) -> tuple[list[Span], list[str]]:
    """The standing spans that lines repeat, and the lines that repeat none."""
    said: dict[str, list[Span]] = {}
    for span in standing:
        said.setdefault(_even(shown[span.start : span.end]), []).append(span)
    kept: list[Span] = []
    rest: list[str] = []
    for line in lines:
        if same := said.get(line):
            kept.append(same.pop(0))
        else:
            rest.append(line)
    return kept, rest


def _describe_missing(line: str) -> str:
    line = line.replace("\x00", "")
    said = line if len(line) <= _LONGEST_LINE_SAID else f"{line[:_LONGEST_LINE_SAID]}…"
    return _("“%(line)s” isn’t in the text. Copy each passage exactly as it is, one per line.") % {
        "line": said
    }


# --- the text as shown, and as stored -----------------------------------------------------


def _as_shown(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _places(text: str) -> Sequence[int]:
    """For each place in the text as shown, its end too, the place in the text as stored."""
    if "\r" not in text:
        return range(len(text) + 1)
    return [*(one.start() for one in re.finditer(r"\r\n|.", text, re.S)), len(text)]
