"""What to look at before importing: checks that see the items of a file one by one.

What is remembered of each item are a few numbers, never its texts.
"""

from evalsite.imports.batches.items import CheckedItem
from evalsite.imports.batches.preflight.check import Check, Context
from evalsite.imports.batches.preflight.item_checks import (
    Coverage,
    DialogueTurns,
    ItemKinds,
    RowOrder,
    SameOutputs,
    TwinItems,
)
from evalsite.imports.batches.preflight.output_checks import ShownAsSource, SystemNames, SystemStyle

__all__ = ["Context", "Preflight"]

CHECKS: tuple[type[Check], ...] = (
    SameOutputs, SystemNames, ItemKinds, Coverage, TwinItems, SystemStyle, DialogueTurns, RowOrder,
    ShownAsSource,
)  # fmt: skip


class Preflight:
    """All checks of a file; their warnings are among the remarks of the context."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._checks = [check(context) for check in CHECKS if check.is_wanted(context)]
        self._adds = [check.add for check in self._checks]

    def add(self, item: CheckedItem) -> None:
        for add in self._adds:
            add(item)

    def finish(self) -> None:
        for check in self._checks:
            self._context.remarks.extend(check.list_warnings())
