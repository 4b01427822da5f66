"""The tables of automatic metrics beside a criterion, made from the plain data of its report."""

from typing import Any

from evalsite.analysis.families import find_family
from evalsite.results.report.criterion_tables import Table, because, write_with_interval
from evalsite.results.report.figure_details import entry
from evalsite.results.report.wording import write_p, write_value

# drawn, and with a table of the means of systems: those that correlate most
MOST_DRAWN = 6
# compared on a page: every two of these; the report as JSON has all that were compared
_MOST_COMPARED = 5
_LEVELS = {"output": "outputs", "item_centred": "within inputs", "system": "systems"}
_KINDS = ("pearson", "spearman", "kendall", "pairwise_accuracy")


def tabulate_metrics(criterion: dict[str, Any]) -> Table:
    """How well each metric goes with what people said, by outputs and by systems."""
    found = criterion["metrics"]
    return Table(
        f"{criterion['label']}: automatic metrics",
        ("Metric", "Of", "From", "Pearson’s r", "Spearman’s ρ", "Kendall’s τ-b",
         "Pairs in order"),
        [
            (one["metric"], words, _count(figures[0], level), *_write_all(figures))
            for one in found["metrics"]
            # PostgreSQL keeps what JSON holds in an order of its own
            for level, words in _LEVELS.items()
            if (figures := one["levels"].get(level))
        ],
        words=" ".join(_describe(found)),
        name=f"{criterion['key']}-correlations",
        entries=[
            entry(figure, metric=one["metric"], over=level)
            for one in found["metrics"]
            for level in _LEVELS
            for figure in one["levels"].get(level, ())
        ],
    )  # fmt: skip


def _write_all(figures: list[dict[str, Any]]) -> list[str]:
    """One cell for each kind of figure; empty where there is none at this level."""
    known = {figure["name"]: figure for figure in figures}
    return [write_with_interval(known[kind]) if kind in known else "" for kind in _KINDS]


def _count(figure: dict[str, Any], level: str) -> str:
    n = figure["n"]
    return f"{n.get('systems', 0):,}" if level == "system" else f"{n.get('rows', 0):,}"


def _describe(found: dict[str, Any]) -> list[str]:
    """What stands under the table: how to read it, and how near other people would come."""
    words = [
        "Each with its 95 % interval, where it has one. The metric that goes most with people "
        "stands first."
    ]
    short = [one for one in found["metrics"] if one["outputs"] < found["outputs"]]
    if short:
        words.append(f"People judged {found['outputs']:,} outputs; not all of them have a score.")
    ceiling = found["ceiling"]
    if ceiling is not None and ceiling["value"] is not None:
        words.append(
            "Half of the ratings of an output, stepped up to all of them, correlate with the other "
            f"half by {write_value(ceiling)}: what as many other people would reach, and so the "
            "mark for a metric over outputs."
        )
    elif ceiling is not None:
        words.append(f"What other people would reach is not known{because(ceiling)}.")
    return words


def tabulate_means(criterion: dict[str, Any]) -> Table:
    """The points of the drawing: what the metric and people gave each system on average."""
    people = find_family(criterion).people
    return Table(
        f"{criterion['label']}: means of systems by metric",
        ("System", "Metric", "Mean of the metric", f"People: {people}", "Outputs"),
        [
            (
                point["system"] or "–",
                one["metric"],
                _write_mean(point["metric"]),
                _write_mean(point["human"]),
                f"{point['outputs']:,}",
            )
            for one in criterion["metrics"]["metrics"][:MOST_DRAWN]
            for point in one["points"]
        ],
        words="Of outputs that have both.",
        name=f"{criterion['key']}-means",
        entries=[
            entry(_make_mean(kind, point), system=point["system"], metric=one["metric"])
            for one in criterion["metrics"]["metrics"][:MOST_DRAWN]
            for point in one["points"]
            for kind in ("metric", "human")
        ],
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
    return Table(
        f"{criterion['label']}: metrics compared",
        ("Metrics", "r of the first", "r of the second", "Difference", "t", "df", "Corrected p"),
        [
            (f"{pair['metric_1']} : {pair['metric_2']}", *_write_test(pair["test"]))
            for pair in pairs
        ],
        words="Williams’ test, p corrected by Holm’s method. Where p is above .05, these data do "
        "not tell which of the two goes more with what people said.",
        name=f"{criterion['key']}-compared",
        entries=[
            entry(pair["test"], metric_1=pair["metric_1"], metric_2=pair["metric_2"])
            for pair in pairs
        ],
    )


def _write_test(test: dict[str, Any]) -> tuple[str, ...]:
    details = test["details"]
    if test["value"] is None:
        return ("", "", f"–{because(test)}", "", "", "")
    return (
        write_value(test | {"value": details["r_first"]}),
        write_value(test | {"value": details["r_second"]}),
        write_value(test),
        write_value(test | {"value": details["t"]}),
        f"{details['df']:,}",
        write_p(details["p_corrected"]),
    )


def name_people(criterion: dict[str, Any]) -> str:
    """What the axis of people's scores is called."""
    return f"{criterion['label']}, {find_family(criterion).people}"
