"""Scores that came with the items as metadata, as evaluation tools write them, taken as metrics."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from evalsite.imports.metrics.importer import LONGEST_METRIC
from evalsite.imports.models import MetricScore
from evalsite.lib.csv_writer import write_rows
from evalsite.lib.limited import read_json
from evalsite.studies.models import Item, Study

NAME = "scores kept with the items.csv"
_PEEKED = 50  # items that tell which scores there are
# numbers that count or name something, or are the right answer
_NO_SCORE = re.compile(
    r"(.*[_.])?(id|idx|index|testidx|promptidx|epoch|seed|line|row|no|nr|number|sample|year|date|time"
    r"|target|answer|gold|reference|expected|label)_?",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
# how tools write a verdict instead of a number
_VERDICTS = {"true": "1", "false": "0", "C": "1", "P": "0.5", "I": "0"}


def list_kept_scores(study: Study) -> list[str]:
    """Return the names of the scores in the metadata of the first items that aren't metrics yet."""
    names: dict[str, None] = {}
    for item in _list_items(study)[:_PEEKED]:
        for output in item.outputs.all():
            names |= dict.fromkeys(read_scores(item.extra, output.system.name))
    if names:
        known = MetricScore.objects.filter(file__study=study).order_by()
        taken = {one.casefold() for one in known.values_list("metric", flat=True).distinct()}
        return [name for name in names if name.casefold() not in taken]
    return []


def write_kept_scores(study: Study, names: list[str]) -> bytes:
    """Write these scores as a file of metrics, with a row for each."""
    return write_rows([("item", "system", "metric", "value"), *_rows(study, names)]).encode()


def _rows(study: Study, names: list[str]) -> Iterator[tuple[str, ...]]:
    for item in _list_items(study).iterator(chunk_size=500):
        for output in item.outputs.all():
            scores = read_scores(item.extra, output.system.name)
            for name in names:
                if name in scores:
                    yield item.key, output.system.name, name, scores[name]


def _list_items(study: Study) -> Any:
    items = Item.objects.main().filter(study=study, batch__isnull=False).exclude(extra={})
    return items.prefetch_related("outputs__system").order_by("id").only("key", "extra")


def read_scores(extra: Mapping[str, Any], system: str) -> dict[str, str]:
    """Return the numbers in an item's metadata that are of this system's output."""
    scores: dict[str, str] = {}
    for column, kept in extra.items():
        text = kept.get(system, "") if isinstance(kept, dict) else kept
        if _NO_SCORE.fullmatch(column):
            continue
        if score := _read_score(text):
            scores[column] = score
        elif text.startswith("{") and "score" in column.casefold():
            scores |= _read_object(text)
    return {name: score for name, score in scores.items() if len(name) <= LONGEST_METRIC}


def _read_object(text: str) -> dict[str, str]:
    """Return the scores of an object such as {"f1": 0.5} or {"judge": {"value": "C"}}."""
    try:
        found = read_json(text)
    except (ValueError, RecursionError):
        return {}
    scores = {}
    for name, value in found.items():
        if isinstance(value, dict):
            value = value.get("value")
        is_plain = isinstance(value, bool | int | float | str)
        if is_plain and (score := _read_score(json.dumps(value).strip('"'))):
            scores[str(name)] = score
    return scores


def _read_score(text: str) -> str:
    return text if _NUMBER.fullmatch(text) else _VERDICTS.get(text, "")
