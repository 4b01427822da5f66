"""A document as LaTeX that a paper takes over: names are escaped, no command in them runs."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from textwrap import wrap
from typing import TypeGuard

from markdown_it.token import Token

from evalsite.analysis.figure import Figure
from evalsite.lib.markdown import parse_markdown
from evalsite.results.document.blocks import (
    Block,
    Cell,
    Chart,
    Code,
    Document,
    Entry,
    Heading,
    Quote,
    Sentence,
    Table,
    join_neighbours,
    key_of,
    write_entry,
)
from evalsite.results.document.figures import write_interval, write_value

_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    # after the end of a row these two would be read as options of it
    "[": "{[}",
    "*": "{*}",
    "]": "{]}",
    # what babel or ligatures may make of these
    '"': r"\char34{}",
    "`": "{`}",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "’": "'",
    "‘": "{`}",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "×": r"$\times$",
    "±": r"$\pm$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "α": r"$\alpha$",
    "κ": r"$\kappa$",
    "δ": r"$\delta$",
    "ζ": r"$\zeta$",
    "τ": r"$\tau$",
    "ρ": r"$\rho$",
    "χ": r"$\chi$",
    "²": "$^2$",
    "£": r"\pounds{}",
    "€": r"\texteuro{}",
    "\N{NO-BREAK SPACE}": "~",
}
# letters of pdfTeX's fonts that are no ASCII letter with an accent
_LATIN = frozenset("ßæÆœŒøØłŁđĐðÐþÞŋŊı«»¡¿§¶©®°·÷¢¥µ")
# what pdfTeX can't print stands as its number in Unicode
_OTHER_SCRIPT = r"""\ifdefined\otherscript\else
\DeclareRobustCommand{\otherscript}[2]{%
  \ifdefined\XeTeXversion#1\else\ifdefined\luatexversion#1\else#2\fi\fi}
\DeclareRobustCommand{\righttoleft}[1]{\leavevmode{%
  \ifdefined\luatexversion\textdir TRT#1\fi
  \ifdefined\XeTeXversion\TeXXeTstate=1\beginR#1\endR\fi}}
\fi"""
# Hebrew, Arabic and their kin, word by word
_LEFTWARD = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
_LEFTWARD_RUN = re.compile(f"([{_LEFTWARD}]+(?: [{_LEFTWARD}]+)*)")
_SPACES = re.compile(r"[^\S\N{NO-BREAK SPACE}]+")
_DRAWN_AS_ONE = re.compile(r"-{2,}|'{2,}|,{2,}")
_P = re.compile(r"\bp[ ~]\$?([<>=])\$?[ ~](\.\d+)")
_IN_BRACKETS = re.compile(r"\([^()]{1,12}\)")
# in characters: longer heads and cells are broken, tables that are wider made smaller
_WIDEST_HEAD, _WIDEST_CELL, _WIDEST_TABLE = 14, 30, 74
_BETWEEN_COLUMNS = 2.6
# a table is made smaller, never larger
_NO_WIDER = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
# of one float; a page holds a few more
_MOST_ROWS = 40
# a cell that is broken, as a part of the line
_BROKEN, _BROKEN_ALONE = 0.34, 0.75


def escape(text: str) -> str:
    """Return the text as LaTeX that shows it: one line, no command, no open group, no comment."""
    plain = _SPACES.sub(" ", "".join(_keep(sign) for sign in text)).strip()
    # signs that LaTeX would draw as one are kept apart: two hyphens in a name are no dash
    apart = _DRAWN_AS_ONE.sub(lambda match: "\0".join(match[0]), plain)
    parts = [
        _print_or_number(text, rf"\righttoleft{{{text}}}") if place % 2 else _escape_forward(text)
        # every second part is a run from right to left
        for place, text in enumerate(_LEFTWARD_RUN.split(apart))
    ]
    return "".join(parts).replace("\0", "{}")


def _escape_forward(text: str) -> str:
    """Escape a text that runs from left to right."""
    parts = []
    for is_other, signs in groupby(text, key=_is_of_other_script):
        run = "".join(signs)
        plain = "".join(_SIGNS.get(sign, sign) for sign in run)
        parts.append(_print_or_number(run, run) if is_other else plain)
    return "".join(parts)


def _print_or_number(text: str, shown: str) -> str:
    points = " ".join(f"U+{ord(sign):04X}" for sign in text if sign != " ")
    return rf"\otherscript{{{shown}}}{{{points}}}"


def _is_of_other_script(sign: str) -> bool:
    """Return whether pdfTeX has no letter for this sign, so that its number stands for it."""
    if sign.isascii() or sign in _SIGNS or sign in _LATIN:
        return False
    return not unicodedata.normalize("NFD", sign)[0].isascii()


def add_other_script(text: str) -> str:
    """Return a fragment with the command for other scripts before it, if it uses it."""
    return f"{_OTHER_SCRIPT}\n{text}" if r"\otherscript{" in text else text


def write_fragment(tables: Iterable[Table]) -> str:
    """Return tables for a paper, with what they need of its preamble."""
    needs = write_comment([r"Needs \usepackage{booktabs,graphicx}."])
    return f"{needs}\n" + add_other_script("\n\n".join(map(write_table, tables)))


def set_p(text: str) -> str:
    """Return LaTeX with every p value as one formula: "p = .012", "p $<$ .001"."""
    return _P.sub(lambda match: f"$p {match[1]} {match[2]}$", text)


def _keep(sign: str) -> str:
    """Return the sign, a space for one that ends lines, nothing for one that can't be seen."""
    kind = unicodedata.category(sign)
    if kind in ("Cc", "Zl", "Zp"):
        return " "
    return "" if kind in ("Cf", "Cs", "Co", "Cn") else sign


def write_comment(lines: Iterable[str]) -> str:
    """Lines that LaTeX skips; what they quote can't end one."""
    return "\n".join(f"% {_SPACES.sub(' ', line)}" for line in lines)


# --- a file that compiles by itself -------------------------------------------------------------

_PREAMBLE = r"""\documentclass{article}
\usepackage{iftex}
\ifPDFTeX
  \usepackage[utf8]{inputenc}
  \usepackage[T1]{fontenc}
  \usepackage{textcomp}
  \IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\else
  \usepackage{fontspec}
\fi
\ifLuaTeX
  % names in scripts that the main font lacks are set in the first of these fonts that has them;
  % letters are joined in Arabic only
  \directlua{scriptfonts = {}}
  \newcommand{\addscriptfont}[1]{\IfFontExistsTF{#1}%
    {\directlua{table.insert(scriptfonts, "#1:mode=harf;script=arab")}}{}}
  \addscriptfont{Noto Serif}
  \addscriptfont{Noto Naskh Arabic}
  \addscriptfont{DejaVu Sans}
  \addscriptfont{Noto Serif CJK SC}
  \addscriptfont{WenQuanYi Micro Hei}
  \directlua{luaotfload.add_fallback("scripts", scriptfonts)}
  \setmainfont{Latin Modern Roman}[RawFeature={fallback=scripts}]
  \setmonofont{Latin Modern Mono}[RawFeature={fallback=scripts}]
\fi
\usepackage[margin=25mm]{geometry}
\usepackage{booktabs,graphicx,natbib}
\setlength{\emergencystretch}{3em}
\begin{document}
"""
ENGINES = (
    "Run pdflatex on it. Names in scripts other than Latin are shown by lualatex only, with a font "
    "that has them; pdflatex prints their numbers in Unicode."
)


def write_whole_file(body: str) -> str:
    """Return LaTeX that compiles by itself; no command of another file is needed."""
    return f"{write_comment([ENGINES])}\n{_PREAMBLE}{body}\n\\end{{document}}\n"


def render_latex(document: Document) -> str:
    """Return the document as one file of LaTeX that compiles by itself."""
    parts = [part for part in _write_parts(document.with_title(), write_table) if part]
    return write_whole_file(add_other_script("\n\n".join(parts)))


# --- a document ---------------------------------------------------------------------------------

# TeX holds only so many floats back at a time
_MOST_FLOATS = 12
_SECTIONS = ("section", "subsection", "subsubsection")


def list_latex_files(document: Document, name: str) -> dict[str, str]:
    """Return the fragment under this name, and each table as a file that it inputs."""
    files: dict[str, str] = {}

    def keep_table(table: Table) -> str:
        path = f"tables/{key_of(table.name)}"
        files[f"{path}.tex"] = add_other_script(write_table(table) + "\n")
        return rf"\input{{{path}}}"

    parts = [part for part in _write_parts(document, keep_table) if part]
    return {f"{name}.tex": add_other_script("\n\n".join(parts) + "\n"), **files}


def _write_parts(document: Document, place_table: Callable[[Table], str]) -> Iterator[str]:
    floats = 0
    for kind, run in join_neighbours(document.blocks):
        floats += isinstance(run[0], Table | Chart)
        if floats > _MOST_FLOATS:
            floats = 1
            yield r"\clearpage"
        sentences = [block for block in run if isinstance(block, Sentence)]
        if kind == "block":
            block = run[0]
            yield place_table(block) if isinstance(block, Table) else _write_block(block)
        elif kind == "paragraph":
            yield " ".join(map(_write_sentence, sentences))
        elif kind == "facts":
            yield from (
                rf"\paragraph{{{escape(fact.question)}}} {set_words(fact.text)}"
                for fact in sentences
            )
        else:
            items = [rf"\item {_write_finding(sentence)}" for sentence in sentences]
            yield "\n".join([r"\begin{itemize}", *items, r"\end{itemize}"])


def _write_block(block: Block) -> str:
    match block:
        case Heading():
            return rf"\{_SECTIONS[block.level - 1]}*{{{escape(block.text)}}}"
        case Sentence():
            words = " ".join(filter(None, (block.question, block.answer)))
            lead = rf"\textbf{{{set_words(words)}.}} " if words else ""
            return lead + _write_sentence(block)
        case Chart():
            name = key_of(block.name)
            size = r"width=\linewidth,height=.8\textheight,keepaspectratio"
            picture = rf"\includegraphics[{size}]{{figures/{name}.pdf}}"
            caption = rf"\caption{{{set_words(block.caption)}}}"
            return _float("figure", [picture, caption, rf"\label{{fig:{name}}}"])
        case Code():
            # nothing in it may end the environment
            text = block.text.replace(r"\end{verbatim}", r"\end {verbatim}")
            return f"\\begin{{verbatim}}\n{text}\n\\end{{verbatim}}"
        case Quote():
            parts = _write_markdown(block.text) if block.is_markdown else [_set_lines(block.text)]
            return "\n\n".join([r"\begin{quote}", *parts, r"\end{quote}"])
    raise TypeError(f"{type(block).__name__} is no block that can be written.")


def _set_lines(text: str) -> str:
    lines = [escape(line) for line in text.splitlines() if line.strip()]
    return (chr(92) * 2 + "\n").join(lines) or "~"


def _write_finding(sentence: Sentence) -> str:
    lead = rf"\textbf{{{set_words(sentence.question)}:}} " if sentence.question else ""
    return lead + _write_sentence(sentence)


def _write_sentence(sentence: Sentence) -> str:
    text = set_words(sentence.text)
    if not sentence.cites:
        return text
    return rf"{text.removesuffix('.')}~\citep{{{','.join(sentence.cites)}}}."


def set_words(text: str) -> str:
    """Return a text as LaTeX, p values as formulas."""
    return set_p(escape(text))


# --- tables -------------------------------------------------------------------------------------


def write_table(table: Table) -> str:
    """Return a table with the rules of booktabs, as a float with caption and label.

    Long heads and cells are broken into lines. In a table that is too wide, intervals stand below
    their figures; one that is wider than the line all the same is made as narrow as the line. One
    that is longer than a page goes on in further floats.
    """
    starts = range(0, max(len(table.rows), 1), _MOST_ROWS)
    parts = [table.rows[start : start + _MOST_ROWS] for start in starts]
    floats = []
    for number, rows in enumerate(parts, start=1):
        of = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
        ending = f"-{number}" if number > 1 else ""
        foot = table.foot if number == len(parts) else ()
        caption = rf"\caption{{{set_words(table.caption + of)}}}"
        label = rf"\label{{tab:{key_of(table.name)}{ending}}}"
        body = _write_tabular(table, rows, foot)
        floats.append(_float("table", [caption, label, r"\smallskip", *body]))
        if number % _MOST_FLOATS == 0:
            floats.append(r"\clearpage")
    return "\n\n".join(floats)


def _write_tabular(
    table: Table, rows: Sequence[Sequence[Entry]], foot: Sequence[Sequence[Entry]]
) -> list[str]:
    heads = [column.label for column in table.columns]
    plain = [[write_entry(entry) for entry in row] for row in (*rows, *foot)]
    is_wide = _measure(heads, plain) > _WIDEST_TABLE
    if is_wide:
        plain = [cells for row in (*rows, *foot) for cells in _split_plain(row)]
    sides = ["r" if column.is_number and place else "l" for place, column in
             enumerate(table.columns)]  # fmt: skip
    is_high = is_wide or any(len(cell) > _WIDEST_CELL for cells in plain for cell in cells)
    between = "\n\\addlinespace\n" if is_high else "\n"
    head = " & ".join(_break(head, side) for head, side in zip(heads, sides, strict=True))
    body = [
        rf"\begin{{tabular}}{{{''.join(sides)}}}",
        r"\toprule",
        *([rf"{head} \\", r"\midrule"] if any(heads) else []),
        between.join(_write_row(row, sides, is_wide=is_wide) for row in rows),
        *(
            [r"\midrule", "\n".join(_write_row(row, sides, is_wide=is_wide) for row in foot)]
            if foot
            else []
        ),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if _measure(heads, plain) > _WIDEST_TABLE:
        body = [_NO_WIDER, *body[:-1], body[-1] + "}"]
    return body


def _split_plain(row: Sequence[Entry]) -> list[list[str]]:
    """Return the row as the lines that it takes, values above and intervals below."""
    upper = [write_value(entry) if _is_split(entry) else write_entry(entry) for entry in row]
    lower = [_write_bracket(entry) for entry in row]
    return [upper, lower] if any(lower) else [upper]


def _is_split(entry: Entry) -> TypeGuard[Figure]:
    return isinstance(entry, Figure) and entry.value is not None and bool(write_interval(entry))


def _write_bracket(entry: Entry) -> str:
    return f"({write_interval(entry)})" if _is_split(entry) else ""


def _write_row(row: Sequence[Entry], sides: Sequence[str], *, is_wide: bool) -> str:
    # a column of sentences beside names may be wide
    width = _BROKEN_ALONE if [*sides] == ["l", "l"] else _BROKEN
    cells = [
        _stack(entry, side) if is_wide and _is_split(entry) else _set_entry(entry, side, width)
        for entry, side in zip(row, sides, strict=True)
    ]
    return " & ".join(cells) + r" \\"


def _stack(figure: Figure, side: str) -> str:
    """Return a figure above its interval, in one cell."""
    lines = rf"{escape(write_value(figure))}\\{escape(_write_bracket(figure))}"
    return rf"\begin{{tabular}}[t]{{@{{}}{side}@{{}}}}{lines}\end{{tabular}}"


def _set_entry(entry: Entry, side: str, width: float = _BROKEN) -> str:
    if isinstance(entry, Cell):
        # of a mean with its interval, the mean alone is bold
        first, space, rest = entry.text.partition(" " if entry.mark else "\0")
        text = _set_cell(first, side, width)
        text = rf"\textbf{{{text}}}" if entry.is_strong else text
        text += f" {escape(rest)}" if space else ""
        return rf"{text}\textsuperscript{{{escape(entry.above)}}}" if entry.above else text
    return _set_cell(write_entry(entry), side, width)


def _set_cell(text: str, side: str, width: float) -> str:
    if len(text) <= _WIDEST_CELL:
        return escape(text)
    ragged = "raggedright" if side == "l" else "raggedleft"
    return rf"\parbox[t]{{{width}\linewidth}}{{\{ragged} {escape(text)}\strut}}"


def _break(head: str, side: str) -> str:
    """Return the head of a column in lines, one upon the other."""
    lines = _split(head)
    if len(lines) < 2:
        return escape(head)
    return rf"\shortstack[{side}]{{{(chr(92) * 2).join(escape(line) for line in lines)}}}"


def _split(head: str) -> list[str]:
    """Return the lines of a head; "(95% CI)" stays in one."""
    whole = _IN_BRACKETS.sub(lambda match: match[0].replace(" ", "\N{NO-BREAK SPACE}"), head)
    return wrap(whole, _WIDEST_HEAD, break_long_words=False, break_on_hyphens=False)


def _measure(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> float:
    """Return how wide the table will be, in characters."""
    widest = [max(map(len, _split(head)), default=0) for head in heads]
    for row in rows:
        for place, cell in enumerate(row):
            widest[place] = max(widest[place], min(len(cell), _WIDEST_CELL))
    return sum(widest) + _BETWEEN_COLUMNS * (len(widest) - 1)


def _float(kind: str, lines: list[str]) -> str:
    size = [r"\small"] if kind == "table" else []
    inner = [rf"\begin{{{kind}}}[htbp]", r"\centering", *size, *lines, rf"\end{{{kind}}}"]
    return "\n".join(inner)


# --- Markdown of a researcher -----------------------------------------------------------------

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


def _write_markdown(text: str) -> Iterator[str]:
    """Return the blocks of the text; no command in it runs."""
    tokens = parse_markdown(text)
    for place, token in enumerate(tokens):
        before = tokens[place - 1].type if place else ""
        if token.type in _EDGES:
            yield _EDGES[token.type]
        elif token.type in ("fence", "code_block"):
            yield _write_code(token.content)
        elif token.type == "tr_open":
            yield _write_markdown_row(tokens[place:])
        elif token.type == "inline" and before not in _CELLS:
            words = _write_inline(token.children or ())
            yield rf"\textbf{{{words}}}" if before == "heading_open" else words


def _write_code(content: str) -> str:
    lines = [rf"\texttt{{{escape(line)}}}" for line in content.splitlines() if line.strip()]
    return r"\noindent " + "\\\\\n".join(lines)


def _write_markdown_row(tokens: Sequence[Token]) -> str:
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
    text = token.content
    if not text.strip():
        return " " if text else ""
    before, after = (" " if end.isspace() else "" for end in (text[0], text[-1]))
    return f"{before}{escape(text)}{after}"
