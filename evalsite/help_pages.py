"""The documentation as pages of the site, in the version that is installed."""

import re
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from django.conf import settings
from django.http import Http404, HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from evalsite.lib.markdown import list_anchors, parse_markdown, render_markdown

# by subject: names of files in docs/, each with a line for the list of chapters
CHAPTERS: dict[str, dict[str, str]] = {
    "Planning and collecting": {
        "getting-outputs-in": "What a file of outputs may look like, with a recipe for each form.",
        "protocols": "What the five protocols ask, rule by rule, and where they depart from their "
        "documents.",
        "instruments": "Building an instrument of your own, as a form or as a file.",
        "designs": "Who sees what, in which order and on which side, and how that is balanced.",
        "recruiting": "Rounds on crowd platforms, personal links, experts, codes and pay.",
    },
    "Results": {
        "results": "The pages of results, the analysis plan, the report and its files.",
        "analysis": "How every figure is computed, and how often its tests and intervals err.",
        "ci": "A gate on people's ratings in a workflow, and how to collect them in a repository.",
        "agents": "A block for the AGENTS.md of a repository whose systems people judge.",
        "files": "Every kind of file that comes in or goes out, bundles included.",
    },
    "Running the site": {
        "deploying": "Settings, servers, upgrades and checks.",
        "backup": "Backing up, restoring and moving a site.",
    },
    "Changing the code": {
        "architecture": "The rooms of the code, and what passes through them on its way.",
        "words": "The words of pages, documents and code.",
        "new-protocol": "A protocol of your own, as one folder.",
        "new-kind": "A new kind of question, as one file and its template.",
    },
}
_TITLE = re.compile(r"\A# (.+)\n")
# a link to another of these files, or to a part of the same file
_LINK = re.compile(r"\]\((?:([a-z-]+)\.md)?(?:#([^)]+))?\)")
# a link to a file of the code, which this site doesn't show
_CODE = re.compile(r"\[([^]]+)\]\(\.\./[^)]+\)")
# `render_markdown` makes anchors of headings: this prefix, and so many characters
_ANCHOR, _LONGEST = "#part-", 60


class Chapter(NamedTuple):
    """A document; `sections`: the words and the anchor of each heading."""

    title: str
    sections: list[tuple[str, str]]
    html: SafeString


@require_safe
def show_help(request: HttpRequest) -> TemplateResponse:
    """List the chapters."""
    parts = {
        part: [(name, _read(name).title, line) for name, line in chapters.items()]
        for part, chapters in CHAPTERS.items()
    }
    return TemplateResponse(request, "admin/help.html", {"title": "Help", "parts": parts})


@require_safe
def show_chapter(request: HttpRequest, name: str) -> TemplateResponse:
    """Show one chapter."""
    if not any(name in chapters for chapters in CHAPTERS.values()):
        raise Http404("No such chapter.")
    return TemplateResponse(request, "admin/help_chapter.html", _read(name)._asdict())


@cache
def _read(name: str) -> Chapter:
    text = (settings.BASE_DIR / "docs" / f"{name}.md").read_text(encoding="utf-8")
    title = _TITLE.match(text)
    assert title is not None
    body = _LINK.sub(_link_to_chapter, _CODE.sub(r"\1", text[title.end() :]))
    anchors = list_anchors(body)
    sections = []
    for opening, inner in pairwise(parse_markdown(body)):
        if opening.type == "heading_open" and opening.tag == "h2":
            words = "".join(token.content for token in inner.children or []).strip()
            sections.append((words, anchors[words]))
    html = render_markdown(body, with_anchors=True, with_wide_tables=True)
    return Chapter(title[1], sections, html)


def _link_to_chapter(link: re.Match[str]) -> str:
    """Return a link to a chapter of the site, instead of a file in the same folder."""
    name, part = link.groups()
    address = reverse("admin:help-chapter", args=[name]) if name else ""
    return f"]({address}{_ANCHOR + part[:_LONGEST] if part else ''})"
