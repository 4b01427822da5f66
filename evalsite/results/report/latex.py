"""Texts and tables as LaTeX: names are escaped, so that no command in them runs."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from textwrap import wrap

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
_SPACES = re.compile(r"[^\S\N{NO-BREAK SPACE}]+")
_DRAWN_AS_ONE = re.compile(r"-{2,}|'{2,}|,{2,}")
_P = re.compile(r"\bp[ ~]\$?([<>=])\$?[ ~](\.\d+)")
# as `escape` leaves "[@key]", *t* and *τ_b* of a sentence
_UNDERSCORE = r"\_"
_SYMBOL = re.compile(r"\{\*\}((?:[A-Za-z]|\$\\tau\$)(?:\\_[a-z])?)\{\*\}")
_CITED = re.compile(r"\{\[\}@([a-z0-9,]+)\{\]\}")
# a figure and its interval, or what it is of
_FIGURE = re.compile(r"^(\S+(?: \S+)*?)[ \N{NO-BREAK SPACE}](\([^()]{6,}\))$")
_UNSAFE_IN_KEYS = re.compile(r"[^A-Za-z0-9]+")
# in characters: longer heads and cells are broken, tables that are wider made smaller
_WIDEST_HEAD, _WIDEST_CELL, _WIDEST_TABLE = 14, 30, 74
_BETWEEN_COLUMNS = 2.6
# a cell that is broken, as a part of the line
_BROKEN = 0.34


def escape(text: str) -> str:
    """Return the text as LaTeX that shows it: one line, no command, no open group, no comment."""
    plain = _SPACES.sub(" ", "".join(_keep(sign) for sign in text)).strip()
    # signs that LaTeX would draw as one are kept apart: two hyphens in a name are no dash
    apart = _DRAWN_AS_ONE.sub(lambda found: "\0".join(found[0]), plain)
    return "".join(_SIGNS.get(sign, sign) for sign in apart).replace("\0", "{}")


def set_sentence(text: str) -> str:
    """Return the sentence in LaTeX: "[@key]" is a citation, and *t* or *τ_b* a formula."""
    cited = _CITED.sub(lambda known: rf"\citep{{{known[1]}}}", escape(text))
    return _SYMBOL.sub(
        lambda known: f"${known[1].replace('$', '').replace(_UNDERSCORE, '_')}$", cited
    )


def set_p(text: str) -> str:
    """Return LaTeX with every p value as one formula: "p = .012", "p $<$ .001"."""
    return _P.sub(lambda found: f"$p {found[1]} {found[2]}$", text)


def _keep(sign: str) -> str:
    """Return the sign, a space for one that ends lines, nothing for one that can't be seen."""
    kind = unicodedata.category(sign)
    if kind in ("Cc", "Zl", "Zp"):
        return " "
    return "" if kind in ("Cf", "Cs", "Co", "Cn") else sign


def key_of(name: str) -> str:
    """Return the name as part of a label, in letters and digits that LaTeX accepts unchanged."""
    return _UNSAFE_IN_KEYS.sub("-", name).strip("-").lower()


def write_comment(lines: Iterable[str]) -> str:
    """Lines that LaTeX skips; what they quote can't end one."""
    return "\n".join(f"% {_SPACES.sub(' ', line)}" for line in lines)


def write_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str, label: str
) -> str:
    """Return a table with the rules of booktabs; caption and cells are plain text.

    Long heads and cells are broken into lines. In a table that is too wide, intervals stand below
    their figures; one that is wider than the line all the same is made as narrow as the line.
    """
    given = [list(row) for row in rows]
    groups = [[row] for row in given]
    if _measure(columns, given) > _WIDEST_TABLE:
        groups = [_break_row(row) for row in given]
    heads = [_break(head, "l" if place == 0 else "r") for place, head in enumerate(columns)]
    # rows of two lines are kept apart
    between = "\n\\addlinespace\n" if any(len(group) > 1 for group in groups) else "\n"
    lines = ["\n".join(map(_write_row, group)) for group in groups]
    body = [
        rf"\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}",
        r"\toprule",
        " & ".join(heads) + r" \\",
        r"\midrule",
        between.join(lines),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if _measure(columns, [row for group in groups for row in group]) > _WIDEST_TABLE:
        body = [r"\resizebox{\linewidth}{!}{%", *body[:-1], body[-1] + "}"]
    return _float("table", [rf"\caption{{{escape(caption)}}}", rf"\label{{{label}}}", *body])


def write_figure(path: str, *, caption: str, label: str) -> str:
    """Return a figure from a file; the path is one that this software made."""
    picture = rf"\includegraphics[width=\linewidth]{{{path}}}"
    return _float("figure", [picture, rf"\caption{{{escape(caption)}}}", rf"\label{{{label}}}"])


def _break_row(row: list[str]) -> list[list[str]]:
    """Return the row as two, the lower one with the intervals of its figures, if it has some."""
    parts = [_FIGURE.match(cell) for cell in row[1:]]
    if not any(parts):
        return [row]
    upper = [part[1] if part else cell for part, cell in zip(parts, row[1:], strict=True)]
    return [[row[0], *upper], ["", *(part[2] if part else "" for part in parts)]]


def _write_row(cells: Sequence[str]) -> str:
    sides = ["raggedright", *["raggedleft"] * (len(cells) - 1)]
    return " & ".join(map(_write_cell, cells, sides)) + r" \\"


def _write_cell(cell: str, side: str) -> str:
    if len(cell) <= _WIDEST_CELL:
        return escape(cell)
    return rf"\parbox[t]{{{_BROKEN}\linewidth}}{{\{side} {escape(cell)}\strut}}"


def _break(head: str, side: str) -> str:
    """Return the head of a column in lines, one upon the other."""
    lines = _split(head)
    if len(lines) < 2:
        return escape(head)
    return rf"\shortstack[{side}]{{{(chr(92) * 2).join(escape(line) for line in lines)}}}"


def _split(head: str) -> list[str]:
    return wrap(head, _WIDEST_HEAD, break_long_words=False, break_on_hyphens=False)


def _measure(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> float:
    """Return how wide the table will be, in characters."""
    heads = [max(map(len, _split(head)), default=0) for head in columns]
    cells = [
        max((min(len(one), _WIDEST_CELL) for one in cells), default=0)
        for cells in zip(*rows, strict=True)
    ]
    widest = [max(pair) for pair in zip_longest(heads, cells, fillvalue=0)]
    return sum(widest) + _BETWEEN_COLUMNS * (len(widest) - 1)


def _float(kind: str, lines: list[str]) -> str:
    size = [r"\small"] if kind == "table" else []
    inner = [rf"\begin{{{kind}}}[htbp]", r"\centering", *size, *lines, rf"\end{{{kind}}}"]
    return "\n".join(inner)
