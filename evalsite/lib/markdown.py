"""Researchers' texts: Markdown in, safe HTML out. The one place that marks HTML as safe."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import nh3
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")
_WITHOUT_TABLES = MarkdownIt("commonmark", {"html": False})
for _parser in (_PARSER, _WITHOUT_TABLES):
    # its rules are listed at the first text, and two threads at once would find half a list
    _parser.parse("*first*")
MOST_CELLS = 5_000
_DELIMITERS = frozenset("|-: \t>")
_TAGS = {
    "p", "br", "hr", "h2", "h3", "h4", "ul", "ol", "li", "strong", "em", "code", "pre",
    "blockquote", "a", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
_ATTRIBUTES = {"a": {"href"}, "h2": {"id"}, "h3": {"id"}, "h4": {"id"}, "table": {"tabindex"}}
_SCHEMES = {"http", "https", "mailto"}
# no id that a page itself gives begins like this
_PREFIX = "part-"
# a page has its one h1 already
_LEVELS = {"h1": "h2", "h5": "h4", "h6": "h4"}


def render_markdown(
    text: str,
    *,
    with_anchors: bool = False,
    with_wide_tables: bool = False,
    with_pictures: bool = False,
) -> SafeString:
    """Return the HTML of a Markdown text: raw HTML stays text, and only listed tags come out.

    With anchors, for the one text of a page that has them, each heading can be linked to. Wide
    tables are scrolled sideways, by keyboard too. Pictures are for texts of our own.
    """
    tokens = parse_markdown(text)
    for token in tokens:
        token.tag = _LEVELS.get(token.tag, token.tag)
        if with_wide_tables and token.type == "table_open":
            token.attrSet("tabindex", "0")
    if with_anchors:
        for heading, anchor in _find_headings(tokens).items():
            tokens[heading].attrSet("id", anchor)
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    pictures = {"img": {"src", "alt"}} if with_pictures else {}
    return clean_html(html, _TAGS | set(pictures), _ATTRIBUTES | pictures)


def clean_html(
    html: str,
    tags: set[str],
    attributes: Mapping[str, set[str]],
    classes: Mapping[str, set[str]] | None = None,
) -> SafeString:
    """Return what closed lists of tags, attributes and classes leave of it."""
    cleaned = nh3.clean(
        html,
        tags=tags,
        attributes=dict(attributes),
        allowed_classes=dict(classes or {}),
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer",
    )
    return mark_safe(cleaned)  # noqa: S308 (cleaned by nh3 with closed lists just above)


def parse_markdown(text: str) -> list[Token]:
    """Return the parts of a Markdown text; tables stay text where they have too many cells."""
    parser = _PARSER if count_cells(text) <= MOST_CELLS else _WITHOUT_TABLES
    return parser.parse(text)


def count_cells(text: str) -> int:
    """Count the cells of all tables at most: each row is filled up to the width of its header, so
    that a few kilobytes would become millions.
    """
    cells = width = 0
    for line in text.splitlines():
        if "|" in line and _DELIMITERS.issuperset(line):
            width = line.count("|")
        elif not line.strip():
            width = 0
        cells += width
    return cells


@lru_cache(maxsize=64)
def list_anchors(text: str) -> dict[str, str]:
    """Return the id of each heading of a Markdown text, by its words; of equal ones the first."""
    tokens = parse_markdown(text)
    anchors: dict[str, str] = {}
    for heading, anchor in _find_headings(tokens).items():
        anchors.setdefault(_words_of(tokens, heading), anchor)
    return anchors


def _find_headings(tokens: Sequence[Token]) -> dict[int, str]:
    """Return where each heading begins, with an id that no other part of the page has."""
    taken: set[str] = set()
    anchors = {}
    for place, token in enumerate(tokens):
        if token.type != "heading_open":
            continue
        stem = slugify(_words_of(tokens, place), allow_unicode=True)[:60] or "heading"
        anchor, number = _PREFIX + stem, 2
        while anchor in taken:
            anchor, number = f"{_PREFIX}{stem}-{number}", number + 1
        taken.add(anchor)
        anchors[place] = anchor
    return anchors


def _words_of(tokens: Sequence[Token], heading: int) -> str:
    """Return what a heading says, without marks."""
    inner = tokens[heading + 1].children or []
    return "".join(token.content for token in inner).strip()
