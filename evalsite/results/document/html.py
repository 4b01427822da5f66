"""A document as HTML, for pages of the site and for a page that needs no other file."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evalsite.analysis.figure import Figure
from evalsite.lib.markdown import render_markdown
from evalsite.results.document.blocks import (
    Block,
    Cell,
    Chart,
    Code,
    Column,
    Document,
    Entry,
    Heading,
    Quote,
    Sentence,
    Table,
    join_neighbours,
    list_figures_of,
    write_entry,
)
from evalsite.results.document.charts import (
    Axis,
    draw_axis,
    draw_bar,
    draw_mark,
    draw_svg,
    find_axis,
    list_key,
    list_shades,
    name_row,
    write_paper,
    write_row_head,
)
from evalsite.results.document.figures import hold_together, write_interval, write_value

STYLE = Path(__file__).with_name("style.css")
# the level of headings of further analyses, each of which is a fold on pages
_FOLDED = 3
# with more columns of numbers, the drawing in a table is narrow
_MANY = 2
Charts = Mapping[str, Chart]


def render_html(document: Document, *, is_folded: bool = False) -> SafeString:
    """Return the blocks as HTML; `is_folded`: each further analysis is closed at first, and the
    line that opens it states its result."""
    tables = {block.name for block in document.blocks if isinstance(block, Table)}
    charts = {
        block.name: block
        for block in document.blocks
        if isinstance(block, Chart) and block.kind == "intervals" and block.name in tables
    }
    joined = list(charts.values())
    blocks = [block for block in document.blocks if block not in joined]
    parts = []
    for heading, run in groupby(_find_folds(blocks), key=itemgetter(0)):
        within = [block for _, block in run]
        if heading is not None and is_folded:
            parts.append(_write_fold(heading, within[1:], charts))
        else:
            parts.append(_write_blocks(within, charts))
    return format_html_join("\n", "{}", ((part,) for part in parts))


def _find_folds(blocks: Iterable[Block]) -> Iterator[tuple[Heading | None, Block]]:
    """Yield each block with the heading of the further analysis that it belongs to."""
    heading: Heading | None = None
    for block in blocks:
        if isinstance(block, Heading):
            heading = block if block.level == _FOLDED and block.place != "main" else None
        yield heading, block


def _write_fold(heading: Heading, blocks: Sequence[Block], charts: Charts) -> SafeString:
    result = ""
    if blocks and isinstance(blocks[0], Sentence):
        result = format_html(" <span>{}</span>", hold_together(blocks[0].text))
        blocks = blocks[1:]
    return format_html(
        '<details class="fold"><summary><h3>{}</h3>{}</summary>{}</details>',
        hold_together(heading.text), result, _write_blocks(blocks, charts),
    )  # fmt: skip


def _write_blocks(blocks: Iterable[Block], charts: Charts) -> SafeString:
    parts = []
    for kind, run in join_neighbours(blocks):
        if kind == "block":
            parts.append(_write_block(run[0], charts))
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
    return format_html(
        "<p>{}</p>", hold_together(" ".join(sentence.text for sentence in sentences))
    )


def _write_findings(sentences: Sequence[Sentence]) -> SafeString:
    rows = format_html_join(
        "\n",
        '<li><a href="{}">{}</a><p>{}</p></li>',
        (
            # an anchor of this page, or one of another
            (
                sentence.link if set("#/") & set(sentence.link) else f"#{sentence.link}",
                sentence.question,
                hold_together(sentence.text),
            )
            for sentence in sentences
        ),
    )
    return format_html('<ul class="finds">\n{}\n</ul>', rows)


def _write_notes(sentences: Sequence[Sentence]) -> SafeString:
    rows = format_html_join(
        "\n",
        "<li{}><p>{}</p></li>",
        (
            (
                format_html(' class="{}"', "ok") if sentence.kind == "note" else "",
                hold_together(sentence.text),
            )
            for sentence in sentences
        ),
    )
    return format_html('<ul class="todo notes">\n{}\n</ul>', rows)


def _write_facts(sentences: Sequence[Sentence]) -> SafeString:
    rows = format_html_join(
        "\n",
        '<dt dir="auto">{}</dt><dd dir="auto">{}</dd>',
        (
            (
                fact.question,
                format_html("<em>{}</em>", fact.text)
                if fact.code == "open"
                else hold_together(fact.text),
            )
            for fact in sentences
        ),
    )
    return format_html('<dl class="pairs">\n{}\n</dl>', rows)


_RUNS = {
    "paragraph": _write_paragraph,
    "findings": _write_findings,
    "notes": _write_notes,
    "facts": _write_facts,
}


# --- other blocks -------------------------------------------------------------------------------


def _write_block(block: Block, charts: Charts) -> SafeString:
    match block:
        case Heading():
            anchor = format_html(' id="{}"', block.anchor) if block.anchor else ""
            level = f"h{block.level}"
            return format_html("<{}{}>{}</{}>", level, anchor, hold_together(block.text), level)
        case Sentence():
            return _write_headline(block)
        case Table():
            return write_html_table(block, charts.get(block.name))
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


# how an answer to a planned question looks
LOOKS = {"yes": "done", "no": "bad", "open": "open"}


def _write_headline(sentence: Sentence) -> SafeString:
    """Write a planned question with its answer, or what an answer is without a question."""
    outcome = sentence.code.rpartition("_")[2]
    kind = outcome if outcome in ("yes", "no", "open") else ""
    question = sentence.question and format_html("<h2>{}</h2>", hold_together(sentence.question))
    answer = sentence.answer and format_html(
        '<p class="answer"><span class="is {}">{}</span></p>',
        LOOKS.get(kind, ""), hold_together(sentence.answer),
    )  # fmt: skip
    return format_html(
        '<section class="decide {}">{}{}<p>{}</p></section>',
        kind, question, answer, hold_together(sentence.text),
    )  # fmt: skip


def write_html_table(table: Table, chart: Chart | None = None) -> SafeString:
    """Write a table; with marks or a chart, each row has a drawing beside its name."""
    if table.name == "paper":
        return write_paper(table)
    marks = _Marks(table, chart)
    axis = marks.axis
    heads = [
        format_html(
            '<th scope="col"{}>{}</th>', _is_number(column.is_number and place > 0), column.label
        )
        for place, column in enumerate(table.columns)
    ]
    if axis is not None:
        heads.insert(1, format_html('<th scope="col"><span class="vh">{}</span></th>', "Chart"))
    body = _write_rows(table, table.rows, marks)
    foot = _write_rows(table, table.foot, marks)
    if axis is not None:
        foot += format_html(
            '<tr><td></td><td class="fig">{}</td><td colspan="{}"></td></tr>',
            draw_axis(axis), len(table.columns) - 1,
        )  # fmt: skip
    has_head = any(column.label for column in table.columns)
    return format_html(
        '<div class="scroll" tabindex="0" role="region" aria-label="{}">'
        '<table class="{}"><caption>{}</caption>{}<tbody>\n{}\n</tbody>'
        "{}</table></div>{}",
        table.caption.partition(". ")[0], _name_look(table, axis), hold_together(table.caption),
        format_html("<thead><tr>{}</tr></thead>\n", _join(heads)) if has_head else "", body,
        format_html("<tfoot>\n{}\n</tfoot>", foot) if foot else "", _write_key(table, chart),
    )  # fmt: skip


def _name_look(table: Table, axis: Axis | None) -> str:
    if any(
        isinstance(entry, Cell) and entry.look in _SHADES for row in table.rows for entry in row
    ):
        return "matrix tight"
    if axis is None:
        return "plain"
    return "figure many" if len(table.columns) - 1 > _MANY else "figure"


def _write_key(table: Table, chart: Chart | None) -> SafeString:
    """Write what a ring, a second mark and the ends of a bar stand for."""
    keys: list[SafeString] = []
    if chart is not None and chart.rings:
        keys.append(
            format_html(
                '<li><svg viewBox="0 0 16 16" aria-hidden="true"><circle class="ring" cx="8" '
                'cy="8" r="5"/></svg>{}</li>',
                chart.ring_label,
            )
        )
    if table.marks == "both" and len(table.columns) > _MANY:
        for shape, column in zip(("dot", "dot2"), table.columns[1:], strict=False):
            keys.append(
                format_html(
                    '<li class="both"><svg viewBox="0 0 16 16" aria-hidden="true"><circle '
                    'class="{}" cx="8" cy="8" r="5"/></svg>{}</li>',
                    shape, column.label,
                )
            )  # fmt: skip
    cells = [entry for row in table.rows for entry in row if isinstance(entry, Cell)]
    stacked = next((cell.figures for cell in cells if cell.look == "parts" and cell.figures), ())
    if stacked:
        parts = [figure.group[-1][1] for figure in stacked]
        shades = dict(zip(parts, list_shades(parts), strict=True))
        keys.append(list_key([parts[0], parts[-1]], shades))
    return format_html('<ul class="key">{}</ul>', _join(keys)) if keys else _join([])


class _Marks:
    """What is drawn beside the rows of a table: figures of a chart, or of the row itself."""

    def __init__(self, table: Table, chart: Chart | None) -> None:
        self.table, self.chart = table, chart
        self.reference = None if chart is None else chart.reference
        drawn = [*chart.figures, *chart.rings] if chart is not None else [
            figure for row in table.rows for figure in self._list_drawn(row)
        ]  # fmt: skip
        self.axis = find_axis(drawn, self.reference) if drawn else None

    def _list_drawn(self, row: Sequence[Entry]) -> list[Figure]:
        if self.table.marks == "none":
            return []
        figures = [figure for entry in row for figure in list_figures_of(entry)]
        if self.table.marks == "both":
            return figures[:2]
        return [figure for figure in figures if figure.low is not None][:1]

    def draw(self, row: Sequence[Entry]) -> str:
        axis = self.axis
        if axis is None:
            return ""
        if self.chart is not None:
            name = _write_plain(row[0])
            drawn = [figure for figure in self.chart.figures if name_row(figure) == name]
            rings = [figure for figure in self.chart.rings if name_row(figure) == name]
            ring = rings[0] if rings else None
            return draw_mark(drawn[0], axis, self.reference, ring=ring) if drawn else ""
        drawn = self._list_drawn(row)
        if not drawn:
            return ""
        reference = _EQUAL.get(str(drawn[0].unit)) if self.table.marks == "intervals" else None
        second = drawn[1] if len(drawn) > 1 else None
        return draw_mark(drawn[0], axis, reference, second=second)


# where a comparison shows no difference
_EQUAL = {"points": 0.0, "difference in shares": 0.0, "ratio": 1.0}


def _write_rows(table: Table, rows: Sequence[Sequence[Entry]], marks: _Marks) -> SafeString:
    return format_html_join("\n", "{}", ((_write_row(table, row, marks),) for row in rows))


def _write_row(table: Table, row: Sequence[Entry], marks: _Marks) -> SafeString:
    cells = [write_row_head(_write_entry(row[0]))]
    if marks.axis is not None:
        both = " both" if table.marks == "both" else ""
        cells.append(format_html('<td class="fig{}">{}</td>', both, marks.draw(row)))
    cells += [
        _write_cell(column, entry, _write_plain(row[0]))
        for column, entry in zip(table.columns[1:], row[1:], strict=True)
    ]
    return format_html("<tr>{}</tr>", _join(cells))


def _write_cell(column: Column, entry: Entry, name: str) -> SafeString:
    if isinstance(entry, Cell) and entry.look == "parts" and entry.figures:
        return format_html('<td class="fig">{}</td>', draw_bar(name, entry.figures))
    look = _SHADES.get(entry.look) if isinstance(entry, Cell) else None
    kind = format_html(' class="{}"', look) if look else _is_number(column.is_number)
    return format_html('<td{} data-th="{}">{}</td>', kind, column.label, _write_entry(entry))


# fields of a matrix
_SHADES = {"faint": "v0", "middling": "v1", "strong": "v2", "apart": "vx"}


def _write_plain(entry: Entry) -> str:
    return entry.text if isinstance(entry, Cell) else write_entry(entry)


def _is_number(is_number: bool) -> str:
    return format_html(' class="{}"', "n") if is_number else ""


def _join(parts: Iterable[SafeString]) -> SafeString:
    return format_html_join("", "{}", ((part,) for part in parts))


def _write_entry(entry: Entry) -> str:
    if isinstance(entry, Figure):
        interval = "" if entry.value is None else write_interval(entry)
        value = hold_together(write_value(entry))
        return format_html("{}<small>{}</small>", value, interval) if interval else value
    if isinstance(entry, str):
        return entry
    text = hold_together(entry.text)
    if entry.look == "tier" and text:
        first = " one" if text == "A" else ""
        return format_html('<span class="tier{}">{}</span>', first, text)
    if entry.link:
        text = format_html('<a href="{}">{}</a>', entry.link, text)
    elif entry.is_strong:
        text = format_html("<b>{}</b>", text)
    letter = format_html("<sup>{}</sup>", entry.above) if entry.above else ""
    below = format_html("<small>{}</small>", hold_together(entry.below)) if entry.below else ""
    return format_html("{}{}{}", text, letter, below)
