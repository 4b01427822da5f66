"""Rows of metrics.csv: one for each score that an automatic metric gave to an output."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from evalsite.exports.cells import PAGE, Source, make_pages, name_output, tell
from evalsite.exports.metric_columns import METRICS
from evalsite.imports.models import MetricScore
from evalsite.studies.models import Study

_OUTPUT = ("output__item__key", "output__position", "output__system__name")
_PLACES = ("output__item_id", "output__position")


def read_metrics(study: Study) -> Source:
    """The scores in the order in which items were uploaded, those of an output by metric."""
    names = ("output_id", "item", "system", "metric", "value")
    assert names == tuple(column.name for column in METRICS)
    return Source(names, (), make_pages(_read(study), PAGE))


def _read(study: Study) -> Iterator[tuple[str, ...]]:
    scores = MetricScore.objects.filter(file__study=study).order_by(*_PLACES)
    rows = scores.values_list(*_OUTPUT, "metric", "value").iterator(chunk_size=PAGE)
    for (item, position, system), group in groupby(rows, itemgetter(0, 1, 2)):
        # sorted here: databases differ in how they order texts
        found = sorted((metric, write_score(value)) for *_, metric, value in group)
        for cells in found:
            yield name_output(item, position), item, tell(system), *cells


def write_score(value: float) -> str:
    """The shortest text that gives this very number when it is read."""
    return repr(value).removesuffix(".0")
