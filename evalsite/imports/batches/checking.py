"""From rows to checked items: plain values, with every fault and remark. Nothing is stored."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from evalsite.imports.batches.fields import OF_SYSTEM
from evalsite.imports.batches.guessing import guess_mapping
from evalsite.imports.batches.items import ItemChecker
from evalsite.imports.batches.mapping import check_header, check_mapping, make_plan
from evalsite.imports.batches.persons import LEAVE_OUT, describe_personal
from evalsite.imports.batches.shelf import Shelf
from evalsite.imports.tables.faults import Fault, Remark, UnreadableFile
from evalsite.imports.tables.reader import open_table
from evalsite.imports.tables.table import Limits, Row, Table
from evalsite.studies.models import Study

_TELL_EVERY = 2_000  # rows


@dataclass
class Checked:
    """What a file holds for a study: its items if it may be imported, its faults if not."""

    encoding: str = ""
    delimiter: str = ""
    header: list[str] = field(default_factory=list)
    mapping: dict[str, str] = field(default_factory=dict)
    # for each column its first cell, to recognise it by
    samples: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    # of these: the site makes such rows itself
    left_out: int = 0
    items: Shelf = field(default_factory=Shelf)
    faults: list[Fault] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    tell: Callable[[int], None] | None = None

    @property
    def is_importable(self) -> bool:
        return not self.faults and bool(self.items)

    @property
    def rows_taken(self) -> int:
        return self.rows - self.left_out

    @property
    def systems(self) -> list[str]:
        return sorted(self.items.systems)

    @property
    def outputs(self) -> int:
        return self.items.outputs


def check_file(
    source: BinaryIO,
    *,
    study: Study,
    mapping: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    tell: Callable[[int], None] | None = None,
) -> Checked:
    """What the file holds for this study, under this mapping or a guessed one.

    `tell` hears now and then how many rows were read.
    """
    checked = Checked(tell=tell)
    table: Table | None = None
    try:
        table = open_table(source, limits=limits)
        checked.encoding, checked.delimiter = table.encoding, table.delimiter
        checked.header = [name.strip() for name in table.header]
        checked.faults += check_header(table.header, table.header_line)
        if not checked.faults:
            guess = guess_mapping(checked.header, study.config)
            guess |= {checked.header[number]: LEAVE_OUT for number in table.unnamed}
            guess |= {checked.header[number]: OF_SYSTEM for number in table.systems}
            checked.mapping = guess | _known_columns(mapping or {}, guess)
            used = {name for name, field in checked.mapping.items() if field not in ("", LEAVE_OUT)}
            checked.faults += table.check_mapped(used)
            checked.faults += check_mapping(
                checked.mapping, study.config, table.header_line, sheet=table.sheet
            )
        _check_rows(checked, table, study)
    except UnreadableFile as error:
        checked.faults.append(error.fault)
    if table is not None:
        checked.remarks = [*table.remarks.listed(), *checked.remarks]
    checked.faults.sort(key=lambda fault: (fault.line or 0, fault.record or 0))
    return checked


def _known_columns(mapping: Mapping[str, str], guess: Mapping[str, str]) -> dict[str, str]:
    return {column: field for column, field in mapping.items() if column in guess}


def _check_rows(checked: Checked, table: Table, study: Study) -> None:
    if checked.faults:
        # the header is wrong: the rows are only counted, and looked at to the end of the file
        kept = [column for column, field in checked.mapping.items() if not field]
        if sentence := describe_personal(kept):
            checked.remarks = [Remark("personal_columns", sentence)]
        for row in table.rows:
            _count(checked, row)
        return
    plan = make_plan(checked.header, checked.mapping, study.config)
    checker = ItemChecker(study, checked.header, plan)
    if sentence := describe_personal(plan.extra):
        checker.remarks.tell("personal_columns", sentence)
    try:
        for row in table.rows:
            _count(checked, row)
            checker.add(row)
    finally:
        # also of a file that breaks off: the faults up to there are told with the break
        checked.faults += checker.faults
        checked.left_out = checker.left_out
        checked.remarks = checker.remarks.listed()
    if not checked.rows:
        raise UnreadableFile("no_rows", "The file has no rows under its header.")
    found = len(checker.faults)
    checked.items = checker.finish()
    checked.faults += checker.faults[found:]
    if not checked.items and not checked.faults:
        message = (
            "Every row was left out, so there is nothing to import. Add rows of your own items."
        )
        checked.faults.append(Fault("nothing_left", message))
    checked.remarks = checker.remarks.listed()


def _count(checked: Checked, row: Row) -> None:
    if not checked.rows:
        cells = zip(checked.header, row.cells, strict=False)
        checked.samples = {
            name: cell for name, cell in cells if checked.mapping.get(name) != LEAVE_OUT
        }
    checked.rows += 1
    if checked.tell is not None and checked.rows % _TELL_EVERY == 0:
        checked.tell(checked.rows)
