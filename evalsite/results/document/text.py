"""A document as Markdown, and its tables as Markdown and as CSV."""

import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import indent
from typing import Any

from evalsite.analysis.figure import Figure
from evalsite.lib.csv_writer import write_guarded
from evalsite.results.document.blocks import (
    Block,
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
    rows = [[_write_cell(entry) for entry in row] for row in (*table.rows, *table.foot)]
    lines = [[quote_markdown(label) for label in head], sides, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _write_cell(entry: Entry) -> str:
    return quote_markdown(write_entry(entry))


def quote_markdown(text: str) -> str:
    """Return the text as one line of Markdown that shows it unchanged."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


# --- CSV ----------------------------------------------------------------------------------------


def write_table_csv(table: Table) -> str:
    """Write a table for a program: every digit, the ends of intervals in columns of their own."""
    rows = [*table.rows, *table.foot]
    # a column with a figure that has an interval takes three
    wide = [
        any(isinstance(row[place], Figure) and _has_interval(row[place]) for row in rows)
        for place in range(len(table.columns))
    ]
    head = [
        label
        for column, is_wide in zip(table.columns, wide, strict=True)
        for label in _name_columns(column.label, is_wide=is_wide)
    ]
    cells = (
        [
            cell
            for entry, is_wide in zip(row, wide, strict=True)
            for cell in _list_cells(entry, is_wide=is_wide)
        ]
        for row in rows
    )
    return write_guarded([head, *cells])


def _has_interval(entry: Any) -> bool:
    return entry.low is not None or entry.high is not None


def _name_columns(label: str, *, is_wide: bool) -> Sequence[str]:
    return (label, f"{label}, low", f"{label}, high") if is_wide else (label,)


def _list_cells(entry: Entry, *, is_wide: bool) -> Sequence[Any]:
    if isinstance(entry, Figure):
        value = explain_reason(entry.why) if entry.value is None else entry.value
        ends = ["" if end is None else end for end in (entry.low, entry.high)]
        return (value, *ends) if is_wide else (value,)
    text = drop_isolates(write_entry(entry))
    return (text, "", "") if is_wide else (text,)
