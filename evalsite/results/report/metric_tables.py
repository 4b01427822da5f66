"""The tables of automatic metrics beside a criterion, made from the plain data of its report."""

from typing import Any

from evalsite.analysis.families import find_family
from evalsite.results.report.figure_details import Figure
from evalsite.results.report.prose import write_prose
from evalsite.results.report.sentences import ceiling_within
from evalsite.results.report.table import (
    Column,
    Table,
    because,
    figure_column,
    fill_table,
    name_column,
)
from evalsite.results.report.wording import write_p, write_value

# drawn, and with a table of the means of systems: those that correlate most
MOST_DRAWN = 6
# compared on a page: every two of these; the report as JSON has all that were compared
_MOST_COMPARED = 5
_LEVELS = {
    "within_inputs": "within inputs (mean over inputs)",
    "output": "over all outputs",
    "item_centred": "over outputs, inputs’ means removed",
    "system": "over systems",
}
_KINDS = {
    "pearson": "Pearson’s r",
    "spearman": "Spearman’s ρ",
    "kendall": "Kendall’s τ-b",
    "pairwise_accuracy": "Pairs in order",
    "tie_calibrated_accuracy": "Pairwise accuracy with ties",
    "soft_pairwise_accuracy": "Soft pairwise accuracy",
}


def _name_metric(metric: dict[str, Any]) -> str:
    return f"{metric['metric']} ↓" if metric["better"] == "lower" else str(metric["metric"])


def _write_ceiling_within(figures: list[Figure]) -> str:
    """Return what as many other people would reach within inputs, as a sentence."""
    known = {figure["name"]: figure for figure in figures if figure["value"] is not None}
    figure = known.get("ceiling_kendall")
    return ceiling_within(write_value(figure)) if figure else ""


def tabulate_metrics(criterion: dict[str, Any]) -> Table:
    """Return how well each metric goes with what people said, by outputs and by systems."""
    found = criterion["metrics"]
    rows = [
        (_name_metric(one), level, {figure["name"]: figure for figure in figures})
        for one in found["metrics"]
        # PostgreSQL keeps what JSON holds in an order of its own
        for level in _LEVELS
        if (figures := one["levels"].get(level))
    ]
    return fill_table(
        f"{criterion['label']}: automatic metrics",
        [
            name_column("Metric", lambda row: str(row[0])),
            name_column("Of", lambda row: _LEVELS[row[1]]),
            name_column("From", lambda row: _count(row[2]["kendall"], row[1])),
            *(
                _make_kind_column(kind, heading)
                for kind, heading in _KINDS.items()
                if any(kind in row[2] for row in rows)
            ),
        ],
        rows,
        row_names=lambda row: {"metric": row[0], "over": row[1]},
        words=_describe(found),
        name=f"{criterion['key']}-correlations",
    )


def _make_kind_column(kind: str, heading: str) -> Column:
    """Return the column of a kind of correlation; empty where a level has none."""
    return figure_column(heading, lambda row: row[2].get(kind))


def _count(figure: dict[str, Any], level: str) -> str:
    n = figure["n"]
    if level == "within_inputs":
        flat = n["equal_people"], n["equal_metric"]
        without = f", without {flat[0]:,} + {flat[1]:,}" if any(flat) else ""
        return f"{n['inputs']:,}{without}"
    return f"{n.get('systems', 0):,}" if level == "system" else f"{n.get('rows', 0):,}"


def _describe(found: dict[str, Any]) -> str:
    """Return what is below the table: how to read it, and how near other people would come."""
    ceiling = found["ceiling"]
    is_known = ceiling is not None and ceiling["value"] is not None
    return write_prose("tables/metrics.txt", {
        "has_flat": any(_has_flat(one) for one in found["metrics"]),
        "thresholds": _list_thresholds(found),
        "is_partial": any(one["outputs"] < found["outputs"] for one in found["metrics"]),
        "outputs": found["outputs"],
        "ceiling": write_value(ceiling) if is_known else "",
        "ceiling_within": _write_ceiling_within(found["ceiling_within"]),
        "why_no_ceiling": "" if ceiling is None or is_known else because(ceiling).strip(),
    })  # fmt: skip


def _has_flat(metric: dict[str, Any]) -> bool:
    """Whether inputs are left out of the correlations within inputs."""
    figures = metric["levels"].get("within_inputs", [])
    return any(one["n"].get("equal_people") or one["n"].get("equal_metric") for one in figures)


def _list_thresholds(found: dict[str, Any]) -> list[dict[str, str]]:
    """Return of each metric the threshold of ties, and the accuracy without it."""
    figures = [
        (one["metric"], figure)
        for one in found["metrics"]
        for figure in one["levels"].get("within_inputs", [])
        if figure["name"] == "tie_calibrated_accuracy" and figure["value"] is not None
    ]
    return [
        {
            "metric": metric,
            "threshold": _write_mean(figure["details"]["threshold"]),
            "at_0": write_value(figure | {"value": figure["details"]["accuracy_at_0"]}),
        }
        for metric, figure in figures
    ]


def tabulate_means(criterion: dict[str, Any]) -> Table:
    """Return the points of the drawing: what the metric and people gave each system on average."""
    people = find_family(criterion).people
    return fill_table(
        f"{criterion['label']}: means of systems by metric",
        [
            name_column("System", lambda row: row[1]["system"] or "–"),
            name_column("Metric", lambda row: str(row[0])),
            _make_mean_column("Mean of the metric", "metric"),
            _make_mean_column(f"People: {people}", "human"),
            name_column("Outputs", lambda row: f"{row[1]['outputs']:,}"),
        ],
        [
            (one["metric"], point)
            for one in criterion["metrics"]["metrics"][:MOST_DRAWN]
            for point in one["points"]
        ],
        row_names=lambda row: {"system": row[1]["system"], "metric": row[0]},
        words=write_prose("tables/metric_means.txt", {}),
        name=f"{criterion['key']}-means",
    )


def _make_mean_column(heading: str, kind: str) -> Column:
    return Column(
        heading=heading,
        write=lambda row: _write_mean(row[1][kind]),
        figures=lambda row: [_make_mean(kind, row[1])],
    )


def _make_mean(kind: str, point: dict[str, Any]) -> dict[str, Any]:
    """One of the two means of a point, as a figure."""
    return {
        "name": f"{kind}_mean",
        "value": point[kind],
        "method": "mean over the outputs that have both",
        "n": {"outputs": point["outputs"]},
        "details": {"interval": "none: a point of the drawing"},
    }


def _write_mean(value: float) -> str:
    """Four digits: metrics have scales of their own."""
    text = f"{value:#.4g}" if 1e-4 <= abs(value) < 1e4 else f"{value:.4g}"
    return text.rstrip(".").replace("-", "−")


def tabulate_metric_pairs(criterion: dict[str, Any]) -> Table | None:
    """Metrics compared two by two, those that correlate most; None where there is one alone."""
    found = criterion["metrics"]
    names = {one["metric"] for one in found["metrics"][:_MOST_COMPARED]}
    pairs = [pair for pair in found["pairs"] if {pair["metric_1"], pair["metric_2"]} <= names]
    if not pairs:
        return None
    return fill_table(
        f"{criterion['label']}: metrics compared",
        [
            name_column("Metrics", lambda pair: f"{pair['metric_1']} : {pair['metric_2']}"),
            name_column("r of the first", lambda pair: _write_detail(pair, "r_first")),
            name_column("r of the second", lambda pair: _write_detail(pair, "r_second")),
            Column(heading="Difference", write=_write_difference, figures=_list_test),
            name_column("t", lambda pair: _write_detail(pair, "t")),
            name_column("df", lambda pair: _write_detail(pair, "df")),
            name_column("Corrected p", lambda pair: _write_detail(pair, "p_corrected")),
        ],
        pairs,
        row_names=lambda pair: {key: pair[key] for key in ("metric_1", "metric_2")},
        words=write_prose("tables/metric_pairs.txt", {}),
        name=f"{criterion['key']}-compared",
    )


def _list_test(pair: dict[str, Any]) -> list[Figure]:
    return [pair["test"]]


def _write_difference(pair: dict[str, Any]) -> str:
    test = pair["test"]
    return f"–{because(test)}" if test["value"] is None else write_value(test)


def _write_detail(pair: dict[str, Any], key: str) -> str:
    """Return a detail of the test of two metrics; "" where it could not be made."""
    test = pair["test"]
    if test["value"] is None:
        return ""
    value = test["details"][key]
    if key == "df":
        return f"{value:,}"
    return write_p(value) if key == "p_corrected" else write_value(test | {"value": value})


def name_people(criterion: dict[str, Any]) -> str:
    """Return what the axis of people's scores is called."""
    return f"{criterion['label']}, {find_family(criterion).people}"
