"""What people chose, and the reasons that they ticked, as the report counted them."""

from typing import Any

from evalsite.results.document.charts import Axis, draw_svg, make_axis, make_mark, name_part
from evalsite.results.models import Report
from evalsite.results.report.sections.questions import draw_question
from evalsite.results.report.source import Criterion

# in a headline: more than this share of the answers that prefer a system name the reason
_MOST_NAME = 0.5


def read_reasons(report: Report | None, *, is_everyone: bool) -> dict[str, Any] | None:
    """Return the counted reasons of the first question that has some; None without a report."""
    if report is None:
        return None
    content = (is_everyone and report.content["all"]) or report.content["kept"]
    for criterion in content["criteria"]:
        stored = criterion.get("reasons")
        if stored and stored["shares"]:
            return _describe(stored, criterion["pairs"]) | _draw_chosen(Criterion(criterion))
    return None


def _draw_chosen(criterion: Criterion) -> dict[str, Any]:
    """Return how often each answer was given, as a chart; of two systems in numbers, too."""
    chart = next((chart for chart in draw_question(criterion) if chart.kind == "stacked"), None)
    if chart is None:
        return {"chart": "", "chosen": [], "answers": 0}
    is_pair = len({figure.group[:-1] for figure in chart.figures}) == 1
    answers = chart.figures[0].n["answers"]
    counts = [
        (name_part(figure.group[-1][1]), round((figure.value or 0) * answers))
        for figure in chart.figures
    ]
    return {
        "chart": draw_svg(chart),
        "chosen": [part for part in counts if part[1]] if is_pair else [],
        "answers": answers,
    }


def _describe(stored: dict[str, Any], pairs: list[dict[str, Any]]) -> dict[str, Any]:
    axis = make_axis([0.0, 1.0], is_share=True)
    shares = {
        (dict(share["group"])["reason"], dict(share["group"])["system"]): share
        for share in stored["shares"]
    }
    # in the order of the chart
    compared = [pair[side] for pair in pairs for side in ("system_1", "system_2")]
    known = dict.fromkeys(system for _reason, system in shares)
    systems = list(dict.fromkeys(name for name in (*compared, *known) if name in known))
    rows = [
        {"label": label, "cells": [_write_cell(shares[key, system], axis) for system in systems]}
        for key, label in stored["labels"].items()
        if any(shares[key, system]["value"] for system in systems)
    ]
    return {
        "systems": systems,
        "rows": rows,
        "ticks": axis.ticks,
        "has_chart": len(systems) <= 2,
        "most_named": [_find_most_named(system, shares, stored["labels"]) for system in systems],
        "headline": _find_headline(systems, shares, stored["labels"]),
    }


def _write_cell(share: dict[str, Any], axis: Axis) -> dict[str, Any]:
    low, high = share["low"], share["high"]
    return {
        "named": share["n"]["named"],
        "answers": share["n"]["answers"],
        "share": f"{share['value']:.0%}",
        "interval": "" if low is None else f"{low:.0%} to {high:.0%}",
        "mark": make_mark(axis, share["value"], low, high) if low is not None else None,
    }


def _find_most_named(system: str, shares: Any, labels: dict[str, str]) -> dict[str, Any]:
    key = max(labels, key=lambda key: shares[key, system]["value"])
    return {"system": system, "label": labels[key], **shares[key, system]["n"]}


def _find_headline(
    systems: list[str], shares: Any, labels: dict[str, str]
) -> dict[str, str] | None:
    """Return the reason that most answers for one system name, and that sets it apart most."""
    candidates = []
    for system in systems:
        rivals = [name for name in systems if name != system]
        for key, label in labels.items():
            value = shares[key, system]["value"]
            if shares[key, system]["low"] is not None and value > _MOST_NAME:
                lead = value - max((shares[key, rival]["value"] for rival in rivals), default=0)
                candidates.append((lead, system, label))
    if not candidates:
        return None
    _lead, system, label = max(candidates)
    return {"system": system, "label": label}
