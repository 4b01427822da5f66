"""Figures of results, drawn from numbers that were computed elsewhere; the only user of matplotlib.

Every function returns a drawing; `write_drawing` makes a file of it. The same numbers give the
same bytes. A table accompanies each figure, so nothing depends on colour alone.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import pairwise
from textwrap import wrap
from typing import Any, Literal, ParamSpec

from evalsite.analysis.figure import write_coefficient
from evalsite.results.report.wording import hold_together

ACCENT = "#205067"
INK = "#333333"
GRID = "#e4e4e4"
# low to high, readable in grey and by people who confuse red and green
STEPS = ("#8c510a", "#d8b365", "#f0e3c0", "#eeeeee", "#c7e0de", "#5ab4ac", "#01665e")
# inches: on the page of a desk 691 px, on a phone 317 px, with letters of one size
WIDE, NARROW = 7.2, 3.3
_ROW = 0.62

_LONGEST = 28  # letters of a label; the table beside the figure has the whole
# of a narrow drawing: letters of a label's line, of the axis' line, and the height of a line
_LETTERS, _LETTERS_OF_AXIS, _LINE = 14, 30, 0.2

# where the better end of an axis is named
_BETTER = {"higher": (1, "better →"), "lower": (0, "← better")}

# round numbers within a power of ten, from many to few
_STEPS_OF_RATIOS = (
    (1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.25, 2.5, 2.75, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9),
    (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
    (1, 1.5, 2, 3, 4, 5, 6, 8),
    (1, 2, 3, 5),
    (1, 3),
    (1,),
)

Parameters = ParamSpec("Parameters")
Drawing = Any  # a matplotlib figure; its types are not published


def _styled(draw: Callable[Parameters, Drawing]) -> Callable[Parameters, Drawing]:
    """Names are shown as they are: a $ in one starts no formula."""

    @wraps(draw)
    def styled(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Drawing:
        import matplotlib  # noqa: PLC0415 (never in a web process)

        settings: Any = {"text.parse_math": False, "text.usetex": False}
        with matplotlib.rc_context(settings):
            return draw(*args, **kwargs)

    return styled


@dataclass(frozen=True)
class Interval:
    """One row of a dot-and-whisker plot; without bounds only the dot is drawn."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Counts:
    """One row of stacked bars: how often each answer was given, low to high."""

    label: str
    counts: tuple[int, ...]

    @property
    def shares(self) -> list[float]:
        total = sum(self.counts) or 1
        return [count / total for count in self.counts]


@dataclass(frozen=True)
class Panel:
    """One plot of points, each with its label: its place to the right, and upwards."""

    name: str
    points: tuple[tuple[str, float, float], ...]


@_styled
def draw_intervals(
    rows: Sequence[Interval],
    *,
    axis: str,
    reference: tuple[float, str] | None = None,
    limits: tuple[float, float] | None = None,
    is_ratio: bool = False,
    is_share: bool = False,
    better: str = "",
    width: float = WIDE,
) -> Drawing:
    """Return a dot with a whisker for each row, in the order given from the top.

    `reference` is a value to compare with and its name; `is_ratio` puts equal ratios equally far
    apart; `is_share` reads the axis in percent; `better` names the end that is better, "higher" or
    "lower".
    """
    figure, axes = _start(len(rows), axis=axis, width=width)
    for place, row in enumerate(rows):
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [place, place], color=ACCENT, linewidth=2.2, zorder=2)
            for bound in (row.low, row.high):
                axes.plot([bound, bound], [place - 0.1, place + 0.1], color=ACCENT, linewidth=2.2)
        axes.plot([row.value], [place], "o", color=ACCENT, markersize=9, zorder=3)
    if is_ratio:
        _scale_by_ratio(axes, most=5 if width < WIDE else 9)
    if reference is not None:
        value, name = reference
        axes.axvline(value, color=INK, linewidth=1, linestyle=(0, (5, 4)), zorder=1)
        axes.annotate(
            name, (value, 1), xycoords=("data", "axes fraction"), xytext=(0, 4),
            textcoords="offset points", ha="center", va="bottom", fontweight="bold",
        )  # fmt: skip
    if limits is not None:
        room = (limits[1] - limits[0]) / 60  # for a dot at the end
        axes.set_xlim(limits[0] - room, limits[1] + room)
    if is_share:
        _scale_by_share(axes)
    axes.grid(axis="x", color=GRID, zorder=0)
    if better in _BETTER:
        place, words = _BETTER[better]
        axes.text(
            place, 0, words, transform=axes.transAxes, ha="right" if place else "left",
            va="bottom", color=INK, fontsize=9,
        )  # fmt: skip
    _name_rows(axes, [row.label for row in rows], width=width)
    return figure


@_styled
def draw_histograms(
    rows: Sequence[Counts], *, edges: Sequence[float], axis: str, width: float = WIDE
) -> Drawing:
    """Return for each row the shares of values between the edges, as bars above its line."""
    figure, axes = _start(len(rows), axis=axis, width=width)
    most = max((share for row in rows for share in row.shares), default=0) or 1
    for place, row in enumerate(rows):
        heights = [0.8 * share / most for share in row.shares]
        widths = [high - low for low, high in pairwise(edges)]
        axes.bar(
            edges[:-1], [-height for height in heights], widths, bottom=place + 0.4,
            align="edge", color=ACCENT, edgecolor="white", zorder=2,
        )  # fmt: skip
        axes.axhline(place + 0.4, color=INK, linewidth=0.8)
    axes.grid(axis="x", color=GRID, zorder=0)
    _name_rows(axes, [row.label for row in rows], width=width)
    return figure


@_styled
def draw_distribution(
    rows: Sequence[Counts],
    *,
    answers: Sequence[str],
    axis: str = "Share of ratings",
    width: float = WIDE,
) -> Drawing:
    """Stacked bars of shares, the middle of the scale in line, so that rows can be compared.

    Each share of 6% and more says its percentage.
    """
    figure, axes = _start(len(rows), axis=axis, legend=answers, width=width)
    colours = _pick_steps(len(answers))
    for place, row in enumerate(rows):
        shares = row.shares
        half, is_odd = divmod(len(shares), 2)
        left = -(sum(shares[:half]) + is_odd * shares[half] / 2)
        _stack(
            axes,
            place,
            shares,
            [f"{share:.0%}" for share in shares],  # there is no room for a space
            colours,
            left=left,
            width=width,
        )
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.xaxis.set_major_formatter(lambda value, _: _write_percent(abs(value)))
    _name_rows(axes, [row.label for row in rows], width=width)
    _add_legend(axes, colours, answers, width=width)
    return figure


@_styled
def draw_preferences(
    rows: Sequence[Counts],
    *,
    answers: tuple[str, str, str] = ("First", "Tie", "Second"),
    width: float = WIDE,
) -> Drawing:
    """Wins, ties and losses of each pair, as shares that fill the row."""
    figure, axes = _start(len(rows), axis="Share of judgements", legend=answers, width=width)
    colours = (ACCENT, "#dddddd", "#c98a3c")
    for place, row in enumerate(rows):
        texts = [str(count) for count in row.counts]
        _stack(axes, place, row.shares, texts, colours, width=width)
    axes.set_xlim(0, 1)
    _scale_by_share(axes)
    _name_rows(axes, [row.label for row in rows], width=width)
    _add_legend(axes, colours, answers, width=width)
    return figure


@_styled
def draw_matrix(
    names: Sequence[str], values: Sequence[Sequence[float | None]], *, axis: str
) -> Drawing:
    """Return a square of coefficients from -1 to 1, each with its number; None is left blank."""
    figure, axes = _start(max(len(names), 3), axis=axis, width=WIDE, is_square=True)
    for row, cells in enumerate(values):
        for column, value in enumerate(cells):
            if value is None:
                continue
            colour = STEPS[min(int((value + 1) / 2 * len(STEPS)), len(STEPS) - 1)]
            axes.barh(row, 1, left=column - 0.5, height=1, color=colour, edgecolor="white")
            axes.text(
                column, row, write_coefficient(value), ha="center", va="center",
                color=_ink_on(colour), fontsize=9,
            )  # fmt: skip
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_xticks(range(len(names)), map(_shorten, names), rotation=90)
    _name_rows(axes, list(names), width=WIDE)
    return figure


@_styled
def draw_scatter(panels: Sequence[Panel], *, axis: str, width: float = WIDE) -> Drawing:
    """Points by two values, side by side for each panel, which share what goes upwards."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    columns = min(len(panels), 2 if width == WIDE else 1)
    rows = -(-len(panels) // columns)
    width = width if columns > 1 else min(width, 0.7 * WIDE)
    figure = Figure(figsize=(width, 3.3 * rows + 0.2), layout="constrained")
    plots = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    for plot, panel in zip(plots, panels, strict=False):
        _place_points(plot, panel)
    for place, plot in enumerate(plots):
        plot.set_visible(place < len(panels))
        if place % columns == 0:
            plot.set_ylabel(axis, color=INK)
    return figure


def write_drawing(drawing: Drawing, kind: Literal["svg", "pdf"]) -> bytes:
    """Return the drawing as a file; the same drawing gives the same bytes."""
    import matplotlib  # noqa: PLC0415 (never in a web process)

    buffer = io.BytesIO()
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "evalsite", "pdf.fonttype": 42}
    metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {"CreationDate": None}
    with matplotlib.rc_context(settings):
        drawing.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()


# --- parts of drawings --------------------------------------------------------------


def _start(
    rows: int,
    *,
    axis: str,
    width: float,
    legend: Sequence[str] = (),
    is_square: bool = False,
) -> tuple[Drawing, Any]:
    """Return an empty drawing with room for this many rows, the first on top."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    lines = -(-len(legend) // _count_columns(legend, width=width)) if legend else 0
    height = (
        1.35 + _ROW * (1.15 if width < WIDE else 1) * rows + (0.3 + _LINE * lines if legend else 0)
    )
    if width < WIDE:
        axis = "\n".join(wrap(axis, _LETTERS_OF_AXIS))
    figure = Figure(figsize=(width, width if is_square else height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_xlabel(axis, color=INK)
    axes.tick_params(colors=INK, length=0)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _place_points(axes: Any, panel: Panel) -> None:
    """Every point with its label beside it, on the side where there is room."""
    places = [right for _, right, _ in panel.points]
    middle = (min(places) + max(places)) / 2
    for label, right, up in panel.points:
        axes.plot([right], [up], "o", color=ACCENT, markersize=8, zorder=3)
        is_left = right <= middle
        axes.annotate(
            _shorten(label), (right, up), xytext=(8 if is_left else -8, 0),
            textcoords="offset points", ha="left" if is_left else "right", va="center",
            fontsize=10, color=INK, zorder=4,
        )  # fmt: skip
    axes.set_xlabel(_shorten(panel.name), color=INK, fontweight="bold")
    axes.grid(color=GRID, zorder=0)
    axes.margins(0.12)
    axes.tick_params(colors=INK, length=0, labelleft=True)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


def _stack(
    axes: Any,
    place: int,
    shares: Sequence[float],
    texts: Sequence[str],
    colours: Sequence[str],
    *,
    width: float,
    left: float = 0.0,
) -> None:
    """One row of bars side by side, each with its text where there is room."""
    for share, text, colour in zip(shares, texts, colours, strict=True):
        axes.barh(place, share, left=left, height=0.62, color=colour, edgecolor="white")
        # the least share that has room for its text
        if share >= (0.06 if width == WIDE else 0.16):
            axes.text(
                left + share / 2, place, text, ha="center", va="center",
                color=_ink_on(colour), fontsize=10,
            )  # fmt: skip
        left += share


def _name_rows(axes: Any, labels: Sequence[str], *, width: float) -> None:
    letters = _LONGEST if width == WIDE else _LETTERS
    phrases = ["\n".join(_break(label, letters)) for label in labels]
    axes.set_yticks(range(len(labels)), phrases, fontweight="bold")


def _break(label: str, letters: int) -> list[str]:
    """The label in two lines, in four where they are short; what does not fit is left out."""
    most = 2 if letters == _LONGEST else 4
    lines = wrap(label, letters) or [""]
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1][: letters - 1]}…"]
    return lines


def _shorten(label: str) -> str:
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def _scale_by_ratio(axes: Any, *, most: int) -> None:
    """Equal ratios equally far apart, with at most so many round numbers from end to end."""
    from matplotlib.ticker import (  # noqa: PLC0415
        FixedLocator,
        LogLocator,
        NullLocator,
        StrMethodFormatter,
    )

    if axes.dataLim.x0 == axes.dataLim.x1:  # all in one place: some room on both sides
        axes.set_xlim(axes.dataLim.x0 / 1.5, axes.dataLim.x0 * 1.5)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    for steps in _STEPS_OF_RATIOS:
        ticks = [
            tick
            for tick in LogLocator(base=10, subs=steps, numticks=99).tick_values(low, high)
            if low <= tick <= high
        ]
        if len(ticks) <= most:
            break
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _scale_by_share(axes: Any) -> None:
    """Quarters from end to end, in percent as the tables have them."""
    from matplotlib.ticker import MultipleLocator  # noqa: PLC0415

    axes.xaxis.set_major_locator(MultipleLocator(0.25))
    axes.xaxis.set_major_formatter(lambda value, _: _write_percent(value))


def _write_percent(share: float) -> str:
    return hold_together(f"{share * 100:.0f}%")


def _pick_steps(count: int) -> list[str]:
    """So many colours from low to high, spread over all steps."""
    if count == 1:
        return [STEPS[3]]
    return [STEPS[round(place * (len(STEPS) - 1) / (count - 1))] for place in range(count)]


def _ink_on(colour: str) -> str:
    """Black or white, whichever is read better on this colour (WCAG's relative luminance)."""
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
        for part in (red, green, blue)
    ]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.179 else "#ffffff"


def _add_legend(axes: Any, colours: Sequence[str], answers: Sequence[str], *, width: float) -> None:
    from matplotlib.patches import Patch  # noqa: PLC0415

    axes.legend(
        handles=[
            Patch(facecolor=colour, label=answer)
            for colour, answer in zip(colours, answers, strict=True)
        ],
        loc="lower center", bbox_to_anchor=(0.5 if width == WIDE else 0.35, 1.0),
        ncols=_count_columns(answers, width=width),
        frameon=False, fontsize=10, labelcolor=INK,
    )  # fmt: skip


def _count_columns(answers: Sequence[str], *, width: float) -> int:
    """Return how many names of answers fit beside each other."""
    if width == WIDE:
        return len(answers) if sum(map(len, answers)) < 64 else 4
    longest = max(map(len, answers))
    return max(1, min(len(answers), 36 // (longest + 5)))
