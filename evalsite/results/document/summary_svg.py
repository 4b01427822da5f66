"""What a summary draws: the table for a paper with its marks, and a decision with its margin."""

from collections.abc import Sequence
from statistics import fmean

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evalsite.analysis.figure import Figure
from evalsite.results.document.blocks import Cell, DecisionChart, Entry, Table
from evalsite.results.document.charts import Axis, draw_axis, find_axis, make_axis, make_mark
from evalsite.results.document.figures import (
    hold_together,
    write_interval,
    write_p,
    write_value,
)

# --- the table for a paper ------------------------------------------------------------------------


def write_paper(table: Table) -> SafeString:
    """Write the table; the mark under each figure stands on the axis of its column."""
    axes = _find_axes(table)
    head = format_html_join(
        "", '<th scope="col">{}</th>', ((column.label,) for column in table.columns)
    )
    body = _write_rows(table, table.rows, axes)
    foot = _write_rows(table, table.foot, {})
    return format_html(
        '<div class="scroll" tabindex="0" role="region" aria-label="{}"><table class="paper">'
        "<caption><span>{}</span></caption><thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody>{}</table></div>",
        table.caption.partition(": ")[0], hold_together(table.caption), head, body,
        format_html("<tfoot>\n{}\n</tfoot>", foot) if foot else "",
    )  # fmt: skip


def _find_axes(table: Table) -> dict[int, tuple[Axis, float]]:
    """Return the axis of each column with marks, and the average of its marks."""
    marks: dict[int, list[Figure]] = {}
    for row in table.rows:
        for place, entry in enumerate(row):
            if isinstance(entry, Cell) and entry.mark is not None:
                marks.setdefault(place, []).append(entry.mark)
    scales: dict[str, list[Figure]] = {}
    for place, figures in marks.items():
        scales.setdefault(_name_scale(table, place), []).extend(figures)
    axes = {scale: find_axis(figures) for scale, figures in scales.items()}
    return {
        place: (axes[_name_scale(table, place)], fmean(figure.value or 0 for figure in figures))
        for place, figures in marks.items()
    }


def _name_scale(table: Table, place: int) -> str:
    return table.columns[place].scale or str(place)


def _write_rows(
    table: Table, rows: Sequence[Sequence[Entry]], axes: dict[int, tuple[Axis, float]]
) -> SafeString:
    return format_html_join(
        "\n",
        '<tr><th scope="row"><bdi>{}</bdi></th>{}</tr>',
        ((row[0], _write_cells(table, row, axes)) for row in rows),
    )


def _write_cells(
    table: Table, row: Sequence[Entry], axes: dict[int, tuple[Axis, float]]
) -> SafeString:
    return format_html_join(
        "",
        '<td data-th="{}">{}</td>',
        (
            (
                table.columns[place].label,
                _write_entry(entry, f"{table.columns[place].label}, {row[0]}", axes.get(place)),
            )
            for place, entry in enumerate(row)
            if place
        ),
    )


def _write_entry(entry: Entry, name: str, axis: tuple[Axis, float] | None) -> SafeString | str:
    if isinstance(entry, Figure):
        interval = write_interval(entry)
        rest = format_html(' <span class="pm">({})</span>', interval) if interval else ""
        return format_html("<span>{}{}</span>", write_value(entry), rest)
    if isinstance(entry, str) or entry.mark is None:
        return entry if isinstance(entry, str) else entry.text
    value, _, rest = entry.text.partition(" ")
    number = format_html("<b>{}</b>", value) if entry.is_strong else value
    beside = format_html(' <span class="pm">{}</span>', hold_together(rest)) if rest else ""
    tier = ""
    if entry.above:
        first = " one" if entry.is_strong else ""
        tier = format_html(' <span class="tier{}">{}</span>', first, entry.above)
    mark = "" if axis is None else _draw_in_cell(entry, name, *axis)
    return format_html("<span>{}{}{}</span>{}", number, beside, tier, mark)


def _draw_in_cell(cell: Cell, name: str, axis: Axis, average: float) -> SafeString | str:
    figure = cell.mark
    if figure is None:
        return ""
    mark = make_mark(axis, figure.value, figure.low, figure.high)
    if mark is None:
        return ""
    label = f"{name}: {cell.text.replace('±', 'plus or minus')}"
    label += f", tier {cell.above}" if cell.above else ""
    middle = axis.place(average)
    whisker = format_html(
        '<line class="whisk" x1="{}" x2="{}" y1="50%" y2="50%"/>', mark.start, mark.end
    ) if mark.start and mark.end else ""  # fmt: skip
    return format_html(
        '<svg role="img" aria-label="{}"><line class="rule" x1="{}" x2="{}" y2="100%" '
        'stroke-dasharray="3 3"/>{}<circle class="dot" cx="{}" cy="50%" r="5"/></svg>',
        label, middle, middle, whisker, mark.dot,
    )  # fmt: skip


# --- a decision -----------------------------------------------------------------------------------


def draw_decision(chart: DecisionChart) -> SafeString:
    """Draw differences with their intervals: margins dashed, and where "yes" lies shaded."""
    axis = _find_axis(chart)
    rows = format_html_join(
        "\n",
        '<tr><th scope="row"><bdi>{}</bdi></th><td class="fig">{}</td>'
        '<td class="n">{}{}</td><td class="n">{}</td></tr>',
        (
            (
                label,
                _draw_difference(chart, figure, label, axis),
                _write_signed(figure),
                format_html("<small>{}</small>", interval)
                if (interval := write_interval(figure))
                else "",
                hold_together(_write_test(figure)),
            )
            for figure, label in zip(chart.figures, chart.labels, strict=True)
        ),
    )
    return format_html(
        '<table class="figure"><caption class="vh">{}</caption><thead class="hid"><tr>'
        '<th scope="col"><span class="vh">Comparison</span></th><th scope="col">'
        '<span class="vh">Chart</span></th><th scope="col"><span class="vh">Difference</span></th>'
        '<th scope="col"><span class="vh">p</span></th></tr></thead><tbody>\n{}\n</tbody>'
        '<tfoot><tr><td></td><td class="fig">{}</td><td colspan="2"></td></tr></tfoot></table>{}',
        chart.caption, rows, draw_axis(axis), _write_key(chart),
    )  # fmt: skip


def _write_signed(figure: Figure) -> str:
    """Return the value with the sign of a difference."""
    is_above = figure.unit != "ratio" and (figure.value or 0) > 0
    return f"{'+' if is_above else ''}{write_value(figure)}"


def _write_test(figure: Figure) -> str:
    p = figure.p if figure.p_corrected is None else figure.p_corrected
    if p is None:
        return ""
    text = write_p(p)
    return f"p {text}" if text[0] in "<>" else f"p = {text}"


def _find_axis(chart: DecisionChart) -> Axis:
    unit = chart.figures[0].unit
    ends = [end for figure in chart.figures for end in (figure.low, figure.value, figure.high)]
    return make_axis(
        [*ends, chart.reference, *chart.margins],
        times=100 if unit == "difference in shares" else 1,
    )


def _draw_difference(
    chart: DecisionChart, figure: Figure, label: str, axis: Axis
) -> SafeString | str:  # fmt: skip
    mark = make_mark(axis, figure.value, figure.low, figure.high)
    if mark is None:
        return ""
    lines = [("grid", tick.place) for tick in axis.ticks]
    if chart.reference is not None:
        lines.append(("rule", axis.place(chart.reference)))
    lines += [("gate", axis.place(margin)) for margin in chart.margins]
    whisker = format_html(
        '<line class="whisk" x1="{}" x2="{}" y1="50%" y2="50%"/>', mark.start, mark.end
    ) if mark.start and mark.end else ""  # fmt: skip
    interval = write_interval(figure)
    return format_html(
        '<svg role="img" aria-label="{}">{}{}{}<circle class="dot" cx="{}" cy="50%" r="7"/></svg>',
        f"{label}: {_write_signed(figure)}{f', interval {interval}' if interval else ''}",
        _shade(chart, axis),
        format_html_join(
            "", '<line class="{}" x1="{}" x2="{}" y2="100%"/>',
            ((name, place, place) for name, place in lines),
        ),
        whisker, mark.dot,
    )  # fmt: skip


def _shade(chart: DecisionChart, axis: Axis) -> SafeString | str:
    if chart.passing is None:
        return ""
    low, high = chart.passing
    start = axis.low if low is None else low
    end = axis.high if high is None else high
    width = (end - start) / (axis.high - axis.low) * 100
    return format_html(
        '<rect class="pass" x="{}" width="{}%" height="100%"/>', axis.place(start), f"{width:.1f}"
    )


def _write_key(chart: DecisionChart) -> SafeString | str:
    """Write what the lines and the shade of a margin stand for."""
    if not chart.margins:
        return ""
    return format_html(
        '<ul class="key"><li><svg viewBox="0 0 16 16" aria-hidden="true"><line class="gate" x1="8" '
        'x2="8" y2="16"/></svg>margin</li><li><svg viewBox="0 0 16 16" aria-hidden="true">'
        '<rect class="pass" width="16" height="16"/></svg>“Yes” needs the whole interval here</li>'
        '<li><svg viewBox="0 0 16 16" aria-hidden="true">'
        '<line class="whisk" x2="16" y1="8" y2="8"/></svg>{}% CI</li></ul>',
        f"{100 * chart.figures[0].level:g}",
    )  # fmt: skip
