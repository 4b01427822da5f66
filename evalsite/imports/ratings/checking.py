"""From rows to checked answers: ratings against the items of a study. Nothing is stored."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from evalsite.imports.columns import check_header
from evalsite.imports.ratings.answers import AnswerBuilder
from evalsite.imports.ratings.mapping import check_mapping, guess_mapping
from evalsite.imports.ratings.rows import RatingRow, RowReader
from evalsite.imports.ratings.values import CheckedAnswer
from evalsite.imports.tables.faults import Fault, Remark, Remarks, UnreadableFile
from evalsite.imports.tables.reader import open_table
from evalsite.imports.tables.table import Table
from evalsite.studies.models import Study
from evalsite.studies.summaries import count_of


@dataclass
class CheckedRatings:
    """What a file of ratings holds for a study: its answers if it may go in, else its faults."""

    # what the file looks like, in words; "" where it can't be read
    encoding: str = ""
    delimiter: str = ""
    header: list[str] = field(default_factory=list)
    mapping: dict[str, str] = field(default_factory=dict)
    # for each column its first cell, to recognise it by
    samples: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    answers: list[CheckedAnswer] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    @property
    def is_importable(self) -> bool:
        return not self.faults and bool(self.answers)

    @property
    def participants(self) -> list[str]:
        return list(dict.fromkeys(answer.participant for answer in self.answers))

    @property
    def per_item(self) -> Counter[int]:
        return Counter(answer.item.pk for answer in self.answers)

    @property
    def ratings(self) -> int:
        return sum(len(answer.ratings) for answer in self.answers)

    @property
    def batches(self) -> set[Any]:
        return {answer.item.batch for answer in self.answers}


def check_ratings(
    source: BinaryIO,
    *,
    study: Study,
    mapping: Mapping[str, str] | None = None,
    keeps_incomplete: bool = False,
    has_persons: bool | None = None,
) -> CheckedRatings:
    """What the file holds for this study, under this mapping or a guessed one.

    `has_persons`: whether each participant is one person, if somebody has said so already.
    """
    checked = CheckedRatings()
    try:
        table = open_table(source)
        checked.encoding, checked.delimiter = table.encoding, table.delimiter
        checked.header = [name.strip() for name in table.header]
        checked.faults += check_header(table.header, table.header_line)
        if not checked.faults:
            guess = guess_mapping(checked.header, study.config)
            given = {one: name for one, name in (mapping or {}).items() if one in guess}
            checked.mapping = guess | given
            checked.faults += check_mapping(
                checked.mapping,
                study.config,
                table.header_line,
                study.systems.values_list("name", flat=True),
            )
        reader = RowReader(checked.header, checked.mapping, study.config)
        _check_rows(checked, table, study, reader, keeps_incomplete=keeps_incomplete)
        if reader.not_persons and has_persons is not False:
            checked.remarks.append(_remark_on_persons(reader))
    except UnreadableFile as error:
        checked.faults.append(error.fault)
    checked.faults.sort(key=lambda fault: (fault.line or 0, fault.record or 0))
    return checked


def _check_rows(
    checked: CheckedRatings,
    table: Table,
    study: Study,
    reader: RowReader,
    *,
    keeps_incomplete: bool,
) -> None:
    is_readable = not checked.faults
    found: list[RatingRow] = []
    try:
        for row in table.rows:
            if not checked.rows:
                checked.samples = dict(zip(checked.header, row.cells, strict=False))
            checked.rows += 1
            if is_readable and (read := reader.read(row)) is not None:
                found.append(read)
    finally:
        # also of a file that breaks off: the faults up to there are told with the break
        checked.faults += reader.faults
    if not checked.rows:
        raise UnreadableFile("no_rows", "The file has no rows under its header.")
    if not is_readable:
        return
    builder = AnswerBuilder(study, reader, keeps_incomplete=keeps_incomplete)
    builder.add_all(found)
    answers = builder.finish()
    checked.faults += builder.faults
    checked.answers = [] if checked.faults else answers
    _remark_on_rows(builder.remarks, reader)
    checked.remarks = builder.remarks.listed()
    if not checked.faults and not checked.answers:
        left_out = count_of(sum(reader.left_out.values()), "row")
        checked.faults.append(
            Fault(
                "nothing_left",
                f"No row is left to import: {left_out} stayed out, by their kind or status.",
            )
        )


def _remark_on_rows(remarks: Remarks, reader: RowReader) -> None:
    for why, count in reader.left_out.items():
        remarks.tell("rows_left_out", f"{count_of(count, 'row')} of {why} will stay out")
    if reader.simulated:
        remarks.tell(
            "simulated",
            f"{count_of(reader.simulated, 'row')} of the file are simulated: nobody gave these "
            "answers, and once imported they do not say so any more",
        )
    if reader.excluded:
        remarks.tell(
            "excluded",
            f"{count_of(reader.excluded, 'row')} were excluded where they come from. They go in "
            "like the others: exclude them here again",
        )


def _remark_on_persons(reader: RowReader) -> Remark:
    """The file's own word on its participants, for whoever has not said the same."""
    return Remark(
        "not_persons",
        f"{count_of(reader.not_persons, 'row')} of the file say that no single person stands "
        "behind the participant. Say so here too, or figures about raters mean nothing",
    )
