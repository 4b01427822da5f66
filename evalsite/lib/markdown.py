"""Researchers' texts: Markdown in, safe HTML out. The one place that marks HTML as safe."""

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")
_TAGS = {
    "p", "br", "hr", "h2", "h3", "h4", "ul", "ol", "li", "strong", "em", "code", "pre",
    "blockquote", "a", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
_ATTRIBUTES = {"a": {"href"}}
_SCHEMES = {"http", "https", "mailto"}


def render_markdown(text: str) -> SafeString:
    """HTML of a Markdown text; raw HTML in it is shown as text, and only listed tags come out."""
    html = nh3.clean(
        _PARSER.render(text),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer",
    )
    return mark_safe(html)  # noqa: S308 (cleaned by nh3 with a closed list just above)
