"""Charts, drawn from figures: as SVG for pages, where a style sheet gives the classes their
colours, and as PDF for papers, with matplotlib, in jobs alone.
"""

import io
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, floor, log10
from statistics import fmean
from textwrap import wrap
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evalsite.analysis.figure import Figure
from evalsite.results.document.blocks import (
    Cell,
    Chart,
    DecisionChart,
    Entry,
    Table,
    drop_isolates,
    has_isolates,
    isolate,
    write_entry,
)
from evalsite.results.document.figures import (
    hold_together,
    write_figure,
    write_interval,
    write_p,
    write_value,
)

# --- where marks stand: positions in percent, on an axis with round ticks

_STEPS = (1, 2, 2.5, 5, 10)
_INTERVALS = 4  # between ticks, roughly


@dataclass(frozen=True, kw_only=True)
class Tick:
    place: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis from `low` to `high`; `step`: from tick to tick; `times`: what labels are in;
    `is_bounded`: of coefficients, which are written without a zero; `better`: which end is the
    better one, "higher" or "lower", where one is."""

    low: float
    high: float
    step: float
    times: float = 1
    is_bounded: bool = False
    better: str = ""

    def place(self, value: float) -> str:
        """Return where the value is, such as "12.5%"; the nearest end if it is beyond."""
        share = (value - self.low) / (self.high - self.low)
        return f"{min(max(share, 0), 1) * 100:.1f}%"

    @property
    def ticks(self) -> list[Tick]:
        number = round((self.high - self.low) / self.step)
        values = [self.low + place * self.step for place in range(number + 1)]
        return [Tick(place=self.place(value), label=self._label(value)) for value in values]

    def _label(self, value: float) -> str:
        text = f"{value * self.times:.6g}"
        number = 0.0 if abs(float(text)) < self.step * self.times * 1e-6 else float(text)
        text = f"{number:,g}" if abs(number) < 1e6 else f"{number:.3g}"
        if self.is_bounded:
            text = text.replace("0.", ".", 1)
        return text.replace("-", "−") + ("%" if self.times == 100 else "")


def make_axis(
    values: Iterable[float | None],
    *,
    times: float = 1,
    is_bounded: bool = False,
    is_share: bool = False,
) -> Axis:
    """Return an axis with round ticks that holds all of these values; of shares, from 0 to 1."""
    known = [value for value in values if value is not None]
    if is_share:
        times, known = 100, [min(max(value, 0.0), 1.0) for value in known]
        known = known if len(set(known)) > 1 else []
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / _INTERVALS
    scale = 10 ** floor(log10(rough))
    step = next(size * scale for size in _STEPS if size * scale >= rough * (1 - 1e-9))
    # 1e-9: what floating point adds to a value on a tick opens no further interval
    return Axis(
        low=floor(low / step + 1e-9) * step,
        high=ceil(high / step - 1e-9) * step,
        step=step,
        times=times,
        is_bounded=is_bounded,
    )


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The mark of one row: a dot, the line around it, and a ring for a second value."""

    dot: str
    start: str
    end: str
    ring: str


def make_mark(
    axis: Axis,
    value: float | None,
    low: float | None,
    high: float | None,
    *,
    second: float | None = None,
) -> Mark | None:
    """Return where the marks of these values are; None without a value."""
    if value is None:
        return None
    start, end, ring = ("" if end is None else axis.place(end) for end in (low, high, second))
    return Mark(dot=axis.place(value), start=start, end=end, ring=ring)


# --- SVG

# from the lowest answer to the highest
_SHADES = ("p1", "p12", "p2", "p3", "p4", "p45", "p5")
_LEAST_LABELLED, _LEAST_SHORT = 0.08, 0.12  # a narrower part has no room for its number
# the colour of a number on the darkest and lightest parts
_ON = {"p5": "on", "p45": "on", "p4": "on4", "p1": "on", "p12": "on"}
_SIZE, _EDGE = 320, 24  # of a plot of points


def draw_svg(chart: Chart) -> SafeString:
    """Return the chart as HTML: a table of marks, stacked bars, or a plot of points."""
    if chart.kind == "intervals":
        return _draw_intervals(chart)
    return _draw_stacked(chart) if chart.kind == "stacked" else _draw_points(chart)


# --- intervals ----------------------------------------------------------------------------------


def find_axis(figures: Sequence[Figure], reference: float | None = None) -> Axis:
    """Return an axis with round ticks for the values and their intervals."""
    unit = figures[0].unit if figures else None
    ends = [end for figure in figures for end in (figure.low, figure.value, figure.high)]
    if unit == "coefficient":
        ends += [0.0, 1.0]
    return make_axis(
        [*ends, reference],
        times=100 if unit == "difference in shares" else 1,
        is_bounded=unit == "coefficient",
        is_share=unit == "share",
    )


def draw_mark(
    figure: Figure,
    axis: Axis,
    reference: float | None = None,
    *,
    ring: Figure | None = None,
    second: Figure | None = None,
) -> str:
    """Return a dot with its interval on the axis; nothing for a figure without a value.

    `ring`: drawn below the dot. `second`: a figure as good as the first, drawn below it.
    """
    other = None if ring is None else ring.value
    mark = make_mark(axis, figure.value, figure.low, figure.high, second=other)
    if mark is None:
        return ""
    label = f"{name_row(figure)}: {write_figure(figure)}"
    height, low_mark = "50%", ""
    if second is not None and second.value is not None:
        height, low_mark = "32%", _draw_second(second, axis)
        label += f"; {name_row(second)}: {write_figure(second)}"
    if mark.ring and ring is not None:
        low_mark = format_html('<circle class="ring" cx="{}" cy="50%" r="4"/>', mark.ring)
        label += f"; {write_value(ring)}"
    grid = format_html_join(
        "",
        '<line class="grid" x1="{}" x2="{}" y2="100%"/>',
        ((tick.place, tick.place) for tick in axis.ticks),
    )
    rule = whisker = ""
    if reference is not None:
        place = axis.place(reference)
        rule = format_html(
            '<line class="rule" x1="{}" x2="{}" y2="100%" stroke-dasharray="3 3"/>', place, place
        )
    if mark.start and mark.end:
        whisker = format_html(
            '<line class="whisk" x1="{}" x2="{}" y1="{}" y2="{}"/>',
            mark.start, mark.end, height, height,
        )  # fmt: skip
    return format_html(
        '<svg role="img" aria-label="{}">{}{}{}{}'
        '<circle class="dot" cx="{}" cy="{}" r="{}"/></svg>',
        label, grid, rule, whisker, low_mark, mark.dot, height, 7 if height == "50%" else 6,
    )  # fmt: skip


def _draw_second(figure: Figure, axis: Axis) -> str:
    mark = make_mark(axis, figure.value, figure.low, figure.high)
    if mark is None:
        return ""
    whisker = ""
    if mark.start and mark.end:
        whisker = format_html(
            '<line class="whisk2" x1="{}" x2="{}" y1="70%" y2="70%"/>', mark.start, mark.end
        )
    return format_html(
        '{}<circle class="dot2" cx="{}" cy="70%" r="5"/>', whisker, mark.dot
    )  # fmt: skip


def draw_axis(axis: Axis) -> SafeString:
    labels = format_html_join(
        "",
        '<text class="mid" x="{}" y="1.1em">{}</text>',
        ((tick.place, tick.label) for tick in axis.ticks),
    )
    return format_html('<svg aria-hidden="true">{}</svg>', labels)


def name_row(figure: Figure) -> str:
    return isolate(figure.group[-1][1]) if figure.group else ""


def write_row_head(content: str) -> SafeString:
    """Write the head of a row, which no name turns around.

    Names that are isolated already keep the order of a difference of two systems; as a whole, it
    would run from right to left if its first name does.
    """
    if has_isolates(content):
        return format_html('<th scope="row">{}</th>', content)
    return format_html('<th scope="row"><bdi>{}</bdi></th>', content)


def _draw_intervals(chart: Chart) -> SafeString:
    axis = find_axis(chart.figures, chart.reference)
    rows = format_html_join(
        "\n",
        '<tr>{}<td class="fig">{}</td><td class="n">{}{}</td></tr>',
        (
            (
                write_row_head(name_row(figure)),
                draw_mark(figure, axis, chart.reference),
                write_value(figure),
                format_html("<small>{}</small>", interval)
                if (interval := write_interval(figure))
                else "",
            )
            for figure in chart.figures
        ),
    )
    return format_html(
        '<table class="figure"><caption>{}</caption><tbody>\n{}\n</tbody>'
        '<tfoot><tr><td></td><td class="fig">{}</td><td></td></tr></tfoot></table>',
        chart.caption, rows, draw_axis(axis),
    )  # fmt: skip


# --- stacked shares -----------------------------------------------------------------------------


def list_stacks(chart: Chart) -> list[tuple[str, list[tuple[str, float]]]]:
    """List the rows of a stacked chart, each with the names and shares of its parts."""
    return [
        (
            # the names of a pair are isolated already
            ", ".join(name if has_isolates(name) else isolate(name) for _, name in key[-1:]),
            [(figure.group[-1][1], figure.value or 0.0) for figure in figures],
        )
        for key, figures in groupby(chart.figures, key=lambda figure: figure.group[:-1])
    ]


def list_shades(parts: Sequence[str]) -> list[str]:
    """Return the class of each part of a bar: of points the last is the best, of preferences the
    first; what is good or bad of both has one of its own."""
    middle = {"both_good": "bothgood", "both_bad": "bothbad", "tie": "bothgood"}
    sides = [part for part in parts if part not in middle]
    last = max(len(sides) - 1, 1)
    scale = _SHADES if len(sides) == len(parts) else _SHADES[::-1]
    shades = {
        part: scale[round(place * (len(scale) - 1) / last)] for place, part in enumerate(sides)
    }
    return [middle.get(part) or shades[part] for part in parts]


def _draw_stacked(chart: Chart) -> SafeString:
    stacks = list_stacks(chart)
    parts = list(dict.fromkeys(name for _, shares in stacks for name, _ in shares))
    shades = dict(zip(parts, list_shades(parts), strict=True))
    bars = [
        format_html(
            '<svg class="parts" role="img" aria-label="{}">{}</svg>',
            ", ".join(f"{name_part(part)} {share:.0%}" for part, share in shares),
            _draw_parts(shares, shades),
        )
        for _, shares in stacks
    ]  # fmt: skip
    key = format_html('<ul class="key">{}</ul>', list_key(parts, shades))
    if len(stacks) == 1:
        return format_html('<p class="small quiet">{}</p>{}{}', chart.caption, bars[0], key)
    rows = format_html_join(
        "\n",
        '<tr>{}<td class="fig">{}</td></tr>',
        ((write_row_head(name), bar) for (name, _), bar in zip(stacks, bars, strict=True)),
    )
    return format_html(
        '<table class="figure"><caption>{}</caption><tbody>\n{}\n</tbody></table>{}',
        chart.caption, rows, key,
    )  # fmt: skip


def name_part(part: str) -> str:
    return {"both_good": "both good", "both_bad": "both bad"}.get(part, isolate(part))


def list_key(parts: Sequence[str], shades: Mapping[str, str]) -> SafeString:
    """Return what each shade of a bar stands for."""
    return format_html_join(
        "",
        '<li><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="{}" width="10" height="10"/>'
        "</svg>{}</li>",
        ((shades[part], name_part(part)) for part in parts),
    )


def draw_bar(name: str, figures: Sequence[Figure]) -> SafeString:
    """Return the shares as one bar; the last part of each group names the part."""
    shares = [(figure.group[-1][1], figure.value or 0.0) for figure in figures]
    parts = [part for part, _ in shares]
    shades = dict(zip(parts, list_shades(parts), strict=True))
    label = ", ".join(f"{name_part(part)} {share:.0%}" for part, share in shares)
    return format_html(
        '<svg class="parts" role="img" aria-label="{}">{}</svg>',
        f"{name}: {label}", _draw_parts(shares, shades, is_short=True),
    )  # fmt: skip


def _draw_parts(
    shares: Sequence[tuple[str, float]], shades: Mapping[str, str], *, is_short: bool = False
) -> SafeString:
    """`is_short`: for a narrow bar, whose numbers have no room for a sign."""
    drawn, start = [], 0.0
    for name, share in shares:
        drawn.append(
            format_html(
                '<rect class="{}" x="{}%" y="20%" width="{}%" height="60%"/>',
                shades[name], f"{start * 100:.1f}", f"{share * 100:.1f}",
            )
        )  # fmt: skip
        if share >= (_LEAST_SHORT if is_short else _LEAST_LABELLED):
            number = f"{share * 100:.0f}"
            drawn.append(
                format_html(
                    '<text class="mid {}" x="{}%" y="50%" dy=".35em">{}</text>',
                    _ON.get(shades[name], "onmark"), f"{(start + share / 2) * 100:.1f}",
                    number if is_short else f"{number}%",
                )
            )  # fmt: skip
        start += share
    return format_html_join("", "{}", ((part,) for part in drawn))


# --- points -------------------------------------------------------------------------------------


def list_points(chart: Chart) -> list[tuple[str, float, float]]:
    """List the points of a chart: name, place to the right, place upwards."""
    pairs = zip(chart.figures[::2], chart.figures[1::2], strict=True)
    return [
        (name_row(right), right.value, up.value)
        for right, up in pairs
        if right.value is not None and up.value is not None
    ]


def _draw_points(chart: Chart) -> SafeString:
    points = list_points(chart)
    across = make_axis([right for _, right, _ in points])
    upwards = make_axis([up for _, _, up in points])

    def place(axis: Axis, value: float) -> float:
        return _EDGE + (_SIZE - 2 * _EDGE) * float(axis.place(value).rstrip("%")) / 100

    dots = format_html_join(
        "",
        '<circle class="dot" cx="{}" cy="{}" r="5"/><text x="{}" y="{}">{}</text>',
        (
            (f"{x:.1f}", f"{_SIZE - y:.1f}", f"{x + 8:.1f}", f"{_SIZE - y + 4:.1f}", name)
            for name, right, up in points
            for x, y in [(place(across, right), place(upwards, up))]
        ),
    )
    return format_html(
        '<figure><svg class="points" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
        "<figcaption>{}</figcaption></figure>",
        _SIZE, _SIZE, chart.caption, dots, chart.caption,
    )  # fmt: skip


# --- PDF

_ACCENT, _INK, _GRID = "#205067", "#333333", "#e4e4e4"
# low to high, readable in grey and by people who confuse red and green
_COLOURS = {
    "p1": "#8c510a", "p12": "#d8b365", "p2": "#f0e3c0", "p3": "#eeeeee", "p4": "#c7e0de",
    "p45": "#5ab4ac", "p5": "#01665e", "bothgood": "#dddddd", "bothbad": "#f2cf5b",
}  # fmt: skip
# a letter is drawn in the first of these that is installed and has it
_FONTS = ("DejaVu Sans", "Noto Sans CJK SC", "WenQuanYi Micro Hei", "Noto Sans")
_WIDTH, _ROW, _MARGIN = 7.2, 0.42, 0.9  # inches
_LONGEST = 28  # letters of a label in one line
_LEAST_WITH_TEXT = 0.06
_DARK = ("p1", "p45", "p5")


def draw_pdf(chart: Chart) -> bytes:
    """Return the chart as PDF; the same chart gives the same bytes."""
    import matplotlib  # noqa: PLC0415 (never in a web process)
    from matplotlib.font_manager import get_font_names  # noqa: PLC0415

    # a font for other scripts has no bold: its letters are drawn as they are
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    installed = {*get_font_names()}
    # names are shown as they are: a $ in one starts no formula
    settings: Any = {"text.parse_math": False, "text.usetex": False, "pdf.fonttype": 42,
                     "font.family": [name for name in _FONTS if name in installed]}  # fmt: skip
    draw = {"intervals": _plot_intervals, "stacked": _plot_stacked, "points": _plot_points}
    with matplotlib.rc_context(settings), io.BytesIO() as buffer:
        figure = draw[chart.kind](chart)
        figure.savefig(buffer, format="pdf", metadata={"CreationDate": None})
        return buffer.getvalue()


def _plot_intervals(chart: Chart) -> Any:
    figure, axes = _start(len(chart.figures))
    for place, row in enumerate(chart.figures):
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [place, place], color=_ACCENT, linewidth=2.2, zorder=2)
        if row.value is not None:
            axes.plot([row.value], [place], "o", color=_ACCENT, markersize=7, zorder=3)
    if chart.reference is not None:
        axes.axvline(chart.reference, color=_INK, linewidth=1, linestyle=(0, (5, 4)), zorder=1)
    axis = find_axis(chart.figures, chart.reference)
    number = round((axis.high - axis.low) / axis.step)
    places = [axis.low + place * axis.step for place in range(number + 1)]
    axes.set_xlim(axis.low, axis.high)
    axes.set_xticks(places, [tick.label for tick in axis.ticks])
    axes.grid(axis="x", color=_GRID, zorder=0)
    _name_rows(axes, [name_row(row) for row in chart.figures])
    return figure


def _plot_stacked(chart: Chart) -> Any:
    stacks = list_stacks(chart)
    parts = list(dict.fromkeys(name for _, shares in stacks for name, _ in shares))
    shades = dict(zip(parts, list_shades(parts), strict=True))
    figure, axes = _start(len(stacks), legend=len(parts))
    for place, (_, shares) in enumerate(stacks):
        left = 0.0
        for name, share in shares:
            axes.barh(
                place, share, left=left, height=0.62, color=_COLOURS[shades[name]],
                edgecolor="white",
            )  # fmt: skip
            if share >= _LEAST_WITH_TEXT:
                axes.text(
                    left + share / 2, place, f"{share:.0%}", ha="center", va="center", fontsize=9,
                    color="white" if shades[name] in _DARK else _INK,
                )  # fmt: skip
            left += share
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    _name_rows(axes, [name for name, _ in stacks])
    marks = [_make_patch(_COLOURS[shades[name]]) for name in parts]
    labels = [_shorten(name) for name in parts]
    figure.legend(marks, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _plot_points(chart: Chart) -> Any:
    figure, axes = _start(8)
    for name, right, up in list_points(chart):
        axes.plot([right], [up], "o", color=_ACCENT, markersize=7, zorder=3)
        axes.annotate(
            _shorten(name), (right, up), xytext=(8, 0), textcoords="offset points", va="center"
        )
    axes.autoscale(axis="y")
    axes.grid(color=_GRID, zorder=0)
    axes.margins(0.15)
    return figure


def _start(rows: int, *, legend: int = 0) -> tuple[Any, Any]:
    """Return an empty drawing with room for this many rows, the first on top."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    height = _MARGIN + _ROW * rows + 0.25 * -(-legend // 3)
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_ylim(rows - 0.5, -0.5)
    axes.tick_params(colors=_INK, length=0)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _name_rows(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [_shorten(name) for name in names], fontweight="bold")


def _shorten(name: str) -> str:
    lines = wrap(hold_together(drop_isolates(name)), _LONGEST) or [""]
    return lines[0] if len(lines) == 1 else f"{lines[0][: _LONGEST - 1]}…"


def _make_patch(colour: str) -> Any:
    from matplotlib.patches import Patch  # noqa: PLC0415

    return Patch(facecolor=colour)


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
        "<tr>{}{}</tr>",
        ((write_row_head(write_entry(row[0])), _write_cells(table, row, axes)) for row in rows),
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
        '<tr>{}<td class="fig">{}</td><td class="n">{}{}</td><td class="n">{}</td></tr>',
        (
            (
                write_row_head(label),
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
