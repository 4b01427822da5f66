"""Scores of automatic metrics: read from a file, found outputs for, stored and taken back."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from evalsite.data.importing import (
    LEAVE_OUT_FAULTY,
    Checked,
    Field,
    Target,
    check_cells,
    decide_faulty_rows,
    insert_rows,
)
from evalsite.data.items.choices import Names
from evalsite.data.models import MetricFile, MetricScore, Upload
from evalsite.data.ratings.columns import shorten
from evalsite.data.ratings.items import CHUNK, FoundItem, find_output
from evalsite.data.tables.table import Fault, Refused, Remark, Row, Table
from evalsite.data.uploads import register
from evalsite.data.whole_files import WholeFileImporter, WholeFileReader
from evalsite.lib.rating_columns import FIELDS, fold
from evalsite.studies.models import Item, Study

# any number of columns, each named after its metric
OF_METRIC = "score_of_this_metric"
OF_LOWER_METRIC = "score_of_this_metric_lower_is_better"
_OF_METRICS = (OF_METRIC, OF_LOWER_METRIC)
LONGEST_METRIC = 100
_NAMES = {
    "item": ("item", *FIELDS["item"], "output_id"),
    "system": ("system", *FIELDS["system"]),
    "metric": ("metric", "metric_name", "measure"),
    "value": ("value", *FIELDS["value"], "result"),
    "better": ("better",),
}
_BETTER = {"": "higher", "higher": "higher", "lower": "lower"}
# what batches and exports say of an output in addition to its id: these aren't metrics
_NOT_METRICS = frozenset(
    ("better", "study", "batch", "group", "cluster", "kind", "repeat_of", "held", "output_id",
     "output", "output_is_empty", "extra", "text", "reference", "references", "gold_why", "item_no",
     "group_no")
)  # fmt: skip
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WITH_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+")
_NOTHING = {"nan", "na", "n/a", "null", "none", "-", "–", "inf", "-inf", "+inf", "infinity"}


class Score(NamedTuple):
    """What a metric gave to an output."""

    output: int
    metric: str
    value: float
    better: str


@dataclass
class CheckedScores(Checked):
    """What a file contains for a study: its scores, if it may be imported."""

    scores: list[Score] = field(default_factory=list)

    @property
    def is_importable(self) -> bool:
        return not self.faults and bool(self.scores)

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(score.metric for score in self.scores))

    @property
    def outputs(self) -> int:
        return len({score.output for score in self.scores})


class MetricImporter(WholeFileImporter):
    """Scores of a study's outputs, as files of metrics."""

    purpose = Upload.Purpose.METRICS
    check_kind, import_kind, undo_kind = "check metrics", "import metrics", "undo metrics"
    record = MetricFile
    checked = CheckedScores
    uploaded, taken_back, noun = "metrics uploaded", "metrics taken back", "score"

    def list_fields(self, target: Target, mapping: Mapping[str, str]) -> list[Field]:
        return [
            Field("", "Leave out", is_for_many=True),
            Field("item", "Item, or output such as item-7#2"),
            Field("system", "System"),
            Field(OF_METRIC, "Scores of the metric in its name", "One column a metric", "", True),
            Field(
                OF_LOWER_METRIC,
                "Scores of the metric in its name, lower is better",
                "One column a metric",
                "",
                True,
            ),
            Field("metric", "Metric", "One score a row"),
            Field("value", "Score", "One score a row"),
            Field("better", "Whether higher or lower scores are better", "One score a row"),
        ]

    def guess(self, header: Sequence[str], target: Target) -> dict[str, str]:
        """Without a column that names metrics, each column that says nothing else is one."""
        places = {fold(name): name for name in reversed(header)}
        mapping = dict.fromkeys(header, "")
        for at, names in _NAMES.items():
            if known := [places[name] for name in names if name in places]:
                mapping[known[0]] = at
        if "metric" in mapping.values():
            return mapping
        # without a row for each score it has nothing to say
        mapping = {name: "" if use == "better" else use for name, use in mapping.items()}
        not_metrics = _NOT_METRICS | {fold(column.name) for column in target.instrument.columns}
        for name in header:
            if not mapping[name] and fold(name) not in not_metrics:
                mapping[name] = OF_METRIC
        return mapping

    def settle(self, guess: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
        once = {column: use for column, use in chosen.items() if use not in _OF_METRICS}
        return super().settle(guess, once)

    def check_mapping(self, checked: CheckedScores, target: Target, table: Table) -> list[Fault]:
        mapped, line = set(checked.mapping.values()), table.header_line
        faults = super().check_mapping(checked, target, table)
        needed = {"item": "the item’s id, as in its batch"}
        if "metric" in mapped:
            needed["value"] = "the score that the metric gave"
        elif "value" in mapped:
            needed["metric"] = "which metric the scores are of"
        elif not mapped & {OF_METRIC, OF_LOWER_METRIC}:
            needed[OF_METRIC] = "scores, in a column named after its metric"
        if mapped & {OF_METRIC, OF_LOWER_METRIC} and mapped & {"metric", "value", "better"}:
            message = (
                "Some columns are named after their metrics, and others are mapped to one score a "
                "row. Choose one form."
            )
            faults.append(Fault("forms_mixed", message, line=line))
        return [*faults, *self.find_missing(checked, needed, table)]

    def make_reader(
        self, checked: CheckedScores, target: Target, options: Mapping[str, Any]
    ) -> "ScoreReader":
        return ScoreReader(
            checked,
            target.study,
            is_limited=not options.get("no_limit"),
            leaves_out=bool(options.get(LEAVE_OUT_FAULTY)),
        )

    def summarise(self, checked: CheckedScores, target: Target) -> dict[str, Any]:
        counts = Counter(score.metric for score in checked.scores)
        return {
            "scores": len(checked.scores),
            "outputs": checked.outputs,
            "metrics": [[name, counts[name]] for name in checked.metrics],
        }

    def store_rows(self, file: MetricFile, checked: CheckedScores) -> dict[str, Any]:
        rows = ((file.pk.hex, *score) for score in checked.scores)
        insert_rows(MetricScore, ("file", *Score._fields), rows)
        return {"metrics": checked.metrics, "scores": len(checked.scores)}

    def list_rows(self, file: MetricFile) -> QuerySet[MetricScore]:
        return MetricScore.all_objects.filter(file=file).order_by()


# --- reading ------------------------------------------------------------------------


@dataclass(slots=True)
class _Cells:
    """One score as its row gives it."""

    line: int
    record: int
    item: str
    number: str
    system: str
    metric: str
    value: float
    better: str
    column: str


class ScoreReader(WholeFileReader):
    """Finds the output of each score, and says what doesn't fit."""

    noun = "score"

    def __init__(
        self, checked: CheckedScores, study: Study, *, is_limited: bool, leaves_out: bool
    ) -> None:
        super().__init__(checked, study, leaves_out=leaves_out)
        self._limit = settings.UPLOAD_MAX_ROWS if is_limited else None
        header, mapping = checked.header, checked.mapping
        uses = {OF_METRIC: "higher", OF_LOWER_METRIC: "lower"}
        self._metrics = {
            at: uses[mapping[column]] for at, column in enumerate(header) if mapping[column] in uses
        }
        self._places: dict[tuple[int, str], tuple[int, int, str]] = {}
        self._empty: Counter[str] = Counter()
        known = MetricScore.objects.filter(file__study=study).order_by()
        self._names = Names(known.values_list("metric", flat=True).distinct())
        self._metric_names: dict[str, str] = {}
        # of the study's metrics, and of those of this file
        directions = known.values_list("metric", "better").distinct()
        self._directions = dict(directions)

    def add(self, row: Row) -> None:
        if faults := check_cells(row, self._checked.header):
            self._row_faults += faults
            return
        name = row.cells[self._at["item"]].strip()
        if not name:
            self._blame("cell_empty", row, "The item is empty. Give its id.", "item")
            return
        # an output may be named by its id in the exports, such as item-7#2
        item, _, number = name.partition("#")
        system = row.cells[self._at["system"]].strip() if "system" in self._at else ""
        for metric, value, better, column in self._read_scores(row):
            place = row.line, row.record
            self._waiting.append(
                _Cells(*place, item, number, system, metric, value, better, column)
            )
        most = max(self._checked.rows, len(self._places) + len(self._waiting))
        if self._limit is not None and most > self._limit:
            raise Refused(
                "too_many_rows",
                f"The file has more than {self._limit:,} scores or rows. Split it and upload "
                "the parts one after another, or have it imported whole on the server: "
                "manage.py import_metrics --no-limit.",
            )
        if len(self._waiting) >= CHUNK:
            self._flush()

    def finish(self) -> None:
        checked = self._checked
        if self._leaves_out:
            faulty = {fault.record for fault in self._row_faults}
            self._places = {key: at for key, at in self._places.items() if at[1] not in faulty}
            checked.scores = [
                score for score in checked.scores if (score.output, score.metric) in self._places
            ]
        checked.faults += self._find_known()
        if not checked.scores and not checked.faults:
            message = (
                "No score is left to import: every cell is empty, or results don't use its item."
            )
            checked.faults.append(Fault("nothing_left", message))
        if checked.faults:
            checked.scores = []
        checked.remarks = list(self._list_remarks())
        consequence = "A row is left out with all of its scores."
        decide_faulty_rows(checked, self._row_faults, consequence, is_made=self._leaves_out)

    def _read_scores(self, row: Row) -> Iterator[tuple[str, float, str, str]]:
        header = self._checked.header
        cells = [(header[at], at, better) for at, better in self._metrics.items()]
        if not cells:
            better = row.cells[self._at["better"]] if "better" in self._at else ""
            cells = [(row.cells[self._at["metric"]].strip(), self._at["value"], better)]
        for name, at, better in cells:
            code = "score_invalid"
            try:
                value = read_score(row.cells[at])
                if value is None:
                    self._empty[name] += 1
                    continue
                code = "metric_invalid"
                metric = self._read_metric(name, row.line)
                code = "better_invalid"
                yield metric, value, self._read_better(metric, better), header[at]
            except ValidationError as error:
                self._blame(code, row, " ".join(error.messages), header[at])

    def _read_metric(self, name: str, line: int) -> str:
        """Return the name of a metric as it is shown; a name that is confusable once."""
        if name not in self._metric_names:
            metric = check_metric(name)
            problem, spelling = self._names.meet(metric, line)
            self._metric_names[name] = spelling if problem else metric
            if problem:
                raise ValidationError(f"The metric {problem}")
        return self._metric_names[name]

    def _read_better(self, metric: str, text: str) -> str:
        """Return which scores of the metric are better: in all of its rows, and files, the same."""
        better = _BETTER.get(text.strip().casefold())
        if better is None:
            raise ValidationError(
                f"“{shorten(text, 40)}” isn't a direction. Write higher or lower, or leave the "
                "cell empty if higher is better."
            )
        known = self._directions.setdefault(metric, better)
        if known != better:
            raise ValidationError(
                f"For {metric}, {known} scores are better in another row or file, but {better} "
                "ones here. Write the same direction in all of them."
            )
        return better

    def _take(self, cells: _Cells) -> None:
        item = self._finder.find(cells, is_whole=bool(cells.number))
        if item is None:
            self._blame("item_unknown", cells, self._finder.explain(cells), "item")
        elif item.kind != Item.Kind.MAIN:
            self._left_out[item.kind] += 1
        else:
            self._add_score(cells, item)

    def _add_score(self, cells: _Cells, item: FoundItem) -> None:
        try:
            output_id = _find_output(item, cells.number, cells.system)
        except ValidationError as error:
            code = "system_unknown" if error.code == "system" else "item_unknown"
            self._blame(code, cells, " ".join(error.messages), str(error.code))
            return
        key = output_id, cells.metric
        if first := self._places.get(key):
            message = (
                f"This output has a score of {cells.metric} in record {first[1]} already. Remove "
                "one of the two."
            )
            self._blame("score_twice", cells, message, cells.column)
            return
        self._places[key] = cells.line, cells.record, cells.column
        self._checked.scores.append(Score(output_id, cells.metric, cells.value, cells.better))

    def _find_known(self) -> Iterator[Fault]:
        """Scores that the study has already, reported once for each metric and file."""
        metrics = {metric for _, metric in self._places}
        scores = MetricScore.objects.filter(file__study=self._study, metric__in=metrics).order_by()
        twice: dict[tuple[str, str], list[tuple[int, int, str]]] = defaultdict(list)
        rows = scores.values_list("output_id", "metric", "file__file_name").iterator()
        for output_id, metric, file_name in rows:
            if place := self._places.get((output_id, metric)):
                twice[metric, file_name].append(place)
        return self._describe_known(twice)

    def _list_remarks(self) -> Iterator[Remark]:
        left_out = [name for name, use in self._checked.mapping.items() if not use]
        if not self._metrics:
            left_out = [name for name in left_out if fold(name) not in _NOT_METRICS]
        if left_out:
            message = f"Left out, because they aren't metrics: {', '.join(left_out)[:300]}"
            yield Remark("columns_left_out", message)
        for metric, count in self._empty.items():
            of = f" of {metric}" if metric else ""
            yield Remark("cell_empty", f"Empty cells{of}: {count:,}. They give no score")
        yield from self._describe_left_out()


def read_score(text: str) -> float | None:
    """Return a score; None of an empty cell. ValidationError says what is wrong with it."""
    cell = text.strip(" ")
    if not cell:
        return None
    shown = f"“{shorten(cell, 40)}”"
    if _NUMBER.fullmatch(cell):
        value = float(cell)
        if isfinite(value):
            return value + 0.0  # a zero has no sign
        problem = "is too large a number."
    elif cell.casefold() in _NOTHING:
        problem = "isn't a number. If the metric gave no score, leave the cell empty."
    elif _WITH_COMMA.fullmatch(cell):
        problem = f"has a comma. Write a point: {cell.replace(',', '.')[:40]}."
    elif cell.endswith("%"):
        problem = "is a percentage. Write the number alone."
    else:
        problem = "isn't a number. Use the digits 0 to 9 and a point, such as 0.31, 27 or 1e-3."
    raise ValidationError(f"{shown} {problem}")


def check_metric(name: str) -> str:
    """Return the name of a metric; ValidationError says why it can't be one."""
    if not name:
        raise ValidationError("The metric is empty. Name what gave this score.")
    if len(name) > LONGEST_METRIC:
        at_most = f"may have {LONGEST_METRIC} characters; this one has {len(name):,}."
        raise ValidationError(f"The name of a metric {at_most}")
    if not name.isprintable():
        raise ValidationError("The name of the metric has an invisible character. Remove it.")
    return name


def _find_output(item: FoundItem, number: str, system: str) -> int:
    """Return the key of the output that is meant, by its number or its system."""
    if not number:
        return item.outputs[find_output(item, system)][0]
    is_number = number.isascii() and number.isdigit() and len(number) < 5
    if not is_number or not 1 <= int(number) <= len(item.outputs):
        raise ValidationError(
            f"The item has no output {shorten(number, 40)}. Number its outputs from 1 to "
            f"{len(item.outputs)}, or name the system.",
            code="item",
        )
    pk, of_output = item.outputs[int(number) - 1]
    if system and system != of_output:
        raise ValidationError(
            f"Output {number} is of {of_output}, not of “{shorten(system, 40)}”. Correct one.",
            code="system",
        )
    return pk


METRICS = register(MetricImporter())
