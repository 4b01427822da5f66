"""One input of an item as a page shows it: whole, with a fold of the reader's own if it is long."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from evalsite.lib.conversations import read_turns
from evalsite.lib.dialogue import Turn, parse_dialogue
from evalsite.lib.rich_text import render_rich
from evalsite.protocol import InputColumn

# from more characters or turns on, people can fold an input
_LONG_INPUT, _LONG_INPUT_TURNS = 600, 6
# more than a screen
_SEARCHED_TEXT = 4000
_DIALOGUES = ("dialogue", "conversation")


@dataclass(frozen=True)
class Segment:
    """A stretch of a text, marked or not."""

    text: str
    is_marked: bool = False


@dataclass(frozen=True)
class InputView:
    """One input: its column, and its text in segments."""

    name: str
    label: str
    kind: str
    value: str
    segments: tuple[Segment, ...]
    language: str = ""  # of code

    @cached_property
    def html(self) -> SafeString | None:
        """What it looks like, of a kind that isn't plain text; marks are shown in that."""
        if any(segment.is_marked for segment in self.segments):
            return None
        return render_rich(self.value, self.kind, self.language)

    @property
    def is_searched(self) -> bool:
        """Whether it is so long that the page offers to find words in it."""
        return len(self.value) > _SEARCHED_TEXT

    @property
    def is_foldable(self) -> bool:
        """Whether people can fold it to its first lines; it starts open."""
        return len(self.value) > _LONG_INPUT or self.turn_count > _LONG_INPUT_TURNS

    @property
    def size(self) -> str:
        """How much a fold holds: its turns, or its words."""
        count = self.turn_count or len(self.value.split())
        if self.turn_count:
            return ngettext("%(count)s turn", "%(count)s turns", count) % {"count": count}
        words = {"count": number_format(count, force_grouping=True)}
        return ngettext("%(count)s word", "%(count)s words", count) % words

    @property
    def turn_count(self) -> int:
        return len(self.turns) if len(self.turns) > 1 else len(self._chat)

    @cached_property
    def _chat(self) -> Sequence[Any]:
        """The turns of a conversation as data."""
        return (read_turns(self.value) or ()) if self.kind == "conversation" else ()

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of a dialogue; none of any other kind of input."""
        return parse_dialogue(self.value) if self.kind in _DIALOGUES else ()


def view_input(column: InputColumn, value: Any, marked: Sequence[str]) -> InputView:
    text = str(value)
    return InputView(
        name=column.name,
        label=column.label,
        kind=column.kind,
        value=text,
        segments=tuple(split_marked(text, marked)),
        language=column.language,
    )


def split_marked(text: str, marked: Sequence[str]) -> list[Segment]:
    """The text in segments; each passage of `marked` is marked where it first occurs."""
    segments: list[Segment] = []
    rest = text
    for passage in sorted(marked, key=text.find):
        before, found, after = rest.partition(passage)
        if not found:
            continue
        segments += [Segment(before)] if before else []
        segments.append(Segment(found, is_marked=True))
        rest = after
    return [*segments, Segment(rest)] if rest or not segments else segments
