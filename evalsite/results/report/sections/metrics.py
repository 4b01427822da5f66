"""Automatic metrics and judges beside people: how far they agree about the same outputs."""

from collections.abc import Iterator

from evalsite.results.document.blocks import (
    Block,
    Cell,
    Chart,
    Column,
    Entry,
    Heading,
    Place,
    Sentence,
    Table,
    isolate,
)
from evalsite.results.document.figures import (
    explain_reason,
    make_figure,
    write_number,
    write_p,
    write_value,
)
from evalsite.results.report.sections.further import name_code, read_own
from evalsite.results.report.source import Criterion, Source, Stored

# what a level correlates, in the order of the tables
_LEVELS = {"system": "systems", "output": "outputs", "within_inputs": "outputs of one input"}
_MOST_DRAWN = 4


def make_metrics(source: Source) -> Iterator[Block]:
    known = [criterion for criterion in source.criteria if criterion.stored.get("metrics")]
    if known:
        yield Heading("Metrics and judges", 2, "metrics")
    for criterion in known:
        yield tabulate_metrics(criterion, "main")
        yield from _write_ceiling(criterion)


def make_further_metrics(source: Source) -> Iterator[Block]:
    blocks = [block for criterion in source.criteria for block in list_metrics(criterion)]
    if blocks:
        yield Heading("Metrics and judges", 2, "further-metrics", place="further")
        yield from blocks


def list_metrics(criterion: Criterion, place: Place = "further") -> Iterator[Block]:
    """Yield everything about the metrics of one question."""
    if not criterion.stored.get("metrics"):
        return
    yield tabulate_metrics(criterion, place)
    yield from _draw_metrics(criterion)
    yield from _compare_metrics(criterion)


def _name_metric(metric: Stored) -> str:
    return isolate(str(metric["metric"])) + (" ↓" if metric["better"] == "lower" else "")


def tabulate_metrics(criterion: Criterion, place: Place) -> Table:
    """Return how well each metric goes with what people said, by systems and by outputs."""
    lines = [
        (metric, level, metric["levels"][level])
        for metric in criterion.stored["metrics"]["metrics"]
        for level in _LEVELS
        if metric["levels"].get(level)
    ]
    codes = list(dict.fromkeys(figure["name"] for _, _, figures in lines for figure in figures))
    columns = [Column("Metric", is_number=False), Column("Of", is_number=False)]
    columns += [Column(name_code(code)) for code in codes]
    rows: list[list[Entry]] = []
    for metric, level, figures in lines:
        group = {"criterion": criterion.key, "metric": str(metric["metric"]), "over": level}
        cells = {figure["name"]: read_own(figure, group) for figure in figures}
        rows.append([
            _name_metric(metric), _LEVELS[level], *(cells.get(code, "") for code in codes)
        ])  # fmt: skip
    ending = "metrics" if place == "main" else "all-metrics"
    caption = f"{criterion.label}: correlations of metrics with people (95% CI)"
    return Table(f"{criterion.key}-{ending}", caption, columns, rows, place=place)


def _write_ceiling(criterion: Criterion) -> Iterator[Sentence]:
    """Yield how near to people as many other people would come."""
    stored = criterion.stored["metrics"]["ceiling"]
    if stored is None:
        return
    figure = read_own(stored, {"criterion": criterion.key})
    if figure.value is None:
        text = f"How near other people would come isn’t known: {explain_reason(figure.why)}."
    else:
        text = f"As many other people would reach r = {write_value(figure)} with these people."
    yield Sentence("ceiling_of_metrics", f"{criterion.label}: {text}", figures=(figure,))


def _draw_metrics(criterion: Criterion) -> Iterator[Block]:
    """Yield the means of systems by metric and by people, as points and as a table."""
    metrics = criterion.stored["metrics"]["metrics"][:_MOST_DRAWN]
    rows: list[list[Entry]] = []
    for number, metric in enumerate(metrics, start=1):
        figures = []
        for point in metric["points"]:
            system = str(point["system"] or "–")
            group = {
                "criterion": criterion.key, "metric": str(metric["metric"]), "system": system,
            }  # fmt: skip
            both = [
                make_figure(f"{kind}_mean", point[kind], group, n={"outputs": point["outputs"]})
                for kind in ("metric", "human")
            ]
            figures += both
            cells = [Cell(write_number(figure.value, "statistic"), (figure,)) for figure in both]
            rows.append([isolate(system), _name_metric(metric), *cells])
        if len(metric["points"]) > 1:
            caption = f"{criterion.label}: people against {_name_metric(metric)}, by system"
            name = f"{criterion.key}-metric-{number}"
            yield Chart(name, "points", caption, figures, place="further")
    columns = [Column("System", is_number=False), Column("Metric", is_number=False),
               Column("Mean of the metric"), Column("Mean of people")]  # fmt: skip
    caption = f"{criterion.label}: means of systems by metric"
    yield Table(f"{criterion.key}-metric-means", caption, columns, rows, place="further")


def _compare_metrics(criterion: Criterion) -> Iterator[Table]:
    pairs = criterion.stored["metrics"]["pairs"]
    if not pairs:
        return
    rows: list[list[Entry]] = []
    for pair in pairs:
        group = {
            "criterion": criterion.key, "metric_1": str(pair["metric_1"]),
            "metric_2": str(pair["metric_2"]),
        }  # fmt: skip
        figure = read_own(pair["test"], group)
        names = f"{isolate(str(pair['metric_1']))} : {isolate(str(pair['metric_2']))}"
        rows.append([names, figure, write_p(figure.p_corrected)])
    columns = [Column("Metrics", is_number=False), Column("Difference of r"),
               Column("Corrected p")]  # fmt: skip
    caption = f"{criterion.label}: metrics compared (Williams’ test)"
    yield Table(f"{criterion.key}-metrics-compared", caption, columns, rows, place="further")
