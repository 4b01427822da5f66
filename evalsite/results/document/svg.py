"""Charts as SVG for pages, drawn from figures; a style sheet gives the classes their colours."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from evalsite.analysis.figure import Figure
from evalsite.results.document.axis import Axis, make_axis, make_mark
from evalsite.results.document.blocks import Chart, isolate
from evalsite.results.document.figures import write_figure, write_interval, write_value

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


def _draw_intervals(chart: Chart) -> SafeString:
    axis = find_axis(chart.figures, chart.reference)
    rows = format_html_join(
        "\n",
        '<tr><th scope="row"><bdi>{}</bdi></th><td class="fig">{}</td><td class="n">{}{}</td></tr>',
        (
            (
                name_row(figure),
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
            ", ".join(isolate(value) for _, value in key[-1:]),
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
        '<tr><th scope="row"><bdi>{}</bdi></th><td class="fig">{}</td></tr>',
        ((name, bar) for (name, _), bar in zip(stacks, bars, strict=True)),
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
