"""A document as Markdown, and its tables as Markdown and as CSV."""

import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import indent
from typing import Any

from evalsite.analysis.figure import Figure
from evalsite.lib.csv_writer import write_guarded
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
    drop_isolates,
    join_neighbours,
    write_entry,
)
from evalsite.results.document.figures import explain_reason

# of Markdown, and of HTML inside it
_MARKUP = re.compile(r"([\\`*_{}\[\]#!|<>&~])")
_FENCE = re.compile(r"`{3,}")


def render_text(document: Document) -> str:
    """Return the document as Markdown that shows every name unchanged."""
    parts = [f"# {quote_markdown(document.title)}"]
    for kind, run in join_neighbours(document.blocks):
        if kind == "block":
            parts.append(_write_block(run[0]))
            continue
        sentences = [block for block in run if isinstance(block, Sentence)]
        if kind == "paragraph":
            parts.append(" ".join(quote_markdown(sentence.text) for sentence in sentences))
        else:
            parts.append("\n".join(render_lines(sentences)))
    return "\n\n".join(part for part in parts if part) + "\n"


def render_lines(sentences: Iterable[Sentence]) -> Iterator[str]:
    """Yield each sentence as a line of a list."""
    for sentence in sentences:
        yield f"- {_write_line(sentence)}"


def _write_line(sentence: Sentence) -> str:
    words = " ".join(filter(None, (sentence.question, sentence.answer)))
    lead = f"**{quote_markdown(words)}{'.' if sentence.answer else ':'}** " if words else ""
    return lead + quote_markdown(sentence.text)


def _write_block(block: Block) -> str:
    match block:
        case Heading():
            return f"{'#' * (block.level + 1)} {quote_markdown(block.text)}"
        case Sentence():
            words = " ".join(filter(None, (block.question, block.answer)))
            text = quote_markdown(block.text)
            return f"**{quote_markdown(words)}.** {text}" if words else f"**{text}**"
        case Table():
            return f"{quote_markdown(block.caption)}\n\n{write_markdown_table(block)}"
        case Code():
            return f"```{block.language}\n{_FENCE.sub('``', block.text)}\n```"
        case Quote():
            # nothing in it is a heading or a list of this document
            return indent(block.text.strip(), "    ", lambda line: True)
        case Chart():
            return ""
    raise TypeError(f"{type(block).__name__} is no block that can be written.")


def write_markdown_table(table: Table) -> str:
    head = [column.label for column in table.columns]
    sides = ["--:" if column.is_number else "---" for column in table.columns]
    rows = [
        [quote_markdown(write_entry(entry)) for entry in row] for row in (*table.rows, *table.foot)
    ]
    lines = [[quote_markdown(label) for label in head], sides, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def quote_markdown(text: str) -> str:
    """Return the text as one line of Markdown that shows it unchanged."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


# --- CSV ----------------------------------------------------------------------------------------


# the further columns of a figure with an interval, and of a mean in the table for a paper
_WIDE = ("low", "high")
_PAPER = (*_WIDE, "±", "tier")


def write_table_csv(table: Table) -> str:
    """Write a table for a program: every digit, the ends of intervals in columns of their own."""
    rows = [*table.rows, *table.foot]
    further = [_find_further([row[place] for row in rows]) for place in range(len(table.columns))]
    head = [
        label
        for column, names in zip(table.columns, further, strict=True)
        for label in (column.label, *(f"{column.label}, {name}" for name in names))
    ]
    cells = (
        [
            cell
            for entry, names in zip(row, further, strict=True)
            for cell in _list_cells(entry, names)
        ]
        for row in rows
    )
    return write_guarded([head, *cells])


def _find_further(entries: Sequence[Entry]) -> Sequence[str]:
    """Return which further columns this one takes."""
    if any(isinstance(entry, Cell) and entry.mark is not None for entry in entries):
        return _PAPER
    figures = (entry for entry in entries if isinstance(entry, Figure))
    return (
        _WIDE
        if any(figure.low is not None or figure.high is not None for figure in figures)
        else ()
    )


def _list_cells(entry: Entry, names: Sequence[str]) -> Sequence[Any]:
    ends: dict[str, Any]
    value: Any
    if isinstance(entry, Figure):
        value = explain_reason(entry.why) if entry.value is None else entry.value
        ends = {"low": entry.low, "high": entry.high}
    elif isinstance(entry, Cell) and entry.mark is not None:
        mean, distance = entry.figures[0], _find_distance(entry)
        value = mean.value
        ends = {"low": mean.low, "high": mean.high, "±": distance, "tier": entry.above}
    else:
        value, ends = drop_isolates(write_entry(entry)), {}
    known = [ends.get(name) for name in names]
    return (value, *("" if end is None else end for end in known))


def _find_distance(cell: Cell) -> float | None:
    """Return the half-width of the interval of the distance from the average."""
    for figure in cell.figures:
        if figure.name == "distance" and figure.low is not None and figure.high is not None:
            return (figure.high - figure.low) / 2
    return None
