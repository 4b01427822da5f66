"""Dialogues in the forms people have them, as turns. Nothing here runs or trusts any markup."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from typing import Literal

from evalsite.lib.limited import read_json

Side = Literal["a", "b"]


@dataclass(frozen=True)
class Turn:
    """One speaker's turn. The first to speak is side a, everyone else side b."""

    speaker: str
    text: str
    side: Side = "a"


# A name at the start of a line: at most three words, so that "One thing I forgot: milk" is none.
# Without a space after the colon letters must follow: "at 12:30" and "see http://" name no speaker.
_NAMED = re.compile(
    r"""\s*
    (?P<speaker>
        (?:[A-Z][a-z]{0,3}\.[ ])?
        [^\s\[\]<>{}()"“”«»?!.;,:：/–—-]
        [^\[\]<>{}"“”?!.;,:：/\n]{0,29}?
    )
    (?:[ \t\u00a0]*:(?=\s|$)|:(?=["“«]|[^\W\d_]{2})|[ ]?：)
    \s*(?P<text>.*)""",
    re.VERBOSE | re.DOTALL,
)
_MOST_WORDS = 3
# Words before a colon at the start of a line that aren't a speaker's name.
_NOBODY = frozenset({
    "note", "notes", "nb", "ps", "edit", "update", "warning", "caution", "tip", "hint",
    "important", "attention", "address", "phone", "tel", "telephone", "email", "url", "website",
    "price", "cost", "fee", "total", "time", "date", "day", "duration", "departure", "arrival",
    "reference", "postcode", "booking", "summary", "example", "examples", "options", "result",
})  # fmt: skip
_LINE_END = re.compile(r"\r\n|\r|\n")

# HTML is read only in a text that is wrapped in it, and that a page can parse at once.
_LONGEST_HTML = 20_000
_BLOCKS = frozenset({"p", "div", "ol", "ul", "li", "br"})
_INLINE = frozenset({"b", "strong", "i", "em", "u", "font", "span"})
_OPENS = re.compile(r"<(?:p|div|ol|ul|li)(?:\s[^<>]*)?>", re.IGNORECASE)
_CLOSES = re.compile(r"</(?:p|div|ol|ul|li)>$", re.IGNORECASE)
_HTML_SPACE = re.compile(r"[ \t\r\n\f]+")

_SPEAKER_NAMES = ("speaker", "role", "name", "from", "author", "sender", "participant", "agent")
_TEXT_NAMES = ("text", "content", "utterance", "message", "value", "body")
_UNNAMED = ("A", "B")


def parse_dialogue(text: str) -> tuple[Turn, ...]:
    """Return the turns of a dialogue; what is not one is a single turn without a speaker.

    Read are lines "Speaker: text" (a line without a speaker goes on with the turn before), a
    JSON list of turns, and paragraphs of HTML, whose own marks are dropped and whose others are
    text. In a JSON list without speakers A and B take turns.
    """
    turns = _read_json(text) or _read_lines(strip_markup(text))
    first = next((_fold(turn.speaker) for turn in turns if turn.speaker), "")
    return tuple(
        replace(turn, side="a" if not turn.speaker or _fold(turn.speaker) == first else "b")
        for turn in turns
    )


def plain_output(text: str, speakers: Iterable[str] = ()) -> Turn:
    """Return the next line of a dialogue without markup, and its speaker if one of these is named.

    A name that isn't a speaker's stays text: an utterance may begin with "Listen:".
    """
    plain = strip_markup(text)
    known = {_fold(speaker) for speaker in speakers} - {""}
    named = _split_line(plain)
    if named and _fold(named.speaker) in known:
        return named
    return Turn("", plain)


def strip_markup(text: str) -> str:
    """Return the paragraphs of a text wrapped in HTML, one a line; any other text unchanged."""
    wrapped = text.strip()
    if (
        len(wrapped) > _LONGEST_HTML
        or not _OPENS.match(wrapped)
        or not _CLOSES.search(wrapped[-8:])
    ):
        return text
    reader = _Paragraphs()
    try:
        reader.feed(wrapped)
        reader.close()
    except AssertionError:  # how the parser refuses some forms of <![
        return text
    return reader.text


class _Paragraphs(HTMLParser):
    """Collects text by paragraph. What is not in the closed lists of marks is text itself."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        lines = "".join(self._pieces).split("\n")
        return "\n".join(stripped for line in lines if (stripped := line.strip(" ")))

    def set_cdata_mode(self, elem: str, **options: object) -> None:
        """Leave the reader in its ordinary mode: a script is text like any other."""

    def handle_data(self, data: str) -> None:
        self._pieces.append(_HTML_SPACE.sub(" ", data))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._handle_tag(tag, self.get_starttag_text() or f"<{tag}>")

    def handle_endtag(self, tag: str) -> None:
        self._handle_tag(tag, f"</{tag}>")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_comment(self, data: str) -> None:
        self.handle_data(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.handle_data(f"<!{decl}>")

    def unknown_decl(self, data: str) -> None:
        self.handle_data(f"<![{data}]>")

    def handle_pi(self, data: str) -> None:
        self.handle_data(f"<?{data}>")

    def _handle_tag(self, tag: str, source: str) -> None:
        if tag in _BLOCKS:
            self._pieces.append("\n")
        elif tag not in _INLINE:
            self.handle_data(source)


def _read_lines(text: str) -> list[Turn]:
    """Return turns from named lines, or the text unchanged if no line names a speaker."""
    turns: list[tuple[str, list[str]]] = [("", [])]
    for line in _LINE_END.split(text):
        named = _split_line(line)
        if named:
            turns.append((named.speaker, [named.text]))
        else:
            turns[-1][1].append(line)
    # alone, words in small letters begin a request: “Translate to French: good evening”
    alone = turns[1][0].split()[1:] if len(turns) == 2 else []
    if len(turns) == 1 or any(word[0].islower() for word in alone):
        return [Turn("", text)]
    joined = [Turn(speaker, "\n".join(lines).strip()) for speaker, lines in turns]
    return [turn for turn in joined if turn.speaker or turn.text]


def _split_line(line: str) -> Turn | None:
    match = _NAMED.match(line)
    if match is None or len(match["speaker"].split()) > _MOST_WORDS:
        return None
    speaker = match["speaker"].strip()
    return None if _fold(speaker) in _NOBODY else Turn(speaker, match["text"])


def _read_json(text: str) -> list[Turn]:
    """Return the turns of a JSON list; [] if the text isn't one with words in every turn."""
    if not text.lstrip().startswith("["):
        return []
    try:
        parsed = read_json(text)
    except ValueError:
        return []
    turns = [turn for turn in map(_read_turn, parsed) if turn]
    if len(turns) < len(parsed):
        return []
    return turns if any(turn.speaker for turn in turns) else _name_speakers(turns)


def _read_turn(turn: object) -> Turn | None:
    if isinstance(turn, str):
        return Turn("", _mend(turn))
    if not isinstance(turn, dict):
        return None
    named = {str(key).casefold(): value for key, value in turn.items()}
    words = _pick(named, _TEXT_NAMES)
    if words is not None:
        return Turn(_pick(named, _SPEAKER_NAMES) or "", words)
    # {"user": "Hi"}: who speaks is the name of the text
    speaker, text = next(iter(turn.items())) if len(turn) == 1 else ("", None)
    if not isinstance(text, str) or named.keys() & set(_SPEAKER_NAMES):
        return None
    return Turn(_mend(speaker).strip(), _mend(text))


def _pick(values: dict[str, object], names: Iterable[str]) -> str | None:
    """Return the first of these values that is a text or a number, as text."""
    chosen = (values[name] for name in names if isinstance(values.get(name), str | int))
    return next((_mend(str(value)) for value in chosen), None)


def _name_speakers(turns: list[Turn]) -> list[Turn]:
    """Name the turns by the names that all of them begin with, or else alternately A and B."""
    named = [turn for turn in (_split_line(turn.text) for turn in turns) if turn]
    if len(named) == len(turns):
        return named
    return [replace(turn, speaker=_UNNAMED[number % 2]) for number, turn in enumerate(turns)]


def _mend(text: str) -> str:
    """Replace lone surrogates, which no page can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _fold(speaker: str) -> str:
    """Return the name for comparison: without case, spaces and invisible direction marks."""
    kept = (sign for sign in speaker if unicodedata.category(sign) not in ("Cf", "Zs"))
    return "".join(kept).casefold()
