"""What every check before an import is given, and what it returns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evalsite.data.tables.faults import Remark, Remarks
from evalsite.imports.batches.items import CheckedItem
from evalsite.instruments.schema import Instrument
from evalsite.studies.models import Study


@dataclass(frozen=True, kw_only=True)
class Context:
    """The study and the file that items are checked for."""

    study: Study
    config: Instrument
    systems: Sequence[str]
    kind_column: str
    remarks: Remarks

    @property
    def is_single(self) -> bool:
        """Whether an item has one output."""
        return self.config.item.outputs.most == 1


class Check:
    """Sees each item once; counts what is odd among the remarks, or warns at the end."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.remarks = context.remarks

    @classmethod
    def is_wanted(cls, context: Context) -> bool:
        return True

    def add(self, item: CheckedItem) -> None:
        raise NotImplementedError

    def list_warnings(self) -> Iterable[Remark]:
        """Return what only the whole file shows."""
        return ()
