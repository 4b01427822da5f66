"""Documents about a study for readers outside this site: sections, as HTML and as LaTeX."""

from base64 import b64encode
from dataclasses import dataclass, field
from pathlib import Path

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from evalsite.lib.markdown import render_markdown
from evalsite.results.document.latex import escape
from evalsite.results.documents.latex_markdown import write_blocks

_STYLE = Path(__file__).parent.parent / "document" / "style.css"
TO_FILL_IN = "To be filled in."
_PREAMBLE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[margin=25mm]{geometry}
\usepackage{textcomp}
\begin{document}"""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question of a rating page and what can be answered."""

    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Screen:
    """A rating page as a participant sees it."""

    inputs: list[tuple[str, str]]
    outputs: list[tuple[str, str]]
    questions: list[Question]


@dataclass(frozen=True, kw_only=True)
class Text:
    """A text that participants read, in Markdown, under its heading."""

    heading: str
    markdown: str

    @property
    def html(self) -> SafeString:
        return render_markdown(self.markdown)


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a document: facts by name, where "" is not known, then texts and a screen."""

    title: str
    rows: list[tuple[str, str]] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    screen: Screen | None = None


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document with its title, and what it is made for."""

    title: str
    purpose: str
    sections: list[Section]

    @property
    def open(self) -> int:
        """Count what only people can fill in."""
        return sum(not words for section in self.sections for _, words in section.rows)


def write_html(document: Document) -> str:
    """Return the document as a page that needs no other file."""
    style = f"data:text/css;base64,{b64encode(_STYLE.read_bytes()).decode()}"
    context = {"document": document, "style": style, "to_fill_in": TO_FILL_IN}
    return render_to_string("results/documents/document.html", context)


def write_latex(document: Document) -> str:
    """Return the document as LaTeX that compiles by itself."""
    parts = [
        _PREAMBLE,
        rf"\section*{{{escape(document.title)}}}",
        escape(document.purpose),
    ]
    for section in document.sections:
        parts.append(rf"\subsection*{{{escape(section.title)}}}")
        parts += [
            rf"\paragraph{{{escape(name)}}} {escape(words or TO_FILL_IN)}"
            for name, words in section.rows
        ]
        for text in section.texts:
            parts += [rf"\subsubsection*{{{escape(text.heading)}}}", *write_blocks(text.markdown)]
        if section.screen is not None:
            parts.append(_write_screen(section.screen))
    return "\n\n".join([*parts, r"\end{document}"]) + "\n"


def _write_screen(screen: Screen) -> str:
    """Draw the page as a frame with its texts and questions."""
    lines = [
        rf"\textbf{{{escape(label)}}}\\ {_break_lines(text)}"
        for label, text in (*screen.inputs, *screen.outputs)
    ]
    for question in screen.questions:
        answers = r" \quad ".join(rf"$\circ$ {escape(one)}" for one in question.answers)
        lines.append(rf"{escape(question.text)}\\ {answers or '$[$~~~~~~$]$'}")
    body = "\\par\\medskip\n".join(lines)
    return f"\\noindent\\fbox{{\\parbox{{0.95\\linewidth}}{{\\small\\raggedright\n{body}\n}}}}"


def _break_lines(text: str) -> str:
    return r"\\ ".join(escape(line) for line in text.splitlines() if line.strip()) or "~"
