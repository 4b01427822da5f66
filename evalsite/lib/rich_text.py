"""Texts of items as what they are: Markdown, code, a table, a conversation, as safe HTML.

Texts come from anywhere. Only listed tags come out, nothing leads away from the page and nothing is
loaded: links and pictures are shown as text, formulas as their source. What can't be read as its
kind is shown as the text that it is. The text itself is stored, exported and marked as it came.
"""

import csv
import re
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from hashlib import sha256
from threading import Lock
from typing import Any, NamedTuple

from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, String
from pygments.util import ClassNotFound

from evalsite.lib.conversations import (
    MOST_PARTS,
    count_parts,
    is_result,
    list_calls,
    read_content,
    read_list,
    read_turns,
    write_value,
)
from evalsite.lib.limited import CELLS_SHOWN, TooMuch, check_cells_shown, read_shown_table
from evalsite.lib.markdown import MOST_CELLS, clean_html, count_cells

_TAGS = {
    "p", "br", "hr", "h3", "h4", "ul", "ol", "li", "strong", "em", "s", "code", "pre", "span",
    "blockquote", "table", "thead", "tbody", "tr", "th", "td", "div", "b", "details", "summary",
}  # fmt: skip
_CLASSES = {
    "span": {"hk", "hc", "hs", "math", "text"}, "ol": {"dialogue"}, "li": {"a", "b"},
    "div": {"call"}, "p": {"text", "label"}, "table": {"many"}, "details": {"open"},
}  # fmt: skip
_ATTRIBUTES = {
    "th": {"scope"}, "td": {"data-name"}, "ol": {"start"}, "span": {"dir"}, "b": {"dir"},
}  # fmt: skip
_LANGUAGES = {
    "bash", "c", "c++", "cpp", "cs", "csharp", "css", "diff", "go", "haskell", "html", "java",
    "javascript", "js", "json", "julia", "kotlin", "latex", "lua", "php", "py", "python", "python3",
    "r", "rb", "ruby", "rust", "scala", "sh", "shell", "sql", "swift", "tex", "toml", "ts",
    "typescript", "xml", "yaml", "yml",
}  # fmt: skip
# Drawing is limited by counts. What a lexer takes grows with the square of the text, or faster.
_MOST_COLOURED, _MOST_BLOCKS = 2_000, 3  # characters of a block of code, and blocks of a text
# Of words without a mark between them, as in prose, and of what a looping model repeats.
_WORDS = re.compile(r"[\w\s.$<>?\[\]]{400}")
_STRETCH, _LEAST_SAID = 250, 60  # characters, and bytes when compressed
_MOST_MARKDOWN, _MOST_MARKS = 200_000, 3_000
_MARKS = re.compile(r"[\n*_`~!\[\]<>\\$|]")
_MOST_ROWS = 1_000
# a table with more columns can be read row by row, where there is no room for it
_MOST_COLUMNS = 5
# characters of a tool's result; the rest opens by “Show all”
_LONGEST_RESULT = 1_000
_KEPT = 512  # texts
_LEVELS = {"h1": "h3", "h2": "h3", "h5": "h4", "h6": "h4"}


def render_rich(text: str, kind: str, language: str = "") -> SafeString | None:
    """Return the HTML of a text of this kind, kept by its SHA-256; None if it is plain text."""
    render = _RENDERERS.get(kind)
    if render is None:
        return None
    shown_in = get_language() or ""
    key = sha256("\0".join((kind, language, shown_in, text)).encode(errors="replace")).digest()
    with _lock:
        if key in _html:
            _html.move_to_end(key)
            return _html[key]
    try:
        html = render(text, language)
    except TooMuch:
        html = None
    cleaned = None if html is None else clean_html(html, _TAGS, _ATTRIBUTES, _CLASSES)
    with _lock:
        _html[key] = cleaned
        if len(_html) > _KEPT:
            _html.popitem(last=False)
    return cleaned


def is_shown_as_source(text: str, kind: str) -> bool:
    """Return whether drawing a text of this kind would be too much, so that its source is shown."""
    try:
        return bool(_CHECKS[kind](text)) if kind in _CHECKS else False
    except TooMuch:
        return True


_html: OrderedDict[bytes, SafeString | None] = OrderedDict()
_lock = Lock()


# --- code -------------------------------------------------------------------------------


def _render_code(text: str, language: str) -> str:
    return _Code().render(text, language)


class _Code:
    """The blocks of code in one text, of which the first are coloured and the rest are plain."""

    def __init__(self) -> None:
        self._left = _MOST_BLOCKS

    def render(self, text: str, language: str) -> str:
        return f"<pre><code>{''.join(self._colour(text, language))}</code></pre>"

    def _colour(self, text: str, language: str) -> Iterator[str]:
        lexer = self._find_lexer(text, language.strip().casefold())
        if lexer is None:
            yield escape(text)
            return
        for kind, piece in lexer.get_tokens(text):
            names = [name for name, family in _COLOURS.items() if kind in family]
            yield f'<span class="{names[0]}">{escape(piece)}</span>' if names else escape(piece)

    def _find_lexer(self, text: str, name: str) -> Lexer | None:
        """Return what colours this text; None for a language that isn't offered, or too much."""
        if name not in _LANGUAGES or not self._left or not _may_be_coloured(text):
            return None
        self._left -= 1
        try:
            return get_lexer_by_name(name, stripnl=False, ensurenl=False)
        except ClassNotFound:
            return None


_COLOURS = {"hc": Comment, "hs": String, "hk": Keyword}


def _may_be_coloured(text: str) -> bool:
    """Return whether no lexer takes long for this text: it is short, and looks like code."""
    if len(text) > _MOST_COLOURED or _WORDS.search(text):
        return False
    stretches = (text[at : at + _STRETCH] for at in range(0, len(text) - _STRETCH + 1, _STRETCH))
    return all(
        len(zlib.compress(stretch.encode(errors="replace"))) >= _LEAST_SAID for stretch in stretches
    )


# --- Markdown ---------------------------------------------------------------------------


class _Renderer(RendererHTML):
    """Shows links and pictures as text, and code in boxes of its own."""

    def link_close(self, tokens: Sequence[Token], idx: int, *_args: Any) -> str:
        target = str(tokens[idx].meta.get("href", ""))
        return f" ({escape(target)})" if target else ""

    def link_open(self, *_args: Any) -> str:
        return ""

    def image(self, tokens: Sequence[Token], idx: int, *_args: Any) -> str:
        token = tokens[idx]
        return escape(f"![{token.content}]({token.attrGet('src') or ''})")

    def fence(
        self, tokens: Sequence[Token], idx: int, options: Any, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        language, *_rest = token.info.split() or [""]
        code: _Code = env["code"]
        return code.render(token.content.removesuffix("\n"), language)

    def code_block(self, tokens: Sequence[Token], idx: int, *_args: Any) -> str:
        return _render_code(tokens[idx].content.removesuffix("\n"), "")

    def math(self, tokens: Sequence[Token], idx: int, *_args: Any) -> str:
        return f'<span class="math">{escape(tokens[idx].content)}</span>'


# $x$ with no space inside and no digit after it, so that $5 and $10 are sums of money
_MATH = re.compile(
    r"\$\$.+?\$\$|\\\(.+?\\\)|\\\[.+?\\\]|\$(?=[^\s$])[^$\n]*?(?<=[^\s\\$])\$(?!\d)", re.DOTALL
)
_LONGEST_FORMULA = 2_000


def _read_math(state: StateInline, silent: bool) -> bool:
    """Take a formula as it is written: its underscores and backslashes mean nothing here."""
    if state.src[state.pos] not in "$\\":
        return False
    end = min(state.posMax, state.pos + _LONGEST_FORMULA)
    match = _MATH.match(state.src, state.pos, end)
    if match is None:
        return False
    if not silent:
        state.push("math", "", 0).content = match[0]
    state.pos = match.end()
    return True


def _make_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "math", _read_math)
    # links to anything are recognised, since none is followed
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    # its rules are listed at the first text, and two threads would find half a list
    parser.parse("*first*")
    return parser


_PARSER = _make_parser()


def _render_markdown(text: str, _language: str) -> str | None:
    if not _is_small_markdown(text):
        raise TooMuch("The text is too long, or has too many marks or cells.")
    tokens = _PARSER.parse(text)
    for token in tokens:
        token.tag = _LEVELS.get(token.tag, token.tag)
        if token.type in ("th_open", "td_open"):
            token.attrs = {"scope": "col"} if token.type == "th_open" else {}
        if token.children:
            _keep_targets(token.children)
    _name_cells(tokens)
    return str(_PARSER.renderer.render(tokens, _PARSER.options, {"code": _Code()}))


def _is_small_markdown(text: str) -> bool:
    is_short = len(text) <= _MOST_MARKDOWN and len(_MARKS.findall(text)) <= _MOST_MARKS
    return is_short and count_cells(text) <= MOST_CELLS


def _keep_targets(tokens: Sequence[Token]) -> None:
    """Note the target of each link at its end, unless the link's own words are the target."""
    opened: list[tuple[int, str]] = []
    for place, token in enumerate(tokens):
        if token.type == "link_open":
            opened.append((place, str(token.attrGet("href") or "")))
        elif token.type == "link_close" and opened:
            start, target = opened.pop()
            words = "".join(inner.content for inner in tokens[start:place])
            if target.removeprefix("mailto:") != words:
                token.meta = {**token.meta, "href": target}


def _name_cells(tokens: Sequence[Token]) -> None:
    """Give the cells of each wide table the names of their columns."""
    names: list[str] = []
    table, column = None, 0
    for place, token in enumerate(tokens):
        if token.type == "table_open":
            table, names = token, []
        elif token.type == "tr_open":
            column = 0
        elif token.type == "th_open":
            inner = tokens[place + 1].children or ()
            names.append("".join(part.content for part in inner))
        elif token.type == "td_open" and len(names) > _MOST_COLUMNS:
            token.attrs = {"data-name": names[column]}
            column += 1
        elif token.type == "thead_close" and table and len(names) > _MOST_COLUMNS:
            table.attrs = {"class": "many"}


# --- tables -----------------------------------------------------------------------------


def _render_table(text: str, _language: str) -> str | None:
    rows = _read_records(text) or _read_cells(text)
    if rows is None:
        return None
    if len(rows) > _MOST_ROWS:
        raise TooMuch(f"The table has more than {_MOST_ROWS:,} rows.")
    header, *body_rows = rows
    is_wide = len(header) > _MOST_COLUMNS
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    names = [f' data-name="{escape(cell)}"' if is_wide else "" for cell in header]
    cells = (
        "".join(f"<td{name}>{escape(cell)}</td>" for name, cell in zip(names, row, strict=True))
        for row in body_rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    many = ' class="many"' if is_wide else ""
    return f"<table{many}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _is_large_table(text: str) -> bool:
    # of most tables a look is enough
    rows_at_most = 1 + max(text.count("\n"), text.count("{"))
    columns_at_most = 1 + max(map(text.count, ",;\t|"))
    if rows_at_most < _MOST_ROWS and rows_at_most * columns_at_most < CELLS_SHOWN:
        return False
    rows = _read_records(text) or _read_cells(text)
    return rows is not None and len(rows) > _MOST_ROWS


def _read_records(text: str) -> list[list[str]] | None:
    """Return header and rows of a JSON list of objects; None if it is none."""
    records = read_list(text)
    if records is None or not all(isinstance(record, dict) for record in records):
        return None
    names: dict[str, None] = {}
    for number, record in enumerate(records, start=2):
        names.update(dict.fromkeys(record))
        check_cells_shown(number, len(names))
    return [[*names], *([write_value(record.get(name)) for name in names] for record in records)]


def _read_cells(text: str) -> list[list[str]] | None:
    """Return the rows of CSV, with two cells at least side by side; None if it is none."""
    start = text.lstrip("\n").split("\n", 1)[0]
    delimiter = max(",;\t|", key=start.count)
    try:
        rows = read_shown_table(text, delimiter)
    except csv.Error:
        return None
    width = max(map(len, rows), default=0)
    if width < 2 or len(rows) < 2:
        return None
    return [row + [""] * (width - len(row)) for row in rows]


# --- conversations ----------------------------------------------------------------------


class ShownTurn(NamedTuple):
    """A turn as a page shows it. `html`: the calls of tools in it, or what one returned."""

    side: str
    speaker: str
    text: str
    html: str


def _render_conversation(text: str, _language: str) -> str | None:
    turns = read_turns(text)
    if turns is None:
        return None
    if count_parts(turns) > MOST_PARTS:
        raise TooMuch(f"The conversation has more than {MOST_PARTS:,} turns and calls.")
    code = _Code()
    lines = []
    for turn in turns:
        side, speaker, content, html = _show_turn(turn, code)
        name = f'<b dir="auto">{escape(speaker)}</b> ' if speaker else ""
        words = f'<span class="text" dir="auto">{escape(content)}</span>' if content else ""
        lines.append(f'<li class="{side}">{name}{words}{html}</li>')
    return f'<ol class="dialogue">{"".join(lines)}</ol>'


def _is_long_conversation(text: str) -> bool:
    return text.count("{") > MOST_PARTS and count_parts(read_turns(text) or ()) > MOST_PARTS


def _show_turn(turn: Mapping[str, Any], code: _Code) -> ShownTurn:
    role, content = str(turn["role"]), read_content(turn)
    side = "a" if role in ("user", "human") else "b"
    if is_result(turn):
        result = _("Result of %(tool)s") % {"tool": turn.get("name") or _("a tool")}
        box = _box(result, content[:_LONGEST_RESULT], code, content[_LONGEST_RESULT:])
        return ShownTurn(side, "", "", box)
    calls = "".join(_render_call(call, code) for call in list_calls(turn))
    known = {
        "user": _("User"), "human": _("User"), "assistant": _("Assistant"), "ai": _("Assistant"),
        "system": _("System"), "developer": _("System"),
    }  # fmt: skip
    return ShownTurn(side, known.get(role, role), content, calls)


def show_turns(text: str) -> list[ShownTurn]:
    """Return the turns of a conversation; nothing if it is shown as it is written."""
    turns = read_turns(text) or []
    if count_parts(turns) > MOST_PARTS:
        return []
    code = _Code()
    shown = [_show_turn(turn, code) for turn in turns]
    return [
        turn._replace(html=clean_html(turn.html, _TAGS, _ATTRIBUTES, _CLASSES)) for turn in shown
    ]


def _render_call(call: Any, code: _Code) -> str:
    made = call.get("function", call) if isinstance(call, dict) else {}
    made = made if isinstance(made, dict) else {}
    title = _("Call of %(tool)s") % {"tool": made.get("name") or _("a tool")}
    return _box(title, write_value(made.get("arguments")), code)


def _box(title: str, text: str, code: _Code, rest: str = "") -> str:
    box = code.render(text, "json" if text.lstrip().startswith(("{", "[")) else "")
    if rest:
        summary = f"<summary>{escape(_('Show all'))}</summary>"
        box += f'<details class="open">{summary}{code.render(rest, "")}</details>'
    return f'<div class="call"><p class="label">{escape(title)}</p>{box}</div>'


_RENDERERS: dict[str, Callable[[str, str], str | None]] = {
    "markdown": _render_markdown,
    "code": _render_code,
    "table": _render_table,
    "conversation": _render_conversation,
}
RICH_KINDS = frozenset(_RENDERERS)
_CHECKS: dict[str, Callable[[str], bool]] = {
    "markdown": lambda text: not _is_small_markdown(text),
    "table": _is_large_table,
    "conversation": _is_long_conversation,
}
