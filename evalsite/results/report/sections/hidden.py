"""What a page shows while results are hidden: precision and agreement, without systems."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import exp
from typing import Any

from evalsite.analysis.figure import Figure
from evalsite.results.document.blocks import Block, Cell, Chart, Column, Heading, Table, isolate
from evalsite.results.document.figures import make_figure, write_number
from evalsite.results.report.source import Criterion


def make_hidden(
    criteria: list[Criterion], projection: Mapping[str, Any] | None, target: int
) -> Iterator[Block]:
    """Yield how wide intervals are and will be, and how far people agree."""
    precise = [
        (criterion, figure) for criterion in criteria if (figure := criterion.precision) is not None
    ]
    if precise:
        yield Heading("Precision", 2, "precision")
        yield from _tabulate_precision(precise, projection, target)
    alphas = [
        replace(alpha, group=(("question", criterion.label),))
        for criterion in criteria
        if (alpha := criterion.alpha) is not None and alpha.value is not None
    ]
    if alphas:
        yield Heading("Agreement", 2, "agreement")
        yield Chart(
            "agreement", "intervals", "Krippendorff’s α with 95% CI", alphas, place="page",
        )  # fmt: skip


def _tabulate_precision(
    precise: list[tuple[Criterion, Figure]], projection: Mapping[str, Any] | None, target: int
) -> Iterator[Block]:
    rows, marks, rings = [], [], []
    for criterion, figure in precise:
        name = (("question", criterion.label),)
        expected = find_expected(criterion, projection)
        marks.append(replace(figure, low=0.0, high=figure.value, group=name))
        if expected is not None:
            rings.append(replace(expected, group=name))
        role = "primary" if criterion.role == "primary" else ""
        rows.append([
            Cell(isolate(criterion.label), below=role),
            Cell(write_half(figure), (figure,)),
            "–" if expected is None else Cell(write_half(expected), (expected,)),
        ])  # fmt: skip
    later = f"With all {target:,}"
    caption = "Half-width of the 95% interval of a planned comparison; of several, of the widest"
    columns = [Column("Question", is_number=False), Column("Now"), Column(later)]
    if not rings:
        rows, columns = [row[:-1] for row in rows], columns[:-1]
    yield Table("precision", caption, columns, rows, place="page")
    yield Chart(
        "precision", "intervals", caption, marks, rings=rings, place="page",
        ring_label=f"expected with all {target:,} answers",
    )  # fmt: skip


def find_expected(
    criterion: Criterion, projection: Mapping[str, Any] | None
) -> Figure | None:  # fmt: skip
    """Return how wide the widest interval will be once all answers are in."""
    options = ((projection or {}).get("criteria") or {}).get(criterion.key, {}).get("options", ())
    half = next((option["half"] for option in options if option["key"] == "planned"), None)
    if half is None or (now := criterion.precision) is None:
        return None
    value = exp(half) if now.unit == "ratio" else half
    return make_figure("precision_expected", value, dict(now.group), unit=now.unit)


def write_half(figure: Figure) -> str:
    """Write "± 0.23", "± 12 points", or the factor of a ratio."""
    if figure.unit == "ratio":
        return f"× {write_number(figure.value, 'ratio')}"
    unit = " points" if figure.unit == "difference in shares" else ""
    return f"± {write_number(figure.value, figure.unit)}{unit}"
