"""Scores of automatic metrics in a bundle: read from a study as plain data, and stored again."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID, uuid4

from evalsite.exports.bundle.item_rows import ItemRows
from evalsite.exports.bundle.layout import METRIC_FIELDS, METRIC_FILE_FIELDS, METRIC_ROWS
from evalsite.exports.bundle.opening import Bundle
from evalsite.exports.bundle.shapes import in_pages, read_fields
from evalsite.imports.models import MetricFile, MetricScore
from evalsite.studies.models import Study

Plain = dict[str, Any]
PAGE = 1_000
_OF_SCORE = ("file_id", "output__item__key", "output__position", *METRIC_FIELDS)


def read_scores(study: Study) -> Iterator[Plain]:
    """Every score, in the order of its row: which output, by item and position, and whose file."""
    scores = MetricScore.objects.filter(file__study=study).order_by("id")
    rows = scores.values_list(*_OF_SCORE).iterator(chunk_size=PAGE)
    for file, item, position, *values in rows:
        given = {"file": str(file), "item": item, "output": position}
        yield given | dict(zip(METRIC_FIELDS, values, strict=True))


def store_scores(bundle: Bundle, items: ItemRows, plain: Plain, *, is_copy: bool) -> None:
    """The scores stand here, of the same outputs and files."""
    files = _store_files(items.study, plain, is_copy=is_copy)
    for page in in_pages(bundle.read_rows(METRIC_ROWS)):
        MetricScore.objects.bulk_create(
            MetricScore(
                file_id=files[row["file"]],
                output_id=items.outputs[row["item"]][row["output"]],
                **read_fields(MetricScore, METRIC_FIELDS, row),
            )
            for row in page
        )


def _store_files(study: Study, plain: Plain, *, is_copy: bool) -> Mapping[str, UUID]:
    """The id of each file of scores here by that in the bundle."""
    ids = {}
    for one in plain["metric_files"]:
        values = read_fields(MetricFile, METRIC_FILE_FIELDS, one)
        if is_copy:
            values["id"] = uuid4()
        ids[one["id"]] = values["id"]
        MetricFile.objects.create(study=study, **values)
    return ids
