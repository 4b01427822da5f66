"""From rows to checked items: plain values, with every fault and remark. Nothing is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from evalsite.exchange.faults import Fault, UnreadableFile
from evalsite.exchange.items import ItemChecker
from evalsite.exchange.mapping import check_header, check_mapping, guess_mapping, make_plan
from evalsite.exchange.reading import Row, Table, open_table
from evalsite.exchange.remarks import Remark
from evalsite.exchange.values import CheckedItem
from evalsite.studies.models import Study


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
    items: list[CheckedItem] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    @property
    def is_importable(self) -> bool:
        return not self.faults and bool(self.items)

    @property
    def systems(self) -> list[str]:
        return sorted({output.system for item in self.items for output in item.outputs})

    @property
    def outputs(self) -> int:
        return sum(len(item.outputs) for item in self.items)


def check_file(
    source: BinaryIO, *, study: Study, mapping: Mapping[str, str] | None = None
) -> Checked:
    """What the file holds for this study, under this mapping or a guessed one."""
    checked = Checked()
    try:
        table = open_table(source)
        checked.encoding, checked.delimiter = table.encoding, table.delimiter
        checked.header = [name.strip() for name in table.header]
        checked.faults += check_header(table.header, table.header_line)
        if not checked.faults:
            guess = guess_mapping(checked.header, study.config)
            checked.mapping = guess | _known_columns(mapping or {}, guess)
            checked.faults += check_mapping(checked.mapping, study.config, table.header_line)
        _check_rows(checked, table, study)
    except UnreadableFile as error:
        checked.faults.append(error.fault)
    checked.faults.sort(key=lambda fault: (fault.line or 0, fault.record or 0))
    return checked


def _known_columns(mapping: Mapping[str, str], guess: Mapping[str, str]) -> dict[str, str]:
    return {column: field for column, field in mapping.items() if column in guess}


def _check_rows(checked: Checked, table: Table, study: Study) -> None:
    if checked.faults:
        # the header is wrong: the rows are only counted, and looked at to the end of the file
        for row in table.rows:
            _count(checked, row)
        return
    plan = make_plan(checked.header, checked.mapping, study.config)
    checker = ItemChecker(study, checked.header, plan)
    try:
        for row in table.rows:
            _count(checked, row)
            checker.add(row)
    finally:
        # also of a file that breaks off: the faults up to there are told with the break
        checked.faults += checker.faults
        checked.remarks = checker.remarks.listed()
    if not checked.rows:
        raise UnreadableFile("The file has no rows under its header.")
    found = len(checker.faults)
    checked.items = checker.finish()
    checked.faults += checker.faults[found:]
    checked.remarks = checker.remarks.listed()


def _count(checked: Checked, row: Row) -> None:
    if not checked.rows:
        checked.samples = dict(zip(checked.header, row.cells, strict=False))
    checked.rows += 1
