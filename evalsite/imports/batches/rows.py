"""What one row says, taken apart by the plan of its columns; and what is wrong with its cells."""

from collections.abc import Sequence
from dataclasses import dataclass

from evalsite.imports.batches.mapping import OutputColumns, Plan
from evalsite.imports.batches.names import is_reserved
from evalsite.imports.tables.table import Row
from evalsite.studies.models import Item

_PRACTICE, _REPEAT = str(Item.Kind.PRACTICE), str(Item.Kind.REPEAT)
_MOST_BLANKS = 1_000
_NO_EXTRA: dict[str, str] = {}  # one for all rows, never written to


@dataclass(frozen=True, slots=True)
class OutputHeads:
    """What the columns of one output are called in the file."""

    system: str
    text: str
    flag: str
    # the header names the system, not a cell
    is_named: bool


@dataclass(slots=True)
class OutputCells:
    """The cells of one output, and what their columns are called."""

    system: str
    text: str
    is_empty: str
    pair: str
    heads: OutputHeads

    @property
    def is_absent(self) -> bool:
        """Nothing is given: a wide row may hold fewer outputs than there are columns for."""
        given = "" if self.heads.is_named else self.system
        return not (given.strip() or self.text.strip() or self.is_empty.strip())


@dataclass(slots=True)
class RowValues:
    """One row by field. `shared` is what belongs to the item as a whole."""

    line: int
    record: int
    item: str | None
    shared: dict[str, str]
    outputs: list[OutputCells]
    extra: dict[str, str]


class Splitter:
    """Takes rows apart by the plan of their columns."""

    def __init__(self, plan: Plan, header: Sequence[str], *, keeps_empty: bool = False) -> None:
        self._keeps_empty = keeps_empty
        # system, line and record of cells without a text in columns named after systems
        self.blanks: list[tuple[str, int, int]] = []
        self._item = plan.item
        self._is_wide = plan.is_wide
        self._shared = tuple(plan.shared.items())
        self._extra = tuple(plan.extra.items())
        self._outputs = [(one, _name_columns(one, header)) for one in plan.outputs]

    def split(self, row: Row) -> RowValues:
        cells = row.cells
        outputs = [
            OutputCells(
                columns.named or cells[columns.system],
                cells[columns.output],
                "" if columns.is_empty is None else cells[columns.is_empty],
                "" if columns.pair is None else cells[columns.pair],
                heads,
            )
            for columns, heads in self._outputs
        ]
        return RowValues(
            row.line,
            row.record,
            None if self._item is None else cells[self._item],
            {field: cells[number] for field, number in self._shared},
            self._find_present(outputs, row) if self._is_wide else outputs,
            (
                {name: cells[number] for name, number in self._extra if cells[number]}
                if self._extra
                else _NO_EXTRA
            ),
        )

    def _find_present(self, outputs: list[OutputCells], row: Row) -> list[OutputCells]:
        present = [one for one in outputs if not one.is_absent]
        if len(present) < len(outputs):
            blank = [one for one in outputs if one.is_absent and one.heads.is_named]
            if self._keeps_empty:
                return [one for one in outputs if one in present or one in blank]
            if len(self.blanks) < _MOST_BLANKS:
                self.blanks += [(one.system, row.line, row.record) for one in blank]
        return present


def _name_columns(columns: OutputColumns, header: Sequence[str]) -> OutputHeads:
    return OutputHeads(
        system=header[columns.system],
        text=header[columns.output],
        flag="" if columns.is_empty is None else header[columns.is_empty],
        is_named=bool(columns.named),
    )


class MadeRows:
    """Finds the rows of an exported items.csv whose items the site made: no file brought them."""

    def __init__(self, header: Sequence[str]) -> None:
        self._batch = header.index("batch") if "batch" in header else None
        self._repeat_of = header.index("repeat_of") if "repeat_of" in header else None

    def describe(self, row: Row, values: RowValues) -> str:
        """Say what the site made here, in words that fit all such rows; "" for other rows."""
        kind, cells = values.shared.get("kind"), row.cells
        if kind == _PRACTICE:
            is_ours = is_reserved(values.item or "")
            if is_ours and self._batch is not None and not cells[self._batch]:
                return "Rows of practice items that came with the protocol, which were left out"
        elif kind == _REPEAT and self._repeat_of is not None and cells[self._repeat_of]:
            return "Rows of repeats, which a study makes for itself and which were left out"
        return ""
