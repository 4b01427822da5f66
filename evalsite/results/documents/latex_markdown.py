"""Markdown as LaTeX: what a researcher wrote for participants, for an appendix."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from markdown_it.token import Token

from evalsite.lib.markdown import parse_markdown
from evalsite.results.document.latex import escape

_EDGES = {
    f"{kind}_{side}": rf"\{command}{{{name}}}"
    for kind, name in (
        ("bullet_list", "itemize"), ("ordered_list", "enumerate"), ("blockquote", "quote")
    )
    for side, command in (("open", "begin"), ("close", "end"))
} | {"list_item_open": r"\item{}"}  # fmt: skip
_CELLS = ("th_open", "td_open")
_OPEN = {"strong_open": r"\textbf{", "em_open": r"\emph{"}
_CLOSE = ("strong_close", "em_close")


def write_blocks(text: str) -> Iterator[str]:
    """Return the blocks of the text; no command in it runs."""
    tokens = parse_markdown(text)
    for place, token in enumerate(tokens):
        before = tokens[place - 1].type if place else ""
        if token.type in _EDGES:
            yield _EDGES[token.type]
        elif token.type in ("fence", "code_block"):
            yield _write_code(token.content)
        elif token.type == "tr_open":
            yield _write_row(tokens[place:])
        elif token.type == "inline" and before not in _CELLS:
            words = _write_inline(token.children or ())
            yield rf"\paragraph{{{words}}}" if before == "heading_open" else words


def _write_code(content: str) -> str:
    lines = [rf"\texttt{{{escape(line)}}}" for line in content.splitlines() if line.strip()]
    return r"\noindent " + "\\\\\n".join(lines)


def _write_row(tokens: Sequence[Token]) -> str:
    """Return the cells of the table's row that begins here."""
    cells = []
    for before, token in pairwise(tokens):
        if token.type == "tr_close":
            break
        if before.type in _CELLS:
            cells.append(_write_inline(token.children or ()))
    return rf"\noindent {' -- '.join(cells)}"


def _write_inline(tokens: Sequence[Token]) -> str:
    return "".join(map(_write_token, tokens))


def _write_token(token: Token) -> str:
    if token.type in _OPEN:
        return _OPEN[token.type]
    if token.type in _CLOSE:
        return "}"
    if token.type in ("softbreak", "hardbreak"):
        return "\n" if token.type == "softbreak" else r"\newline "
    if token.type == "code_inline":
        return rf"\texttt{{{escape(token.content)}}}"
    if token.type == "link_close":
        return ""
    return _keep_ends(token.content)


def _keep_ends(text: str) -> str:
    """Return the text escaped, with a space where it begins or ends with one."""
    if not text.strip():
        return " " if text else ""
    before, after = (" " if end.isspace() else "" for end in (text[0], text[-1]))
    return f"{before}{escape(text)}{after}"
