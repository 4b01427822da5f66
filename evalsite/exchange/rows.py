"""What one row says, taken apart by the plan of its columns; and what is wrong with its cells."""

from collections.abc import Sequence
from dataclasses import dataclass

from evalsite.exchange.faults import Fault
from evalsite.exchange.mapping import Plan
from evalsite.exchange.reading import Row
from evalsite.exchange.signs import find_control

_NO_EXTRA: dict[str, str] = {}  # one for all rows, never written to


@dataclass(slots=True)
class OutputCells:
    """The cells of one output, with the columns they stand in."""

    system: str
    text: str
    is_empty: str
    system_column: str
    text_column: str
    flag_column: str = ""
    pair: str = ""

    @property
    def is_absent(self) -> bool:
        """Nothing is given: a wide row may hold fewer outputs than there are columns for."""
        return not (self.system.strip() or self.text.strip() or self.is_empty.strip())


@dataclass(slots=True)
class RowValues:
    """One row by field. `shared` is what belongs to the item as a whole."""

    line: int
    record: int
    item: str | None
    shared: dict[str, str]
    outputs: list[OutputCells]
    extra: dict[str, str]


def split_row(row: Row, plan: Plan, header: Sequence[str]) -> RowValues:
    cells = row.cells
    outputs = [
        OutputCells(
            system=cells[columns.system],
            text=cells[columns.output],
            is_empty="" if columns.is_empty is None else cells[columns.is_empty],
            system_column=header[columns.system],
            text_column=header[columns.output],
            flag_column="" if columns.is_empty is None else header[columns.is_empty],
            pair="" if columns.pair is None else cells[columns.pair],
        )
        for columns in plan.outputs
    ]
    return RowValues(
        line=row.line,
        record=row.record,
        item=None if plan.item is None else cells[plan.item],
        shared={field: cells[number] for field, number in plan.shared.items()},
        outputs=[one for one in outputs if not one.is_absent] if plan.is_wide else outputs,
        extra=(
            {name: cells[number] for name, number in plan.extra.items() if cells[number]}
            if plan.extra
            else _NO_EXTRA
        ),
    )


def check_cells(row: Row, header: Sequence[str]) -> list[Fault]:
    """The row has as many cells as the header, and none holds a control character."""
    if len(row.cells) != len(header):
        return [
            Fault(
                f"{_count(len(row.cells), 'cell')} instead of {len(header)}. Look for a missing "
                "delimiter, or for one in a text without quotes.",
                line=row.line,
                record=row.record,
            )
        ]
    return [
        Fault(
            f"The cell holds {found}. Remove it.",
            column=header[number],
            line=row.line,
            record=row.record,
        )
        for number, cell in enumerate(row.cells)
        if (found := find_control(cell))
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
