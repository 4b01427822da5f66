"""The documentation as pages of the site, in the version that is installed, and its search."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from django.conf import settings
from django.http import Http404, HttpRequest
from django.template.response import TemplateResponse
from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from evalsite.lib.markdown import list_anchors, parse_markdown, render_markdown
from evalsite.studies.models import Membership, Study

# files in docs/ that lead through a study step by step, each with a line for the page of Help
GUIDES = {
    "start-colleagues": "10 minutes to three links. From text files or a table.",
    "start-prompts": "10 minutes. From promptfoo results, with a go or no-go.",
    "start-prolific": "30 minutes. With checks, screening and pay.",
}
# by subject: what a reader looks for, and where in docs/ it is. The first entry of a file says to
# which subject it belongs.
SUBJECTS: dict[str, dict[str, str]] = {
    "Outputs in": {
        "Which files are read": "files#outputs",
        "One file, several files, folders": "files#a-text-file-for-each-system",
        "promptfoo, lm-evaluation-harness, Inspect": "files#what-evaluation-tools-write",
        "Ratings you already have": "files#ratings-you-already-have",
        "Scores of a metric or a judge": "files#scores-of-automatic-metrics",
        "Ratings out, and what a row is": "files#files-you-can-download",
        "All about files": "files",
    },
    "What people are asked": {
        "Which instrument?": "guide#choose-an-instrument",
        "Build your own": "guide#build-an-instrument",
        "The five published instruments": "protocols",
        "Practice and qualification": "protocols#practice-and-qualification",
        "Who sees what, in which order": "guide#how-work-is-handed-out",
    },
    "People": {
        "People you know": "recruiting#people-you-know",
        "Prolific": "recruiting#prolific",
        "Connect, SONA and other panels": "recruiting#connect-sona-and-other-panels",
        "Checks and repeats": "guide#checks-and-hidden-repeats",
        "Screening and quotas": "recruiting#who-may-take-part",
        "Consent and notices": "recruiting#privacy",
        "Pay, bonuses and rejections": "recruiting#pay",
    },
    "Plans and results": {
        "Plan a question and a margin": "results#the-analysis-plan",
        "How many items and answers?": "results#design-and-the-planner",
        "Leave answers out": "results#leaving-answers-out",
        "For a paper: table, report, bundle": "results#reports-for-a-paper",
        "How results are computed": "results#how-figures-are-computed",
        "Agreement": "results#agreement",
        "A gate in your CI": "ci",
        "A judge beside people": "judges",
        "For coding agents": "agents",
    },
    "Run the site": {
        "Install and upgrade": "deploying",
        "On one computer, without a server": "deploying#on-one-computer-without-a-server",
        "Settings": "deploying#settings",
        "Accounts and security": "deploying#accounts",
        "Backups": "backup",
    },
    "Change the software": {
        "Where everything is": "architecture",
        "What everything is called": "words",
        "Add a published instrument": "new-protocol",
        "Add a kind of question": "new-kind",
        "Add a panel": "new-panel",
        "Add an analysis or a sentence": "new-analysis",
    },
}
STARTED = "Getting started"
LONGEST_SEARCH = 200
_HEADING, _TEXT = 3, 1  # points
# a word is found with these, too; if no page has the words, what begins like them is
_ENDINGS = "s|es|ed|ing|'s|’s"
_AROUND = 90  # characters of an excerpt before and after what was looked for
_TITLE = re.compile(r"\A# (.+)\n")
# a link to another of these files, or to a part of the same file
_LINK = re.compile(r"\]\((?:([a-z-]+)\.md)?(?:#([^)]+))?\)")
# a link of a guide to a page of this site, by its name
_PAGE = re.compile(r"\[([^]]+)\]\(page:([a-z-]+)\)")
_PICTURE = re.compile(r"\]\(images/([a-z0-9-]+\.[a-z]+)\)")
# a link to a file of the code, which this site doesn't show
_CODE = re.compile(r"\[([^]]+)\]\(\.\./[^)]+\)")
# `render_markdown` makes anchors of headings: this prefix, and so many characters
_ANCHOR, _LONGEST = "#part-", 60


class Chapter(NamedTuple):
    """A document; `sections`: the words and the anchor of each heading."""

    title: str
    sections: list[tuple[str, str]]
    html: SafeString


@dataclass(frozen=True)
class Passage:
    """A heading or a paragraph of a document, with the heading above it."""

    text: str
    anchor: str
    is_heading: bool


@require_safe
def show_help(request: HttpRequest) -> TemplateResponse:
    """List the guides, and by subject where everything is."""
    subjects = {
        subject: [(label, _find_address(place)) for label, place in entries.items()]
        for subject, entries in SUBJECTS.items()
    }
    context = {"title": "Help", "guides": _list_guides(), "subjects": subjects}
    return TemplateResponse(request, "admin/help.html", context)


@require_safe
def search_help(request: HttpRequest) -> TemplateResponse:
    """List the documents that have all words that are looked for, the most telling first."""
    query = " ".join(request.GET.get("q", "").split())[:LONGEST_SEARCH]
    words = list(dict.fromkeys(re.findall(r"\w+", query.casefold())))
    rows = _search(words, rf"(?:{_ENDINGS})?(?!\w)") or _search(words, "")
    context = {"title": "Search, Help", "query": query, "rows": rows}
    return TemplateResponse(request, "admin/help_search.html", context)


@require_safe
def show_chapter(request: HttpRequest, name: str) -> TemplateResponse:
    """Show one document; a guide leads to the pages of this person's newest draft."""
    if name not in list_documents():
        raise Http404("No such chapter.")
    if name not in GUIDES:
        return TemplateResponse(request, "admin/help_chapter.html", _read(name)._asdict())
    title, text = _read_text(name)
    draft = (
        Study.objects.filter(
            memberships__user=request.user.pk,
            memberships__role__in=(Membership.Role.OWNER, Membership.Role.EDITOR),
            state=Study.State.DRAFT,
            version=None,
        )
        .order_by("-created_at")
        .only("title")
        .first()
    )

    def link(page: re.Match[str]) -> str:
        words, target = page.groups()
        if target in ("index", "study-new"):
            return f"[{words}]({reverse(f'admin:{target}')})"
        return f"[{words}]({reverse(f'admin:{target}', args=[draft.pk])})" if draft else words

    # the first paragraph is the lede
    lede, _, steps = _PAGE.sub(link, text).strip().partition("\n\n")
    guides = [guide for guide in _list_guides() if guide[0] != name]
    context = {
        "title": title, "lede": lede, "html": _render(steps), "draft": draft, "guides": guides,
    }  # fmt: skip
    return TemplateResponse(request, "admin/help_guide.html", context)


def list_documents() -> dict[str, str]:
    """Return the files in docs/ that are pages of Help, each with its subject."""
    documents = dict.fromkeys(GUIDES, STARTED)
    for subject, entries in SUBJECTS.items():
        for place in entries.values():
            documents.setdefault(place.partition("#")[0], subject)
    return documents


def _list_guides() -> list[tuple[str, str, str]]:
    return [(name, _read_text(name)[0], line) for name, line in GUIDES.items()]


def _find_address(place: str) -> str:
    """Return the address of a document or of a part of it, as SUBJECTS names it."""
    name, _, part = place.partition("#")
    address = reverse("admin:help-chapter", args=[name])
    return f"{address}{_ANCHOR}{part[:_LONGEST]}" if part else address


@cache
def _read_text(name: str) -> tuple[str, str]:
    """Return the title of a document and what follows it."""
    text = (settings.BASE_DIR / "docs" / f"{name}.md").read_text(encoding="utf-8")
    title = _TITLE.match(text)
    assert title is not None
    return title[1], _CODE.sub(r"\1", text[title.end() :])


@cache
def _read(name: str) -> Chapter:
    title, text = _read_text(name)
    body = _LINK.sub(_link_to_chapter, text)
    anchors = list_anchors(body)
    sections = []
    for opening, inner in pairwise(parse_markdown(body)):
        if opening.type == "heading_open" and opening.tag == "h2":
            words = _write_plain(inner)
            sections.append((words, anchors[words]))
    return Chapter(title, sections, _render(text))


def _render(text: str) -> SafeString:
    body = _PICTURE.sub(
        lambda picture: f"]({static(f'guides/{picture[1]}')})",
        _LINK.sub(_link_to_chapter, text),
    )
    return render_markdown(body, with_anchors=True, with_wide_tables=True, with_pictures=True)


def _link_to_chapter(link: re.Match[str]) -> str:
    """Return a link to a page of Help, instead of a file in the same folder."""
    name, part = link.groups()
    address = reverse("admin:help-chapter", args=[name]) if name else ""
    return f"]({address}{_ANCHOR + part[:_LONGEST] if part else ''})"


# --- search ---------------------------------------------------------------------------------


@cache
def _list_passages(name: str) -> tuple[Passage, ...]:
    """Return the headings and paragraphs of a document; cells of tables are paragraphs."""
    title, text = _read_text(name)
    text = _PAGE.sub(r"\1", text)
    anchors = list_anchors(_LINK.sub(_link_to_chapter, text))
    passages, anchor = [Passage(title, "", is_heading=True)], ""
    for opening, inner in pairwise(parse_markdown(text)):
        is_heading = opening.type == "heading_open"
        if inner.type == "inline" and (words := _write_plain(inner)):
            anchor = anchors.get(words, anchor) if is_heading else anchor
            passages.append(Passage(words, anchor, is_heading=is_heading))
        elif opening.type == "fence":
            passages.append(Passage(opening.content, anchor, is_heading=False))
    return tuple(passages)


def _write_plain(inline: Any) -> str:
    """Return the words of a paragraph without marks, links and pictures."""
    children = inline.children or []
    texts = (" " if child.type == "softbreak" else child.content for child in children)
    return "".join(texts).strip()


def _search(words: Sequence[str], end: str) -> list[dict[str, Any]]:
    """Return the documents that have all of these words, each with this end, by their points."""
    patterns = [re.compile(rf"(?<!\w){re.escape(word)}{end}", re.IGNORECASE) for word in words]
    rows = [row for name in list_documents() if words and (row := _search_in(name, patterns))]
    return sorted(rows, key=lambda row: -row["points"])


def _search_in(name: str, patterns: Sequence[re.Pattern[str]]) -> dict[str, Any] | None:
    """Return what the page of results shows of a document; None if it lacks a word."""
    passages = _list_passages(name)
    if not all(any(pattern.search(passage.text) for passage in passages) for pattern in patterns):
        return None
    hits = [[bool(pattern.search(passage.text)) for pattern in patterns] for passage in passages]
    points = [
        sum(hit) * (_HEADING if passage.is_heading else _TEXT)
        for passage, hit in zip(passages, hits, strict=True)
    ]
    best = max(range(len(passages)), key=lambda place: (sum(hits[place]), points[place]))
    shown = passages[best]
    # below a heading stands what it is about
    if shown.is_heading and best + 1 < len(passages):
        shown = passages[best + 1]
    anchor = passages[best].anchor
    return {
        "subject": list_documents()[name],
        "title": passages[0].text,
        "url": reverse("admin:help-chapter", args=[name]) + (f"#{anchor}" if anchor else ""),
        "part": next((row.text for row in passages if anchor and row.anchor == anchor), ""),
        "excerpt": _cut(shown.text, re.compile("|".join(row.pattern for row in patterns), re.I)),
        "points": sum(points),
    }


def _cut(text: str, pattern: re.Pattern[str]) -> list[tuple[str, bool]]:
    """Return the words around the first hit in pieces, each with whether it is a hit."""
    text = " ".join(text.split())
    first = pattern.search(text)
    start, end = (first.start() - _AROUND, first.end() + _AROUND) if first else (0, 2 * _AROUND)
    # whole words
    start = 0 if start <= 0 else text.find(" ", start) + 1
    end = len(text) if end >= len(text) else text.rfind(" ", start, end)
    end = max(end, first.end() if first else 0)
    shown = f"{'… ' if start else ''}{text[start:end]}{' …' if end < len(text) else ''}"
    pieces, place = [], 0
    for hit in pattern.finditer(shown):
        pieces += [(shown[place : hit.start()], False), (hit[0], True)]
        place = hit.end()
    return [piece for piece in [*pieces, (shown[place:], False)] if piece[0]]
