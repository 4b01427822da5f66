"""A document as HTML, for pages of the site and for a page that needs no other file."""

from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evalsite.analysis.figure import Figure
from evalsite.lib.markdown import render_markdown
from evalsite.results.document.axis import Axis
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
    join_neighbours,
)
from evalsite.results.document.figures import hold_together, write_figure
from evalsite.results.document.svg import draw_axis, draw_mark, draw_svg, find_axis

STYLE = Path(__file__).with_name("style.css")


def render_html(document: Document, *, is_folded: bool = False) -> SafeString:
    """Return the blocks as HTML; `is_folded`: further analyses are closed at first."""
    parts = []
    for kind, run in join_neighbours(document.blocks):
        if kind == "block":
            html = _write_block(run[0])
            caption = run[0].caption if isinstance(run[0], Table | Chart) else ""
            if is_folded and caption and run[0].place == "further":
                html = format_html(
                    '<details class="fold"><summary><h3>{}</h3></summary>{}</details>',
                    caption, html,
                )  # fmt: skip
            parts.append(html)
        else:
            sentences = [block for block in run if isinstance(block, Sentence)]
            parts.append(_RUNS[kind](sentences))
    return format_html_join("\n", "{}", ((part,) for part in parts))


def render_page(document: Document) -> str:
    """Return the document as a page that needs no other file."""
    style = f"data:text/css;base64,{b64encode(STYLE.read_bytes()).decode()}"
    context = {"title": document.title, "style": style, "body": render_html(document.with_title())}
    return render_to_string("results/document.html", context)


# --- sentences ----------------------------------------------------------------------------------


def _write_paragraph(sentences: Sequence[Sentence]) -> SafeString:
    return format_html("<p>{}</p>", hold_together(" ".join(one.text for one in sentences)))


def _write_findings(sentences: Sequence[Sentence]) -> SafeString:
    rows = format_html_join(
        "\n",
        '<li><a href="{}">{}</a><p>{}</p></li>',
        (
            # an anchor of this page, or one of another
            (one.link if "#" in one.link else f"#{one.link}", one.question, hold_together(one.text))
            for one in sentences
        ),
    )
    return format_html('<ul class="finds">\n{}\n</ul>', rows)


def _write_notes(sentences: Sequence[Sentence]) -> SafeString:
    rows = format_html_join(
        "\n",
        "<li{}><p>{}</p></li>",
        (
            (
                format_html(' class="{}"', "ok") if one.kind == "note" else "",
                hold_together(one.text),
            )
            for one in sentences
        ),
    )
    return format_html('<ul class="todo notes">\n{}\n</ul>', rows)


def _write_facts(sentences: Sequence[Sentence]) -> SafeString:
    rows = format_html_join(
        "\n",
        '<dt dir="auto">{}</dt><dd dir="auto">{}</dd>',
        ((fact.question, hold_together(fact.text)) for fact in sentences),
    )
    return format_html('<dl class="pairs">\n{}\n</dl>', rows)


_RUNS = {
    "paragraph": _write_paragraph,
    "findings": _write_findings,
    "notes": _write_notes,
    "facts": _write_facts,
}


# --- other blocks -------------------------------------------------------------------------------


def _write_block(block: Block) -> SafeString:
    match block:
        case Heading():
            anchor = format_html(' id="{}"', block.anchor) if block.anchor else ""
            level = f"h{block.level}"
            return format_html("<{}{}>{}</{}>", level, anchor, hold_together(block.text), level)
        case Sentence():
            return _write_headline(block)
        case Table():
            return write_html_table(block)
        case Chart():
            return format_html('<div class="chart">{}</div>', draw_svg(block))
        case Code():
            return format_html(
                '<pre tabindex="0" role="region" aria-label="{}">{}</pre>',
                block.language or "Commands", block.text,
            )  # fmt: skip
        case Quote():
            text = render_markdown(block.text) if block.is_markdown else block.text
            lines = "quoted" if block.is_markdown else "quoted lines"
            return format_html('<blockquote class="{}" dir="auto">{}</blockquote>', lines, text)
    raise TypeError(f"{type(block).__name__} is no block that can be written.")


def _write_headline(sentence: Sentence) -> SafeString:
    """Write a planned question with its answer, or what an answer is without a question."""
    outcome = sentence.code.rpartition("_")[2]
    kind = outcome if outcome in ("yes", "no", "open") else ""
    question = sentence.question and format_html("<h2>{}</h2>", hold_together(sentence.question))
    answer = sentence.answer and format_html(
        '<p class="answer">{}</p>', hold_together(sentence.answer)
    )
    return format_html(
        '<section class="decide {}">{}{}<p>{}</p></section>',
        kind, question, answer, hold_together(sentence.text),
    )  # fmt: skip


def write_html_table(table: Table) -> SafeString:
    """Write a table; with marks, each row has a drawing of its first figure with an interval."""
    axis = _find_axis(table)
    head = format_html_join(
        "",
        '<th scope="col"{}>{}</th>',
        (
            (_is_number(column.is_number and place > 0), column.label)
            for place, column in enumerate(table.columns)
        ),
    )
    if axis is not None:
        head = format_html("{}<th></th>", head)
    body = _write_rows(table, table.rows, axis)
    foot = _write_rows(table, table.foot, None)
    if axis is not None:
        cells = format_html_join("", "<td>{}</td>", [("",)] * len(table.columns))
        foot += format_html('<tr>{}<td class="fig">{}</td></tr>', cells, draw_axis(axis))
    has_head = any(column.label for column in table.columns)
    name = "paper" if table.name == "paper" else "figure" if axis is not None else "plain"
    return format_html(
        '<div class="scroll" tabindex="0" role="region" aria-label="{}">'
        '<table class="{}"><caption>{}</caption>{}<tbody>\n{}\n</tbody>'
        "{}</table></div>",
        table.caption.partition(". ")[0], name, hold_together(table.caption),
        format_html("<thead><tr>{}</tr></thead>\n", head) if has_head else "", body,
        format_html("<tfoot>\n{}\n</tfoot>", foot) if foot else "",
    )  # fmt: skip


def _find_axis(table: Table) -> Axis | None:
    figures = [figure for row in table.rows if (figure := _find_marked(row)) is not None]
    return find_axis(figures) if table.marks == "intervals" and figures else None


def _find_marked(row: Sequence[Entry]) -> Figure | None:
    figures = (entry for entry in row if isinstance(entry, Figure))
    return next((figure for figure in figures if figure.low is not None), None)


def _write_rows(
    table: Table, rows: Sequence[Sequence[Entry]], axis: Axis | None
) -> SafeString:  # fmt: skip
    return format_html_join("\n", "{}", ((_write_row(table, row, axis),) for row in rows))


def _write_row(table: Table, row: Sequence[Entry], axis: Axis | None) -> SafeString:
    cells = [format_html('<th scope="row"><bdi>{}</bdi></th>', _write_entry(row[0]))]
    for column, entry in zip(table.columns[1:], row[1:], strict=True):
        cells.append(
            format_html(
                '<td{} data-th="{}">{}</td>',
                _is_number(column.is_number), column.label, _write_entry(entry),
            )
        )  # fmt: skip
    if axis is not None:
        figure = _find_marked(row)
        mark = "" if figure is None else draw_mark(figure, axis)
        cells.append(format_html('<td class="fig">{}</td>', mark))
    return format_html("<tr>{}</tr>", format_html_join("", "{}", ((cell,) for cell in cells)))


def _is_number(is_number: bool) -> str:
    return format_html(' class="{}"', "n") if is_number else ""


def _write_entry(entry: Entry) -> str:
    if isinstance(entry, Figure):
        return hold_together(write_figure(entry))
    if isinstance(entry, str):
        return entry
    if entry.link:
        return format_html('<a href="{}">{}</a>', entry.link, entry.text)
    text = format_html("<b>{}</b>", entry.text) if entry.is_strong else entry.text
    letter = format_html("<sup>{}</sup>", entry.above) if entry.above else ""
    return format_html("{}{}", text, letter)
