"""Which column of a file of metric scores holds what: told from its name."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evalsite.imports.tables.faults import Fault
from evalsite.lib.rating_columns import FIELDS
from evalsite.protocol import Protocol

_ITEM = ("item", *FIELDS["item"], "output_id")
_SYSTEM = ("system", *FIELDS["system"])
_METRIC = ("metric", "metric_name", "measure")
_VALUE = ("value", *FIELDS["value"], "result")
# what batches and exports say of an output beside its id: no metric is meant by these
_OTHERS = frozenset(
    ("study", "batch", "group", "cluster", "kind", "repeat_of", "held", "output_id", "output",
     "output_is_empty", "extra", "text", "reference", "references", "gold_why")
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """Where the cells of a score stand: in a row of its own, or in a column for each metric."""

    item: int
    system: int | None
    # long: the columns of the metric's name and of its value; wide: by column the metric
    metric: int | None
    value: int | None
    metrics: dict[int, str]
    left_out: tuple[str, ...]


def plan_columns(
    header: Sequence[str], config: Protocol, line: int
) -> tuple[Plan | None, list[Fault]]:
    """The plan of a header, or what keeps one from being made."""
    item, system = _find(header, _ITEM), _find(header, _SYSTEM)
    metric, value = _find(header, _METRIC), _find(header, _VALUE)
    if item is None:
        found = ", ".join(header) or "none"
        return None, [
            Fault(
                "column_missing",
                f"Column “item” (the item’s id, as in its batch) is missing. Found: {found}. "
                "Rename the column that holds it, or add one.",
                column="item",
                line=line,
            )
        ]
    if metric is not None:
        if value is None:
            message = "Column “value” is missing. Add it, with the score that the metric gave."
            return None, [Fault("column_missing", message, column="value", line=line)]
        used = {item, system, metric, value}
        others = [name for at, name in enumerate(header) if at not in used]
        left_out = tuple(name for name in others if fold_name(name) not in _OTHERS)
        return Plan(item, system, metric, value, {}, left_out), []
    return _plan_wide(header, config, line, item, system)


def _plan_wide(
    header: Sequence[str], config: Protocol, line: int, item: int, system: int | None
) -> tuple[Plan | None, list[Fault]]:
    """Every column that says nothing else of the output is named after a metric."""
    known = _OTHERS | {fold_name(one.name) for one in config.inputs}
    rest = {at: name for at, name in enumerate(header) if at not in (item, system)}
    metrics = {at: name for at, name in rest.items() if fold_name(name) not in known}
    nameless = [name for name in metrics.values() if fold_name(name) in _VALUE]
    if nameless:
        return None, [
            Fault(
                "metric_invalid",
                f"“{nameless[0]}” does not say which metric it is. Name the column after the "
                "metric, such as BLEU, or add a column “metric”.",
                column=nameless[0],
                line=line,
            )
        ]
    if not metrics:
        return None, [
            Fault(
                "column_missing",
                "There is no column of scores. Add a column for each metric, named after it; or "
                "the columns metric and value, with a row for each score.",
                line=line,
            )
        ]
    left_out = tuple(name for at, name in rest.items() if at not in metrics)
    return Plan(item, system, None, None, metrics, left_out), []


def _find(header: Sequence[str], names: Sequence[str]) -> int | None:
    """The column whose name comes first among the names; None: there is none."""
    places = {fold_name(name): at for at, name in reversed(list(enumerate(header)))}
    return next((places[name] for name in names if name in places), None)


def fold_name(name: str) -> str:
    return re.sub(r"[\s_.-]+", "_", name.strip().casefold()).strip("_")
