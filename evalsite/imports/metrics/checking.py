"""From rows to checked scores: metrics against the outputs of a study. Nothing is stored."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO, NamedTuple

from django.core.exceptions import ValidationError

from evalsite.imports.batches.names import Names
from evalsite.imports.columns import check_cells, check_header
from evalsite.imports.metrics.cells import find_output, read_metric, read_value, split_output
from evalsite.imports.metrics.columns import Plan, plan_columns
from evalsite.imports.models import MetricScore
from evalsite.imports.ratings.items import ItemFinder
from evalsite.imports.tables.faults import Fault, Remark, Remarks, UnreadableFile
from evalsite.imports.tables.reader import open_table
from evalsite.imports.tables.table import Limits, Row, Table
from evalsite.studies.models import Item, Study
from evalsite.studies.summaries import count_of


class Score(NamedTuple):
    """What a metric gave to an output."""

    output_id: int
    metric: str
    value: float


@dataclass
class CheckedScores:
    """What a file holds for a study: its scores if it may go in, else its faults."""

    rows: int = 0
    scores: list[Score] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(score.metric for score in self.scores))

    @property
    def outputs(self) -> int:
        return len({score.output_id for score in self.scores})


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
    column: str


def check_scores(source: BinaryIO, *, study: Study, limits: Limits | None = None) -> CheckedScores:
    """What the file holds for this study."""
    checked = CheckedScores()
    limits = limits or Limits.of_pages()
    try:
        # rows are counted here, where it is known what else to do with so many
        table = open_table(source, limits=replace(limits, rows=sys.maxsize))
        header = [name.strip() for name in table.header]
        checked.faults += check_header(table.header, table.header_line)
        plan = None
        if not checked.faults:
            plan, checked.faults = plan_columns(header, study.config, table.header_line)
        _check_rows(checked, table, header, plan, study, limits)
    except UnreadableFile as error:
        checked.faults.append(error.fault)
    checked.faults.sort(key=lambda fault: (fault.line or 0, fault.record or 0))
    if checked.faults:
        checked.scores = []
    return checked


def _check_rows(
    checked: CheckedScores,
    table: Table,
    header: list[str],
    plan: Plan | None,
    study: Study,
    limits: Limits,
) -> None:
    reader = None if plan is None else _RowReader(header, plan, study)
    found: list[_Cells] = []
    try:
        for row in table.rows:
            checked.rows += 1
            if reader is not None:
                found += reader.read(row)
            if max(checked.rows, len(found)) > limits.rows:
                raise UnreadableFile(
                    "too_many_rows",
                    f"The file has more than {limits.rows:,} scores or rows. Split it and upload "
                    "the parts one after the other, or have it imported whole on the server: "
                    "manage.py import_metrics.",
                )
    finally:
        checked.faults += [] if reader is None else reader.faults
    if not checked.rows:
        raise UnreadableFile("no_rows", "The file has no rows under its header.")
    if reader is None:
        return
    if not found and not checked.faults:
        raise UnreadableFile(
            "nothing_left", "The file holds no score: every cell for one is empty."
        )
    builder = _Builder(study, found, reader.columns)
    builder.add_all(found)
    checked.scores = builder.scores
    checked.faults += builder.faults + _find_known(study, found, builder)
    reader.remark(builder.remarks)
    checked.remarks = builder.remarks.listed()
    if not checked.faults and not checked.scores:
        checked.faults.append(
            Fault("nothing_left", "No score is of an item that results are made of.")
        )


class _RowReader:
    """Takes rows apart by the plan of their columns, and remembers what is wrong."""

    def __init__(self, header: list[str], plan: Plan, study: Study) -> None:
        self.header = header
        self.plan = plan
        self.faults: list[Fault] = []
        self.empty: Counter[str] = Counter()
        known = MetricScore.objects.filter(file__study=study).order_by()
        self._names = Names(known.values_list("metric", flat=True).distinct())
        self._met: set[str] = set()
        self._blamed: set[str] = set()

    @property
    def columns(self) -> dict[str, str]:
        """What the file calls the columns that a score's output is found by."""
        system = self.plan.system
        of_system = "system" if system is None else self.header[system]
        return {"item": self.header[self.plan.item], "system": of_system}

    def read(self, row: Row) -> list[_Cells]:
        """The scores of a row; fewer where something is wrong with it, or a cell is empty."""
        if found := check_cells(row, self.header):
            self.faults += found
            return []
        item = row.cells[self.plan.item].strip()
        if not item:
            self._blame(
                "cell_empty", row, "The item is empty. Give its id.", self.header[self.plan.item]
            )
            return []
        key, number = split_output(item)
        system = "" if self.plan.system is None else row.cells[self.plan.system].strip()
        return [
            _Cells(row.line, row.record, key, number, system, metric, value, column)
            for metric, value, column in self._read_scores(row)
        ]

    def _read_scores(self, row: Row) -> Iterator[tuple[str, float, str]]:
        for at, name in self._list_cells(row):
            column = self.header[at]
            try:
                value = read_value(row.cells[at])
                if value is None:
                    self.empty[name] += 1
                    continue
                metric = self._read_metric(name, row.line)
            except ValidationError as error:
                self._blame("score_invalid", row, " ".join(error.messages), column)
                continue
            yield metric, value, column

    def _list_cells(self, row: Row) -> Iterator[tuple[int, str]]:
        """The columns of this row's scores, each with the name of the metric."""
        if self.plan.metric is None or self.plan.value is None:
            yield from self.plan.metrics.items()
        else:
            yield self.plan.value, row.cells[self.plan.metric].strip()

    def _read_metric(self, name: str, line: int) -> str:
        if name in self._met:
            return name
        metric = read_metric(name)
        problem, _ = self._names.meet(metric, line)
        if problem and metric not in self._blamed:
            self._blamed.add(metric)
            raise ValidationError(f"The metric {problem}")
        if not problem:
            self._met.add(metric)
        return metric

    def _blame(self, code: str, row: Row, message: str, column: str) -> None:
        self.faults.append(Fault(code, message, column=column, line=row.line, record=row.record))

    def remark(self, remarks: Remarks) -> None:
        if self.plan.left_out:
            remarks.tell(
                "columns_left_out",
                f"Taken as no metrics, and left out: {', '.join(self.plan.left_out)[:300]}",
            )
        for metric, count in self.empty.items():
            named = f" of {metric}" if metric else ""
            remarks.tell(
                "cell_empty",
                f"{count_of(count, 'cell')}{named} {_is_or_are(count)} empty: no score",
            )


class _Builder:
    """Finds the output of each score, and says what does not fit."""

    def __init__(self, study: Study, found: list[_Cells], columns: dict[str, str]) -> None:
        self.columns = columns
        self.finder = ItemFinder(study)
        self.finder.load(cells.item for cells in found)
        self.scores: list[Score] = []
        self.faults: list[Fault] = []
        self.remarks = Remarks()
        self.places: dict[tuple[int, str], _Cells] = {}

    def add_all(self, found: list[_Cells]) -> None:
        left_out: Counter[str] = Counter()
        for cells in found:
            item = self.finder.find(cells)
            if item is None:
                self._blame("item_unknown", cells, self.finder.explain(cells), "item")
            elif item.kind != Item.Kind.MAIN:
                left_out[item.kind] += 1
            else:
                try:
                    self._add(cells, find_output(item, cells.number, cells.system))
                except ValidationError as error:
                    code = "system_unknown" if error.code == "system" else "item_unknown"
                    self._blame(code, cells, " ".join(error.messages), str(error.code))
        for kind, count in left_out.items():
            self.remarks.tell(
                "rows_left_out",
                f"{count_of(count, 'score')} of {kind} items {_is_or_are(count)} left out: "
                "results are made of the others",
            )

    def _add(self, cells: _Cells, output_id: int) -> None:
        key = output_id, cells.metric
        if first := self.places.get(key):
            self._blame(
                "score_twice",
                cells,
                f"This output has a score of {cells.metric} in record {first.record} already. "
                "Take one of the two out.",
                cells.column,
            )
            return
        self.places[key] = cells
        self.scores.append(Score(output_id, cells.metric, cells.value))

    def _blame(self, code: str, cells: _Cells, message: str, column: str) -> None:
        column = self.columns.get(column, column)
        self.faults.append(
            Fault(code, message, column=column, line=cells.line, record=cells.record)
        )


def _find_known(study: Study, found: list[_Cells], builder: _Builder) -> list[Fault]:
    """Scores that the study has already, told once for each metric and file."""
    metrics = {cells.metric for cells in found}
    known = MetricScore.objects.filter(file__study=study, metric__in=list(metrics)).order_by()
    twice: dict[tuple[str, str], list[_Cells]] = defaultdict(list)
    rows = known.values_list("output_id", "metric", "file__file_name").iterator()
    for output_id, metric, file_name in rows:
        if cells := builder.places.get((output_id, metric)):
            twice[metric, file_name].append(cells)
    faults = []
    for (metric, file_name), places in sorted(twice.items()):
        first = min(places, key=lambda cells: cells.record)
        count = len(places)
        faults.append(
            Fault(
                "score_known",
                f"{count_of(count, 'output')} of this file {'has' if count == 1 else 'have'} a "
                f"score of {metric} already, from {file_name}. Take that file back first, or "
                "leave these rows out.",
                column=first.column,
                line=first.line,
                record=first.record,
            )
        )
    return faults


def _is_or_are(count: int) -> str:
    return "is" if count == 1 else "are"
