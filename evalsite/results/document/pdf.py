"""Charts as PDF for papers, drawn from figures; the only user of matplotlib, in jobs alone."""

import io
import logging
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from evalsite.results.document.axis import Axis
from evalsite.results.document.blocks import Chart, drop_isolates
from evalsite.results.document.figures import hold_together
from evalsite.results.document.svg import find_axis, list_points, list_shades, list_stacks, name_row

_ACCENT, _INK, _GRID = "#205067", "#333333", "#e4e4e4"
# low to high, readable in grey and by people who confuse red and green
_SHADES = {
    "p1": "#8c510a", "p12": "#d8b365", "p2": "#f0e3c0", "p3": "#eeeeee", "p4": "#c7e0de",
    "p45": "#5ab4ac", "p5": "#01665e", "bothgood": "#dddddd", "bothbad": "#f2cf5b",
}  # fmt: skip
# a letter is drawn in the first of these that is installed and has it
_FONTS = ("DejaVu Sans", "Noto Sans CJK SC", "WenQuanYi Micro Hei", "Noto Sans")
_WIDTH, _ROW, _MARGIN = 7.2, 0.42, 0.9  # inches
_LONGEST = 28  # letters of a label in one line
_LEAST_LABELLED = 0.06
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
    draw = {"intervals": _draw_intervals, "stacked": _draw_stacked, "points": _draw_points}
    with matplotlib.rc_context(settings), io.BytesIO() as buffer:
        figure = draw[chart.kind](chart)
        figure.savefig(buffer, format="pdf", metadata={"CreationDate": None})
        return buffer.getvalue()


def _draw_intervals(chart: Chart) -> Any:
    figure, axes = _start(len(chart.figures))
    for place, row in enumerate(chart.figures):
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [place, place], color=_ACCENT, linewidth=2.2, zorder=2)
        if row.value is not None:
            axes.plot([row.value], [place], "o", color=_ACCENT, markersize=7, zorder=3)
    if chart.reference is not None:
        axes.axvline(chart.reference, color=_INK, linewidth=1, linestyle=(0, (5, 4)), zorder=1)
    _set_ticks(axes, find_axis(chart.figures, chart.reference))
    axes.grid(axis="x", color=_GRID, zorder=0)
    _name_rows(axes, [name_row(row) for row in chart.figures])
    return figure


def _draw_stacked(chart: Chart) -> Any:
    stacks = list_stacks(chart)
    parts = list(dict.fromkeys(name for _, shares in stacks for name, _ in shares))
    shades = dict(zip(parts, list_shades(parts), strict=True))
    figure, axes = _start(len(stacks), legend=len(parts))
    for place, (_, shares) in enumerate(stacks):
        left = 0.0
        for name, share in shares:
            axes.barh(
                place, share, left=left, height=0.62, color=_SHADES[shades[name]],
                edgecolor="white",
            )  # fmt: skip
            if share >= _LEAST_LABELLED:
                axes.text(
                    left + share / 2, place, f"{share:.0%}", ha="center", va="center", fontsize=9,
                    color="white" if shades[name] in _DARK else _INK,
                )  # fmt: skip
            left += share
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    _name_rows(axes, [name for name, _ in stacks])
    marks = [_make_patch(_SHADES[shades[name]]) for name in parts]
    labels = [_shorten(name) for name in parts]
    figure.legend(marks, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _draw_points(chart: Chart) -> Any:
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


def _set_ticks(axes: Any, axis: Axis) -> None:
    number = round((axis.high - axis.low) / axis.step)
    places = [axis.low + place * axis.step for place in range(number + 1)]
    axes.set_xlim(axis.low, axis.high)
    axes.set_xticks(places, [tick.label for tick in axis.ticks])


def _name_rows(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [_shorten(name) for name in names], fontweight="bold")


def _shorten(name: str) -> str:
    lines = wrap(hold_together(drop_isolates(name)), _LONGEST) or [""]
    return lines[0] if len(lines) == 1 else f"{lines[0][: _LONGEST - 1]}…"


def _make_patch(colour: str) -> Any:
    from matplotlib.patches import Patch  # noqa: PLC0415

    return Patch(facecolor=colour)
