"""The sentences of a report in formats other than HTML, from templates.

These templates don't escape by themselves: the code that renders their text does that
next, and LaTeX templates use the tag `tex_sentence` and the filter `tex`.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.template import Context, Engine

_LINE_BREAK = re.compile(r"[ \t]*[\r\n]\s*")
_BEFORE_POINT = re.compile(r"[ \t]*[\r\n]\s*(?=[.,;:)])")

Entries = list[tuple[str, str]]


def write_prose(name: str, context: Mapping[str, Any]) -> str:
    """Return the text of a template as one line."""
    return join_lines(render_prose(name, context))


def list_entries(name: str, context: Mapping[str, Any]) -> Entries:
    """Return name and words of each `{% entry %}` of a template; "" for words not known."""
    entries: Entries = []
    render_prose(name, {**context, "entries": entries})
    return entries


def render_prose(name: str, context: Mapping[str, Any]) -> str:
    """Return the text of a template with its line breaks."""
    template = Engine.get_default().get_template(f"results/report/{name}")
    return template.render(Context(dict(context), autoescape=False))


def join_lines(text: str) -> str:
    """Return the lines as one: a line break is a space, and nothing before a full stop."""
    return _LINE_BREAK.sub(" ", _BEFORE_POINT.sub("", text.strip()))
