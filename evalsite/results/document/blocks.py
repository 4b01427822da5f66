"""A document is a list of blocks: its writers know blocks, and nothing of statistics.

Every number in a document is a figure, or stands in a text together with the figures that it was
written from, so that they can be computed again and compared.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from evalsite.analysis.figure import Figure
from evalsite.results.document.figures import write_figure

# in the report; in its second file and in folds; on pages only
Place = Literal["main", "further", "page"]


@dataclass(frozen=True, kw_only=True)
class Block:
    place: Place = "main"


@dataclass(frozen=True)
class Heading(Block):
    text: str
    level: int = 1
    anchor: str = ""


@dataclass(frozen=True)
class Sentence(Block):
    """A sentence or a few; neighbours of one kind are written as one paragraph or one list.

    `code` says the same without words. `question`, `answer`: of a headline, what the plan
    asks and its answer; of a fact, its name. `link`: the anchor of the heading where more is
    said. `cites`: keys of references.bib.
    """

    code: str
    text: str
    kind: Literal["plain", "headline", "warning", "note", "fact"] = "plain"
    figures: tuple[Figure, ...] = ()
    question: str = ""
    answer: str = ""
    link: str = ""
    cites: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """A column; those with marks on one `scale` share an axis."""

    label: str
    is_number: bool = True
    scale: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell in words, with the figures that they say.

    `above`: a letter above the line. `below`: what stands on a second line. `link`: where it leads
    on pages of the site. `look`: how a page shows it: shares as parts of a bar, a tier, a field of
    a matrix. `mark`: what the table for a paper draws below the words.
    """

    text: str
    figures: tuple[Figure, ...] = ()
    above: str = ""
    below: str = ""
    look: Literal["", "parts", "tier", "faint", "middling", "strong", "apart"] = ""
    is_strong: bool = False
    link: str = ""
    mark: Figure | None = None


Entry = Figure | Cell | str


@dataclass(frozen=True)
class Table(Block):
    """A table whose first column names its rows. `name`: of its file and its label.

    `marks`: whether a page draws the first figure of each row, or the first two. A chart of the
    same name is drawn within the table. `foot`: rows below the rule.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Entry]]
    foot: Sequence[Sequence[Entry]] = ()
    marks: Literal["none", "intervals", "both"] = "none"


@dataclass(frozen=True)
class Chart(Block):
    """A chart of figures; the last part of a figure's group names its row.

    Intervals: a row each. Stacked: shares, the last part of the group names the part, and the one
    before it the row. Points: two figures of the same group are one point, to the right and up.
    `reference`: a value with a line through all rows. `rings`: figures beside those, each in the
    row of its name; `ring_label` says what they are.
    """

    name: str
    kind: Literal["intervals", "stacked", "points"]
    caption: str
    figures: Sequence[Figure]
    reference: float | None = None
    rings: Sequence[Figure] = ()
    ring_label: str = ""


@dataclass(frozen=True)
class DecisionChart(Chart):
    """Differences that answer a planned question, with `labels` of their rows.

    `margins`: values with a dashed line; `passing`: where the answer is yes, None for an open end.
    """

    labels: Sequence[str] = ()
    margins: Sequence[float] = ()
    passing: tuple[float | None, float | None] | None = None


@dataclass(frozen=True)
class Code(Block):
    language: str
    text: str


@dataclass(frozen=True)
class Quote(Block):
    """A text as people read it, line by line: plain, or Markdown that is shown as they saw it."""

    text: str
    is_markdown: bool = False


@dataclass(frozen=True)
class Document:
    title: str
    blocks: Sequence[Block] = ()

    def keep(self, *places: Place) -> "Document":
        """Return the document with the blocks of these places only."""
        return replace(self, blocks=[block for block in self.blocks if block.place in places])

    def with_title(self) -> "Document":
        """Return the document with its title above all blocks, if no block is a headline."""
        if any(isinstance(block, Heading) and block.level == 1 for block in self.blocks):
            return self
        return replace(self, blocks=[Heading(self.title), *self.blocks])

    @property
    def figures(self) -> list[Figure]:
        """List every figure that the document prints."""
        return [figure for block in self.blocks for figure in list_figures(block)]

    @property
    def codes(self) -> list[str]:
        return [block.code for block in self.blocks if isinstance(block, Sentence)]

    def find_table(self, name: str) -> Table | None:
        tables = (block for block in self.blocks if isinstance(block, Table))
        return next((table for table in tables if table.name == name), None)


def list_figures(block: Block) -> Iterator[Figure]:
    match block:
        case Sentence():
            yield from block.figures
        case Chart():
            yield from (*block.figures, *block.rings)
        case Table():
            for row in (*block.rows, *block.foot):
                for entry in row:
                    yield from list_figures_of(entry)


def list_figures_of(entry: Entry) -> Iterable[Figure]:
    if isinstance(entry, Figure):
        return (entry,)
    return entry.figures if isinstance(entry, Cell) else ()


def write_entry(entry: Entry) -> str:
    """Write a cell as plain text; a letter above the line or a second line follows in brackets."""
    if isinstance(entry, Figure):
        return write_figure(entry)
    if isinstance(entry, Cell):
        above = f" [{entry.above}]" if entry.above else ""
        return f"{entry.text}{above}" + (f" ({entry.below})" if entry.below else "")
    return entry


Run = tuple[Literal["paragraph", "findings", "notes", "facts", "block"], list[Block]]


def join_neighbours(blocks: Iterable[Block]) -> Iterator[Run]:
    """Yield runs of blocks: sentences of one paragraph or of one list together, others alone."""

    def name_run(block: Block) -> str:
        if not isinstance(block, Sentence) or block.kind == "headline":
            return "block"
        if block.kind == "fact":
            return "facts"
        if block.kind != "plain":
            return "notes"
        return "findings" if block.link else "paragraph"

    for kind, run in groupby(blocks, key=lambda block: (name_run(block), block.place)):
        if kind[0] == "block":
            yield from (("block", [block]) for block in run)
        else:
            yield kind[0], list(run)  # type: ignore[misc]


# --- names --------------------------------------------------------------------------------------

_FIRST, _LAST = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"
_SHORTEST_WORD = 3
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})


def isolate(name: str) -> str:
    """Return a name that can't change the direction of the text around it, on one line."""
    plain = "".join(_keep(sign) for sign in name)
    plain = " ".join(plain.split())
    if any(unicodedata.bidirectional(sign) in _RIGHT_TO_LEFT for sign in plain):
        return f"{_FIRST}{plain}{_LAST}"
    return plain


def _keep(sign: str) -> str:
    kind = unicodedata.category(sign)
    return " " if kind in ("Cc", "Zl", "Zp") else "" if kind in ("Cf", "Cs", "Co", "Cn") else sign


def has_isolates(text: str) -> bool:
    return _FIRST in text


def drop_isolates(text: str) -> str:
    return text.replace(_FIRST, "").replace(_LAST, "")


def start_sentence(text: str) -> str:
    """Return the text with a capital, if its first word is a plain lower-case one.

    Names such as "a" or "v2" stay as they are: another system may be called "A".
    """
    first = text.partition(" ")[0].removesuffix(":")
    is_word = len(first) >= _SHORTEST_WORD and first.isalpha() and first.islower()
    is_word = is_word or first == "no"
    return text[:1].upper() + text[1:] if is_word else text


def key_of(name: str) -> str:
    """Return the name as part of a label or of a file's name, in letters and digits that LaTeX
    accepts unchanged."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()
