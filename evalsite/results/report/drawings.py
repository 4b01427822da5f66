"""The drawings of a report: which figures a criterion has, from the report's plain data."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from evalsite.results.report.agreement_tables import is_coefficient
from evalsite.results.report.criterion_tables import (
    describe_pair,
    find_estimate,
    is_by_model,
    sort_systems,
)
from evalsite.results.report.metric_tables import MOST_DRAWN, name_people
from evalsite.results.report.plots import (
    NARROW,
    WIDE,
    Counts,
    Drawing,
    Interval,
    Panel,
    draw_distribution,
    draw_histograms,
    draw_intervals,
    draw_matrix,
    draw_preferences,
    draw_scatter,
)
from evalsite.results.report.wording import is_compared, name_figure

# a matrix of more raters than this can't be read
_MOST_RATERS = 40
_AXES = {
    "mean": "mean",
    "geometric_mean": "geometric mean",
    "share": "share",
    "win_share": "win share, ties as half",
    "strength": "strength (log odds, 0 on average)",
}


def draw_report(report: dict[str, Any]) -> Iterator[tuple[str, Drawing]]:
    """Return every drawing of the report, by name: the criterion's key and what it shows.

    Each is drawn a second time for narrow screens, with "-narrow" after its name; a matrix is not,
    since it can't be made narrower.
    """
    for criterion in report["criteria"]:
        for name, draw in _list_drawings(criterion):
            yield f"{criterion['key']}-{name}", draw(width=WIDE)
            yield f"{criterion['key']}-{name}-narrow", draw(width=NARROW)
        if matrix := _draw_kappas(criterion["kappas"]):
            yield f"{criterion['key']}-kappas", matrix


def _list_drawings(criterion: dict[str, Any]) -> Iterator[tuple[str, Callable[..., Drawing]]]:
    """Return what is drawn of a criterion, each at the width that is asked for."""
    if rows := [
        _interval(one["system"], find_estimate(criterion, one)) for one in _defined(criterion)
    ]:
        known = {"better": criterion["better"], **_describe_axis(criterion)}
        yield "systems", partial(draw_intervals, rows, **known)
    if is_compared(criterion):
        if counted := [pair for pair in criterion["pairs"] if pair["counts"]]:
            yield "pairs", partial(draw_preferences, [_outcomes(pair) for pair in counted])
    elif criterion["answers"]:
        answers = [_name_answer(answer) for answer in criterion["answers"]]
        counts = [_counts(one, criterion) for one in criterion["systems"]]
        yield "distribution", partial(draw_distribution, counts, answers=answers)
    elif histogram := criterion.get("histogram"):
        counts = [
            Counts(system["system"], tuple(histogram["counts"][system["system"]]))
            for system in criterion["systems"]
        ]
        known = {"edges": histogram["edges"], "axis": f"{criterion['label']}, share of ratings"}
        yield "distribution", partial(draw_histograms, counts, **known)
    if drawn := [one for one in criterion["agreement"] if _is_drawn(one)]:
        rows = [_interval(name_figure(one), one) for one in drawn]
        axis = "Agreement with 95% CI"
        yield "agreement", partial(draw_intervals, rows, axis=axis, limits=_bound(drawn))
    if panels := _list_panels(criterion.get("metrics")):
        yield "metrics", partial(draw_scatter, panels, axis=name_people(criterion))


def _bound(figures: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the axis: from chance to full agreement, or from full disagreement if needed."""
    ends = [one[end] for one in figures for end in ("value", "low") if one[end] is not None]
    return (-1, 1) if min(ends) < 0 else (0, 1)


def _draw_kappas(kappas: dict[str, Any] | None) -> Drawing | None:
    if not kappas or len(kappas["raters"]) > _MOST_RATERS:
        return None
    return draw_matrix(kappas["raters"], kappas["values"], axis="Weighted kappa of two raters")


def _list_panels(metrics: dict[str, Any] | None) -> list[Panel]:
    """The systems by each of the closest metrics, where there is more than one to compare."""
    drawn = metrics["metrics"][:MOST_DRAWN] if metrics else []
    return [
        Panel(
            one["metric"],
            tuple((point["system"], point["metric"], point["human"]) for point in one["points"]),
        )
        for one in drawn
        if len(one["points"]) > 1
    ]


def _defined(criterion: dict[str, Any]) -> list[dict[str, Any]]:
    systems = sort_systems(criterion)
    return [one for one in systems if find_estimate(criterion, one)["value"] is not None]


def _is_drawn(figure: dict[str, Any]) -> bool:
    # the forms for crossed raters are in the table, with their warning
    is_crossed = figure["name"].startswith(("ICC(A", "ICC(C"))
    return figure["value"] is not None and is_coefficient(figure) and not is_crossed


def _interval(label: str, figure: dict[str, Any]) -> Interval:
    return Interval(label, figure["value"], figure["low"], figure["high"])


def _describe_axis(criterion: dict[str, Any]) -> dict[str, Any]:
    headline = criterion["systems"][0]["headline"]["name"]
    estimates = [find_estimate(criterion, one) for one in criterion["systems"]]
    has_interval = any(one["low"] is not None for one in estimates)
    axis = f"{criterion['label']}, {_AXES.get(headline, headline)}"
    axis += " by the mixed model" if is_by_model(criterion) else ""
    axis += " with 95% CI" if has_interval else ""
    if headline == "geometric_mean":
        standard = criterion["standard"]
        reference = (standard, f"standard = {standard:g}") if standard else None
        axis += ", logarithmic axis"
        return {"axis": axis, "reference": reference, "is_ratio": True}
    if headline == "mean":
        # numbers without labels have a range, if any
        points = [answer["value"] for answer in criterion["answers"]] or criterion.get("range")
        return {"axis": axis, "limits": (min(points), max(points)) if points else None}
    if headline == "strength":
        return {"axis": axis, "reference": (0, "average")}
    return {"axis": axis, "limits": (0, 1), "is_share": True}


def _counts(system: dict[str, Any], criterion: dict[str, Any]) -> Counts:
    counts = system["counts"] or {}
    # keys of JSON are texts
    found = [counts.get(str(answer["value"]), 0) for answer in criterion["answers"]]
    return Counts(system["system"], tuple(found))


def _outcomes(pair: dict[str, Any]) -> Counts:
    counts = pair["counts"]
    return Counts(describe_pair(pair), (counts["wins"], counts["ties"], counts["losses"]))


def _name_answer(answer: dict[str, Any]) -> str:
    value, label = answer["value"], answer["label"]
    return f"{value} {label}" if label and len(label) <= 24 else str(value)
